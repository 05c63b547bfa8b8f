//! Reader of overlays: what a command would have changed, whether the files are still as they were when it ran, and
//! putting its changes in place exactly as they were seen.

mod apply;
mod beneath;
mod changes;
mod discard;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base::limits::sandbox::{OVERLAY_CLOCK_STEP, OVERLAY_SCAN_MAX};

pub use apply::{Stopped, apply, check, clean_up};
pub use beneath::open;
pub use changes::{changes, changes_up_to};
pub use discard::discard;

/// One difference between a tree and the same tree after the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, from the root of the tree.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ChangeKind,
    /// What it is after the command; nothing when it was deleted.
    pub after: Option<Entry>,
    /// What it was before, with what a later change of it would show by.
    pub before: Option<Stamp>,
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It was not there.
    Created,
    /// Its content is another.
    Changed,
    /// Only its mode is another.
    Mode,
    /// Something of another kind is in its place, a link for a file, say.
    Replaced,
    /// It is gone, with everything in it.
    Deleted,
    /// The kernel marked it in a way that is not known here: it cannot be shown, and not be put in place.
    Unknown,
}

/// What a path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file of so many bytes.
    File {
        /// Its size.
        bytes: u64,
        /// Its permissions.
        mode: u32,
    },
    /// A directory.
    Directory {
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link and where it leads.
    Link {
        /// Where it leads.
        to: PathBuf,
    },
    /// A socket, pipe or device, which means nothing to others.
    Special,
}

/// What identifies a version of a file: whatever changes it changes one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) modified: (i64, i64),
    pub(crate) changed: (i64, i64),
}

/// The first path of a tree that was changed since a moment, if there is one. The time that is looked at cannot be set
/// back; it is kept in steps of some milliseconds, so what happened just before counts as well.
pub fn changed_since(tree: &Path, since: SystemTime) -> io::Result<Option<PathBuf>> {
    changed_since_but(tree, since, &[])
}

/// The same without looking at some paths and what is below them.
pub fn changed_since_but(tree: &Path, since: SystemTime, without: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let since = moment(since)?;
    let mut open = vec![tree.to_owned()];
    let mut count = 0;
    while let Some(path) = open.pop() {
        if without.contains(&path) {
            continue;
        }
        count += 1;
        if count > OVERLAY_SCAN_MAX {
            return Err(io::Error::other(format!("there are more than {OVERLAY_SCAN_MAX} files")));
        }
        let found = std::fs::symlink_metadata(&path)?;
        if Stamp::of(&found).changed >= since {
            return Ok(Some(path));
        }
        if found.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
    }
    Ok(None)
}

/// The first change that replaces something which was itself changed since a moment: it may not be what the command saw.
pub fn replaces_newer(changes: &[Change], since: SystemTime) -> io::Result<Option<&Change>> {
    let since = moment(since)?;
    let is_newer = |change: &&Change| {
        // What happens in a directory is compared entry by entry.
        let is_directory = matches!(change.after, Some(Entry::Directory { .. }));
        change.before.as_ref().is_some_and(|before| before.changed >= since && !is_directory)
    };
    Ok(changes.iter().find(is_newer))
}

/// A moment as the kernel writes times of files, with the step in which it does taken off.
fn moment(since: SystemTime) -> io::Result<(i64, i64)> {
    let since = since - OVERLAY_CLOCK_STEP;
    let epoch = since.duration_since(SystemTime::UNIX_EPOCH).map_err(io::Error::other)?;
    Ok((i64::try_from(epoch.as_secs()).map_err(io::Error::other)?, i64::from(epoch.subsec_nanos())))
}

impl Stamp {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.size
    }

    /// Its permissions.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// Whether it is a file with content.
    pub fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    pub(crate) fn of(found: &std::fs::Metadata) -> Stamp {
        use std::os::unix::fs::MetadataExt;
        Stamp {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            mode: found.mode(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}
