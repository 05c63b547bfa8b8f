//! Checkpointer: makes the files that the log holds durable by themselves, so that its room can be used again. A thread
//! does it soon after the first record, and ends when there is nothing to do.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use rustix::fs::fsync;

use crate::journal::{Shared, remove_both};
use crate::log::{Key, LogState, Pending, Phase};
use crate::segment::{self, FIRST_RECORD_AT, SegmentHeader};
use crate::sync::sync_directory;

impl Shared {
    /// When the next checkpoint should be; nothing when there is nothing to do.
    pub(crate) fn due(&self, state: &LogState) -> Option<Instant> {
        let Phase::Ready(files) = &state.phase else { return None };
        let active = &files.segments[files.active];
        if !files.segments[files.other()].is_clean() {
            return Some(self.opened);
        }
        let began = active.began?;
        let is_half = active.end > limits::files::JOURNAL_BYTES / 2;
        let is_crowded = state.pending.len() > limits::files::JOURNAL_PENDING_MAX / 2;
        Some(if is_half || is_crowded { self.opened } else { began + limits::files::CHECKPOINT_DELAY })
    }

    /// Sees to it that somebody makes durable what was added.
    pub(crate) fn ensure_checkpointer(self: &Arc<Shared>) {
        let mut state = self.locked();
        if state.has_checkpointer || state.closing {
            return;
        }
        let shared = self.clone();
        let spawned =
            std::thread::Builder::new().name("gsv-journal".into()).spawn(move || shared.run_checkpointer());
        match spawned {
            Ok(_) => state.has_checkpointer = true,
            Err(error) => {
                drop(state);
                self.give_up(&error);
            }
        }
    }

    fn run_checkpointer(&self) {
        loop {
            let mut state = self.locked();
            let due = self.due(&state);
            let now = Clock::system().instant();
            let wait = match due {
                Some(due) => due.saturating_duration_since(now),
                None => limits::files::SYNC_IDLE,
            };
            if !state.closing && !wait.is_zero() {
                let waited = self.changed.wait_timeout(state, wait);
                let late;
                (state, late) = waited.unwrap_or_else(PoisonError::into_inner);
                let idle = due.is_none() && late.timed_out() && self.due(&state).is_none();
                if !idle && !state.closing {
                    continue;
                }
            }
            if state.closing || due.is_none() {
                state.has_checkpointer = false;
                return;
            }
            drop(state);
            self.checkpoint();
        }
    }

    /// Makes the older records' files durable and cleans their part of the journal. False when that did not
    /// work now; a journal that failed is given up.
    pub(crate) fn checkpoint(&self) -> bool {
        let _alone = lock(&self.checkpointing);
        let Some((at, file)) = self.leave_segment() else { return false };
        let pending: Vec<(Key, Pending)> = {
            let state = self.locked();
            let of_it = state.pending.iter().filter(|(_, pending)| pending.segment == at);
            of_it.map(|(key, pending)| (key.clone(), pending.clone())).collect()
        };
        let cleaned = sync_all(pending.iter().map(|(_, pending)| pending)).and_then(|()| {
            let header = self.next_header();
            segment::clean(&file, &header)?;
            Ok(header)
        });
        match cleaned {
            Ok(header) => self.take_back(at, header, &pending),
            Err(error) => self.give_up(&error),
        }
        true
    }

    /// The segment whose records are all in their places, and which nothing is added to any more.
    //
    // The order is what makes emptying it safe. First records go to the other segment, so that this one only shrinks.
    // Then its writers are waited for: one that has a durable record but not yet its file in place would lose both.
    // Last everything that was added is committed, since a leader may hold bytes of this segment that nobody waits for,
    // and would write them, with the old epoch, after the header was changed.
    fn leave_segment(&self) -> Option<(usize, Arc<File>)> {
        let mut state = self.locked();
        let Phase::Ready(files) = &mut state.phase else { return None };
        if files.segments[files.other()].is_clean() {
            if files.segments[files.active].is_clean() {
                return None;
            }
            files.active = files.other();
        }
        let at = files.other();
        let busy = |state: &mut LogState| match &state.phase {
            Phase::Ready(files) => files.segments[at].in_flight > 0,
            _ => false,
        };
        let waited = self.changed.wait_timeout_while(state, limits::files::JOURNAL_WAIT, busy);
        let (state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        let file = match &state.phase {
            Phase::Ready(files) if !late.timed_out() => files.segments[at].file.clone(),
            _ => return None,
        };
        let last = state.added;
        drop(state);
        // Nothing of it may be written after it is cleaned, not even what nobody waits for any more.
        self.commit(last).ok().map(|()| (at, file))
    }

    fn next_header(&self) -> SegmentHeader {
        let epoch = match &self.locked().phase {
            Phase::Ready(files) => files.next_epoch(),
            _ => 0,
        };
        SegmentHeader { epoch, boot: self.boot.unwrap_or_default() }
    }

    fn take_back(&self, at: usize, header: SegmentHeader, synced: &[(Key, Pending)]) {
        let mut state = self.locked();
        for (key, done) in synced {
            if state.pending.get(key).is_some_and(|pending| pending.number == done.number) {
                state.pending.remove(key);
            }
        }
        self.count(&state);
        if let Phase::Ready(files) = &mut state.phase {
            let segment = &mut files.segments[at];
            (segment.header, segment.end, segment.began) = (header, FIRST_RECORD_AT, None);
        }
    }

    /// Gives the journal up for the rest of this run: what it holds is made durable at once.
    pub(crate) fn give_up(&self, error: &io::Error) {
        let mut state = self.locked();
        let Phase::Ready(files) = std::mem::replace(&mut state.phase, Phase::Off) else { return };
        let pending: Vec<Pending> = state.pending.drain().map(|(_, pending)| pending).collect();
        self.count(&state);
        drop(state);
        self.changed.notify_all();
        self.written.notify_all();
        tracing::error!(%error, "the journal of small writes failed; files are written without it until the next start");
        match sync_all(pending.iter()).and_then(|()| remove_both(&files.dir)) {
            Ok(()) => {}
            Err(error) => {
                tracing::error!(%error, "what the journal of small writes holds could not all be made durable");
            }
        }
    }
}

/// Makes one file and its name durable.
pub(crate) fn sync_one(pending: &Pending) -> io::Result<()> {
    sync_all(std::iter::once(pending))
}

/// Makes files and their names durable. Many are done by several threads, which share the disk's turns.
pub(crate) fn sync_all<'a>(pending: impl Iterator<Item = &'a Pending>) -> io::Result<()> {
    let (mut files, mut directories): (Vec<&File>, HashMap<*const OwnedFd, &OwnedFd>) = Default::default();
    for pending in pending {
        files.extend(pending.file.as_deref());
        directories.insert(Arc::as_ptr(&pending.dir), &pending.dir);
    }
    sync_files(files)?;
    directories.values().try_for_each(|dir| Ok(sync_directory(dir)?))
}

fn sync_files(files: Vec<&File>) -> io::Result<()> {
    let threads = limits::files::JOURNAL_SYNC_THREADS.min(files.len());
    if threads <= 1 {
        return files.into_iter().try_for_each(|file| Ok(fsync(file)?));
    }
    let queue = Mutex::new(files);
    let next = || lock(&queue).pop();
    let work = || -> io::Result<()> {
        while let Some(file) = next() {
            fsync(file)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work);
        let others: Vec<_> = (1..threads).map(spawn).collect();
        let mut done = work();
        for other in others.into_iter().flatten() {
            let theirs = other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            done = done.and(theirs);
        }
        done
    })
}
