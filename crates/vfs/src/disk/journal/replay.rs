//! What is done with a journal that was left behind, before anything is served. If the machine has run on, what
//! was written is in its memory and is only made durable; if it has not, the files are written anew.
//!
//! All of it may be done again, and nothing that is read is trusted.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{fstat, fsync};
use rustix::io::Errno;

use super::log::{Files, Phase, Segment};
use super::record::{Identity, Record, Written};
use super::segment::{self, Title};
use super::{JOURNAL, Journal, own, remove_both};
use crate::disk::Disk;
use crate::disk::dir::Dir;
use crate::disk::fail::Fail;
use crate::disk::mounts;
use crate::path::VPath;
use crate::stat::Kind;

/// One of the two files as it was found.
struct Left {
    file: Arc<File>,
    title: Title,
    records: Vec<(u64, Record)>,
}

/// What the records say of one path, after all that was forgotten.
struct Last<'a> {
    written: &'a Written,
    /// In which run of the machine.
    same_boot: bool,
    /// What was ever at this path by these records.
    known: Vec<Identity>,
}

impl Disk {
    /// Does what a journal that was left behind says. Without one this is a single look. What was promised must not be
    /// served without, nor come back over what is written later, so that nothing is served until all of it is done.
    pub(crate) fn recover(&self) -> io::Result<()> {
        let dir = match own(&self.files) {
            Ok(dir) => dir,
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => return Ok(()),
            Err(error) => {
                tracing::warn!(%error, "the journal of small writes is not ours; each file is synced by itself");
                self.journal.turn_off();
                return Ok(());
            }
        };
        self.redo_all(&dir).and_then(|left| self.journal.reuse(dir, left)).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!(
                    "files that were written just before the machine stopped can not be restored ({error}): mend that \
                     and start again, or remove {JOURNAL} there to do without them"
                ),
            )
        })
    }

    fn redo_all(&self, dir: &OwnedFd) -> io::Result<[Option<Left>; 2]> {
        let left = [read(dir, 0)?, read(dir, 1)?];
        let mut records: Vec<(u64, bool, &Record)> = Vec::new();
        for Left { title, records: found, .. } in left.iter().flatten() {
            let same_boot = Some(title.boot) == self.journal.shared.boot;
            records.extend(found.iter().map(|(number, record)| (*number, same_boot, record)));
        }
        records.sort_by_key(|(number, ..)| *number);
        for last in fold(records).into_values() {
            self.redo(&last).map_err(|Fail { code, note }| {
                let why = note.unwrap_or_else(|| code.words().to_string());
                io::Error::other(format!("{}: {why}", last.written.path))
            })?;
        }
        Ok(left)
    }

    fn redo(&self, last: &Last<'_>) -> Result<(), Fail> {
        let path = &last.written.path;
        let Some((dir, name)) = self.place_of(path)? else {
            tracing::error!(path, "a file that was written has no directory any more");
            return Ok(());
        };
        let there = self.look(&dir, OsStr::new(&name))?;
        let Some(there) = there else {
            return if last.same_boot { Ok(()) } else { self.restore(&dir, &name, last.written) };
        };
        if there.stat.kind != Kind::File || there.special {
            tracing::warn!(path, "what was written is something else by now, which is left alone");
            return Ok(());
        }
        let Ok(handle) = there.handle() else {
            tracing::warn!(path, "what was written is kept from the gateway by now, and is left alone");
            return Ok(());
        };
        let now = Identity::of(&fstat(handle)?);
        if last.same_boot {
            if now.ino == last.written.placed.ino {
                fsync(handle)?;
                fsync(&*dir.fd)?;
            }
            return Ok(());
        }
        // The size of what was placed may not have reached the disk.
        let placed = &last.written.placed;
        let is_known = |known: &Identity| known.ino == now.ino && known.modified_ns == now.modified_ns;
        if !last.known.iter().any(is_known) && now.modified_ns > placed.modified_ns {
            tracing::warn!(path, "it was changed from outside before the power was lost, and is left alone");
            return Ok(());
        }
        self.restore(&dir, &name, last.written)
    }

    /// The directory and the name of a path that a record tells, without following a link.
    fn place_of(&self, path: &str) -> Result<Option<(Dir, String)>, Fail> {
        let Ok(asked) = VPath::absolute(path) else { return Ok(None) };
        let is_plain = asked.as_str() == path
            && mounts::is_kept(path)
            && mounts::mount(path).is_none()
            && !asked.parts().any(|part| mounts::is_reserved(OsStr::new(part)));
        let Some(parent) = asked.parent().filter(|_| is_plain) else { return Ok(None) };
        let mut dir = self.top();
        for part in parent.parts() {
            let there = self.look(&dir, OsStr::new(part))?;
            let Some(there) = there.filter(|there| there.is_directory()) else { return Ok(None) };
            dir = self.enter(&dir, OsStr::new(part), there)?;
        }
        Ok(Some((dir, asked.name().to_string())))
    }
}

