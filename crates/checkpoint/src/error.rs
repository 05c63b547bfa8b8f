//! Error type of checkpoints: why there is none, in words for a person.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong. Each is a whole sentence that also says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace passes a limit of files or bytes.
    #[error(
        "no checkpoint could be taken because {what}: ignore what need not come back (.gitignore), or choose a smaller workspace"
    )]
    TooLarge {
        /// Which limit, with its number.
        what: String,
    },
    /// The disk of the store has no room.
    #[error("no checkpoint could be taken because the disk is full: free some space on the disk of {}", .store.display())]
    DiskFull {
        /// Where the checkpoints are.
        store: PathBuf,
    },
    /// Another checkpoint of this workspace is under way.
    #[error(
        "no checkpoint could be taken because another one of this workspace is still under way: try again in a moment"
    )]
    Busy,
    /// It took longer than it may.
    #[error(
        "no checkpoint could be taken because it took longer than {seconds} s; what was read is kept: try again, it goes on from there"
    )]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// The workspace is not a directory that can be read.
    #[error("no checkpoint could be taken because the workspace {} cannot be read: {source}", .path.display())]
    Workspace {
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Workspace and store overlap, so that an agent could write to its own checkpoints.
    #[error("no checkpoint could be taken because the checkpoints ({}) and the workspace ({}) lie inside each other: choose another workspace", .store.display(), .workspace.display())]
    Overlap {
        /// Where the checkpoints are.
        store: PathBuf,
        workspace: PathBuf,
    },
    /// The store's directory belongs to somebody else, or others can write to it.
    #[error("the directory of checkpoints {} is not safe to use: {why}", .path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no such checkpoint.
    #[error("there is no checkpoint {id} of this workspace: `gsv device checkpoints` lists them")]
    Unknown {
        /// What was asked for.
        id: crate::Id,
    },
    /// A path that was named does not lie in the workspace.
    #[error("{} is not a path inside the workspace", .path.display())]
    Outside {
        /// As it was named, relative to the workspace or absolute.
        path: PathBuf,
    },
    /// What is stored does not have the digest it should have.
    #[error("the checkpoints at {} are damaged ({what}): remove that directory to start anew", .path.display())]
    Damaged {
        /// The store of this workspace.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The store cannot be read or written.
    #[error("the checkpoints at {} cannot be used: {source}", .path.display())]
    Store {
        /// The store of this workspace.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Failures inside, before the place where they happened is known.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(io::Error),
    Damaged(String),
    TooLarge(String),
    TimedOut,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(error: rustix::io::Errno) -> Fault {
        Fault::Io(error.into())
    }
}

impl Fault {
    /// The fault as it is told, of the store in this directory.
    pub(crate) fn at(self, store: &Path, time_max: std::time::Duration) -> Error {
        let path = store.to_path_buf();
        match self {
            Fault::Io(error) if is_disk_full(&error) => Error::DiskFull { store: path },
            Fault::Io(source) => Error::Store { path, source },
            Fault::Damaged(what) => Error::Damaged { path, what },
            Fault::TooLarge(what) => Error::TooLarge { what },
            Fault::TimedOut => Error::TimedOut { seconds: time_max.as_secs() },
        }
    }
}

/// Whether a write failed for want of room, on the disk or in a quota.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
