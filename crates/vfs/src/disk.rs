//! On-disk file system: plain files below the data directory, with owners, groups and modes of this system's own.
//!
//! Modules that build on it (search, uploads) use it so: `Disk::find` leads a caller along a path and returns a
//! `walk::Found`; an `walk::Entry` is a name in an open `dir::Dir` with what is `dir::OpenEntry`, already open
//! for reading. `Disk::directory` turns it into a `Dir` that the caller may list; `Disk::names`, `Disk::look` and
//! `Disk::enter` go on from there by handles, and `OpenEntry::meta().allows(who, meta::READ)` is the permission to ask
//! before `OpenEntry::into_file`. To write, `Disk::target` finds the entry; `Disk::replace` does all of it, and an
//! upload does it in steps: a file of its own named `mounts::PARTIAL…` in `entry.dir`, `Disk::meta_after_write`
//! to learn whether the caller may, `Disk::draft_of_partial`, and `Disk::put_durably` at the end.

pub(crate) mod dir;
pub(crate) mod fail;
pub mod fast;
pub mod fingerprint;
pub(crate) mod lock;
pub(crate) mod meta;
pub(crate) mod mounts;
pub(crate) mod swap;
pub(crate) mod text_cache;
pub(crate) mod traverse;
pub(crate) mod usage;
pub(crate) mod walk;
pub(crate) mod write;

mod change;
mod directory_sync;
mod publish;
mod recover;
mod remove;
mod rename;
mod sweep;
#[cfg(test)]
mod tests;
mod write_barrier;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, RwLock};

use base::clock::Clock;
use base::sync::{lock, read, write};
use journal::Journal;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use dir::HostId;
use directory_sync::DirectorySync;
use fast::DirectoryCache;
use lock::Locks;
use meta::Meta;
use mounts::MOUNTS;
use text_cache::TextCache;
use usage::Usage;

use crate::observe::{Agent, Change, Observed};

