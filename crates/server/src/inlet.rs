//! Frame filter below the WebSocket library: swallows single frames above the size limit and puts small marker
//! messages in their place, so that the socket can answer 413 and live on; and the way out. Of what is swallowed the
//! beginning and the end are kept, which tell what it was an answer to; of a message in pieces the beginning.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use kernel::Connection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::outlet::Outlet;

/// Longest frame head: two bytes, eight of length, four of mask.
const HEAD_BYTES_MAX: usize = 14;
/// Read at a time while frames must be copied.
const COPY_BYTES: usize = 4 * 1024;

/// A socket whose oversized messages are replaced. What the library writes goes in line with the rest.
pub(crate) struct Inlet<S> {
    inner: S,
    filter: Filter,
    ready: Vec<u8>,
    served: usize,
    outlet: Outlet,
    clock: Clock,
    arrived: Instant,
    /// Whose room large messages take, once somebody has logged in, and how much one has taken.
    connection: Option<Arc<Connection>>,
    reserved: usize,
}

impl<S> Drop for Inlet<S> {
    fn drop(&mut self) {
        self.give_back(0);
    }
}

impl<S> Inlet<S> {
    /// Wraps a socket; `early` is what was read from it already.
    pub(crate) fn new(inner: S, limit_bytes: usize, marker: String, early: &[u8], clock: Clock) -> Inlet<S> {
        let mut filter = Filter {
            limit: limit_bytes as u64,
            marker,
            state: FilterState::default(),
            swallowing: Swallowed::default(),
            excerpts: VecDeque::new(),
        };
        let mut ready = Vec::new();
        filter.copy(early, &mut ready);
        Inlet {
            inner,
            filter,
            ready,
            served: 0,
            outlet: Outlet::default(),
            arrived: clock.instant(),
            clock,
            connection: None,
            reserved: 0,
        }
    }

    /// From now on messages may be so large, and large ones take room of the user's.
    pub(crate) fn raise_limit(&mut self, limit_bytes: usize, connection: &Arc<Connection>) {
        self.filter.limit = limit_bytes as u64;
        self.connection = Some(connection.clone());
    }

    /// Whether the message on its way in has the room it needs. One that has gets no more: who waits holds next to nothing.
    fn has_room(&mut self) -> bool {
        let Some(connection) = &self.connection else { return true };
        let wanted = self.filter.state.unfinished(self.filter.limit);
        if wanted > self.reserved {
            if !connection.reserve(wanted - self.reserved) {
                return false;
            }
            self.reserved = wanted;
        } else {
            self.give_back(wanted);
        }
        true
    }

    /// Gives room back but for so many bytes.
    fn give_back(&mut self, kept: usize) {
        if let Some(connection) = self.connection.as_ref().filter(|_| self.reserved > kept) {
            connection.release(self.reserved - kept);
            self.reserved = kept;
        }
    }

    /// Whether a message came in pieces and grew too large. Nothing is read any more.
    pub(crate) fn is_flooded(&self) -> bool {
        self.filter.state.flooded
    }

    /// The beginning or the end of a message that was swallowed: one for each marker, in the same order. After the last
    /// of them the beginning of the message in pieces that grew too large.
    pub(crate) fn take_excerpt(&mut self) -> Option<Excerpt> {
        self.filter.excerpts.pop_front()
    }

    /// When everything that was passed on so far had arrived.
    pub(crate) fn arrived(&self) -> Instant {
        self.arrived
    }

    /// What goes out.
    pub(crate) fn outlet(&mut self) -> &mut Outlet {
        &mut self.outlet
    }

    fn serve_ready(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        let count = buf.remaining().min(self.ready.len() - self.served);
        buf.put_slice(&self.ready[self.served..self.served + count]);
        self.served += count;
        if self.served == self.ready.len() {
            self.ready = Vec::new();
            self.served = 0;
        }
        true
    }
}

