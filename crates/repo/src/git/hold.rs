//! Shared and exclusive hold on the objects of a repository: whoever counts on an object that is there already shares it
//! until a ref names what was made of it; objects are only ever removed by whoever has it alone.
//!
//! It is a `flock`, which ends with its holder however that ends, and holds between gateways that share a disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file in the directory of a repository; there is nothing in it.
const NAME: &str = "gsv.held";

/// Goes when it is dropped.
pub(crate) struct Hold(#[allow(dead_code)] File);

impl Hold {
    /// Shares it; nobody has it alone for long.
    pub(crate) fn share(repository: &Path) -> io::Result<Hold> {
        let file = open(repository)?;
        file.lock_shared()?;
        Ok(Hold(file))
    }

    /// All of it, if nobody has a share; `None` else.
    pub(crate) fn own(repository: &Path) -> io::Result<Option<Hold>> {
        let file = open(repository)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Hold(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn open(repository: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(repository.join(NAME))
}
