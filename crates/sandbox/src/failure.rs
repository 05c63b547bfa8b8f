//! Error of one step of a set-up: what was being done, to what, and what the system said.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// A step that failed. After one nothing else is tried.
#[derive(Debug, thiserror::Error)]
#[error("could not {step}: {error}")]
pub(crate) struct Failure {
    step: String,
    error: io::Error,
}

impl Failure {
    pub(crate) fn new(step: impl Into<String>, error: impl Into<io::Error>) -> Failure {
        Failure { step: step.into(), error: error.into() }
    }

    /// Whether the system said that this cannot be had, rather than that something went wrong.
    pub(crate) fn is_refusal(&self) -> bool {
        use io::ErrorKind;
        matches!(
            self.error.kind(),
            ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::InvalidInput
        )
    }

    /// A step that was not tried because it could not be right.
    pub(crate) fn refused(step: impl Into<String>, why: impl Display) -> Failure {
        Failure { step: step.into(), error: io::Error::new(io::ErrorKind::InvalidInput, why.to_string()) }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        io::Error::new(failure.error.kind(), failure.to_string())
    }
}

/// Says which step a result belongs to.
pub(crate) trait At<T> {
    fn at(self, step: &str) -> Result<T, Failure>;
    fn at_path(self, step: &str, path: &Path) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, error))
    }

    fn at_path(self, step: &str, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("{step} {}", path.display()), error))
    }
}