impl<S: AsyncRead + Unpin> Inlet<S> {
    fn poll_inner(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.inner).poll_read(cx, buf));
        self.arrived = self.clock.instant();
        Poll::Ready(read)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Inlet<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.serve_ready(buf) || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            // Whoever has no room now is woken when there is.
            if this.is_flooded() || !this.has_room() {
                return Poll::Pending;
            }
            if this.filter.state.is_plain() {
                let start = buf.filled().len();
                ready!(this.poll_inner(cx, buf))?;
                let fresh = &buf.filled()[start..];
                if fresh.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                let before = this.filter.state.clone();
                if this.filter.passes(fresh) {
                    return Poll::Ready(Ok(()));
                }
                this.filter.state = before;
                this.filter.copy(fresh, &mut this.ready);
                buf.set_filled(start);
            } else {
                let mut bytes = [0u8; COPY_BYTES];
                let mut part = ReadBuf::new(&mut bytes);
                ready!(this.poll_inner(cx, &mut part))?;
                if part.filled().is_empty() {
                    return Poll::Ready(Ok(()));
                }
                this.filter.copy(part.filled(), &mut this.ready);
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Inlet<S> {
    fn poll_write(mut self: Pin<&mut Self>, _cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.outlet.raw(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.outlet.poll_write(cx, &mut this.inner)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

struct Filter {
    limit: u64,
    marker: String,
    state: FilterState,
    swallowing: Swallowed,
    /// Those whose markers the library has not handed out yet: as many as fit into what is read at a time.
    excerpts: VecDeque<Excerpt>,
}

/// Some bytes of a message that was swallowed.
#[derive(Debug, PartialEq)]
pub(crate) struct Excerpt {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_beginning: bool,
    /// The length of the whole message; of one in pieces, what it has come to.
    pub(crate) size: u64,
}

/// What is known of the message that is being swallowed.
#[derive(Default)]
struct Swallowed {
    mask: [u8; 4],
    size: u64,
    /// How many of its bytes have come.
    come: u64,
    beginning: Vec<u8>,
    end: VecDeque<u8>,
}

impl Swallowed {
    fn begin(&mut self, head: &Head) {
        *self = Swallowed { mask: head.mask, size: head.payload, ..Swallowed::default() };
    }

    /// Takes in further bytes, and gives what there is to tell once the beginning is complete, and at the end. A message
    /// shorter than its beginning may be is told once.
    fn take(&mut self, bytes: &[u8]) -> Vec<Excerpt> {
        let at = self.come;
        self.come += bytes.len() as u64;
        let unmasked = |(n, byte): (usize, &u8)| byte ^ self.mask[((at + n as u64) % 4) as usize];
        let was_told = self.beginning.len() == limits::frame::OVERSIZED_BEGINNING_BYTES;
        let room = limits::frame::OVERSIZED_BEGINNING_BYTES - self.beginning.len();
        self.beginning.extend(bytes.iter().enumerate().take(room).map(unmasked));
        let last = bytes.len().saturating_sub(limits::frame::OVERSIZED_END_BYTES);
        self.end.extend(bytes.iter().enumerate().skip(last).map(unmasked));
        self.end.drain(..self.end.len().saturating_sub(limits::frame::OVERSIZED_END_BYTES));
        let (is_full, is_over) =
            (self.beginning.len() == limits::frame::OVERSIZED_BEGINNING_BYTES, self.come == self.size);
        let mut told = Vec::new();
        if !was_told && (is_full || is_over) {
            told.push(Excerpt { bytes: self.beginning.clone(), is_beginning: true, size: self.size });
        }
        if is_full && is_over {
            let bytes = self.end.iter().copied().collect();
            told.push(Excerpt { bytes, is_beginning: false, size: self.size });
        }
        told
    }
}

#[derive(Clone, Default)]
struct FilterState {
    /// Bytes of a head that is not complete yet.
    head: Vec<u8>,
    /// Payload bytes still to come of the current frame.
    left: u64,
    /// Whether that payload is swallowed.
    skip: bool,
    /// Payload bytes of the current frame.
    payload: u64,
    /// Payload bytes so far of a message that comes in pieces.
    pieces: u64,
    /// Whether the current frame is the last of them.
    is_last: bool,
    /// The first bytes of that message, while it is not complete.
    beginning: Vec<u8>,
    /// The mask of the current frame, if it is one of the pieces.
    mask: Option<[u8; 4]>,
    /// Those have become too many.
    flooded: bool,
}

impl FilterState {
    /// Nothing is held back and nothing is being swallowed.
    fn is_plain(&self) -> bool {
        self.head.is_empty() && !self.skip
    }

    /// How much of the message that is on its way in is kept until it is complete; nothing for a small one. How large
    /// one in pieces will be is not known, so that it counts as one of the largest.
    fn unfinished(&self, limit: u64) -> usize {
        let in_pieces = self.pieces > 0 && !(self.is_last && self.left == 0);
        let whole = if self.left > 0 { self.payload } else { 0 };
        let bytes = if in_pieces { self.pieces } else { whole };
        if self.skip || bytes <= limits::socket::SMALL_MESSAGE_BYTES as u64 {
            return 0;
        }
        usize::try_from(if in_pieces { limit } else { bytes }).unwrap_or(usize::MAX)
    }

    /// Counts the pieces of a message. False when they have become too many.
    fn count(&mut self, head: &Head, limit: u64) -> bool {
        self.payload = head.payload;
        self.mask = (!matches!(head.piece, Piece::None)).then_some(head.mask);
        match head.piece {
            Piece::None => return true,
            // Further pieces of a message that is complete are another's.
            Piece::More if !self.is_last => self.pieces = self.pieces.saturating_add(head.payload),
            Piece::First | Piece::More => (self.pieces, self.beginning) = (head.payload, Vec::new()),
        }
        self.is_last = head.is_last;
        self.pieces <= limit
    }

    /// Takes in bytes of the current frame's payload; of a message in pieces its beginning is remembered.
    fn pass(&mut self, bytes: &[u8]) {
        if let Some(mask) = self.mask {
            let at = self.payload - self.left;
            let room = limits::frame::OVERSIZED_BEGINNING_BYTES - self.beginning.len();
            let unmasked = |(n, byte): (usize, &u8)| byte ^ mask[((at + n as u64) % 4) as usize];
            self.beginning.extend(bytes.iter().enumerate().take(room).map(unmasked));
        }
        self.left -= bytes.len() as u64;
        if self.left == 0 && self.is_last {
            self.beginning = Vec::new();
        }
    }
}

impl Filter {
    /// Whether all of the input can be passed on as it is; moves the state past it if so.
    fn passes(&mut self, input: &[u8]) -> bool {
        let mut at = 0;
        while at < input.len() {
            if self.state.left > 0 {
                let count = self.state.left.min((input.len() - at) as u64) as usize;
                self.state.pass(&input[at..at + count]);
                at += count;
                continue;
            }
            let Some(head) = Head::parse(&input[at..]) else { return false };
            if head.is_oversized(self.limit) || !self.state.count(&head, self.limit) {
                return false;
            }
            self.state.left = head.payload;
            at += head.length;
        }
        true
    }

    /// Copies what passes, holding back incomplete heads and swallowing oversized frames.
    fn copy(&mut self, mut input: &[u8], out: &mut Vec<u8>) {
        while !input.is_empty() {
            if self.state.left > 0 {
                let count = self.state.left.min(input.len() as u64) as usize;
                if self.state.skip {
                    for excerpt in self.swallowing.take(&input[..count]) {
                        self.excerpts.push_back(excerpt);
                        put_marker(&self.marker, out);
                    }
                } else {
                    out.extend_from_slice(&input[..count]);
                }
                self.state.pass(&input[..count]);
                self.state.skip &= self.state.left > 0;
                input = &input[count..];
                continue;
            }
            self.state.head.push(input[0]);
            input = &input[1..];
            if let Some(head) = Head::parse(&self.state.head) {
                self.state.left = head.payload;
                if !self.state.count(&head, self.limit) {
                    self.state.flooded = true;
                    let bytes = std::mem::take(&mut self.state.beginning);
                    self.excerpts.push_back(Excerpt { bytes, is_beginning: true, size: self.state.pieces });
                    return;
                }
                if head.is_oversized(self.limit) {
                    self.state.skip = true;
                    self.swallowing.begin(&head);
                } else {
                    out.extend_from_slice(&self.state.head);
                }
                self.state.head = Vec::new();
            }
            debug_assert!(self.state.head.len() < HEAD_BYTES_MAX, "a head is complete by now");
        }
    }
}

/// A masked text frame, with a mask of zeros.
fn put_marker(marker: &str, out: &mut Vec<u8>) {
    debug_assert!(marker.len() < 126, "the marker fits a short frame");
    out.extend_from_slice(&[0x81, 0x80 | marker.len() as u8, 0, 0, 0, 0]);
    out.extend_from_slice(marker.as_bytes());
}

struct Head {
    length: usize,
    payload: u64,
    /// Zeros when there is none, which change nothing.
    mask: [u8; 4],
    whole_message: bool,
    piece: Piece,
    is_last: bool,
}

/// Where a frame stands in a message that comes in pieces.
enum Piece {
    /// It is a message of its own, or a control frame.
    None,
    /// It begins one.
    First,
    /// It goes on with one.
    More,
}

impl Head {
    /// `None` while bytes are missing.
    fn parse(bytes: &[u8]) -> Option<Head> {
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        let (size, payload) = match second & 0x7f {
            126 => (4, u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
            127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)),
            short => (2, u64::from(short)),
        };
        let length = size + if second & 0x80 != 0 { 4 } else { 0 };
        let mask = bytes.get(size..length)?.try_into().unwrap_or_default();
        let piece = match first {
            0x01 | 0x02 => Piece::First,
            0x00 | 0x80 => Piece::More,
            _ => Piece::None,
        };
        let (whole_message, is_last) = (matches!(first, 0x81 | 0x82), first & 0x80 != 0);
        Some(Head { length, payload, mask, whole_message, piece, is_last })
    }

    fn is_oversized(&self, limit: u64) -> bool {
        self.whole_message && self.payload > limit
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![opcode];
        match payload.len() {
            short @ 0..=125 => out.push(0x80 | short as u8),
            long => {
                out.push(0x80 | 126);
                out.extend_from_slice(&(long as u16).to_be_bytes());
            }
        }
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(payload);
        out
    }

    async fn through(input: Vec<u8>, cut: usize) -> Vec<u8> {
        let (mut sender, receiver) = tokio::io::duplex(cut);
        let mut inlet = Inlet::new(receiver, 300, "MARK".into(), b"", Clock::system());
        let sending = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            sender.write_all(&input).await.unwrap();
        });
        let mut out = Vec::new();
        inlet.read_to_end(&mut out).await.unwrap();
        sending.await.unwrap();
        out
    }

    #[tokio::test]
    async fn a_message_in_pieces_that_grows_too_large_stops_everything() {
        for cut in [1, 3, 64, 4_096] {
            let mut input = frame(0x01, &[b'a'; 200]);
            input.extend(frame(0x89, b"ping"));
            input.extend(frame(0x00, &[b'b'; 90]));
            let passed = input.len();
            input.extend(frame(0x80, &[b'c'; 11]));
            input.extend(frame(0x81, b"after"));
            let (mut sender, receiver) = tokio::io::duplex(cut);
            let mut inlet = Inlet::new(receiver, 300, "MARK".into(), b"", Clock::system());
            let writing = tokio::spawn(async move {
                use tokio::io::AsyncWriteExt;
                // The other side stops reading; what cannot be written any more does not matter.
                drop(sender.write_all(&input).await);
            });
            let mut out = vec![0; passed];
            inlet.read_exact(&mut out).await.unwrap();
            let mut more = [0; 1];
            let pending = std::future::poll_fn(|cx| {
                let mut buf = ReadBuf::new(&mut more);
                match Pin::new(&mut inlet).poll_read(cx, &mut buf) {
                    Poll::Pending if inlet.is_flooded() => Poll::Ready(true),
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(_) => Poll::Ready(false),
                }
            });
            assert!(pending.await, "cut at {cut}");
            writing.abort();
            let bytes = [[b'a'; 200].as_slice(), &[b'b'; 90]].concat();
            let told = Excerpt { bytes, is_beginning: true, size: 301 };
            assert_eq!((inlet.take_excerpt(), inlet.take_excerpt()), (Some(told), None), "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn oversized_messages_become_the_marker_however_the_bytes_are_cut() {
        let mut input = frame(0x81, b"one");
        input.extend(frame(0x81, &[b'x'; 400]));
        input.extend(frame(0x82, &[b'y'; 300]));
        input.extend(frame(0x01, &[b'z'; 250]));
        input.extend(frame(0x80, &[b'z'; 40]));
        input.extend(frame(0x82, &[b'w'; 301]));
        input.extend(frame(0x89, b""));
        let mut wanted = frame(0x81, b"one");
        wanted.extend(frame(0x81, b"MARK"));
        wanted.extend(frame(0x82, &[b'y'; 300]));
        wanted.extend(frame(0x01, &[b'z'; 250]));
        wanted.extend(frame(0x80, &[b'z'; 40]));
        wanted.extend(frame(0x81, b"MARK"));
        wanted.extend(frame(0x89, b""));
        for cut in [1, 2, 3, 5, 7, 64, 300, 4_096] {
            assert_eq!(through(input.clone(), cut).await, wanted, "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn of_what_is_swallowed_the_beginning_and_the_end_are_told() {
        let text: Vec<u8> = (0..10_000u32).map(|n| b'a' + (n % 26) as u8).collect();
        let mask = [1, 2, 3, 4];
        let mut input = vec![0x81, 0x80 | 126];
        input.extend_from_slice(&(text.len() as u16).to_be_bytes());
        input.extend_from_slice(&mask);
        input.extend(text.iter().enumerate().map(|(n, byte)| byte ^ mask[n % 4]));
        input.extend(frame(0x81, &[b'x'; 301]));
        for cut in [1, 7, 300, 4_096, 20_000] {
            let (mut sender, receiver) = tokio::io::duplex(cut);
            let mut inlet = Inlet::new(receiver, 300, "MARK".into(), b"", Clock::system());
            let input = input.clone();
            let sending = tokio::spawn(async move {
                use tokio::io::AsyncWriteExt;
                sender.write_all(&input).await.unwrap();
            });
            let mut out = Vec::new();
            inlet.read_to_end(&mut out).await.unwrap();
            sending.await.unwrap();
            assert_eq!(out, frame(0x81, b"MARK").repeat(3), "cut at {cut}");
            let told: Vec<Excerpt> = std::iter::from_fn(|| inlet.take_excerpt()).collect();
            let end = text.len() - limits::frame::OVERSIZED_END_BYTES;
            let excerpt =
                |bytes: &[u8], is_beginning, size| Excerpt { bytes: bytes.to_vec(), is_beginning, size };
            let wanted = [
                excerpt(&text[..limits::frame::OVERSIZED_BEGINNING_BYTES], true, 10_000),
                excerpt(&text[end..], false, 10_000),
                excerpt(&[b'x'; 301], true, 301),
            ];
            assert_eq!(told, wanted, "cut at {cut}");
        }
    }
}
