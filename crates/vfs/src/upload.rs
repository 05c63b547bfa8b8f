//! Resumable uploads: the bytes collect in a file of the gateway's own beside the
//! target, named after the digest, so that a broken upload goes on where it stopped; the target is replaced at the
//! very end.

mod reservation;
mod sweep;

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use base::clock::Clock;
use base::limits;
use protocol::identity::ProcessIdentity;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use self::reservation::Reservation;
use crate::disk::Disk;
use crate::disk::dir::{Dir, OpenEntry};
use crate::disk::fail::Fail;
use crate::disk::meta::Meta;
use crate::disk::mounts;
use crate::disk::walk::Entry;
use crate::disk::write::Target;
use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::tree::Tree;
use crate::view::{View, Writing};

pub(crate) use self::reservation::Arriving;
pub use self::sweep::Sweeper;

/// Names one partial file on the host: its device and inode.
pub type PartialId = (u64, u64);

/// What will be sent.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Bytes of the whole file.
    pub size: u64,
    /// The beginning of its digest: the same file goes on, another one begins anew.
    pub tag: String,
    /// The mode of a new file, before the umask; an existing one keeps its own.
    pub mode: Option<u32>,
}

/// An upload under way. Its partial file stays when it is dropped.
pub struct Upload {
    tree: Arc<Tree>,
    path: VPath,
    how: Writing,
    dir: Dir,
    partial: OsString,
    /// `None` once the quota was charged or given back.
    reservation: Option<Reservation>,
    /// How much is there already.
    pub offset: u64,
}

impl View {
    /// Begins or goes on with an upload: the partial file comes open at its beginning, and locked. `enter` is told
    /// which one it is before that is waited for, and ends an older upload; what it returns is handed back.
    pub async fn upload<T: Send + 'static>(
        &self,
        path: &VPath,
        wanted: Wanted,
        sweeper: Arc<Sweeper>,
        enter: impl FnOnce(PartialId) -> T + Send + 'static,
    ) -> Result<(Upload, File, T), Fault> {
        let opened = self.open_upload(path.clone(), wanted, sweeper, enter).await;
        opened.map_err(|fail| fail.at("open", path.as_str()))
    }

    /// An upload that was ended may still have a write under way; the partial file's lock is free once that is done.
    async fn open_upload<T: Send + 'static>(
        &self,
        path: VPath,
        wanted: Wanted,
        sweeper: Arc<Sweeper>,
        enter: impl FnOnce(PartialId) -> T + Send + 'static,
    ) -> Result<(Upload, File, T), Fail> {
        self.learn_quota().await?;
        let deadline = Clock::system().instant() + limits::device_files::UPLOAD_LOCK_WAIT;
        let tree = self.tree.clone();
        let first = move |_: &Disk, who: &ProcessIdentity| {
            Opening::new(tree, who, path, wanted, &sweeper, enter)?.attempt()
        };
        let mut attempt = self.on_disk(first).await?;
        loop {
            let opening = match attempt {
                Attempt::Done(opened) => return Ok(*opened),
                Attempt::Busy(_) if Clock::system().instant() >= deadline => {
                    return Err(Fail::because(Code::Io, "another transfer writes this file"));
                }
                Attempt::Busy(opening) => opening,
            };
            tokio::time::sleep(limits::device_files::UPLOAD_LOCK_RETRY).await;
            attempt = self.on_disk(move |_, _| opening.attempt()).await?;
        }
    }
}

/// An upload whose partial file is open, but not locked yet.
struct Opening<T> {
    tree: Arc<Tree>,
    path: VPath,
    how: Writing,
    size: u64,
    entry: Entry,
    partial: OsString,
    file: File,
    id: PartialId,
    entered: T,
}

enum Attempt<T> {
    Done(Box<(Upload, File, T)>),
    /// Somebody else has the lock.
    Busy(Box<Opening<T>>),
}

impl<T> Opening<T> {
    fn new(
        tree: Arc<Tree>,
        who: &ProcessIdentity,
        path: VPath,
        wanted: Wanted,
        sweeper: &Sweeper,
        enter: impl FnOnce(PartialId) -> T,
    ) -> Result<Opening<T>, Fail> {
        let disk = &tree.disk;
        let mode = wanted.mode.unwrap_or(Writing::default().mode) & 0o777;
        let how = Writing { mode, parents: true, exclusive: false };
        let entry = entry_of(disk, who, &path, true)?;
        disk.meta_after_write(who, &entry, entry.there.as_ref(), how)?;
        disk.freshen_usage();
        sweeper.sweep(disk, &entry.dir, tree.clock.now_ms())?;
        let partial = partial_name(who, entry.os_name(), &wanted.tag);
        let file = open_partial(disk, &entry.dir, &partial, who)?;
        let metadata = file.metadata()?;
        let id = (metadata.dev(), metadata.ino());
        let (size, entered) = (wanted.size, enter(id));
        Ok(Opening { tree, path, how, size, entry, partial, file, id, entered })
    }

