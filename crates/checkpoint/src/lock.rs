//! Advisory file lock of a store's directory, with a limited wait. The operating system lets go of it with the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use base::clock::Clock;
use base::limits::checkpoint as limits;

use crate::error::Error;

/// Held while a store is changed.
pub struct Lock {
    file: File,
}

impl Lock {
    /// Waits for whoever has it, so long at most.
    pub fn acquire(dir: &Path, clock: &Clock) -> Result<Lock, Error> {
        let store = |source| Error::Store { path: dir.to_path_buf(), source };
        let open =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(dir.join("lock"));
        let file = open.map_err(store)?;
        let deadline = clock.instant() + limits::LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { file }),
                Err(TryLockError::WouldBlock) if clock.instant() < deadline => {
                    std::thread::sleep(limits::LOCK_RETRY);
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Busy),
                Err(TryLockError::Error(source)) => return Err(store(source)),
            }
        }
    }

    /// The time that the kernel gives to files changed now, which need not be that of our clock.
    pub(crate) fn file_time_ns(&self) -> std::io::Result<i64> {
        self.file.write_all_at(b".", 0)?;
        let metadata = self.file.metadata()?;
        Ok(metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec())
    }
}
