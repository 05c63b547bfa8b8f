//! Escape corpus, network: nobody outside hears anything, and what is inside reaches each other.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use sandbox::Confined;

use crate::stage::{HELPER, Stage};

#[test]
fn nobody_outside_is_reached_over_ip() {
    let stage = Stage::new();
    // The address that this machine has to others, where it has one. Nothing is sent by this.
    let probe = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let own = probe.connect("192.0.2.1:9").and_then(|()| probe.local_addr()).map(|own| own.ip().to_string());
    let addresses = [Some("127.0.0.1".to_owned()), Some("[::1]".into()), own.ok()];
    for address in addresses.into_iter().flatten() {
        let Ok(tcp) = TcpListener::bind(format!("{address}:0")) else { continue };
        let udp = UdpSocket::bind(format!("{address}:0")).expect("a socket");
        tcp.set_nonblocking(true).expect("a flag");
        udp.set_nonblocking(true).expect("a flag");
        let (tcp_at, udp_at) = (tcp.local_addr().expect("one"), udp.local_addr().expect("one"));
        let mut attempts = vec![("tcp", tcp_at.to_string()), ("udp", udp_at.to_string())];
        if address == "127.0.0.1" {
            attempts.push(("tcp", format!("[::ffff:127.0.0.1]:{}", tcp_at.port())));
        }
        for (word, to) in &attempts {
            let done = stage.attempt(&[word, to]);
            assert!(*word == "udp" || done.errno().is_some(), "{word} {to}: {done:?}");
        }
        assert_eq!(tcp.accept().expect_err("nobody").kind(), ErrorKind::WouldBlock, "{address}");
        assert_eq!(udp.recv(&mut [0; 8]).expect_err("nobody").kind(), ErrorKind::WouldBlock, "{address}");
    }
    for to in ["192.0.2.1:80", "169.254.169.254:80", "[2001:db8::1]:80"] {
        assert!(stage.attempt(&["tcp", to]).errno().is_some(), "{to}");
        assert!(stage.attempt(&["udp", to]).errno().is_some(), "{to}");
    }
}

#[test]
fn sockets_of_the_machine_are_not_reached() {
    let stage = Stage::new();
    let name = format!("sandbox-test-{}", std::process::id());
    let unnamed =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("a socket");
    unnamed.set_nonblocking(true).expect("a flag");
    assert!(stage.attempt(&["abstract", &name]).errno().is_some());
    assert_eq!(unnamed.accept().expect_err("nobody").kind(), ErrorKind::WouldBlock);
    std::os::unix::fs::symlink(&stage.outside, stage.root.join("link")).expect("a link");
    let by_link = UnixListener::bind(stage.root.join("link/l")).expect("a socket");
    by_link.set_nonblocking(true).expect("a flag");
    for path in ["link/l", "outside/l"] {
        let done = stage.attempt(&["unix", stage.root.join(path).to_str().expect("text")]);
        assert!(done.errno().is_some(), "{path}: {done:?}");
    }
    assert_eq!(by_link.accept().expect_err("nobody").kind(), ErrorKind::WouldBlock);
    let elsewhere = tempfile::tempdir_in("/tmp").expect("a directory");
    let places = [&stage.home, &stage.outside, &stage.workspace, &stage.home.join(".config/tool")];
    for place in places.into_iter().map(|place| place.as_path()).chain([elsewhere.path()]) {
        let path = place.join("s");
        let listener = UnixListener::bind(&path).expect("a socket");
        listener.set_nonblocking(true).expect("a flag");
        let done = stage.attempt(&["unix", path.to_str().expect("text")]);
        assert!(done.errno().is_some(), "{path:?}: {done:?}");
        assert_eq!(listener.accept().expect_err("nobody").kind(), ErrorKind::WouldBlock, "{path:?}");
    }
}

#[test]
fn strange_kinds_of_sockets_are_not_there() {
    let stage = Stage::new();
    let families =
        [libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET, libc::AF_BLUETOOTH, libc::AF_CAN, libc::AF_KEY];
    for family in families {
        let done = stage.call(libc::SYS_socket, &[&family.to_string(), "3", "0"]);
        assert_eq!(done.errno(), Some(libc::EAFNOSUPPORT), "{family}: {done:?}");
    }
    let raw = stage.call(libc::SYS_socket, &["2", "3", "1"]);
    assert_eq!(raw.errno(), Some(libc::EPERM), "{raw:?}");
    let audit = stage.call(libc::SYS_socket, &["16", "3", "9"]);
    assert_eq!(audit.errno(), Some(libc::EAFNOSUPPORT), "{audit:?}");
}

#[test]
fn a_server_of_one_call_is_reached_by_the_next() {
    let stage = Stage::new();
    let socket = stage.workspace.join("own.sock");
    let socket = socket.to_str().expect("text");
    let pairs = [
        (["serve", "127.0.0.1:8000"], ["tcp", "127.0.0.1:8000"]),
        (["serve-unix", socket], ["unix", socket]),
    ];
    for (server, client) in pairs {
        let Confined { mut command, setup: _kept } =
            stage.confined(&stage.spec(&[&[HELPER], &server[..]].concat()));
        let mut child = command.spawn().expect("a child");
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        let done = stage.attempt(&client);
        assert_eq!(done.out, "ok welcome\n", "{done:?}");
        assert!(child.wait().expect("an end").success());
    }
}

#[test]
fn another_run_has_another_network() {
    let (one, other) = (Stage::new(), Stage::new());
    let Confined { mut command, setup: _kept } =
        one.confined(&one.spec(&[HELPER, "serve", "127.0.0.1:8000"]));
    let mut child = command.spawn().expect("a child");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    let done = other.attempt(&["tcp", "127.0.0.1:8000"]);
    assert_eq!(done.errno(), Some(libc::ECONNREFUSED), "{done:?}");
    child.kill().expect("a signal");
    child.wait().expect("an end");
}

#[test]
fn the_drivers_sockets_hear_what_is_said_inside() {
    let stage = Stage::new();
    let listeners = stage.network.listeners().expect("listeners");
    for (listener, address) in [
        (&listeners.http, "127.0.0.1:3128"),
        (&listeners.socks, "127.0.0.1:1080"),
        (&listeners.dns_tcp, "127.0.0.1:53"),
        (&listeners.plain, "127.64.0.7:80"),
        (&listeners.tls, "127.64.0.8:443"),
    ] {
        std::thread::scope(|scope| {
            let client = scope.spawn(|| stage.attempt(&["tcp", address]));
            let (mut stream, _) = listener.accept().expect("a connection");
            assert_eq!(stream.local_addr().expect("one").to_string(), address);
            let mut heard = [0; 5];
            stream.read_exact(&mut heard).expect("bytes");
            stream.write_all(b"yes").expect("bytes");
            assert_eq!(client.join().expect("a result").out, "ok yes\n", "{address}");
        });
    }
    stage.attempt(&["udp", "127.0.0.1:53"]);
    let mut heard = [0; 16];
    let (read, _) = listeners.dns_udp.recv_from(&mut heard).expect("bytes");
    assert_eq!(&heard[..read], b"hello");
    let done = stage.sh("cat /etc/resolv.conf");
    assert!(done.out.starts_with("nameserver 127.0.0.1\n"), "{done:?}");
}
