//! Vectored, zero-copy writer of one socket: WebSocket frames in a queue of byte slices, so that large values are
//! written from where they are.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use base::limits;
use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Slices handed to the machine in one call.
const SLICES_AT_ONCE: usize = 64;
/// Pieces up to this size are joined: a copy is cheaper than one more slice.
const JOIN_BYTES_MAX: usize = 4 * 1024;
/// Joined pieces are gathered up to this size.
const GATHER_BYTES: usize = 16 * 1024;

/// Room for the first of them.
const FIRST_BYTES: usize = 4 * 1024;

thread_local! {
    /// The room of the last batch that was sent on this thread, for the next one: a socket that rests keeps none.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text = 1,
    /// Bytes.
    Binary = 2,
    /// Asks for a sign of life.
    Ping = 9,
}

/// The queue.
#[derive(Default)]
pub(crate) struct Outlet {
    slices: VecDeque<Bytes>,
    gathering: Vec<u8>,
    /// How much of what is gathered has been written already.
    gathered_sent: usize,
    pending: usize,
    written: u64,
}

impl Outlet {
    /// Puts one message in line, made of the given pieces, in fragments of at most 1 MiB.
    pub(crate) fn message(&mut self, opcode: Opcode, pieces: impl IntoIterator<Item = Bytes>) {
        let mut pieces: VecDeque<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let mut left: usize = pieces.iter().map(Bytes::len).sum();
        let mut code = opcode as u8;
        loop {
            let length = left.min(limits::frame::FRAGMENT_MAX_BYTES);
            left -= length;
            self.head(if left == 0 { code | 0x80 } else { code }, length);
            self.payload(&mut pieces, length);
            code = 0;
            if left == 0 {
                return;
            }
        }
    }

    /// The same for a small text.
    pub(crate) fn text(&mut self, text: &str) {
        debug_assert!(text.len() <= limits::frame::FRAGMENT_MAX_BYTES);
        self.head(Opcode::Text as u8 | 0x80, text.len());
        self.raw(text.as_bytes());
    }

    fn head(&mut self, first: u8, length: usize) {
        let mut head = [first, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let size = match length {
            short @ 0..=125 => {
                head[1] = short as u8;
                2
            }
            126..=0xffff => {
                head[1] = 126;
                head[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                4
            }
            _ => {
                head[1] = 127;
                head[2..10].copy_from_slice(&(length as u64).to_be_bytes());
                10
            }
        };
        self.raw(&head[..size]);
    }

    fn payload(&mut self, pieces: &mut VecDeque<Bytes>, mut length: usize) {
        while length > 0
            && let Some(piece) = pieces.front_mut()
        {
            let part = piece.split_to(length.min(piece.len()));
            length -= part.len();
            if piece.is_empty() {
                pieces.pop_front();
            }
            if part.len() <= JOIN_BYTES_MAX {
                self.raw(&part);
            } else {
                self.end_piece();
                self.pending += part.len();
                self.slices.push_back(part);
            }
        }
    }

    /// Puts bytes in line that are frames already, or parts of one.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if self.gathering.len() + bytes.len() > GATHER_BYTES {
            self.end_piece();
        }
        if self.gathering.capacity() == 0 {
            self.gathering = SPARE.take();
            self.gathering.reserve(FIRST_BYTES.max(bytes.len()));
        }
        self.pending += bytes.len();
        self.gathering.extend_from_slice(bytes);
    }

    /// Ends the piece that is being gathered.
    fn end_piece(&mut self) {
        if !self.gathering.is_empty() {
            let mut piece = Bytes::from(std::mem::take(&mut self.gathering));
            piece.advance(std::mem::take(&mut self.gathered_sent));
            self.slices.push_back(piece);
        }
    }

