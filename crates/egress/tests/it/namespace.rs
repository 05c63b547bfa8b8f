//! The whole of it: sockets on their real ports inside a network namespace, handed to a proxy outside, and real programs
//! inside. Runs where a thread may make namespaces (as root); elsewhere there is nothing to try.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Command, Output};
use std::sync::mpsc;

use base::clock::Clock;
use egress::{Allow, Listeners, Outcome, Ports, Proxy, Settings, UNSET_VARIABLES, proxy_environment};
use outgoing::Resolver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where the public server is, outside.
const SERVER: &str = "127.77.0.1:80";

/// Moves this thread into a network and a mount namespace of its own, with `lo` up and our DNS as the resolver.
fn enter() -> io::Result<()> {
    let checked = |result: i32| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: only this thread changes; it owns no memory of other threads.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) })?;
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: an all-zero ifreq is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request lives as long as the call and has the type that the call wants.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) })?;
    let folder = std::env::temp_dir().join(format!("gsv-egress-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    mount("none", "/", libc::MS_REC | libc::MS_PRIVATE)?;
    for (name, text) in [("resolv.conf", "nameserver 127.0.0.1\n"), ("nsswitch.conf", "hosts: dns\n")] {
        let own = folder.join(name);
        std::fs::write(&own, text)?;
        // Without one of them the C library asks 127.0.0.1 as well.
        let Ok(target) = std::fs::canonicalize(format!("/etc/{name}")) else { continue };
        mount(&own.to_string_lossy(), &target.to_string_lossy(), libc::MS_BIND)?;
    }
    std::fs::remove_dir_all(&folder)
}

fn mount(source: &str, target: &str, flags: libc::c_ulong) -> io::Result<()> {
    let (source, target) = (CString::new(source)?, CString::new(target)?);
    // SAFETY: both strings end with NUL and live as long as the call; the others may be null.
    let result =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), std::ptr::null(), flags, std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn listeners() -> io::Result<Listeners> {
    Ok(Listeners {
        http: TcpListener::bind("127.0.0.1:3128")?,
        socks: TcpListener::bind("127.0.0.1:1080")?,
        dns_udp: UdpSocket::bind("127.0.0.1:53")?,
        dns_tcp: TcpListener::bind("127.0.0.1:53")?,
        plain: TcpListener::bind("0.0.0.0:80")?,
        tls: TcpListener::bind("0.0.0.0:443")?,
    })
}

/// Runs a program inside; `None` where it is not installed.
fn run(program: &str, arguments: &[&str], with_variables: bool) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(arguments);
    for name in UNSET_VARIABLES {
        command.env_remove(name);
    }
    for (name, value) in
        proxy_environment(Ports::default(), "call_7", &Allow::parse("a.example").expect("a list"))
    {
        if with_variables {
            command.env(name, value)
        } else {
            command.env_remove(name)
        };
    }
    command.output().ok()
}

const FETCH: &str = "import sys, urllib.request\n\
    try: print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())\n\
    except Exception as e: print('failed:', e)";

/// What the programs inside see. Each row: program, output with the variables, output without them.
fn try_from_inside() -> Vec<(String, Output)> {
    let mut out = Vec::new();
    for with_variables in [true, false] {
        for url in ["http://a.example/x", "http://evil.example/x", "http://127.77.0.1/x"] {
            let name = |program: &str| format!("{program} {url} {with_variables}");
            let curl = ["-sS", "--max-time", "20", "-o", "-", "-w", "|%{http_code}", url];
            out.extend(run("curl", &curl, with_variables).map(|output| (name("curl"), output)));
            out.extend(
                run("python3", &["-c", FETCH, url], with_variables).map(|output| (name("python3"), output)),
            );
        }
    }
    let socks =
        ["-sS", "--max-time", "20", "-x", "socks5h://gsv:call_8@127.0.0.1:1080", "http://a.example/x"];
    out.extend(run("curl", &socks, false).map(|output| ("curl socks".to_string(), output)));
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_programs_in_a_namespace_reach_what_is_allowed_and_nothing_else() {
    let Ok(server) = tokio::net::TcpListener::bind(SERVER).await else { return };
    let (sockets, handed_over) = mpsc::sync_channel(1);
    let (started, begin) = mpsc::sync_channel::<()>(1);
    let inside = std::thread::spawn(move || {
        let opened = enter().and_then(|()| listeners());
        let is_open = opened.is_ok();
        sockets.send(opened).expect("the test waits");
        if !is_open || begin.recv().is_err() {
            return None;
        }
        let direct = TcpStream::connect("1.1.1.1:443").is_err();
        Some((direct, try_from_inside()))
    });
    let handed_over = tokio::task::spawn_blocking(move || handed_over.recv().expect("an answer"));
    let listeners = match handed_over.await.expect("no panic") {
        Ok(listeners) => listeners,
        Err(error) => return eprintln!("not tried, there is no namespace to be had: {error}"),
    };
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            let mut head = [0; 4_096];
            let _read = stream.read(&mut head).await;
            let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello").await;
        }
    });
    let mut settings = Settings::new(Allow::parse("a.example").expect("a list"));
    settings.clock = Clock::system();
    settings.outgoing.exceptions = vec![SERVER.parse::<SocketAddr>().expect("an address")];
    settings.outgoing.resolver =
        Resolver::new(|_| async { Ok(vec![SERVER.parse::<SocketAddr>().expect("an address").ip()]) });
    let proxy = Proxy::start(listeners, settings).expect("a proxy");
    started.send(()).expect("the thread waits");
    let seen = tokio::task::spawn_blocking(|| inside.join().expect("no panic")).await.expect("no panic");
    let (no_way_out, seen) = seen.expect("it could begin");
    assert!(no_way_out, "a direct connection left the namespace");
    for (name, output) in &seen {
        let heard = String::from_utf8_lossy(&output.stdout);
        let is_allowed = name.contains("a.example") || name.contains("socks");
        assert_eq!(heard.contains("hello"), is_allowed, "{name}: {output:?}");
    }
    let log = proxy.log();
    let with = |host: &str, token: Option<&str>| {
        log.iter().any(|tried| tried.host == host && tried.token.as_deref() == token)
    };
    if !seen.is_empty() {
        assert!(with("a.example", Some("call_7")) && with("a.example", None), "{log:?}");
        assert!(with("evil.example", Some("call_7")) && with("evil.example", None), "{log:?}");
        assert!(log.iter().all(|tried| tried.is_allowed() == (tried.outcome == Outcome::Reached)), "{log:?}");
    }
}
