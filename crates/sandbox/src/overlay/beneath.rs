//! File operations beneath a directory that follow no symbolic link and leave the directory by no name.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use base::limits::sandbox::OVERLAY_DEPTH_MAX;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};

/// A directory and nothing outside it.
pub(super) struct Root(OwnedFd);

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Root(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        Ok(rustix::fs::openat2(
            &self.0,
            path,
            flags | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::empty(),
            beneath,
        )?)
    }

    /// A file, to be read. One that was swapped for a pipe meanwhile does not hold anybody up.
    pub(super) fn file(&self, path: &Path) -> io::Result<File> {
        Ok(self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK)?.into())
    }

    /// The directory that a path is in, and its name there.
    pub(super) fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or_else(|| io::Error::other("a path without a name"))?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.resolve(parent, OFlags::RDONLY | OFlags::DIRECTORY)?, name))
    }

    /// What is known of a path; nothing when it is not there.
    pub(super) fn metadata(&self, path: &Path) -> io::Result<Option<std::fs::Metadata>> {
        match self.resolve(path, OFlags::PATH) {
            Ok(fd) => Ok(Some(File::from(fd).metadata()?)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// A file of a tree, to be read, with no link followed on the way to it.
pub fn open(tree: &Path, path: &Path) -> io::Result<File> {
    Root::open(tree)?.file(path)
}

/// Removes a name with everything in it.
pub(super) fn remove(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    remove_at(parent, name, 0)
}

fn remove_at(parent: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
    if depth > OVERLAY_DEPTH_MAX {
        return Err(io::Error::other("a directory is too deep to be removed"));
    }
    let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes != b"." && bytes != b".." {
            let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
            remove_at(&directory, name, depth + 1)?;
        }
    }
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}