/// The files on disk.
pub struct Disk {
    files: Arc<OwnedFd>,
    /// Whether the disk can keep owners and modes beside files.
    attributes: bool,
    clock: Clock,
    homes: RwLock<HashMap<String, (Uid, Gid)>>,
    /// Whose workspaces are whose, for those that keep no owner themselves.
    workspaces: RwLock<HashMap<String, (Uid, Gid)>>,
    /// Held while the homes are changed: what is done about the old ones must be about the last ones.
    home_changes: Mutex<()>,
    locks: Locks,
    directory_sync: DirectorySync,
    pub(crate) journal: Journal,
    pub(crate) usage: Usage,
    pub(crate) directory_cache: DirectoryCache,
    pub(crate) text_cache: TextCache,
    /// Tells the drafts of this run from older ones.
    run: String,
    drafts: AtomicU64,
    swept: Mutex<HashMap<HostId, i64>>,
    /// Whether it was said that some names cannot be shown.
    said_strange: AtomicBool,
    /// Who is told of changes.
    pub(crate) observed: Observed,
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Disk {
    /// Opens the directory, making what is missing.
    pub fn open(files: &Path, clock: Clock) -> io::Result<Disk> {
        Disk::open_in(files, clock, journal::boot_id())
    }

    /// The same in a given run of the machine.
    pub(crate) fn open_in(files: &Path, clock: Clock, boot: Option<journal::BootId>) -> io::Result<Disk> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(files)?;
        let handle = openat(CWD, files, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let attributes = keeps_attributes(&handle)?;
        if !attributes {
            tracing::warn!(
                "the file system below {} keeps no extended attributes: every file belongs to the owner of its \
                 place, and chmod and chown do not work",
                files.display()
            );
        }
        let disk = Disk::new(handle, attributes, clock, boot);
        disk.make_mounts()?;
        disk.recover()?;
        disk.sweep_all();
        Ok(disk)
    }

    /// The same, as if the file system kept no extended attributes.
    pub(crate) fn open_plain(files: &Path, clock: Clock) -> io::Result<Disk> {
        Ok(Disk { attributes: false, ..Disk::open(files, clock)? })
    }

    fn new(files: OwnedFd, attributes: bool, clock: Clock, boot: Option<journal::BootId>) -> Disk {
        let files = Arc::new(files);
        Disk {
            journal: Journal::new(&files, &["usr", "usr/share"], boot),
            files,
            attributes,
            homes: RwLock::default(),
            workspaces: RwLock::default(),
            home_changes: Mutex::default(),
            locks: Locks::new(),
            directory_sync: DirectorySync::default(),
            usage: Usage::default(),
            directory_cache: DirectoryCache::new(clock.clone()),
            text_cache: TextCache::new(clock.clone()),
            clock,
            run: base::random::tagged(""),
            drafts: AtomicU64::new(0),
            swept: Mutex::default(),
            said_strange: AtomicBool::new(false),
            observed: Observed::default(),
        }
    }

    /// An entry has just been changed by somebody.
    pub(crate) fn changed(&self, entry: &walk::Entry, who: &ProcessIdentity, agent: Option<&Agent>) {
        let (directory, name) = (entry.dir.path.as_str(), entry.name.as_str());
        self.observed.tell(Change { directory, name, who, agent });
    }

    /// Tells whose homes are whose by name, for homes that keep no owner themselves.
    pub fn homes(&self, homes: HashMap<String, (Uid, Gid)>) {
        self.change_homes(|known| *known = homes);
    }

    /// Changes what is known of whose homes are whose. A home that is somebody's no more keeps its owner: else
    /// the next user of that name would inherit it.
    pub(crate) fn change_homes(&self, change: impl FnOnce(&mut HashMap<String, (Uid, Gid)>)) {
        let _alone = lock(&self.home_changes);
        let before = read(&self.homes).clone();
        let mut after = before.clone();
        change(&mut after);
        for name in before.keys().filter(|name| before.get(*name) != after.get(*name)) {
            if let Err(fail) = self.stamp_home(name) {
                tracing::warn!(name, ?fail, "a home could not be given its owner");
            }
        }
        let _invalidation = self.invalidate_directories();
        *write(&self.homes) = after;
    }

    /// The same for one home. What it costs does not depend on how many there are.
    pub(crate) fn change_home(
        &self,
        name: &str,
        change: impl FnOnce(Option<(Uid, Gid)>) -> Option<(Uid, Gid)>,
    ) {
        let _alone = lock(&self.home_changes);
        let before = read(&self.homes).get(name).copied();
        let after = change(before);
        if before.is_some()
            && before != after
            && let Err(fail) = self.stamp_home(name)
        {
            tracing::warn!(name, ?fail, "a home could not be given its owner");
        }
        let _invalidation = self.invalidate_directories();
        let mut homes = write(&self.homes);
        match after {
            Some(owner) => drop(homes.insert(name.to_string(), owner)),
            None => drop(homes.remove(name)),
        }
    }

    /// Keeps beside a home whose it is, if it is not yet.
    fn stamp_home(&self, name: &str) -> Result<(), fail::Fail> {
        let (top, home, name) = (self.top(), OsStr::new("home"), OsStr::new(name));
        let Some(there) = self.look(&top, home)? else { return Ok(()) };
        let homes = self.enter(&top, home, there)?;
        match self.look(&homes, name)? {
            Some(home) if home.is_directory() && !home.stamped => {
                Ok(self.stamp(home.handle()?, home.meta())?)
            }
            _ => Ok(()),
        }
    }

    /// Tells whose a workspace is; nobody's from now on for `None`.
    pub(crate) fn change_workspace(&self, id: &str, owner: Option<(Uid, Gid)>) {
        let _invalidation = self.invalidate_directories();
        let mut workspaces = write(&self.workspaces);
        match owner {
            Some(owner) => drop(workspaces.insert(id.to_string(), owner)),
            None => drop(workspaces.remove(id)),
        }
    }

    /// Whose a workspace is, also while it is being archived or restored.
    fn workspace_owner(&self, name: &str) -> Option<(Uid, Gid)> {
        let id = name.strip_prefix(mounts::AWAY).or_else(|| name.strip_prefix(mounts::BACK)).unwrap_or(name);
        read(&self.workspaces).get(id).copied()
    }

    pub(crate) fn home_owner(&self, name: &str) -> Option<(Uid, Gid)> {
        read(&self.homes).get(name).copied()
    }

    fn make_mounts(&self) -> io::Result<()> {
        for path in ["usr", "usr/share"].into_iter().chain(MOUNTS.iter().map(|mount| &mount.path[1..])) {
            match mkdirat(&*self.files, path, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        for mount in MOUNTS.iter().filter(|_| self.attributes) {
            let dir = openat(&*self.files, &mount.path[1..], DIRECTORY, Mode::empty())?;
            if Meta::read(dir.as_fd())?.is_none() {
                mount.meta.write(&dir)?;
            }
        }
        Ok(())
    }
}

fn keeps_attributes(files: &OwnedFd) -> io::Result<bool> {
    match mounts::FIXED_META.write(files) {
        Ok(()) => Ok(true),
        Err(Errno::NOTSUP) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
