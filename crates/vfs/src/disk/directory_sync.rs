//! Batched `fsync` of changed directories: soon, by a thread of its own, or before going on.
//!
//! The new content of a file that the journal does not take is durable before it takes its place; only that it has
//! taken its place is made durable here. Writers of one directory share their syncs, so many writers at once need
//! few of them. The room of the files that were replaced is given back here too: it takes a quarter as long as
//! writing them.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base::limits;
use base::sync::lock;
use rustix::io::Errno;

use super::dir::HostId;
use super::write_barrier::{Change, WriteBarrier};
use journal::{cannot_be_synced, make_durable};

/// The directories that are being made durable.
#[derive(Default)]
pub(crate) struct DirectorySync {
    groups: Mutex<HashMap<HostId, Arc<Group>>>,
    changed: Arc<Changed>,
}

/// Directories that were changed a moment ago.
#[derive(Default)]
struct Changed {
    waiting: Mutex<Waiting>,
    more: Condvar,
    barrier: WriteBarrier,
}

#[derive(Default)]
struct Waiting {
    /// Whether anything was changed.
    changed: bool,
    /// Files that have no name any more; the host gives their room back when they are closed.
    replaced: Vec<OwnedFd>,
    /// Whether the thread that syncs directories is there.
    has_thread: bool,
}

impl Waiting {
    fn take(&mut self) -> Vec<OwnedFd> {
        self.changed = false;
        std::mem::take(&mut self.replaced)
    }
}

impl Changed {
    /// Syncs what has been changed, until nothing was for a while.
    fn run(&self) {
        loop {
            // Those that come meanwhile share the sync.
            std::thread::sleep(limits::files::DIRECTORY_SYNC_DELAY);
            let replaced = lock(&self.waiting).take();
            self.barrier.sync();
            drop(replaced);
            let waiting = lock(&self.waiting);
            let idle = |waiting: &mut Waiting| !waiting.changed;
            let waited = self.more.wait_timeout_while(waiting, limits::files::SYNC_IDLE, idle);
            let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !waiting.changed {
                waiting.has_thread = false;
                return;
            }
        }
    }
}

impl Drop for DirectorySync {
    /// The thread may not come to it any more when the program ends.
    fn drop(&mut self) {
        self.changed.barrier.sync();
    }
}

#[derive(Default)]
struct Group {
    state: Mutex<SyncCounters>,
    finished: Condvar,
}

/// Syncs of one directory are numbered; one runs at a time.
#[derive(Default)]
struct SyncCounters {
    waiting: usize,
    started: u64,
    finished: u64,
    failures: Vec<(u64, Errno)>,
}

impl DirectorySync {
    /// Lets go of a file that was replaced, when its successor's name is durable.
    pub fn close_later(&self, mut replaced: Option<OwnedFd>) {
        let mut waiting = lock(&self.changed.waiting);
        if waiting.changed && waiting.replaced.len() < limits::files::REPLACED_MAX {
            waiting.replaced.extend(replaced.take());
        }
    }

    /// Something is about to be changed that journaled writes may depend on: directories are made, names are moved
    /// or taken, or owners and modes of directories change.
    pub fn begin_change(&self) -> Change<'_> {
        self.changed.barrier.begin()
    }

    /// Ends such a change, which is made durable within moments; see also [`Change::done`].
    pub fn end_change(&self, change: Change<'_>, directories: &[(HostId, &Arc<OwnedFd>)]) {
        change.done(directories);
        let mut waiting = lock(&self.changed.waiting);
        waiting.changed = true;
        self.ensure_thread(waiting);
    }

    /// Makes durable what such changes have done. False when that is not possible.
    pub fn pass_barrier(&self) -> bool {
        self.changed.barrier.sync()
    }

    /// Whether there is nothing of that kind left to do.
    #[cfg(test)]
    pub fn is_barrier_clear(&self) -> bool {
        self.changed.barrier.is_synced()
    }

    /// Sees to it that the thread is there, and awake.
    fn ensure_thread(&self, mut waiting: MutexGuard<'_, Waiting>) {
        if waiting.has_thread {
            self.changed.more.notify_one();
            return;
        }
        let changed = self.changed.clone();
        let spawned = std::thread::Builder::new().name("gsv-dir-sync".into()).spawn(move || changed.run());
        match spawned {
            Ok(_) => waiting.has_thread = true,
            Err(error) => {
                tracing::warn!(%error, "no thread for syncing directories");
                let _replaced = waiting.take();
                drop(waiting);
                self.changed.barrier.sync();
            }
        }
    }

    /// Returns when everything that was done to the directory before the call is durable.
    pub fn sync_now(&self, id: HostId, dir: impl AsFd) -> Result<(), Errno> {
        let group = {
            let mut groups = lock(&self.groups);
            let group = groups.entry(id).or_default().clone();
            lock(&group.state).waiting += 1;
            group
        };
        let result = group.wait(dir.as_fd());
        let mut groups = lock(&self.groups);
        let mut state = lock(&group.state);
        state.waiting -= 1;
        if state.waiting == 0 {
            groups.remove(&id);
        }
        result
    }
}

impl Group {
    fn wait(&self, dir: BorrowedFd) -> Result<(), Errno> {
        let mut state = lock(&self.state);
        let mine = state.started + 1;
        while state.finished < mine {
            if state.started > state.finished {
                state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.started += 1;
            drop(state);
            let done = make_durable(dir);
            state = lock(&self.state);
            state.finished = state.started;
            let number = state.finished;
            match done {
                Err(errno) if !cannot_be_synced(errno) => state.failures.push((number, errno)),
                _ => {}
            }
            self.finished.notify_all();
        }
        match state.failures.iter().find(|(number, _)| *number == mine) {
            Some((_, errno)) => Err(*errno),
            None => Ok(()),
        }
    }
}
