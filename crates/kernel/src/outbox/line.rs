//! Coalescing queue of messages for one socket. Deltas of a model's answer are merged into those that wait already, so
//! that the line of a slow reader does not grow with every word.

use std::collections::VecDeque;
use std::sync::Arc;

use base::limits;
use protocol::ids::RunId;

use super::Outgoing;
use super::texts::{TEXT_BYTES_MAX, Texts};
use crate::stream_signal::StreamSignal;
use crate::text_signal::TextSignal;

/// A signal to a user's connection.
#[derive(Clone, Debug)]
pub(crate) struct QueuedSignal {
    /// Its place in the user's sequence.
    pub(crate) seq: u64,
    /// The run it belongs to.
    pub(crate) run: Option<RunId>,
    pub(crate) body: Body,
}

/// What a signal says. Its frame is written when the socket takes it.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A finished payload.
    Text(Arc<TextSignal>),
    /// An event of a model's answer.
    Stream(Arc<StreamSignal>),
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is in line.
    Waits,
    /// It became part of one that waits.
    Merged,
    /// Nobody will read it.
    Lost,
}

#[derive(Debug)]
enum Waiting {
    Plain(Outgoing),
    Texts(Texts),
    Signal {
        /// The place of the oldest signal in it.
        first: u64,
        signal: QueuedSignal,
        /// Whether it took in one that came behind signals of other runs.
        crossed: bool,
    },
}

impl Waiting {
    fn size(&self) -> usize {
        match self {
            Waiting::Plain(message) => message.size(),
            Waiting::Texts(texts) => texts.bytes(),
            Waiting::Signal { signal, .. } => signal.size(),
        }
    }

    fn frames(&self) -> usize {
        match self {
            Waiting::Plain(_) | Waiting::Signal { .. } => 1,
            Waiting::Texts(texts) => texts.len(),
        }
    }
}

/// What leaves the line.
#[derive(Debug)]
pub(super) enum Taken {
    Plain(Outgoing),
    /// And whether something older still waits, so that nobody can go on from this signal's place.
    Signal(QueuedSignal, bool),
}

/// Queued messages, oldest first, with their size.
#[derive(Default)]
pub(super) struct Line {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    frames: usize,
    /// How many of those that wait have crossed others.
    crossed: usize,
    /// Frames that may wait beyond the usual number: those of a replay.
    extra: usize,
    /// Memory for the next texts, while the connection is busy.
    spare: Option<Texts>,
    /// Whether it was needed lately.
    needed: bool,
}

impl Line {
    /// Frames that wait.
    pub(super) fn len(&self) -> usize {
        self.frames
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes that wait; of events what is new, not their whole text.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn clear(&mut self) {
        *self = Line::default();
    }

    /// False when there is no room.
    pub(super) fn push(&mut self, message: Outgoing) -> bool {
        match message {
            Outgoing::Text(text) if text.len() <= TEXT_BYTES_MAX => self.write(|out| out.push_str(&text)),
            message => self.append(Waiting::Plain(message)),
        }
    }

    /// Puts a small text in line that `write` writes. False when there is no room.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut String)) -> bool {
        if self.is_full() {
            return false;
        }
        let gathering = match self.waiting.back_mut() {
            Some(Waiting::Texts(texts)) if texts.has_room() => texts,
            _ => {
                self.needed = true;
                self.waiting.push_back(Waiting::Texts(self.spare.take().unwrap_or_default()));
                let Some(Waiting::Texts(texts)) = self.waiting.back_mut() else { return false };
                texts
            }
        };
        self.bytes += gathering.add(write);
        self.frames += 1;
        self.bytes <= limits::socket::OUTBOX_MAX_BYTES
    }

    fn is_full(&self) -> bool {
        self.frames >= limits::socket::OUTBOX_FRAMES_MAX + self.extra
    }

    /// Takes memory back for the next texts.
    pub(super) fn give_back(&mut self, texts: Texts) {
        if self.spare.is_none() {
            self.spare = texts.emptied();
        }
    }

    /// Lets go of memory that nobody needed since this was called last.
    pub(super) fn trim(&mut self) {
        if !std::mem::take(&mut self.needed) {
            self.spare = None;
        }
    }

