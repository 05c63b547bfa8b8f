//! Facade of the write-ahead log: what writers and other changes of the tree ask of it.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fsync, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use crate::gate::{ClosedGate, Gate, GateEntry};
use crate::log::{CommitError, Files, LogState, Pending, Phase, RecordGuard, Segment};
use crate::record::{Record, Written};
use crate::segment::{self, BootId, SegmentHeader};
use crate::{checkpoint, recovery};

/// Device and inode of a directory: a file is told by it and a name, not by a path, since directories move.
pub type DirectoryId = (u64, u64);

/// How directories are opened.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Its directory, beside those of the tree.
pub const JOURNAL: &str = ".journal";

/// The journal of a tree.
pub struct Journal {
    pub(crate) shared: Arc<Shared>,
    gate: Gate,
}

pub(crate) struct Shared {
    files: Weak<OwnedFd>,
    /// Directories of the tree, from `files`, that must be durable before the first record.
    fixed_directories: &'static [&'static str],
    /// This run of the machine; without it there can be no journal.
    pub(crate) boot: Option<BootId>,
    state: Mutex<LogState>,
    /// Records have become durable.
    pub(crate) written: Condvar,
    /// There may be something to make durable, or somebody is done with a record.
    pub(crate) changed: Condvar,
    pub(crate) checkpointing: Mutex<()>,
    /// How many files wait to become durable by themselves.
    waiting: AtomicUsize,
    pub(crate) opened: Instant,
}

impl Shared {
    pub(crate) fn locked(&self) -> MutexGuard<'_, LogState> {
        lock(&self.state)
    }

    pub(crate) fn count(&self, state: &LogState) {
        self.waiting.store(state.pending.len(), Ordering::SeqCst);
    }
}

/// Why the journal could not do what was asked.
#[derive(Debug)]
pub enum Error {
    /// The disk did not answer within `limits::files::JOURNAL_WAIT`.
    Late,
    /// The disk refused.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Late => to.write_str("the disk is too slow, try again later"),
            Error::Io(error) => error.fmt(to),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

/// A journaled write that may go on: no directory is moved meanwhile.
pub struct WritePermit<'a> {
    journal: &'a Journal,
    _inside: GateEntry<'a>,
}

impl Journal {
    /// The journal of the tree in `files`, which is made when it is first needed. `ways` are the directories below
    /// `files` that no change of the tree ever makes durable.
    pub fn new(
        files: &Arc<OwnedFd>,
        fixed_directories: &'static [&'static str],
        boot: Option<BootId>,
    ) -> Journal {
        let phase = if boot.is_some() { Phase::Untried } else { Phase::Off };
        let shared = Shared {
            files: Arc::downgrade(files),
            fixed_directories,
            boot,
            state: Mutex::new(LogState::new(phase)),
            written: Condvar::new(),
            changed: Condvar::new(),
            checkpointing: Mutex::default(),
            waiting: AtomicUsize::new(0),
            opened: Clock::system().instant(),
        };
        Journal { shared: Arc::new(shared), gate: Gate::default() }
    }

    /// Whether so many bytes may be written by way of it.
    pub fn accepts(&self, bytes: usize) -> bool {
        bytes <= limits::files::JOURNAL_CONTENT_MAX_BYTES && !matches!(self.shared.locked().phase, Phase::Off)
    }

    /// Begins a journaled write, if there is a journal and no directory is being moved.
    pub fn begin_write(&self) -> Option<WritePermit<'_>> {
        self.shared.make_if_untried();
        let is_ready = matches!(self.shared.locked().phase, Phase::Ready(_));
        let inside = if is_ready { self.gate.enter()? } else { return None };
        Some(WritePermit { journal: self, _inside: inside })
    }

    /// Keeps journaled writes out while a directory is moved or removed.
    pub fn close_gate(&self) -> Result<ClosedGate<'_>, Error> {
        self.gate.close()
    }

    /// To be called before a file is changed in any other way, with its lock held: if only a record makes it
    /// durable, it is made so by itself, and the record counts no longer.
    pub fn retire(&self, dir: DirectoryId, name: &OsStr) -> Result<(), Error> {
        if self.is_idle() {
            return Ok(());
        }
        let key = (dir, name.to_os_string());
        let pending = self.shared.locked().pending.get(&key).cloned();
        match pending {
            Some(pending) => {
                let path = pending.path.to_string();
                self.forget(vec![pending], path)
            }
            None => Ok(()),
        }
    }

    /// To be called after a file was removed, with its lock held: where its record would bring it back, that it is
    /// gone is made durable, and the record counts no longer.
    pub fn removed(&self, dir: DirectoryId, name: &OsStr) -> Result<(), Error> {
        self.note_removal(dir, name);
        self.retire(dir, name)
    }

    /// The same for one of many, which are let go of together with their directory.
    pub fn note_removal(&self, dir: DirectoryId, name: &OsStr) {
        if self.is_idle() {
            return;
        }
        let mut state = self.shared.locked();
        let file = state.pending.get_mut(&(dir, name.to_os_string())).and_then(|gone| gone.file.take());
        drop(state);
        drop(file);
    }

    /// The same as [`Journal::retire`] for everything at a path and below it; for everything there is if the path may be an old one.
    /// The gate must be closed.
    pub fn retire_below(&self, path: &str, is_sure: bool) -> Result<(), Error> {
        if self.is_idle() {
            return Ok(());
        }
        let top = if is_sure { path } else { "/" };
        let is_below = |pending: &&Pending| recovery::is_within(&pending.path, top);
        let pending: Vec<Pending> = self.shared.locked().pending.values().filter(is_below).cloned().collect();
        if pending.is_empty() { Ok(()) } else { self.forget(pending, top.to_string()) }
    }

    /// True when nothing is durable by records only.
    pub fn is_idle(&self) -> bool {
        self.shared.waiting.load(Ordering::SeqCst) == 0
    }

    /// Makes files durable by themselves, and says so in the journal.
    fn forget(&self, pending: Vec<Pending>, path: String) -> Result<(), Error> {
        checkpoint::sync_all(pending.iter())?;
        self.note(Record::Tombstone(path))?;
        let mut state = self.shared.locked();
        state.pending.retain(|_, left| !pending.iter().any(|gone| gone.number == left.number));
        self.shared.count(&state);
        Ok(())
    }

    /// Adds a note and waits until it is durable. A journal that has failed needs none.
    fn note(&self, record: Record) -> Result<(), Error> {
        for _ in 0..limits::files::RACES_MAX {
            if let Some(guard) = self.add(&record) {
                return match guard.commit() {
                    Ok(()) | Err(CommitError::Broken) => Ok(()),
                    Err(CommitError::Late) => Err(Error::Late),
                };
            }
            if !matches!(self.shared.locked().phase, Phase::Ready(_)) {
                return Ok(());
            }
            self.shared.checkpoint();
        }
        Err(Error::Late)
    }

    pub(crate) fn add(&self, record: &Record) -> Option<RecordGuard<'_>> {
        let guard = self.shared.add(record)?;
        self.shared.ensure_checkpointer();
        Some(guard)
    }

    /// A write whose record is durable has failed all the same: the record must not count.
    pub fn withdraw(&self, guard: RecordGuard, dir: DirectoryId, name: &OsStr, path: &str) {
        // The part of the journal it is in must not wait for it.
        drop(guard);
        // What was written there before may be durable by its record only.
        let key = (dir, name.to_os_string());
        let before = self.shared.locked().pending.get(&key).cloned();
        let forgotten = self.forget(before.into_iter().collect(), path.to_string());
        if let Err(error) = forgotten {
            tracing::error!(path, %error, "a write that failed may be done after a power cut");
        }
    }

    /// Makes everything durable by itself and closes the journal.
    fn close(&self) {
        {
            let mut state = self.shared.locked();
            state.closing = true;
            self.shared.changed.notify_all();
        }
        // Both parts may hold something.
        while self.shared.checkpoint() {}
        self.shared.locked().phase = Phase::Off;
    }

    /// Closes the journal as if the program was killed: for tests.
    pub fn abandon(&self) {
        let _alone = lock(&self.shared.checkpointing);
        let mut state = self.shared.locked();
        (state.closing, state.phase) = (true, Phase::Off);
        state.pending.clear();
        self.shared.count(&state);
        self.shared.changed.notify_all();
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

impl<'a> WritePermit<'a> {
    /// Adds the record of a write; nothing when another way must be taken.
    pub fn add(&self, written: Written) -> Option<RecordGuard<'a>> {
        self.journal.add(&Record::Write(written))
    }
}