    /// Tries the lock once.
    fn attempt(self) -> Result<Attempt<T>, Fail> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => return Ok(Attempt::Busy(Box::new(self))),
        }
        let disk = &self.tree.disk;
        let still = disk.look(&self.entry.dir, &self.partial)?.filter(|there| there.id == self.id);
        let Some(mut still) = still else {
            return Err(Fail::because(Code::Io, "its partial file was removed just now, try again"));
        };
        if still.stat.size > self.size {
            self.file.set_len(0)?;
            disk.refund(still.stat.uid, still.stat.size as i64);
            still.stat.size = 0;
        }
        let before = self.entry.there.as_ref().filter(|there| there.stat.uid == still.stat.uid);
        let replaced = before.map_or(0, |there| there.stat.size);
        let reservation = match Reservation::take(&self.tree, &still, self.size, replaced) {
            Ok(reservation) => Some(reservation),
            Err(fail) => return Err(self.give_up(&still, fail)),
        };
        let Opening { tree, path, how, entry, partial, file, entered, .. } = self;
        let upload =
            Upload { tree, path, how, dir: entry.dir, partial, reservation, offset: still.stat.size };
        Ok(Attempt::Done(Box::new((upload, file, entered))))
    }

    /// What has nothing in it need not be left behind.
    fn give_up(&self, partial: &OpenEntry, fail: Fail) -> Fail {
        if partial.stat.size == 0 {
            remove(&self.entry.dir, &self.partial);
        }
        fail
    }
}

impl Upload {
    /// Puts the whole file, checked by now, in its place, durably. Whether that is allowed is asked again: `who`
    /// is the sender as it is now.
    pub fn store(self, who: &ProcessIdentity, file: File) -> Result<(), Fault> {
        let named = self.path.clone();
        self.replace(who, file).map_err(|fail| fail.at("open", named.as_str()))
    }

    fn replace(mut self, who: &ProcessIdentity, file: File) -> Result<(), Fail> {
        let disk = &self.tree.disk;
        let entry = entry_of(disk, who, &self.path, false)?;
        let draft = disk.draft_of_partial(&self.dir, &self.partial, file);
        // The file is charged where it takes its place, and the partial file is none from then on.
        let uid = self.reservation.take().map(|reservation| {
            let uid = reservation.uid();
            reservation.release(0);
            uid
        });
        let placed = disk.put_durably(who, &entry, draft, self.how);
        if let (Err(_), Some(uid)) = (&placed, uid) {
            disk.refund(uid, -(self.left() as i64));
        }
        placed?;
        disk.changed(&entry, who, None);
        Ok(())
    }

    /// Throws away what has arrived: it is not the beginning of what was meant.
    pub fn discard(self) {
        remove(&self.dir, &self.partial);
    }

    /// How much of it is on the disk.
    fn left(&self) -> u64 {
        let there = self.tree.disk.look(&self.dir, &self.partial);
        there.ok().flatten().map_or(0, |there| there.stat.size)
    }
}

impl Drop for Upload {
    /// What has arrived counts as long as it is kept, and no more than that.
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            reservation.release(self.left());
        }
    }
}

fn remove(dir: &Dir, partial: &OsStr) {
    if let Err(error) = unlinkat(&*dir.fd, partial, AtFlags::empty()) {
        tracing::warn!(%error, "a partial file could not be removed");
    }
}

/// Where the file goes. What the kernel shows as files is written by calls, not by uploads.
fn entry_of(disk: &Disk, who: &ProcessIdentity, path: &VPath, parents: bool) -> Result<Entry, Fail> {
    match disk.target(who, path, parents)? {
        Target::Entry(entry) => Ok(entry),
        Target::Live(path) => {
            Err(Fail::because(Code::Unsupported, format!("'{path}' is a live file: use fs.write")))
        }
    }
}

/// The same for the same user, file and digest, and short enough for any file system. What one user has sent is
/// not gone on with by another, who would get bytes that were never theirs.
fn partial_name(who: &ProcessIdentity, target: &OsStr, tag: &str) -> OsString {
    let target = BuildHasherDefault::<DefaultHasher>::default().hash_one(target);
    format!("{}{}-{tag}-{target:016x}", mounts::PARTIAL, who.uid).into()
}

fn open_partial(disk: &Disk, dir: &Dir, name: &OsStr, who: &ProcessIdentity) -> Result<File, Fail> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&*dir.fd, name, flags, Mode::RUSR | Mode::WUSR)?);
    if !file.metadata()?.is_file() {
        return Err(Fail::because(Code::Invalid, "its partial file is not a regular file"));
    }
    disk.stamp(&file, Meta { uid: who.uid, gid: who.gid, mode: 0o600 })?;
    Ok(file)
}
