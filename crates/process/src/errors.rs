//! Error translation: from the store, and from a pid that leads nowhere, to what a caller is told.

use protocol::error::Error;
use protocol::ids::Pid;

/// There is no such process, or none that still does anything.
pub(crate) fn not_found(pid: &Pid) -> Error {
    Error::not_found(format!("Process not found: {pid}"))
}
