//! Retention of the undo log: what is too old, too many or too much goes, the oldest first, and then what nothing names.

use std::collections::HashSet;
use std::fs;
use std::io;

use base::limits::overwritten as limits;
use checkpoint::atomic;

use super::{Counts, Overwritten, Record, State};

impl Overwritten {
    /// Removes records, and then the objects that none of the others names. The caller holds the lock.
    pub(super) fn prune(&self, counts: &mut Counts, now_ms: i64) -> io::Result<()> {
        let records = self.records()?;
        let first_kept = first_kept(&records, now_ms, limits::STORE_BYTES_MAX, limits::RECORDS_MAX);
        let (gone, kept) = records.split_at(first_kept);
        if let Some(last) = records.last().filter(|_| !gone.is_empty()) {
            // Before they go, so that no number is given twice.
            atomic::write(&self.given(), counts.last.max(last.id).to_string().as_bytes())?;
        }
        for record in gone {
            atomic::remove(&self.path(record.id))?;
        }
        if !gone.is_empty() {
            atomic::sync_parent(&self.given())?;
        }
        let named: HashSet<&str> = kept.iter().flat_map(contents).map(|(sha256, _)| sha256).collect();
        let mut bytes = 0;
        for file in fs::read_dir(self.objects.dir())? {
            let file = file?;
            let name = file.file_name();
            if name.to_str().is_some_and(|name| named.contains(name)) {
                bytes += file.metadata().map_or(0, |found| found.len());
            } else {
                atomic::remove(&file.path())?;
            }
        }
        *counts = Counts { last: counts.last, since_prune: 0, bytes, records: kept.len() };
        Ok(())
    }
}

/// The first record that stays: newer ones stay with it.
fn first_kept(records: &[Record], now_ms: i64, bytes_max: u64, records_max: usize) -> usize {
    let (mut bytes, mut seen) = (0u64, HashSet::new());
    for (place, record) in records.iter().enumerate().rev() {
        for (sha256, size) in contents(record) {
            bytes += if seen.insert(sha256) { size } else { 0 };
        }
        let is_too_old = now_ms.saturating_sub(record.at_ms) > limits::KEPT_MS;
        if is_too_old || bytes > bytes_max || records.len() - place > records_max {
            return place + 1;
        }
    }
    0
}

/// The contents that a record keeps, with their sizes.
fn contents(record: &Record) -> impl Iterator<Item = (&str, u64)> {
    record.items.iter().filter_map(|item| match &item.before {
        State::File { sha256, size, .. } => Some((sha256.as_str(), *size)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Item;
    use super::*;

    fn record(id: u64, at_ms: i64, content: &str, size: u64) -> Record {
        let before = State::File { sha256: content.into(), size, mode: None, changed_ms: None };
        let items = vec![Item { path: "/x".into(), before, after: State::Absent }];
        let (pid, run, call, request) = Default::default();
        Record { id, at_ms, pid, run, call, request, items, command: None, lost: None }
    }

    #[test]
    fn the_oldest_goes_first_and_a_content_counts_once() {
        let all = [record(1, 10, "a", 40), record(2, 20, "b", 40), record(3, 30, "b", 40)];
        assert_eq!(first_kept(&all, 40, 100, 10), 0);
        assert_eq!(first_kept(&all, 40, 79, 10), 1, "too much");
        assert_eq!(first_kept(&all, 40, 100, 1), 2, "too many");
        assert_eq!(first_kept(&all, limits::KEPT_MS + 25, 100, 10), 2, "too old");
        assert_eq!(first_kept(&all, -5, 100, 10), 0, "a clock that was set back removes nothing");
        assert_eq!(first_kept(&[], 0, 0, 0), 0);
    }
}
