//! Network namespace of a run: shared by its commands, with nothing but a loopback interface, kept alive by descriptors
//! in the caller's process alone. The sockets that its proxy listens on are opened inside and accepted on outside.

use std::io::{self, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use base::limits::sandbox::{FAILURE_MAX_BYTES, NETWORK_OPEN};

use crate::descriptors;
use crate::request::Request;

/// Descriptors that the helper sends: two namespaces and six sockets.
const DESCRIPTORS: usize = 8;

/// First byte of the helper's answer when all went well; else its answer is the reason.
pub(crate) const READY: u8 = b'+';

/// A network namespace and the user namespace that owns it. It ends when this value is dropped and its last command
/// has ended.
#[derive(Debug)]
pub struct NetworkNamespace {
    user: OwnedFd,
    network: OwnedFd,
    listeners: Listeners,
}

/// Sockets that listen inside the namespace.
#[derive(Debug)]
pub struct Listeners {
    /// 127.0.0.1:3128, for a proxy that speaks HTTP.
    pub http: TcpListener,
    /// 127.0.0.1:1080, for one that speaks SOCKS.
    pub socks: TcpListener,
    /// 127.0.0.1:53, for questions after names.
    pub dns_udp: UdpSocket,
    /// The same over TCP.
    pub dns_tcp: TcpListener,
    /// Port 80 of every address inside.
    pub plain: TcpListener,
    /// Port 443 of every address inside.
    pub tls: TcpListener,
}

impl NetworkNamespace {
    /// Opens one, by a helper that ends at once and the socket that leads to it.
    pub(crate) fn open(mut command: Command, socket: UnixStream) -> io::Result<NetworkNamespace> {
        socket.set_read_timeout(Some(NETWORK_OPEN))?;
        Request::Network.send(socket.as_fd(), &[])?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        // The other end must be open in the helper only, or its end would go unnoticed.
        drop(command);
        let answer = receive(&socket);
        if answer.is_err() {
            child.kill()?;
        }
        child.wait()?;
        answer
    }

    /// More descriptors of the sockets, for whoever accepts on them.
    pub fn listeners(&self) -> io::Result<Listeners> {
        Ok(Listeners {
            http: self.listeners.http.try_clone()?,
            socks: self.listeners.socks.try_clone()?,
            dns_udp: self.listeners.dns_udp.try_clone()?,
            dns_tcp: self.listeners.dns_tcp.try_clone()?,
            plain: self.listeners.plain.try_clone()?,
            tls: self.listeners.tls.try_clone()?,
        })
    }

    /// The user and the network namespace, for one command.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.user.as_fd(), self.network.as_fd()]
    }
}

fn receive(socket: &UnixStream) -> io::Result<NetworkNamespace> {
    let (first, descriptors) = descriptors::receive(socket)?;
    if first == Some(READY) {
        return assemble(descriptors);
    }
    let Some(first) = first else { return Err(io::Error::other("the helper ended without an answer")) };
    let mut reason = vec![first];
    socket.take(FAILURE_MAX_BYTES as u64).read_to_end(&mut reason)?;
    Err(io::Error::other(String::from_utf8_lossy(&reason).into_owned()))
}

fn assemble(descriptors: Vec<OwnedFd>) -> io::Result<NetworkNamespace> {
    let count = descriptors.len();
    let Ok::<[OwnedFd; DESCRIPTORS], _>([user, network, http, socks, dns_udp, dns_tcp, plain, tls]) =
        descriptors.try_into()
    else {
        return Err(io::Error::other(format!(
            "the helper sent {count} descriptors instead of {DESCRIPTORS}"
        )));
    };
    let listeners = Listeners {
        http: http.into(),
        socks: socks.into(),
        dns_udp: dns_udp.into(),
        dns_tcp: dns_tcp.into(),
        plain: plain.into(),
        tls: tls.into(),
    };
    Ok(NetworkNamespace { user, network, listeners })
}
