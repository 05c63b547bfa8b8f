//! Maker of a network namespace: leaves the machine's, opens the proxy's sockets in the new one, and sends their
//! descriptors out (`SCM_RIGHTS`). Then it ends; the descriptors keep the namespace.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::failure::{At, Failure};
use crate::network::READY;
use crate::sys;

/// Makes the namespace and answers on the socket; returns the exit code.
pub(super) fn make(mut socket: UnixStream) -> i32 {
    let Err(failure) = enter().and_then(|()| descriptors()).and_then(|list| send(&socket, &list)) else {
        return 0;
    };
    // Whoever asked has gone, or will see that nothing came.
    drop(socket.write_all(failure.to_string().as_bytes()));
    super::FAILED
}

/// Leaves for new namespaces in which the one user there is has the number that he has outside: his files stay his, and
/// programs do not take him for root.
fn enter() -> Result<(), Failure> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    sys::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET).at("make a user and a network namespace")?;
    let write = |file: &str, text: String| {
        let path = Path::new("/proc/self").join(file);
        std::fs::write(&path, text).at_path("write", &path)
    };
    write("setgroups", "deny".into())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}

fn descriptors() -> Result<Vec<OwnedFd>, Failure> {
    let namespace = |name: &str| -> Result<OwnedFd, Failure> {
        let path = Path::new("/proc/self/ns").join(name);
        Ok(std::fs::File::open(&path).at_path("open", &path)?.into())
    };
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).at("open a socket")?;
    sys::loopback_up(udp.as_fd()).at("bring the loopback interface up")?;
    let tcp = |address: Ipv4Addr, port: u16| -> Result<OwnedFd, Failure> {
        Ok(TcpListener::bind((address, port)).at("listen inside the namespace")?.into())
    };
    let dns = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).at("listen inside the namespace")?;
    Ok(vec![
        namespace("user")?,
        namespace("net")?,
        tcp(Ipv4Addr::LOCALHOST, 3128)?,
        tcp(Ipv4Addr::LOCALHOST, 1080)?,
        dns.into(),
        tcp(Ipv4Addr::LOCALHOST, 53)?,
        tcp(Ipv4Addr::UNSPECIFIED, 80)?,
        tcp(Ipv4Addr::UNSPECIFIED, 443)?,
    ])
}

fn send(socket: &UnixStream, descriptors: &[OwnedFd]) -> Result<(), Failure> {
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    crate::descriptors::send(socket, READY, &borrowed).at("send the descriptors")
}
