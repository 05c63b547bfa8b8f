//! Applying an overlay: puts changes in place as they were seen, each only if what it replaces is still what it was.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps};

use super::beneath::{Root, remove};
use super::{Change, ChangeKind, Entry, Stamp};

/// Name of a file that is being written beside the one it will replace.
const TEMPORARY: &str = ".gsv-apply";

/// Why not everything was put in place, and what was until then.
#[derive(Debug)]
pub struct Stopped {
    /// What went wrong.
    pub why: io::Error,
    /// What is in place, from the root of the tree.
    pub done: Vec<PathBuf>,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for Stopped {}

/// Whether all changes can be put in place: each of them replaces what it did then. Touches nothing.
pub fn check(lower: &Path, changes: &[Change]) -> io::Result<()> {
    let tree = Root::open(lower)?;
    for change in changes {
        if change.kind == ChangeKind::Unknown || change.after == Some(Entry::Special) {
            return Err(told(change, "cannot be put in place"));
        }
        is_as_it_was(&tree, change)?;
    }
    Ok(())
}

/// Puts changes of an upper layer in place in the tree beneath it: directories, then files and links, then modes, then
/// deletions, the deepest first. Nobody else may write to the tree meanwhile; the caller holds its lock and has a
/// checkpoint to go back to. Everything is compared before anything is touched, and once more just before it is replaced;
/// the first difference is an error, and what was put in place until then stays. Each file is the old or the new one at
/// any moment.
pub fn apply(lower: &Path, upper: &Path, changes: &[Change]) -> Result<(), Stopped> {
    let mut done = Vec::new();
    check(lower, changes)
        .and_then(|()| in_order(lower, upper, changes, &mut done))
        .map_err(|why| Stopped { why, done })
}

fn in_order(lower: &Path, upper: &Path, changes: &[Change], done: &mut Vec<PathBuf>) -> io::Result<()> {
    let (tree, layer) = (Root::open(lower)?, Root::open(upper)?);
    let mut ordered: Vec<&Change> = changes.iter().collect();
    ordered.sort_by(|one, other| one.path.cmp(&other.path));
    let is_directory = |change: &Change| matches!(change.after, Some(Entry::Directory { .. }));
    for change in ordered.iter().filter(|change| is_directory(change)) {
        make_directory(&tree, change).map_err(|error| told(change, error))?;
    }
    for change in ordered.iter().filter(|change| change.after.is_some() && !is_directory(change)) {
        put(&tree, &layer, change).map_err(|error| told(change, error))?;
        done.push(change.path.clone());
    }
    // Last, because a directory that may no longer be written to could not be filled.
    for change in ordered.iter().rev().filter(|change| is_directory(change)) {
        set_mode(&tree, change).map_err(|error| told(change, error))?;
        done.push(change.path.clone());
    }
    for change in ordered.iter().rev().filter(|change| change.kind == ChangeKind::Deleted) {
        is_as_it_was(&tree, change)?;
        let (parent, name) = tree.parent(&change.path)?;
        remove(&parent, name).map_err(|error| told(change, error))?;
        done.push(change.path.clone());
    }
    Ok(())
}

/// Removes what an application that was killed left beside what it had not put in place yet.
pub fn clean_up(lower: &Path, left: &[Change]) -> io::Result<()> {
    let tree = Root::open(lower)?;
    for change in left {
        // A directory that is not there yet holds nothing.
        let Ok((parent, _)) = tree.parent(&change.path) else { continue };
        match rustix::fs::unlinkat(&parent, TEMPORARY, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => {}
            removed => removed?,
        }
    }
    Ok(())
}

fn told(change: &Change, why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {why}", change.path.display()))
}

/// Whether what a change replaces is still what it was.
fn is_as_it_was(tree: &Root, change: &Change) -> io::Result<()> {
    let now = tree.metadata(&change.path).map_err(|error| told(change, error))?;
    let now = now.as_ref().map(Stamp::of);
    // What happens in a directory is compared entry by entry.
    let is_directory = |stamp: &Option<Stamp>| stamp.as_ref().is_some_and(Stamp::is_directory);
    if is_directory(&now) && is_directory(&change.before) && change.kind != ChangeKind::Deleted {
        return Ok(());
    }
    if now == change.before { Ok(()) } else { Err(told(change, "was changed meanwhile; rehearse again")) }
}

fn make_directory(tree: &Root, change: &Change) -> io::Result<()> {
    let (parent, name) = tree.parent(&change.path)?;
    if change.kind == ChangeKind::Replaced {
        is_as_it_was(tree, change)?;
        remove(&parent, name)?;
    }
    match change.kind {
        ChangeKind::Mode | ChangeKind::Changed => Ok(()),
        _ => Ok(rustix::fs::mkdirat(&parent, name, Mode::RWXU)?),
    }
}

fn set_mode(tree: &Root, change: &Change) -> io::Result<()> {
    let Some(Entry::Directory { mode }) = change.after else { return Ok(()) };
    let (parent, name) = tree.parent(&change.path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(&parent, name, flags, Mode::empty())?;
    Ok(rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode))?)
}

/// Puts a file or link in place, whole or not at all.
fn put(tree: &Root, layer: &Root, change: &Change) -> io::Result<()> {
    let (parent, name) = tree.parent(&change.path)?;
    // One that was killed here left it; the caller holds the lock.
    match rustix::fs::unlinkat(&parent, TEMPORARY, AtFlags::empty()) {
        Err(rustix::io::Errno::NOENT) => {}
        removed => removed?,
    }
    match &change.after {
        Some(Entry::File { .. }) => write_temporary(&parent, layer.file(&change.path)?)?,
        Some(Entry::Link { to }) => rustix::fs::symlinkat(to, &parent, TEMPORARY)?,
        _ => return Ok(()),
    }
    let placed = is_as_it_was(tree, change).and_then(|()| {
        let is_directory = change.before.as_ref().is_some_and(Stamp::is_directory);
        if is_directory {
            remove(&parent, name)?;
        }
        let replaces = change.before.is_some() && !is_directory;
        let flags = if replaces { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        Ok(rustix::fs::renameat_with(&parent, TEMPORARY, &parent, name, flags)?)
    });
    if placed.is_err() {
        // The first reason is the one to tell.
        drop(remove(&parent, TEMPORARY.as_ref()));
    }
    placed
}

/// Copies a file of the layer beside its place, with its mode (but no set-id bits) and its times.
fn write_temporary(parent: &OwnedFd, mut from: File) -> io::Result<()> {
    let found = from.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("is no longer a file"));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut to = File::from(rustix::fs::openat(parent, TEMPORARY, flags, Mode::RUSR | Mode::WUSR)?);
    let copied = io::copy(&mut from, &mut to).and_then(|_| {
        rustix::fs::fchmod(&to, Mode::from_raw_mode(found.mode() & 0o777))?;
        let time = |seconds: i64, nanoseconds: i64| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let times = Timestamps {
            last_access: time(found.atime(), found.atime_nsec()),
            last_modification: time(found.mtime(), found.mtime_nsec()),
        };
        rustix::fs::futimens(&to, &times)?;
        to.sync_all()
    });
    if copied.is_err() {
        // The first reason is the one to tell.
        drop(remove(parent, TEMPORARY.as_ref()));
    }
    copied
}
