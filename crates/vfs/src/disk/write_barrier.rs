//! Write barrier: changes that later writes may depend on are durable before any of them. These are directories that
//! are made, names that move or are taken by a file that was synced, and who may enter a directory. The journal makes
//! a small write durable before the file system does, so without it a moved file would be gone after a power cut, or
//! be there twice.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use base::limits;
use base::sync::lock;
use rustix::io::Errno;

use super::dir::HostId;
use journal::sync_directory;

/// The changes that are not known to be durable.
#[derive(Default)]
pub(super) struct WriteBarrier {
    /// How many changes were begun.
    begun: AtomicU64,
    /// How many of them were durable when this was last seen to.
    synced: AtomicU64,
    waiting: Mutex<Waiting>,
    /// A change has ended.
    ended: Condvar,
    /// Held while directories are synced: nobody goes on before that is over.
    syncing: Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    /// Changes under way.
    under_way: usize,
    directories: HashMap<HostId, Arc<OwnedFd>>,
    /// Where too many directories were changed: one of each file system, all of which is to be synced.
    devices: HashMap<u64, Arc<OwnedFd>>,
    /// Something could not be made durable: nothing is ever certain again.
    failed: bool,
}

/// A change under way.
pub(crate) struct Change<'a>(&'a WriteBarrier);

impl Drop for Change<'_> {
    fn drop(&mut self) {
        lock(&self.0.waiting).under_way -= 1;
        self.0.ended.notify_all();
    }
}

impl Change<'_> {
    /// These directories were changed, which is durable before any journaled write, but not sooner.
    pub fn done(self, directories: &[(HostId, &Arc<OwnedFd>)]) {
        let mut waiting = lock(&self.0.waiting);
        for (id, directory) in directories {
            waiting.directories.insert(*id, Arc::clone(directory));
        }
        if waiting.directories.len() > limits::files::UNSYNCED_DIRECTORIES_MAX {
            for ((device, _), directory) in std::mem::take(&mut waiting.directories) {
                waiting.devices.entry(device).or_insert(directory);
            }
        }
    }
}

impl WriteBarrier {
    /// Announces a change; it counts until the guard is dropped.
    pub fn begin(&self) -> Change<'_> {
        let mut waiting = lock(&self.waiting);
        waiting.under_way += 1;
        self.begun.fetch_add(1, Ordering::SeqCst);
        Change(self)
    }

    /// Returns when every change that was begun before is durable; false when that cannot be had.
    //
    // Nearly always nothing was changed, and two loads say so. Else one caller syncs for all that wait behind `syncing`.
    // It waits until no change is under way, because one that has begun may have touched a directory that it has not
    // named yet, and reads `begun` only then: what begins later is not covered by this sync and must not be counted. A
    // directory that could not be synced is never certain again, so the barrier stays closed for the rest of the run.
    pub fn sync(&self) -> bool {
        if self.is_synced() {
            return true;
        }
        let _alone = lock(&self.syncing);
        if self.is_synced() {
            return true;
        }
        let waited =
            self.ended.wait_timeout_while(lock(&self.waiting), limits::files::JOURNAL_WAIT, |waiting| {
                waiting.under_way > 0
            });
        let (mut waiting, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            return false;
        }
        let begun = self.begun.load(Ordering::SeqCst);
        let directories = std::mem::take(&mut waiting.directories);
        let devices = std::mem::take(&mut waiting.devices);
        let mut failed = waiting.failed;
        drop(waiting);
        let one_by_one = directories.values().map(sync_directory);
        for done in devices.values().map(sync_device).chain(one_by_one) {
            if let Err(errno) = done {
                tracing::error!(%errno, "a directory of the file tree could not be made durable");
                lock(&self.waiting).failed = true;
                failed = true;
            }
        }
        if !failed {
            self.synced.store(begun, Ordering::SeqCst);
        }
        !failed
    }

    pub fn is_synced(&self) -> bool {
        self.begun.load(Ordering::SeqCst) == self.synced.load(Ordering::SeqCst)
    }
}

/// Makes everything on a file system durable.
fn sync_device(directory: &Arc<OwnedFd>) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(directory)?;
    #[cfg(not(target_os = "linux"))]
    {
        rustix::fs::sync();
        sync_directory(directory)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_while_a_change_is_under_way_or_not_durable() {
        let dir = tempfile::tempdir().unwrap();
        let handle: Arc<OwnedFd> = Arc::new(std::fs::File::open(dir.path()).unwrap().into());
        let barrier = WriteBarrier::default();
        assert!(barrier.sync());
        let change = barrier.begin();
        assert!(!barrier.is_synced());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.sync());
            change.done(&[((1, 1), &handle)]);
            assert!(waiting.join().unwrap());
        });
        assert!(barrier.is_synced());
        assert_eq!(Arc::strong_count(&handle), 1);
        drop(barrier.begin());
        assert!(!barrier.is_synced() && barrier.sync() && barrier.is_synced());
    }

    #[test]
    fn many_directories_are_synced_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let handle: Arc<OwnedFd> = Arc::new(std::fs::File::open(dir.path()).unwrap().into());
        let barrier = WriteBarrier::default();
        for number in 0..3 * limits::files::UNSYNCED_DIRECTORIES_MAX as u64 {
            barrier.begin().done(&[((7, number), &handle)]);
            assert!(lock(&barrier.waiting).directories.len() <= limits::files::UNSYNCED_DIRECTORIES_MAX);
        }
        assert_eq!(lock(&barrier.waiting).devices.len(), 1);
        assert!(barrier.sync() && barrier.is_synced());
        assert_eq!(Arc::strong_count(&handle), 1);
    }

    #[test]
    fn what_could_not_be_made_durable_keeps_everybody_out() {
        let barrier = WriteBarrier::default();
        lock(&barrier.waiting).failed = true;
        drop(barrier.begin());
        assert!(!barrier.sync() && !barrier.is_synced());
    }
}
