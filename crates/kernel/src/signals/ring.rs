//! Replay ring buffer: the newest signals of one user, for connections that come back. Deltas of one answer that
//! follow each other are kept as one text with the places where each of them ended, so that a client can go on from
//! any of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::limits;
use protocol::ids::RunId;

use crate::stream_signal::StreamSignal;
use crate::text_signal::SignalText;

/// What one signal costs in memory besides its text.
const OVERHEAD_BYTES: usize = 128;

/// One signal, or several deltas in one.
pub(super) struct RingEntry {
    /// Its place; of several the last.
    pub(super) seq: u64,
    /// The run it belongs to.
    pub(super) run: Option<RunId>,
    pub(super) body: EntryBody,
}

pub(super) enum EntryBody {
    /// A finished payload.
    Text(SignalText),
    /// The event, and for each delta in it its place and where its text ends.
    Stream(Arc<StreamSignal>, Vec<(u64, usize)>),
}

impl RingEntry {
    fn size(&self) -> usize {
        match &self.body {
            EntryBody::Text(said) => OVERHEAD_BYTES + said.size(),
            EntryBody::Stream(event, ends) => event.size() + size_of_val(ends.as_slice()),
        }
    }

    /// How many signals it stands for.
    fn count(&self) -> usize {
        match &self.body {
            EntryBody::Text(_) => 1,
            EntryBody::Stream(_, ends) => ends.len(),
        }
    }

    /// Of what came after `seq`, the place of the oldest, and how much of the text is older.
    pub(super) fn after(&self, seq: u64) -> (u64, usize) {
        let EntryBody::Stream(_, ends) = &self.body else { return (self.seq, 0) };
        let known = ends.partition_point(|(place, _)| *place <= seq);
        let first = ends.get(known).map_or(self.seq, |(place, _)| *place);
        (first, known.checked_sub(1).map_or(0, |last| ends[last].1))
    }
}

/// How many bytes all rings keep together.
#[derive(Clone, Debug, Default)]
pub(super) struct Total(Arc<AtomicUsize>);

impl Total {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Newest signals of one user, bounded in number and bytes.
pub(super) struct Ring {
    kept: VecDeque<RingEntry>,
    signals: usize,
    bytes: usize,
    total: Total,
    /// Everything after this place is kept.
    floor: u64,
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

impl Ring {
    pub(super) fn new(floor: u64, total: Total) -> Ring {
        Ring { kept: VecDeque::new(), signals: 0, bytes: 0, total, floor }
    }

    /// Keeps a signal whose payload is finished.
    pub(super) fn push_text(&mut self, seq: u64, run: Option<RunId>, said: SignalText) {
        self.push(RingEntry { seq, run, body: EntryBody::Text(said) });
    }

    /// Keeps an event.
    pub(super) fn push_stream(&mut self, seq: u64, event: &StreamSignal) {
        if let Some(last) = self.kept.back_mut()
            && let EntryBody::Stream(before, ends) = &mut last.body
            && before.is_continued_by(event)
            && before.size() < limits::signal::PIECE_BYTES
        {
            StreamSignal::keep_more(before, event);
            ends.push((seq, before.delta().map_or(0, str::len)));
            last.seq = seq;
            self.signals += 1;
            self.grow(event.delta().map_or(0, str::len) + size_of::<(u64, usize)>());
            return self.forget_oldest();
        }
        let ends = vec![(seq, event.delta().map_or(0, str::len))];
        let body = EntryBody::Stream(Arc::new(event.to_keep()), ends);
        self.push(RingEntry { seq, run: Some(event.run_id().clone()), body });
    }

    fn push(&mut self, kept: RingEntry) {
        self.signals += kept.count();
        self.grow(kept.size());
        self.kept.push_back(kept);
        self.forget_oldest();
    }

    fn forget_oldest(&mut self) {
        while self.signals > limits::signal::KEPT || self.bytes > limits::signal::KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.signals -= oldest.count();
            self.shrink(oldest.size());
            self.floor = oldest.seq;
        }
    }

    /// Everything that came after `seq`, oldest first; `None` when some of it is forgotten.
    pub(super) fn after(&self, seq: u64) -> Option<impl Iterator<Item = &RingEntry>> {
        if seq < self.floor {
            return None;
        }
        let start = self.kept.partition_point(|kept| kept.seq <= seq);
        Some(self.kept.iter().skip(start))
    }

    /// Forgets everything up to and with the newest.
    pub(super) fn clear(&mut self, newest: u64) {
        *self = Ring::new(newest, self.total.clone());
    }

    fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.total.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn shrink(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.total.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}