fn read(dir: &OwnedFd, number: usize) -> io::Result<Option<Left>> {
    let Some(file) = segment::open(dir, number)? else { return Ok(None) };
    let Some(title) = Title::read(&file)? else { return Ok(None) };
    let records = segment::read(&file, title.epoch)?;
    Ok(Some(Left { file, title, records }))
}

/// The last write of each path that counts.
fn fold(records: Vec<(u64, bool, &Record)>) -> BTreeMap<&str, Last<'_>> {
    let mut paths: BTreeMap<&str, Last> = BTreeMap::new();
    for (_, same_boot, record) in records {
        match record {
            Record::Write(written) => {
                let path = written.path.as_str();
                let mut known = paths.remove(path).map(|before| before.known).unwrap_or_default();
                known.extend(written.replaced);
                known.push(written.placed);
                paths.insert(path, Last { written, same_boot, known });
            }
            Record::Forget(top) => paths.retain(|path, _| !is_within(path, top)),
        }
    }
    paths
}

/// What the records in a journal's directory would write: contents by path.
#[cfg(test)]
pub(super) fn left_in(dir: &OwnedFd) -> BTreeMap<String, String> {
    let left = [read(dir, 0).unwrap(), read(dir, 1).unwrap()];
    let records = left.iter().flatten().flat_map(|left| &left.records);
    let mut records: Vec<_> = records.map(|(number, record)| (*number, false, record)).collect();
    records.sort_by_key(|(number, ..)| *number);
    let text = |last: Last| String::from_utf8(last.written.content.clone()).unwrap();
    fold(records).into_iter().map(|(path, last)| (path.to_string(), text(last))).collect()
}

fn is_within(path: &str, top: &str) -> bool {
    top == "/" || path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Journal {
    /// There is none for the rest of this run.
    fn turn_off(&self) {
        self.shared.locked().phase = Phase::Off;
    }

    /// Goes on with the files that were left behind, which hold nothing any more.
    fn reuse(&self, dir: OwnedFd, left: [Option<Left>; 2]) -> io::Result<()> {
        let ([Some(first), Some(second)], Some(boot)) = (left, self.shared.boot) else {
            // They are made anew when they are needed.
            return remove_both(&dir);
        };
        let epoch = first.title.epoch.max(second.title.epoch);
        let clean = |left: &Left, epoch: u64| segment::clean(&left.file, &Title { epoch, boot });
        let number = |left: &Left| left.records.last().map_or(0, |(number, _)| *number);
        // What a later part says of an earlier one must not be gone before that is.
        if number(&first) <= number(&second) {
            clean(&first, epoch + 1)?;
            clean(&second, epoch + 2)?;
        } else {
            clean(&second, epoch + 2)?;
            clean(&first, epoch + 1)?;
        }
        let segment = |left: Left, epoch| Segment::new(left.file, Title { epoch, boot });
        let segments = [segment(first, epoch + 1), segment(second, epoch + 2)];
        self.shared.locked().phase = Phase::Ready(Files { dir, segments, active: 0 });
        Ok(())
    }
}
