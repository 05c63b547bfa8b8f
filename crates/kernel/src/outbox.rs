//! Back-pressure: bounded send queue of one connection. Bounded in frames and bytes; a client that does not read is
//! closed. Signals whose text grows by deltas are merged while they wait, see `line`.

mod line;
mod resume_gaps;
mod texts;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;

use base::limits;
use base::sync::lock;
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use protocol::sys::Streams;

use crate::codec::{Codec, Current};
use crate::user_memory::UserMemory;
pub(crate) use line::{Body, Put, QueuedSignal};
use line::{Line, Taken};
pub(crate) use resume_gaps::ResumeGaps;
pub(crate) use texts::TEXT_BYTES_MAX;
pub use texts::Texts;

/// One message on its way out.
#[derive(Debug)]
pub enum Outgoing {
    /// A frame.
    Text(String),
    /// Some small frames. What they were in is to be given back, see [`Outbox::give_back`].
    Texts(Texts),
    /// A frame in two pieces: its head, and a large value passed on without copying it. A `}` follows.
    Relay(String, Bytes),
    /// A frame whose text other connections may share.
    Signal(Bytes),
    /// A piece of a file transfer, and the counter of bytes that transfer has waiting here.
    Binary(Bytes, Arc<AtomicUsize>),
    /// Asks for a sign of life.
    Ping,
}

impl Outgoing {
    fn size(&self) -> usize {
        match self {
            Outgoing::Text(text) => text.len(),
            Outgoing::Texts(texts) => texts.bytes(),
            Outgoing::Relay(head, value) => head.len() + value.len() + 1,
            Outgoing::Signal(bytes) | Outgoing::Binary(bytes, _) => bytes.len(),
            Outgoing::Ping => 16,
        }
    }
}

/// Why the gateway closes a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    /// WebSocket close code.
    pub code: u16,
    /// For the other side's log.
    pub reason: &'static str,
}

impl Close {
    /// A newer connection of the same client took over.
    pub const REPLACED: Close = Close { code: 1000, reason: "Replaced by newer connection" };
    /// Another running driver connected under the same device id.
    pub const TAKEN_OVER: Close = Close {
        code: protocol::sys::CLOSE_TAKEN_OVER,
        reason: "Another driver connected under this device id",
    };
    /// The client did not read what was sent.
    pub const SLOW: Close = Close { code: 1008, reason: "Client does not read" };
    /// Nobody logged in.
    pub const IDLE: Close = Close { code: 1008, reason: "No login" };
    /// The driver gave no sign of life.
    pub const SILENT: Close = Close { code: 1001, reason: "No sign of life" };
    /// The account or token is no longer good.
    pub const REVOKED: Close = Close { code: 1008, reason: "Login revoked" };
    /// The token it logged in with has come to its end.
    pub const EXPIRED: Close = Close { code: 1008, reason: "Token expired" };
    /// The password was changed: whoever knew only the old one is out.
    pub const PASSWORD_CHANGED: Close = Close { code: 1008, reason: "Password changed" };
    /// The message was longer than the gateway takes, and came in pieces.
    pub const TOO_LARGE: Close = Close { code: 1009, reason: "Message too large" };
    /// The socket is gone already; nobody reads this.
    pub const GONE: Close = Close { code: 1006, reason: "Gone" };
    /// The gateway stops.
    pub const STOPPING: Close = Close { code: 1001, reason: "Gateway shutting down" };
}

/// The queue between the kernel and one socket's task.
#[derive(Default)]
pub struct Outbox {
    queue: Mutex<Queue>,
    /// Bytes and frames that wait, readable without the lock.
    bytes: AtomicUsize,
    frames: AtomicUsize,
    /// Whether the socket is to be closed, readable without the lock.
    is_closing: AtomicBool,
    waker: AtomicWaker,
    /// For a user's connection: how it gets its signals.
    mode: OnceLock<Mode>,
    /// What all sockets of its user hold, once it has one.
    memory: OnceLock<Arc<UserMemory>>,
}

/// How a connection gets its signals.
struct Mode {
    codec: &'static dyn Codec,
    streams: Streams,
    resume_gaps: Arc<ResumeGaps>,
}

#[derive(Default)]
struct Queue {
    line: Line,
    closing: Option<Close>,
    /// Nothing more is taken in: the client does not read, or is gone.
    sealed: bool,
}

