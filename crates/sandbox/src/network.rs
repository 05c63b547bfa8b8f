//! Network namespace of a run: shared by its commands, with nothing but a loopback interface, kept alive by descriptors
//! in the caller's process alone. The sockets that its proxy listens on are opened inside and accepted on outside.

use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use base::limits::sandbox::{FAILURE_MAX_BYTES, NETWORK_OPEN};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use crate::request::Request;

/// Descriptors that the helper sends: two namespaces and six sockets.
pub(crate) const DESCRIPTORS: usize = 8;

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
    /// Opens one, by a helper that ends at once.
    pub(crate) fn open(
        helper: impl FnOnce(&Request<'_>, Vec<OwnedFd>) -> io::Result<Command>,
    ) -> io::Result<NetworkNamespace> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(NETWORK_OPEN))?;
        let request = Request::Network { socket: theirs.as_raw_fd() };
        let mut command = helper(&request, vec![theirs.into()])?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        // The other end must be open in the helper only, or its end would go unnoticed.
        drop(command);
        let answer = receive(&ours);
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
    pub(crate) fn descriptors(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok((self.user.try_clone()?, self.network.try_clone()?))
    }
}

fn receive(socket: &UnixStream) -> io::Result<NetworkNamespace> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut first = [0];
    let received = rustix::net::recvmsg(
        socket.as_fd(),
        &mut [IoSliceMut::new(&mut first)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(list) = message {
            descriptors.extend(list);
        }
    }
    if received.bytes == 1 && first == [READY] {
        return assemble(descriptors);
    }
    let mut reason = first.get(..received.bytes).unwrap_or_default().to_vec();
    socket.take(FAILURE_MAX_BYTES as u64).read_to_end(&mut reason)?;
    if reason.is_empty() {
        reason.extend_from_slice(b"the helper ended without an answer");
    }
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