    /// Bytes that wait.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// Bytes written so far; a writer that gets nowhere does not change it.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Writes as much as the socket takes.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut S,
    ) -> Poll<io::Result<()>> {
        if self.slices.is_empty() {
            return self.poll_write_gathered(cx, socket);
        }
        self.end_piece();
        while self.pending > 0 {
            let mut slices = [IoSlice::new(&[]); SLICES_AT_ONCE];
            let count = self.slices.len().min(SLICES_AT_ONCE);
            for (slot, slice) in slices.iter_mut().zip(&self.slices) {
                *slot = IoSlice::new(slice);
            }
            let written = ready!(Pin::new(&mut *socket).poll_write_vectored(cx, &slices[..count]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// The usual case: small messages only, written from where they were gathered.
    fn poll_write_gathered<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut S,
    ) -> Poll<io::Result<()>> {
        while self.gathered_sent < self.gathering.len() {
            let rest = &self.gathering[self.gathered_sent..];
            let written = ready!(Pin::new(&mut *socket).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.gathered_sent += written;
            self.pending -= written;
            self.written += written as u64;
        }
        self.gathering.clear();
        SPARE.set(std::mem::take(&mut self.gathering));
        self.gathered_sent = 0;
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        self.pending -= written;
        self.written += written as u64;
        while written > 0
            && let Some(slice) = self.slices.front_mut()
        {
            let part = written.min(slice.len());
            slice.advance(part);
            written -= part;
            if slice.is_empty() {
                self.slices.pop_front();
            }
        }
        if self.slices.is_empty() && self.slices.capacity() > SLICES_AT_ONCE {
            self.slices = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a few bytes at a time.
    struct Sip(Vec<u8>, usize);

    impl AsyncWrite for Sip {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let count = buf.len().min(self.1);
            self.0.extend_from_slice(&buf[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn written(outlet: &mut Outlet, sip: usize) -> Vec<u8> {
        let mut socket = Sip(Vec::new(), sip);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(outlet.poll_write(&mut cx, &mut socket).is_ready());
        assert_eq!(outlet.pending(), 0);
        socket.0
    }

    /// The messages in a stream of unmasked frames, with the sizes of their fragments.
    fn messages(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>, Vec<usize>)> {
        let mut out: Vec<(u8, Vec<u8>, Vec<usize>)> = Vec::new();
        let mut open = false;
        while !bytes.is_empty() {
            let (first, short) = (bytes[0], bytes[1] as usize);
            let (length, head) = match short {
                126 => (u16::from_be_bytes([bytes[2], bytes[3]]) as usize, 4),
                127 => (u64::from_be_bytes(bytes[2..10].try_into().unwrap()) as usize, 10),
                short => (short, 2),
            };
            if !open {
                out.push((first & 0x0f, Vec::new(), Vec::new()));
            } else {
                assert_eq!(first & 0x0f, 0);
            }
            let last = out.last_mut().unwrap();
            last.1.extend_from_slice(&bytes[head..head + length]);
            last.2.push(length);
            open = first & 0x80 == 0;
            bytes = &bytes[head + length..];
        }
        assert!(!open);
        out
    }

    #[test]
    fn what_is_put_in_line_while_a_part_is_written_comes_behind_it() {
        let mut outlet = Outlet::default();
        outlet.message(Opcode::Text, [Bytes::from_static(b"first")]);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut out = Vec::new();
        let mut narrow = Narrow(&mut out, 3);
        assert!(outlet.poll_write(&mut cx, &mut narrow).is_pending());
        outlet.message(Opcode::Text, [Bytes::from(vec![b'x'; 10_000])]);
        outlet.message(Opcode::Text, [Bytes::from_static(b"last")]);
        while outlet.pending() > 0 {
            let mut narrow = Narrow(&mut out, 100);
            if let Poll::Ready(written) = outlet.poll_write(&mut cx, &mut narrow) {
                written.unwrap();
            }
        }
        let found: Vec<Vec<u8>> = messages(&out).into_iter().map(|(_, body, _)| body).collect();
        assert_eq!(found, [b"first".to_vec(), vec![b'x'; 10_000], b"last".to_vec()]);
    }

    /// Takes so many bytes, then makes the writer wait.
    struct Narrow<'a>(&'a mut Vec<u8>, usize);

    impl AsyncWrite for Narrow<'_> {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let count = buf.len().min(self.1);
            if count == 0 {
                return Poll::Pending;
            }
            self.1 -= count;
            self.0.extend_from_slice(&buf[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn messages_of_every_size_come_out_whole_however_they_are_written() {
        let mib = limits::frame::FRAGMENT_MAX_BYTES;
        for size in [0, 1, 125, 126, 4_096, 4_097, 65_535, 65_536, mib - 1, mib, mib + 1, 3 * mib + 7] {
            let body: Vec<u8> = (0..size).map(|n| n as u8).collect();
            for sip in [1_000_003, 4_099] {
                let mut outlet = Outlet::default();
                outlet.message(Opcode::Ping, [Bytes::from_static(b"hi")]);
                let pieces =
                    [Bytes::from_static(b"{head"), Bytes::from(body.clone()), Bytes::from_static(b"}")];
                outlet.message(Opcode::Text, pieces);
                outlet.message(Opcode::Binary, [Bytes::from(body.clone())]);
                let found = messages(&written(&mut outlet, sip));
                assert_eq!(found.len(), 3);
                assert_eq!((found[0].0, found[0].1.as_slice()), (9, &b"hi"[..]));
                assert_eq!(found[1].1, [b"{head", body.as_slice(), b"}"].concat());
                assert_eq!((found[2].0, &found[2].1), (2, &body));
                assert!(found.iter().all(|(_, _, sizes)| sizes.iter().all(|size| *size <= mib)));
            }
        }
    }
}
