//! Bounded collector of matches: the first ones in the order of paths, however many threads bring them in whatever
//! order.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::sync::{Mutex, PoisonError};

use base::sync::lock;
use protocol::fs::Match;

/// The matches to be kept.
pub(super) struct FirstMatches {
    max: usize,
    kept: Mutex<ByPath>,
    /// Whether paths behind the last one kept need not be looked at any more; readable without the lock.
    is_full: AtomicBool,
    is_cut_short: AtomicBool,
}

#[derive(Default)]
struct ByPath {
    by_path: BTreeMap<InOrder, Vec<Match>>,
    count: usize,
}

impl FirstMatches {
    /// Keeps the first `max` matches.
    pub(super) fn new(max: usize) -> FirstMatches {
        FirstMatches { max, kept: Mutex::default(), is_full: false.into(), is_cut_short: false.into() }
    }

    /// How many matches of one file are worth finding: one more than are kept, to know whether there are more.
    pub(super) fn room(&self) -> usize {
        self.max + 1
    }

    /// Whether a file, or what is below a directory, may still be among the first.
    pub(super) fn wants(&self, path: &str) -> bool {
        if !self.is_full.load(Memory::Relaxed) {
            return true;
        }
        let kept = lock(&self.kept);
        kept.by_path.last_key_value().is_none_or(|(last, _)| in_order(path, &last.0).is_lt())
    }

    /// Adds what was found in one file.
    pub(super) fn add(&self, matches: Vec<Match>) {
        let Some(first) = matches.first() else { return };
        let mut guard = lock(&self.kept);
        let kept = &mut *guard;
        kept.count += matches.len();
        kept.by_path.insert(InOrder(first.path.clone()), matches);
        while let Some(last) = kept.by_path.last_entry() {
            let size = last.get().len();
            if kept.count - size < self.room() {
                break;
            }
            last.remove();
            kept.count -= size;
        }
        if kept.count >= self.room() {
            self.is_full.store(true, Memory::Relaxed);
        }
    }

    /// The search ends before everything was looked at.
    pub(super) fn cut_short(&self) {
        self.is_cut_short.store(true, Memory::Relaxed);
    }

    /// The first matches, and whether there may be more.
    pub(super) fn finish(self) -> (Vec<Match>, bool) {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut matches: Vec<Match> = kept.by_path.into_values().flatten().collect();
        let is_truncated = self.is_cut_short.into_inner() || matches.len() > self.max;
        matches.truncate(self.max);
        (matches, is_truncated)
    }
}

/// A path that is ordered name by name, so that what is below a directory stays together.
#[derive(PartialEq, Eq)]
struct InOrder(String);

impl PartialOrd for InOrder {
    fn partial_cmp(&self, other: &InOrder) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InOrder {
    fn cmp(&self, other: &InOrder) -> Ordering {
        in_order(&self.0, &other.0)
    }
}

fn in_order(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_file(path: &str, count: u64) -> Vec<Match> {
        (1..=count).map(|line| Match { path: path.into(), line, content: String::new() }).collect()
    }

    #[test]
    fn the_first_matches_win_in_whatever_order_they_come() {
        let files = [("/a/x", 2), ("/a.txt", 2), ("/a/b/c", 1), ("/z", 3)];
        for turn in 0..files.len() {
            let first = FirstMatches::new(4);
            for at in 0..files.len() {
                let (path, count) = files[(at + turn) % files.len()];
                if first.wants(path) {
                    first.add(in_file(path, count));
                }
            }
            let (matches, is_truncated) = first.finish();
            let shown: Vec<_> = matches.iter().map(|found| (found.path.as_str(), found.line)).collect();
            assert_eq!(shown, [("/a/b/c", 1), ("/a/x", 1), ("/a/x", 2), ("/a.txt", 1)]);
            assert!(is_truncated);
        }
        let first = FirstMatches::new(4);
        first.add(in_file("/x", 4));
        assert!(first.wants("/y"), "there is nothing to leave out yet");
        assert!(!first.finish().1);
    }
}
