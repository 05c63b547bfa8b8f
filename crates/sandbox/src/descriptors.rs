//! Passing of descriptors over a socket (`SCM_RIGHTS`): one byte, and the descriptors with it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

/// Most descriptors that are passed at once: two namespaces and six sockets.
pub(crate) const MOST: usize = 8;

/// Sends a byte with descriptors. Somebody who is gone is an error, not a signal.
pub(crate) fn send(socket: impl AsFd, byte: u8, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there are too many descriptors"));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(&[byte])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a byte and what came with it; no byte when the other end is closed, read or unread what was sent to it.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<(Option<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = loop {
        let into = &mut [IoSliceMut::new(&mut byte)];
        match rustix::net::recvmsg(&socket, into, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok((None, Vec::new())),
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(list) = message {
            descriptors.extend(list);
        }
    }
    Ok(((received.bytes == 1).then_some(byte[0]), descriptors))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn descriptors_arrive_with_their_byte_and_an_end_is_seen() {
        let (one, other) = UnixStream::pair().unwrap();
        let (reads, writes) = std::io::pipe().unwrap();
        send(&one, b'x', &[writes.as_fd()]).unwrap();
        drop(writes);
        let (byte, mut list) = receive(&other).unwrap();
        assert_eq!((byte, list.len()), (Some(b'x'), 1));
        std::fs::File::from(list.remove(0)).write_all(b"through").unwrap();
        let mut text = String::new();
        std::fs::File::from(OwnedFd::from(reads)).read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        send(&other, b'y', &[]).unwrap();
        drop(one);
        assert_eq!(receive(&other).unwrap().0, None);
        assert!(send(&other, b'x', &[]).is_err());
    }
}
