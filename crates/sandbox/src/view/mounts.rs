//! Mount operations by descriptor, with no name resolved twice and no symbolic link followed.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags};

use crate::sys;
pub(super) use crate::sys::restrict_mount as restrict;

/// A name as it is, without following links anywhere in it.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    sys::open_unfollowed(CWD, path)
}

/// What a descriptor refers to.
pub(super) fn kind(fd: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode))
}

/// A detached copy of the tree at a descriptor, with the mounts in it.
pub(super) fn copy(fd: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(fd, c"", flags)?)
}

/// Puts a detached mount on top of what a descriptor refers to.
pub(super) fn attach(mount: impl AsFd, target: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount, c"", target, c"", flags)?)
}

/// A fresh file system in memory, detached. Owned by the command's user.
pub(super) fn memory(mode: u32, bytes: u64) -> io::Result<OwnedFd> {
    let (mode, size) = (format!("{mode:o}"), bytes.to_string());
    let options = [("mode", mode.as_str()), ("size", size.as_str())];
    filesystem("tmpfs", &options, &[], MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// A fresh file system of a kind, detached, without set-uid programs.
pub(super) fn filesystem(
    kind: &str,
    options: &[(&str, &str)],
    flags: &[&str],
    attributes: MountAttrFlags,
) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        rustix::mount::fsconfig_set_string(&context, *key, *value)?;
    }
    for flag in flags {
        rustix::mount::fsconfig_set_flag(&context, *flag)?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let attributes = attributes | MountAttrFlags::MOUNT_ATTR_NOSUID;
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// The place for a mount. What is missing is made, which only succeeds in file systems that were made for this view.
pub(super) fn mount_point(path: &Path, is_directory: bool) -> io::Result<OwnedFd> {
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut at = open(Path::new("/"))?;
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut next = names.next();
    while let Some(name) = next {
        next = names.next();
        at = mount_point_in(&at, name, next.is_some() || is_directory)?;
    }
    Ok(at)
}

/// The place for a mount in a directory, made where it is missing.
pub(super) fn mount_point_in(directory: impl AsFd, name: &OsStr, is_directory: bool) -> io::Result<OwnedFd> {
    let made = if is_directory {
        rustix::fs::mkdirat(&directory, name, Mode::RWXU)
    } else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&directory, name, flags, Mode::RUSR).map(drop)
    };
    // The first reason is the better one.
    sys::open_unfollowed(&directory, Path::new(name))
        .or_else(|error| made.map_err(io::Error::from).and(Err(error)))
}

/// Makes a place read-only beneath a mount that is not, by a mount of its own; it cannot be renamed or removed then.
pub(super) fn pin(fd: &OwnedFd, attributes: u64) -> io::Result<()> {
    let mount = copy(fd)?;
    if attributes != 0 {
        sys::restrict_mount(&mount, true, attributes)?;
    }
    attach(&mount, fd)
}
