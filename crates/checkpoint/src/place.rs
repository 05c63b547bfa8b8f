//! Directory handles (`openat` style): directories by descriptor, never through a symbolic link: what lies in a
//! workspace may be changed while we look.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::state::FileState;

/// How directories are opened.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How files are opened: a FIFO that took a file's place does not make us wait.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a workspace, whose path has been resolved before.
pub(crate) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory in a directory.
pub(crate) fn open_dir(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    openat(dir, name, DIRECTORY, Mode::empty())
}

/// Opens a file in a directory to read it.
pub(crate) fn open_file(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    openat(dir, name, FILE, Mode::empty())
}

/// Opens a directory by the components of its path.
pub(crate) fn open_beneath(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut dir = open_dir(root, b".")?;
    for component in path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
        dir = open_dir(&dir, component)?;
    }
    Ok(dir)
}

/// The state of a name in a directory; `None` when there is nothing.
pub(crate) fn state_at(dir: impl AsFd, name: &[u8]) -> Result<Option<FileState>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileState::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The state of what is open.
pub(crate) fn state_of(file: impl AsFd) -> Result<FileState, Errno> {
    Ok(FileState::of(&fstat(file)?))
}