    /// The next frame, whatever it waits in.
    #[cfg(test)]
    pub(super) fn take_text(&mut self) -> Option<String> {
        let Some(Waiting::Texts(texts)) = self.waiting.front_mut() else { return None };
        let text = texts.take_first()?;
        let is_last = texts.len() == 0;
        self.bytes -= text.len();
        self.frames -= 1;
        if is_last {
            self.waiting.pop_front();
        }
        Some(text)
    }

    /// Puts a signal in line. One of a replay has room in any case; the ring it comes from is bounded.
    pub(super) fn push_signal(&mut self, signal: QueuedSignal, first: u64, replayed: bool) -> Put {
        if let Body::Stream(event) = &signal.body
            && let Some(place) = self.place_to_merge(event)
        {
            self.merge(place, &signal);
            return Put::Merged;
        }
        if replayed {
            self.extra += 1;
        }
        // The shared event may hold its whole text, made for others who were quicker; this one has to wait.
        let signal = if self.waiting.is_empty() { signal } else { signal.alone() };
        match self.append(Waiting::Signal { first, signal, crossed: false }) {
            true => Put::Waits,
            false => Put::Lost,
        }
    }

    fn append(&mut self, waiting: Waiting) -> bool {
        let bytes = self.bytes + waiting.size();
        if self.is_full() || bytes > limits::socket::OUTBOX_MAX_BYTES {
            return false;
        }
        self.bytes = bytes;
        self.frames += 1;
        self.waiting.push_back(waiting);
        true
    }

    /// The place of an event that `next` goes on. Only when many wait are signals of other runs passed over: then
    /// some places in the sequence can no longer be resumed from.
    fn place_to_merge(&self, next: &StreamSignal) -> Option<usize> {
        let many = self.waiting.len() > limits::signal::WAITING_MANY;
        let look_back = if many { limits::signal::LOOK_BACK_MAX } else { 1 };
        for (place, waiting) in self.waiting.iter().enumerate().rev().take(look_back) {
            // Nothing may be overtaken but a signal of another run.
            let Waiting::Signal { signal, .. } = waiting else { return None };
            if signal.run.as_ref()? != next.run_id() {
                continue;
            }
            let Body::Stream(event) = &signal.body else { return None };
            return event.is_continued_by(next).then_some(place);
        }
        None
    }

    /// Merges a signal into the one at `place`, which moves to the end: the line stays in the order of places.
    fn merge(&mut self, place: usize, next: &QueuedSignal) {
        let at_end = place + 1 == self.waiting.len();
        let Some(Waiting::Signal { first, mut signal, crossed }) = self.waiting.remove(place) else { return };
        self.bytes -= signal.size();
        self.crossed -= usize::from(crossed);
        let crossed = crossed || !at_end;
        if let (Body::Stream(event), Body::Stream(more)) = (&mut signal.body, &next.body) {
            StreamSignal::absorb(event, more);
        }
        signal.seq = next.seq;
        self.bytes += signal.size();
        self.crossed += usize::from(crossed);
        self.waiting.push_back(Waiting::Signal { first, signal, crossed });
    }

    pub(super) fn take(&mut self) -> Option<Taken> {
        let taken = self.waiting.pop_front()?;
        self.bytes -= taken.size();
        self.frames -= taken.frames();
        self.extra = self.extra.saturating_sub(1);
        if self.waiting.is_empty() && self.waiting.capacity() > 64 {
            self.waiting = VecDeque::new();
        }
        Some(match taken {
            Waiting::Plain(message) => Taken::Plain(message),
            Waiting::Texts(texts) => Taken::Plain(Outgoing::Texts(texts)),
            Waiting::Signal { signal, crossed, .. } => {
                self.crossed -= usize::from(crossed);
                let older =
                    |one: &Waiting| matches!(one, Waiting::Signal { first, .. } if *first < signal.seq);
                let leaves_gap = self.crossed > 0 && self.waiting.iter().any(older);
                Taken::Signal(signal, leaves_gap)
            }
        })
    }
}

impl QueuedSignal {
    fn size(&self) -> usize {
        match &self.body {
            Body::Text(signal) => signal.said.size(),
            Body::Stream(event) => event.size(),
        }
    }

    /// The same, sharing nothing that may grow large.
    fn alone(self) -> QueuedSignal {
        match self.body {
            Body::Text(_) => self,
            Body::Stream(event) => QueuedSignal { body: Body::Stream(Arc::new(event.fork())), ..self },
        }
    }
}