impl Shared {
    fn make_if_untried(&self) {
        let mut state = self.locked();
        if !matches!(state.phase, Phase::Untried) {
            return;
        }
        state.phase = Phase::Making;
        drop(state);
        let phase = match self.make() {
            Ok(files) => Phase::Ready(files),
            Err(error) => {
                tracing::warn!(%error, "there is no journal of small writes; each file is synced by itself");
                Phase::Off
            }
        };
        self.locked().phase = phase;
    }

    fn make(&self) -> io::Result<Files> {
        let files = self.files.upgrade().ok_or(Errno::NOENT)?;
        match mkdirat(&*files, JOURNAL, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let dir = lock_directory(&files)?;
        let made = self.make_in(&files, &dir);
        if made.is_err()
            && let Err(error) = remove_both(&dir)
        {
            tracing::debug!(%error, "half a journal could not be removed");
        }
        let segments = made?;
        Ok(Files { dir, segments, active: 0 })
    }

    /// Both files, and everything on the way to them and to the tree, durably.
    fn make_in(&self, files: &OwnedFd, dir: &OwnedFd) -> io::Result<[Segment; 2]> {
        let boot = self.boot.ok_or(Errno::NOSYS)?;
        let make = |number: usize| -> io::Result<Segment> {
            let header = SegmentHeader { epoch: 1 + number as u64, boot };
            Ok(Segment::new(segment::make(dir, number, &header)?, header))
        };
        let segments = [make(0)?, make(1)?];
        fsync(dir)?;
        for directory in [".", ".."].iter().chain(self.fixed_directories) {
            fsync(openat(files, *directory, DIRECTORY, Mode::empty())?)?;
        }
        Ok(segments)
    }
}

/// The journal's directory, for this gateway alone.
pub(crate) fn lock_directory(files: &OwnedFd) -> io::Result<OwnedFd> {
    let dir = openat(files, JOURNAL, DIRECTORY, Mode::empty())?;
    flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
    Ok(dir)
}

/// Removes both files, so that nothing in them is ever done again.
pub(crate) fn remove_both(dir: &OwnedFd) -> io::Result<()> {
    for name in ["0", "1"] {
        match unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(fsync(dir)?)
}

/// What this run of the machine is called, where that can be told.
pub fn boot_id() -> Option<BootId> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}
