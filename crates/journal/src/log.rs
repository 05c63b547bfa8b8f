//! Group commit: records are added under a lock and written by a leader. Whoever finds nobody writing writes for all: one `pwrite` and one
//! `fdatasync` for everything that was added meanwhile. A lone writer hands nothing over to anybody.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Instant;

use base::clock::Clock;
use base::limits;

use crate::journal::{DirectoryId, Shared};
use crate::record::{self, HEAD_BYTES, Record};
use crate::segment::{self, FIRST_RECORD_AT, SegmentHeader};

/// A name in a directory, whatever that is called by now.
pub(crate) type Key = (DirectoryId, OsString);

/// A file that is in its place, but durable by its record only.
#[derive(Clone)]
pub(crate) struct Pending {
    pub number: u64,
    pub segment: usize,
    pub path: Arc<str>,
    /// Nothing when it was removed since: then only that is to be durable.
    pub file: Option<Arc<File>>,
    pub dir: Arc<OwnedFd>,
}

/// Whether there is a journal.
#[derive(Default)]
pub(crate) enum Phase {
    /// Nobody needed it yet.
    #[default]
    Untried,
    /// Somebody makes it.
    Making,
    Ready(Files),
    /// It cannot be had, or is not to be used any more.
    Off,
}

/// The two files.
pub(crate) struct Files {
    /// The directory they are in; whoever has its lock owns the journal.
    pub dir: OwnedFd,
    pub segments: [Segment; 2],
    /// The one that records are added to.
    pub active: usize,
}

/// One of the two files.
pub(crate) struct Segment {
    pub file: Arc<File>,
    pub header: SegmentHeader,
    /// Where the next record goes.
    pub end: u64,
    /// Added, but not yet written: the last bytes before `end`.
    buffer: Vec<u8>,
    /// Records whose writers are not done with them.
    pub in_flight: usize,
    /// When the first record was added.
    pub began: Option<Instant>,
}

impl Segment {
    pub fn new(file: Arc<File>, header: SegmentHeader) -> Segment {
        Segment { file, header, end: FIRST_RECORD_AT, buffer: Vec::new(), in_flight: 0, began: None }
    }

    pub fn is_clean(&self) -> bool {
        self.end == FIRST_RECORD_AT
    }
}

impl Files {
    /// The one that is not added to.
    pub fn other(&self) -> usize {
        1 - self.active
    }

    /// An epoch that no record was ever written in.
    pub fn next_epoch(&self) -> u64 {
        self.segments.iter().map(|segment| segment.header.epoch).max().unwrap_or(0) + 1
    }
}

#[derive(Default)]
pub(crate) struct LogState {
    pub phase: Phase,
    /// The number of the last record that was added.
    pub added: u64,
    /// The number of the last one that is durable.
    pub committed: u64,
    /// Whether somebody writes for all that wait.
    has_leader: bool,
    /// How many wait for that.
    followers: usize,
    pub pending: HashMap<Key, Pending>,
    /// Directories of pending files, each open once.
    directories: HashMap<DirectoryId, Weak<OwnedFd>>,
    /// Whether the thread that makes them durable is there.
    pub has_checkpointer: bool,
    /// Whether the tree is being closed.
    pub closing: bool,
}

impl LogState {
    pub fn new(phase: Phase) -> LogState {
        LogState { phase, ..LogState::default() }
    }

    /// The one handle that is kept of a directory.
    fn directory(&mut self, id: DirectoryId, dir: &Arc<OwnedFd>) -> Arc<OwnedFd> {
        if let Some(known) = self.directories.get(&id).and_then(Weak::upgrade) {
            return known;
        }
        if self.directories.len() >= limits::files::JOURNAL_PENDING_MAX {
            self.directories.retain(|_, dir| dir.strong_count() > 0);
        }
        self.directories.insert(id, Arc::downgrade(dir));
        dir.clone()
    }
}

/// Why a record is not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitError {
    /// The journal is of no use any more.
    Broken,
    /// The disk does not answer.
    Late,
}

/// A record whose writer is not done with it: its segment is not emptied until then.
pub struct RecordGuard<'a> {
    shared: &'a Shared,
    pub(crate) number: u64,
    segment: usize,
}

impl Drop for RecordGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.locked();
        if let Phase::Ready(files) = &mut state.phase {
            files.segments[self.segment].in_flight -= 1;
            if files.segments[self.segment].in_flight == 0 && self.segment != files.active {
                self.shared.changed.notify_all();
            }
        }
    }
}

impl RecordGuard<'_> {
    /// Returns when the record is durable.
    pub fn commit(&self) -> Result<(), CommitError> {
        self.shared.commit(self.number)
    }

    /// The file is in its place: it is remembered until it is durable by itself.
    pub fn placed(self, key: Key, path: Arc<str>, file: File, dir: &Arc<OwnedFd>) {
        let mut state = self.shared.locked();
        let dir = state.directory(key.0, dir);
        let pending =
            Pending { number: self.number, segment: self.segment, path, file: Some(Arc::new(file)), dir };
        if let Phase::Ready(_) = state.phase {
            let before = state.pending.insert(key, pending);
            self.shared.count(&state);
            // Where it was the last handle of a file, the host gives back its room now.
            drop(state);
            drop(before);
            return;
        }
        drop(state);
        // It broke while the file took its place.
        if let Err(error) = crate::checkpoint::sync_one(&pending) {
            tracing::error!(%error, path = %pending.path, "a file could not be made durable");
        }
    }
}

