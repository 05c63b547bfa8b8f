//! Error type of file operations: failed, or not allowed at all.

use std::io;

use protocol::error::Error;

use super::LocalPath;
use super::guard::{Closed, NeedsApproval};

/// What fails is told inside the answer; what is not allowed refuses the call.
#[derive(Debug)]
pub enum Failure {
    /// The operation itself failed, in its own words.
    Failed(String),
    /// It may not be done, whatever the disk says.
    Refused(Error),
}

impl Failure {
    /// 403: the path leads out of the directory of `--root`.
    pub(crate) fn outside(path: &str) -> Failure {
        Failure::Refused(Error::forbidden(format!("Access denied: '{path}' is outside the shared directory")))
    }

    /// `Failed to read '…': …`, or the refusal of a path that leads out.
    pub(crate) fn of(verb: &str, place: &LocalPath, error: &io::Error) -> Failure {
        let path = place.text();
        if error.get_ref().is_some_and(|inner| inner.is::<Outside>()) {
            return Failure::outside(&path);
        }
        if let Some(why) = error.get_ref().and_then(|inner| inner.downcast_ref::<Closed>()) {
            return Failure::Refused(Error::forbidden(format!("Access denied: '{path}': {why}")));
        }
        if let Some(why) = error.get_ref().and_then(|inner| inner.downcast_ref::<NeedsApproval>()) {
            return Failure::Refused(Error::approval_required(&format!("'{path}': {why}")));
        }
        Failure::Failed(format!("Failed to {verb} '{path}': {error}"))
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Failed(why)
    }
}

/// Marks an error of a path that leads out of the root.
#[derive(Debug, thiserror::Error)]
#[error("outside --root")]
struct Outside;

/// The error of whatever leads out of the root.
pub(crate) fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, Outside)
}

/// `cap-std` has its own words for a path that leads out.
pub(crate) fn say_outside(error: io::Error) -> io::Error {
    let escaped = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    if escaped { outside() } else { error }
}
