//! Idempotency cache of durable calls, by request id: a gateway that was stopped while one was under way asks for its
//! result again. Kept in memory, within bounds. A call whose result had to go is still told from one that never came.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::lock;

/// What is remembered.
pub(crate) struct Ledger {
    clock: Clock,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    calls: HashMap<String, Call>,
    /// Those that have ended, oldest first.
    ended: VecDeque<(String, Instant)>,
    bytes: usize,
    forgotten: HashSet<String>,
    forgotten_in_order: VecDeque<String>,
    /// Whether even ids had to go: from then on nobody can say that a call never came.
    has_gaps: bool,
}

enum Call {
    /// It is under way.
    Open,
    /// It has ended with this frame.
    Ended(String),
}

/// What is to be done with a durable request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It is new: it is carried out, and its result noted.
    New,
    /// It is under way, and will be answered.
    Open,
    /// It was answered with this frame.
    Ended(String),
    /// It was carried out, or may have been; how it ended is not known any more.
    Forgotten,
    /// It never came, and is not carried out now.
    NeverSeen,
}

impl Ledger {
    pub(crate) fn new(clock: Clock) -> Arc<Ledger> {
        Arc::new(Ledger { clock, books: Mutex::default() })
    }

    /// A durable request has come. `again` asks only for what became of it.
    pub(crate) fn enter(&self, id: &str, again: bool) -> Entry {
        let mut books = lock(&self.books);
        books.drop_old(self.clock.instant());
        match books.calls.get(id) {
            Some(Call::Open) => return Entry::Open,
            Some(Call::Ended(text)) => return Entry::Ended(text.clone()),
            None => {}
        }
        if books.forgotten.contains(id) || id.len() > limits::device::LEDGER_ID_MAX_BYTES {
            return Entry::Forgotten;
        }
        match again {
            true if books.has_gaps => Entry::Forgotten,
            true => Entry::NeverSeen,
            false => {
                books.calls.insert(id.to_string(), Call::Open);
                Entry::New
            }
        }
    }

    /// A call has ended, or is now answered otherwise.
    pub(crate) fn end(&self, id: &str, text: &str) {
        let mut books = lock(&self.books);
        let Some(call) = books.calls.get_mut(id) else { return };
        let before = std::mem::replace(call, Call::Ended(text.to_string()));
        books.bytes += text.len();
        match before {
            Call::Open => books.ended.push_back((id.to_string(), self.clock.instant())),
            Call::Ended(old) => books.bytes -= old.len(),
        }
        books.drop_old(self.clock.instant());
    }
}

impl Books {
    fn drop_old(&mut self, now: Instant) {
        while let Some((id, since)) = self.ended.front() {
            let is_old = now.saturating_duration_since(*since) >= limits::device::LEDGER_KEPT;
            let is_much = self.ended.len() > limits::device::LEDGER_CALLS_MAX
                || self.bytes > limits::device::LEDGER_MAX_BYTES;
            if !is_old && !is_much {
                return;
            }
            let id = id.clone();
            self.ended.pop_front();
            if let Some(Call::Ended(text)) = self.calls.remove(&id) {
                self.bytes -= text.len();
            }
            self.forget(id);
        }
    }

    fn forget(&mut self, id: String) {
        self.forgotten.insert(id.clone());
        self.forgotten_in_order.push_back(id);
        if self.forgotten_in_order.len() > limits::device::LEDGER_FORGOTTEN_MAX
            && let Some(oldest) = self.forgotten_in_order.pop_front()
        {
            self.forgotten.remove(&oldest);
            self.has_gaps = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_carried_out_once() {
        let ledger = Ledger::new(Clock::manual(0));
        assert_eq!(ledger.enter("a", true), Entry::NeverSeen);
        assert_eq!(ledger.enter("a", false), Entry::New);
        assert_eq!(ledger.enter("a", false), Entry::Open);
        assert_eq!(ledger.enter("a", true), Entry::Open);
        ledger.end("a", "done");
        assert_eq!(ledger.enter("a", true), Entry::Ended("done".into()));
        assert_eq!(ledger.enter("a", false), Entry::Ended("done".into()));
        ledger.end("a", "otherwise");
        assert_eq!(ledger.enter("a", true), Entry::Ended("otherwise".into()));
        ledger.end("b", "never begun");
        assert_eq!(ledger.enter("b", true), Entry::NeverSeen);
        assert_eq!(lock(&ledger.books).bytes, "otherwise".len());
        let long = "x".repeat(limits::device::LEDGER_ID_MAX_BYTES + 1);
        assert_eq!(ledger.enter(&long, false), Entry::Forgotten);
    }

    #[test]
    fn results_go_by_number_and_ids_are_remembered_longer() {
        let ledger = Ledger::new(Clock::manual(0));
        let count = limits::device::LEDGER_CALLS_MAX + 2;
        for number in 0..count {
            assert_eq!(ledger.enter(&number.to_string(), false), Entry::New);
            ledger.end(&number.to_string(), "x");
        }
        assert_eq!(ledger.enter("0", true), Entry::Forgotten);
        assert_eq!(ledger.enter("1", false), Entry::Forgotten);
        assert_eq!(ledger.enter("2", true), Entry::Ended("x".into()));
        assert_eq!(ledger.enter("new", true), Entry::NeverSeen);
        assert_eq!(lock(&ledger.books).bytes, limits::device::LEDGER_CALLS_MAX);
    }

    #[test]
    fn results_go_by_size() {
        let ledger = Ledger::new(Clock::manual(0));
        let half = "x".repeat(limits::device::LEDGER_MAX_BYTES / 2 + 1);
        for id in ["a", "b"] {
            ledger.enter(id, false);
            ledger.end(id, &half);
        }
        assert_eq!(ledger.enter("a", true), Entry::Forgotten);
        assert_eq!(ledger.enter("b", true), Entry::Ended(half));
    }

    #[test]
    fn results_go_by_age_and_what_is_under_way_stays() {
        let clock = Clock::manual(0);
        let ledger = Ledger::new(clock.clone());
        let kept_ms = limits::device::LEDGER_KEPT.as_millis() as i64;
        ledger.enter("open", false);
        ledger.enter("ended", false);
        ledger.end("ended", "x");
        clock.advance(kept_ms - 1_000);
        assert_eq!(ledger.enter("ended", true), Entry::Ended("x".into()));
        clock.advance(1_000);
        assert_eq!(ledger.enter("ended", true), Entry::Forgotten);
        assert_eq!(ledger.enter("open", true), Entry::Open);
    }

    #[test]
    fn without_all_ids_nothing_is_said_never_to_have_come() {
        let ledger = Ledger::new(Clock::manual(0));
        for number in 0..=limits::device::LEDGER_FORGOTTEN_MAX {
            lock(&ledger.books).forget(number.to_string());
        }
        assert_eq!(ledger.enter("0", true), Entry::Forgotten);
        assert_eq!(ledger.enter("new", true), Entry::Forgotten);
        assert_eq!(ledger.enter("new", false), Entry::New);
    }
}