impl Shared {
    /// Adds a record; nothing where there is no room or no journal, so that another way must be taken.
    //
    // Room is given when the record is added, not when it is written: `end` moves under the lock, the bytes follow in
    // `buffer`. Writes leave some room free that only tombstones may use, since a change that needs one cannot go
    // another way. When neither segment has room the writer syncs its file by itself instead of waiting for a checkpoint.
    pub(crate) fn add(&self, record: &Record) -> Option<RecordGuard<'_>> {
        let body = record.body();
        let checksum = record::checksum(&body);
        let is_write = matches!(record, Record::Write(_));
        let mut state = self.locked();
        let is_crowded = is_write && state.pending.len() >= limits::files::JOURNAL_PENDING_MAX;
        let number = state.added + 1;
        let Phase::Ready(files) = &mut state.phase else { return None };
        let spare = if is_write { limits::files::JOURNAL_SPARE_BYTES } else { 0 };
        let length = (HEAD_BYTES + body.len()) as u64;
        let fits = |segment: &Segment| segment.end + length + spare <= limits::files::JOURNAL_BYTES;
        let other = files.other();
        if !fits(&files.segments[files.active]) && files.segments[other].is_clean() {
            files.active = other;
        }
        let at = files.active;
        let active = &mut files.segments[at];
        if is_crowded || !fits(active) {
            self.changed.notify_all();
            return None;
        }
        segment::add(&mut active.buffer, active.header.epoch, number, &body, &checksum);
        active.end += length;
        active.in_flight += 1;
        active.began.get_or_insert_with(|| Clock::system().instant());
        state.added = number;
        let guard = RecordGuard { shared: self, number, segment: at };
        if self.due(&state).is_some_and(|due| due <= Clock::system().instant()) {
            self.changed.notify_all();
        }
        Some(guard)
    }

    /// Returns when the record with this number, and all before it, are durable.
    //
    // There is no thread that writes. The first writer that finds no leader becomes it: it takes both buffers and the
    // number of the last record in them, lets go of the lock, and writes and syncs. Writers that come meanwhile add to
    // the buffers, find a leader and wait; when it is done one of them leads the next round, in which all of theirs go
    // together. So a lone writer pays one write and one sync and wakes nobody, and a hundred writers share a few.
    // `committed` is only moved by a leader that succeeded, and records are numbered under the lock in the order of the
    // buffers, so that everything up to `committed` is durable whoever asked for it. A leader that fails gives the whole
    // log up: what others waited for is not durable either, and they learn it by the phase.
    pub(crate) fn commit(&self, number: u64) -> Result<(), CommitError> {
        let deadline = Clock::system().instant() + limits::files::JOURNAL_WAIT;
        let mut state = self.locked();
        loop {
            if state.committed >= number {
                return Ok(());
            }
            if !matches!(state.phase, Phase::Ready(_)) {
                return Err(CommitError::Broken);
            }
            if state.has_leader {
                let left = deadline.saturating_duration_since(Clock::system().instant());
                if left.is_zero() {
                    return Err(CommitError::Late);
                }
                state.followers += 1;
                let waited = self.written.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                state.followers -= 1;
                continue;
            }
            state.has_leader = true;
            let (batches, last) = (take_buffers(&mut state), state.added);
            drop(state);
            let written = batches.iter().try_for_each(Batch::write);
            state = self.locked();
            state.has_leader = false;
            match written {
                Ok(()) => state.committed = last,
                Err(error) => {
                    drop(state);
                    self.give_up(&error);
                    return Err(CommitError::Broken);
                }
            }
            // A lone writer need not bother the host.
            if state.followers > 0 {
                self.written.notify_all();
            }
        }
    }
}

/// Records that are written at once.
struct Batch {
    file: Arc<File>,
    at: u64,
    bytes: Vec<u8>,
}

impl Batch {
    fn write(&self) -> io::Result<()> {
        self.file.write_all_at(&self.bytes, self.at)?;
        self.file.sync_data()
    }
}

fn take_buffers(state: &mut LogState) -> Vec<Batch> {
    let Phase::Ready(files) = &mut state.phase else { return Vec::new() };
    let (active, other) = (files.active, files.other());
    // What was added to the other one came before it was left.
    let in_order = [other, active].into_iter();
    in_order
        .filter_map(|at| {
            let segment = &mut files.segments[at];
            let bytes = std::mem::take(&mut segment.buffer);
            let at = segment.end - bytes.len() as u64;
            (!bytes.is_empty()).then(|| Batch { file: segment.file.clone(), at, bytes })
        })
        .collect()
}
