//! Error type of the git layer: what went wrong, as far as a caller tells cases apart.

use std::io;

/// Why something could not be done in a repository.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// What was asked for is not there.
    #[error("{0}")]
    Missing(String),
    /// What was asked for can not be.
    #[error("{0}")]
    Bad(String),
    /// It does not fit what is there.
    #[error("{0}")]
    Conflict(String),
    /// A ref is not where it was expected to be.
    #[error("ref {reference} moved: expected {expected}, found {}", found.as_deref().unwrap_or("none"))]
    Moved {
        /// Its whole name.
        reference: String,
        /// Where it was to be.
        expected: String,
        /// Where it is; nowhere when it does not exist.
        found: Option<String>,
    },
    /// It is too large, or too much.
    #[error("{0}")]
    TooLarge(String),
    /// Others use it all the time.
    #[error("{0}")]
    Busy(String),
    /// The disk failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What is on the disk is not what git writes.
    #[error("the repository is damaged: {0}")]
    Damaged(String),
}

impl Fault {
    /// What gix says about objects that it could not read.
    pub(crate) fn damaged(error: impl std::fmt::Display) -> Fault {
        Fault::Damaged(error.to_string())
    }
}
