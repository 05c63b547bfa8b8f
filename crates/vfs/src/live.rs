//! What the kernel knows, as files: `/sys`, `/proc`, `/dev`, the manual in `/usr/share`, and the account files
//! in `/etc`. The functions here are called by [`crate::View`] once a path has led here.

use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::stat::{Named, Stat};
use crate::view::{Follow, View};

/// Whether a path belongs to the live tree. Links on disk have been followed before.
pub(crate) fn covers(_path: &VPath) -> bool {
    false
}

/// The live names in a directory that is on disk or made up: `proc`, `sys`, `dev` in `/`, `passwd` in `/etc`, …
pub(crate) fn names_in(_directory: &VPath) -> &'static [&'static str] {
    &[]
}

/// What is at a live path.
pub(crate) async fn stat(_view: &View, path: &VPath, _follow: Follow) -> Result<Stat, Fault> {
    Err(Fault::new(Code::NotFound, "stat", path.as_str()))
}

/// The names in a live directory, sorted.
pub(crate) async fn list(_view: &View, path: &VPath) -> Result<Vec<Named>, Fault> {
    Err(Fault::new(Code::NotFound, "scandir", path.as_str()))
}

/// A live file's text as it is now.
pub(crate) async fn read(_view: &View, path: &VPath) -> Result<Vec<u8>, Fault> {
    Err(Fault::new(Code::NotFound, "open", path.as_str()))
}

/// Where a live link leads.
pub(crate) async fn read_link(_view: &View, path: &VPath) -> Result<String, Fault> {
    Err(Fault::new(Code::Invalid, "readlink", path.as_str()))
}

/// Writes a live file: the call it stands for is made.
pub(crate) async fn write(_view: &View, path: &VPath, _bytes: Vec<u8>) -> Result<(), Fault> {
    Err(Fault::new(Code::NotPermitted, "open", path.as_str()))
}

/// Removes a live file, where that means something.
pub(crate) async fn remove(_view: &View, path: &VPath) -> Result<(), Fault> {
    Err(Fault::new(Code::NotPermitted, "unlink", path.as_str()))
}