impl Outbox {
    /// Puts a message in line. Without room the client is closed, and the message is lost with it.
    pub fn send(&self, message: Outgoing) {
        self.add(|line| line.push(message));
    }

    /// The same for a small frame, which `write` writes to where it waits.
    pub(crate) fn write(&self, write: impl FnOnce(&mut String)) {
        self.add(|line| line.write(write));
    }

    fn add(&self, add: impl FnOnce(&mut Line) -> bool) {
        {
            let mut queue = lock(&self.queue);
            if queue.sealed {
                return;
            }
            if !add(&mut queue.line) {
                self.seal(&mut queue, Close::SLOW);
            }
            self.note(&queue);
            self.seal_if_beyond(&mut queue);
        }
        self.waker.wake();
    }

    /// Takes back what small frames were in, for the next ones.
    pub fn give_back(&self, texts: Texts) {
        lock(&self.queue).line.give_back(texts);
    }

    /// Lets go of memory that was not needed since this was called last.
    pub(crate) fn trim(&self) {
        lock(&self.queue).line.trim();
    }

    /// The next frame, for tests.
    #[cfg(test)]
    pub(crate) fn take_text(&self) -> Option<String> {
        let text = {
            let mut queue = lock(&self.queue);
            let text = queue.line.take_text();
            self.note(&queue);
            text
        };
        text.or_else(|| match self.take()? {
            Outgoing::Text(text) => Some(text),
            Outgoing::Signal(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
            Outgoing::Relay(head, value) => Some(head + std::str::from_utf8(&value).unwrap() + "}"),
            other => panic!("a frame, not {other:?}"),
        })
    }

    /// Says how signals are wanted; before the first of them.
    pub(crate) fn prepare(&self, codec: &'static dyn Codec, streams: Streams, resume_gaps: Arc<ResumeGaps>) {
        // A connection logs in once.
        drop(self.mode.set(Mode { codec, streams, resume_gaps }));
    }

    /// Puts a signal in line, or merges it with one that waits. What the codec has to say beside it follows at once.
    pub(crate) fn signal(&self, signal: QueuedSignal) -> Put {
        let first = signal.seq;
        let also = match (&signal.body, self.mode.get()) {
            (Body::Text(signal), Some(mode)) => mode.codec.also(signal.said.name, &signal.said.payload),
            _ => Vec::new(),
        };
        let put = self.put(|line| line.push_signal(signal, first, false));
        also.into_iter().for_each(|text| self.send(Outgoing::Text(text)));
        put
    }

    /// Puts a signal in line that was missed on an earlier connection, and the place of the oldest one in it.
    pub(crate) fn replay(&self, signal: QueuedSignal, first: u64) -> Put {
        self.put(|line| line.push_signal(signal, first, true))
    }

    fn put(&self, put: impl FnOnce(&mut Line) -> Put) -> Put {
        let outcome = {
            let mut queue = lock(&self.queue);
            if queue.sealed {
                return Put::Lost;
            }
            let outcome = put(&mut queue.line);
            if outcome == Put::Lost {
                self.seal(&mut queue, Close::SLOW);
            }
            self.note(&queue);
            self.seal_if_beyond(&mut queue);
            outcome
        };
        self.waker.wake();
        outcome
    }

    /// Asks the socket's task to send what waits, then to close.
    pub fn close(&self, close: Close) {
        lock(&self.queue).closing.get_or_insert(close);
        self.is_closing.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// The socket is gone: what waits is dropped, and what comes is too.
    pub(crate) fn gone(&self) {
        let mut queue = lock(&self.queue);
        self.seal(&mut queue, Close::GONE);
    }

    fn seal(&self, queue: &mut Queue, close: Close) {
        queue.line.clear();
        queue.sealed = true;
        queue.closing.get_or_insert(close);
        self.note(queue);
        self.is_closing.store(true, Ordering::Release);
    }

    /// With too much unread by all clients of a user, one that reads so little that much waits for it is closed.
    fn seal_if_beyond(&self, queue: &mut Queue) {
        if self.is_high() && !queue.sealed && self.memory.get().is_some_and(|memory| memory.is_unread()) {
            self.seal(queue, Close::SLOW);
        }
    }

    /// From now on what waits here is counted for a user too.
    pub(crate) fn count_for(&self, memory: &Arc<UserMemory>) {
        let _queue = lock(&self.queue);
        if self.memory.set(memory.clone()).is_ok() {
            memory.outgoing(0, self.bytes.load(Ordering::Relaxed));
        }
    }

    fn note(&self, queue: &Queue) {
        let bytes = queue.line.bytes();
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        if let Some(memory) = self.memory.get() {
            memory.outgoing(before, bytes);
        }
        self.frames.store(queue.line.len(), Ordering::Relaxed);
    }

    /// Whether nothing sent here arrives any more.
    pub(crate) fn is_sealed(&self) -> bool {
        lock(&self.queue).sealed
    }

    /// Whether the socket is to be closed; then what arrives on it no longer counts.
    pub fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// The next message, for the socket's task.
    pub fn take(&self) -> Option<Outgoing> {
        let taken = {
            let mut queue = lock(&self.queue);
            let taken = queue.line.take()?;
            self.note(&queue);
            taken
        };
        let (codec, streams, resume_gaps) = match self.mode.get() {
            Some(mode) => (mode.codec, mode.streams, Some(&mode.resume_gaps)),
            None => (&Current as &dyn Codec, Streams::default(), None),
        };
        Some(match taken {
            Taken::Plain(Outgoing::Binary(bytes, waiting)) => {
                waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
                Outgoing::Binary(bytes, waiting)
            }
            Taken::Plain(message) => message,
            Taken::Signal(signal, leaves_gap) => {
                if let Some(resume_gaps) = resume_gaps.filter(|_| leaves_gap) {
                    resume_gaps.note(signal.seq);
                }
                // Made here, in the task of the socket that wants it, so that a run does not wait for it.
                Outgoing::Signal(match signal.body {
                    Body::Text(signal) => signal.text(codec),
                    Body::Stream(event) => event.text(codec, streams),
                })
            }
        })
    }

    /// Whether the socket is to be closed once the queue is empty.
    pub fn closing(&self) -> Option<Close> {
        lock(&self.queue).closing
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        lock(&self.queue).line.is_empty()
    }

    /// Whether so much waits that no further requests should be read.
    pub fn is_high(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > limits::socket::OUTBOX_HIGH_BYTES
    }

    /// Whether so much waits that nobody should add to it unasked.
    pub(crate) fn is_crowded(&self) -> bool {
        let (frames, bytes) = self.waiting();
        frames > limits::socket::OUTBOX_FRAMES_MAX / 2 || bytes > limits::socket::OUTBOX_MAX_BYTES / 2
    }

    /// Frames and bytes that wait.
    pub fn waiting(&self) -> (usize, usize) {
        (self.frames.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Called by the socket's task before it rests. True when there is something to do after all: what was put
    /// in line while the task was awake woke nobody.
    pub fn rest(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        let queue = lock(&self.queue);
        !queue.line.is_empty() || queue.closing.is_some()
    }

    /// Called by the socket's task when it wakes: what it puts in line itself need not wake it again.
    pub fn awake(&self) {
        drop(self.waker.take());
    }

    /// Wakes the socket's task.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_read_is_closed_and_its_queue_dropped() {
        let outbox = Outbox::default();
        for _ in 0..limits::socket::OUTBOX_FRAMES_MAX {
            outbox.send(Outgoing::Text("x".into()));
        }
        assert_eq!(outbox.closing(), None);
        outbox.send(Outgoing::Text("x".into()));
        assert_eq!(outbox.closing(), Some(Close::SLOW));
        assert_eq!(outbox.waiting(), (0, 0));
    }

    #[test]
    fn taking_gives_room_back() {
        let outbox = Outbox::default();
        let waiting = Arc::new(AtomicUsize::new(3));
        outbox.send(Outgoing::Binary(Bytes::from_static(b"abc"), waiting.clone()));
        outbox.close(Close::REPLACED);
        outbox.send(Outgoing::Text("still in time".into()));
        assert!(matches!(outbox.take(), Some(Outgoing::Binary(..))));
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
        outbox.gone();
        outbox.send(Outgoing::Text("too late".into()));
        assert_eq!(outbox.waiting(), (0, 0));
        assert!(outbox.take().is_none() && outbox.is_closing());
    }
}
