//! Crash recovery: what the records of a journal that was left behind say, folded to the last write of each path that
//! counts, and what is to be done about it. If the machine has run on, what was written is in its memory and is only
//! made durable; if it has not, the files are written anew.
//!
//! All of it may be done again, and nothing that is read is trusted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::journal::{JOURNAL, Journal, lock_directory, remove_both};
use crate::log::{Files, Phase, Segment};
use crate::record::{Identity, Record, Written};
use crate::segment::{self, SegmentHeader};

/// One of the two files as it was found.
struct FoundSegment {
    file: Arc<File>,
    header: SegmentHeader,
    records: Vec<(u64, Record)>,
}

/// What the records say of one path, after all that was forgotten.
pub struct Redo<'a> {
    /// The last write of the path.
    pub written: &'a Written,
    /// Whether it was written in this run of the machine.
    same_boot: bool,
    /// What was ever at this path by these records.
    known: Vec<Identity>,
}

/// What is to be done about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Leave,
    /// It is in the machine's memory: file and directory are synced.
    Sync,
    /// The file is written anew as its record says.
    Restore,
    /// Somebody on the machine has changed it later: it is left alone, which is worth a word.
    KeepNewer,
}

impl Redo<'_> {
    /// What is to be done, from what is at the path now.
    pub fn step(&self, now: Option<Identity>) -> Step {
        let placed = &self.written.placed;
        match now {
            None if self.same_boot => Step::Leave,
            None => Step::Restore,
            Some(now) if self.same_boot => {
                if now.ino == placed.ino {
                    Step::Sync
                } else {
                    Step::Leave
                }
            }
            Some(now) => {
                // The size of what was placed may not have reached the disk.
                let is_known =
                    |known: &Identity| known.ino == now.ino && known.modified_ns == now.modified_ns;
                let is_newer = now.modified_ns > placed.modified_ns;
                if is_newer && !self.known.iter().any(is_known) { Step::KeepNewer } else { Step::Restore }
            }
        }
    }
}

impl Journal {
    /// Lets `redo` do what a journal that was left behind says, path by path. Without one this is a single look. What was
    /// promised must not be served without, nor come back over what is written later, so that nothing is served until all
    /// of it is done.
    pub fn recover(&self, files: &OwnedFd, redo: impl FnMut(&Redo<'_>) -> io::Result<()>) -> io::Result<()> {
        let dir = match lock_directory(files) {
            Ok(dir) => dir,
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => return Ok(()),
            Err(error) => {
                tracing::warn!(%error, "the journal of small writes is not ours; each file is synced by itself");
                self.turn_off();
                return Ok(());
            }
        };
        self.redo_all(&dir, redo).and_then(|left| self.reuse(dir, left)).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!(
                    "files that were written just before the machine stopped cannot be restored ({error}): repair that \
                     and start again, or remove {JOURNAL} there to do without them"
                ),
            )
        })
    }

    fn redo_all(
        &self,
        dir: &OwnedFd,
        mut redo: impl FnMut(&Redo<'_>) -> io::Result<()>,
    ) -> io::Result<[Option<FoundSegment>; 2]> {
        let left = [read(dir, 0)?, read(dir, 1)?];
        let mut records: Vec<(u64, bool, &Record)> = Vec::new();
        for FoundSegment { header, records: found, .. } in left.iter().flatten() {
            let same_boot = Some(header.boot) == self.shared.boot;
            records.extend(found.iter().map(|(number, record)| (*number, same_boot, record)));
        }
        records.sort_by_key(|(number, ..)| *number);
        fold(records).into_values().try_for_each(|last| redo(&last))?;
        Ok(left)
    }

    /// There is none for the rest of this run.
    fn turn_off(&self) {
        self.shared.locked().phase = Phase::Off;
    }

    /// Goes on with the files that were left behind, which hold nothing any more.
    fn reuse(&self, dir: OwnedFd, left: [Option<FoundSegment>; 2]) -> io::Result<()> {
        let ([Some(first), Some(second)], Some(boot)) = (left, self.shared.boot) else {
            // They are made anew when they are needed.
            return remove_both(&dir);
        };
        let epoch = first.header.epoch.max(second.header.epoch);
        let clean =
            |left: &FoundSegment, epoch: u64| segment::clean(&left.file, &SegmentHeader { epoch, boot });
        let number = |left: &FoundSegment| left.records.last().map_or(0, |(number, _)| *number);
        // What a later part says of an earlier one must not be gone before that is.
        if number(&first) <= number(&second) {
            clean(&first, epoch + 1)?;
            clean(&second, epoch + 2)?;
        } else {
            clean(&second, epoch + 2)?;
            clean(&first, epoch + 1)?;
        }
        let segment = |left: FoundSegment, epoch| Segment::new(left.file, SegmentHeader { epoch, boot });
        let segments = [segment(first, epoch + 1), segment(second, epoch + 2)];
        self.shared.locked().phase = Phase::Ready(Files { dir, segments, active: 0 });
        Ok(())
    }
}

fn read(dir: &OwnedFd, number: usize) -> io::Result<Option<FoundSegment>> {
    let Some(file) = segment::open(dir, number)? else { return Ok(None) };
    let Some(header) = SegmentHeader::read(&file)? else { return Ok(None) };
    let records = segment::read(&file, header.epoch)?;
    Ok(Some(FoundSegment { file, header, records }))
}

/// The last write of each path that counts.
fn fold(records: Vec<(u64, bool, &Record)>) -> BTreeMap<&str, Redo<'_>> {
    let mut paths: BTreeMap<&str, Redo> = BTreeMap::new();
    for (_, same_boot, record) in records {
        match record {
            Record::Write(written) => {
                let path = written.path.as_str();
                let mut known = paths.remove(path).map(|before| before.known).unwrap_or_default();
                known.extend(written.replaced);
                known.push(written.placed);
                paths.insert(path, Redo { written, same_boot, known });
            }
            Record::Tombstone(top) => paths.retain(|path, _| !is_within(path, top)),
        }
    }
    paths
}

/// What the records in a journal's directory would write: contents by path.
#[cfg(any(test, feature = "inspect"))]
pub(crate) fn contents(dir: &OwnedFd) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let left = [read(dir, 0)?, read(dir, 1)?];
    let records = left.iter().flatten().flat_map(|left| &left.records);
    let mut records: Vec<_> = records.map(|(number, record)| (*number, false, record)).collect();
    records.sort_by_key(|(number, ..)| *number);
    let last = fold(records).into_iter();
    Ok(last.map(|(path, last)| (path.to_string(), last.written.content.clone())).collect())
}

/// Whether a path is another one or below it; both are absolute and plain.
pub(crate) fn is_within(path: &str, top: &str) -> bool {
    top == "/" || path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
