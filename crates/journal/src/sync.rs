//! Durability primitives: `fsync` of files and directories that works on every system and file system alike.

use std::os::fd::AsFd;

use rustix::fs::fsync;
use rustix::io::Errno;

/// Makes what was written durable, also where the plain call leaves it in the drive's own memory.
pub fn make_durable(file: impl AsFd) -> Result<(), Errno> {
    #[cfg(target_vendor = "apple")]
    if rustix::fs::fcntl_fullfsync(&file).is_ok() {
        return Ok(());
    }
    fsync(file)
}

/// Makes the names in a directory durable, where that can be done.
pub fn sync_directory(directory: impl AsFd) -> Result<(), Errno> {
    match make_durable(directory) {
        Err(errno) if cannot_be_synced(errno) => Ok(()),
        done => done,
    }
}

/// Not every file system can sync a directory; the change itself has happened.
pub fn cannot_be_synced(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOTSUP | Errno::BADF)
}
