//! Files that arrive piece by piece: the bytes collect in a file of the gateway's own beside the target, named
//! after the digest, so that a broken upload goes on where it stopped; the target is replaced at the very end.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use base::limits;
use protocol::identity::ProcessIdentity;
use protocol::ids::Uid;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use crate::disk::Disk;
use crate::disk::dir::{Dir, There};
use crate::disk::fail::Fail;
use crate::disk::meta::Meta;
use crate::disk::mounts;
use crate::disk::walk::Entry;
use crate::disk::write::Target;
use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::tree::Tree;
use crate::view::{View, Work, Writing};

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

/// Remembers which directory was last looked through for abandoned uploads.
#[derive(Default)]
pub struct Sweeper(Mutex<Option<(PartialId, i64)>>);

/// An upload under way. Its partial file stays when it is dropped.
pub struct Upload {
    tree: Arc<Tree>,
    who: Arc<ProcessIdentity>,
    path: VPath,
    how: Writing,
    dir: Dir,
    partial: OsString,
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
        let (tree, who, path) = (self.tree.clone(), self.who.clone(), path.clone());
        let named = path.clone();
        self.learn_quota().await.map_err(|fail| fail.at("open", named.as_str()))?;
        let work = move || open(tree, who, path, &wanted, &sweeper, enter);
        let opened = match self.work {
            Work::Here => work(),
            Work::Aside => match tokio::task::spawn_blocking(work).await {
                Ok(opened) => opened,
                Err(error) => Err(Fail::because(Code::Io, error.to_string())),
            },
        };
        opened.map_err(|fail| fail.at("open", named.as_str()))
    }
}

fn open<T>(
    tree: Arc<Tree>,
    who: Arc<ProcessIdentity>,
    path: VPath,
    wanted: &Wanted,
    sweeper: &Sweeper,
    enter: impl FnOnce(PartialId) -> T,
) -> Result<(Upload, File, T), Fail> {
    let disk = &tree.disk;
    let mode = wanted.mode.unwrap_or(Writing::default().mode) & 0o777;
    let how = Writing { mode, parents: true, exclusive: false };
    let entry = entry_of(disk, &who, &path, true)?;
    let meta = disk.meta_after_write(&who, &entry, entry.there.as_ref(), how)?;
    need_room(disk, meta.uid, entry.there.as_ref(), wanted.size)?;
    sweep(disk, &entry.dir, sweeper, tree.clock.now_ms())?;
    let partial = partial_name(&who, entry.os_name(), &wanted.tag);
    let file = open_partial(disk, &entry.dir, &partial, &who)?;
    let metadata = file.metadata()?;
    let id = (metadata.dev(), metadata.ino());
    let entered = enter(id);
    lock(&file)?;
    let still = disk.look(&entry.dir, &partial)?.is_some_and(|there| there.id == id);
    if !still {
        return Err(Fail::because(Code::Io, "its partial file was removed just now, try again"));
    }
    let mut offset = file.metadata()?.len();
    if offset > wanted.size {
        file.set_len(0)?;
        offset = 0;
    }
    let dir = entry.dir;
    Ok((Upload { tree, who, path, how, dir, partial, offset }, file, entered))
}

impl Upload {
    /// Puts the whole file, checked by now, in its place, durably. Whether that is allowed is asked again.
    pub fn store(self, file: File) -> Result<(), Fault> {
        let named = self.path.clone();
        self.replace(file).map_err(|fail| fail.at("open", named.as_str()))
    }

    fn replace(self, file: File) -> Result<(), Fail> {
        let disk = &self.tree.disk;
        let entry = entry_of(disk, &self.who, &self.path, false)?;
        let draft = disk.draft_of_partial(&self.dir, &self.partial, file);
        disk.put_durably(&self.who, &entry, draft, self.how).map(|_| ())
    }

    /// Throws away what has arrived: it is not the beginning of what was meant.
    pub fn discard(self) {
        if let Err(error) = unlinkat(&*self.dir.fd, &*self.partial, AtFlags::empty()) {
            tracing::warn!(%error, "a partial file could not be removed");
        }
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

/// Refuses at once what the quota does not allow; it is charged when the file takes its place.
fn need_room(disk: &Disk, uid: Uid, there: Option<&There>, size: u64) -> Result<(), Fail> {
    let before = there.map_or(0, |there| there.stat.size);
    let grows = i64::try_from(size).unwrap_or(i64::MAX).saturating_sub_unsigned(before);
    disk.charge(uid, grows)?;
    disk.refund(uid, grows);
    Ok(())
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

/// An upload that was ended may still have a write under way; the lock is free once that is done.
fn lock(file: &File) -> Result<(), Fail> {
    let deadline = Instant::now() + limits::UPLOAD_LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(Fail::because(Code::Io, "another transfer writes this file"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(limits::UPLOAD_LOCK_RETRY),
        }
    }
}

/// Removes partial files that were abandoned long ago. Many files are often sent into one directory: it is looked
/// through once in a while.
fn sweep(disk: &Disk, dir: &Dir, sweeper: &Sweeper, now_ms: i64) -> Result<(), Fail> {
    let id = dir.id()?;
    let mut swept = sweeper.0.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.is_some_and(|(last, at)| last == id && now_ms - at < limits::UPLOAD_SWEEP_MS) {
        return Ok(());
    }
    *swept = Some((id, now_ms));
    drop(swept);
    let mut partials = Vec::new();
    let mut seen = 0;
    dir.each_raw(|name, _| {
        seen += 1;
        if name.as_encoded_bytes().starts_with(mounts::PARTIAL.as_bytes()) {
            partials.push(name.to_os_string());
        }
        if seen < limits::READ_ENTRIES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    for name in partials {
        if let Err(fail) = remove_abandoned(disk, dir, &name, now_ms) {
            tracing::debug!(name = %name.display(), ?fail, "an abandoned upload is left");
        }
    }
    Ok(())
}

/// A lock on it means that an upload is at work.
fn remove_abandoned(disk: &Disk, dir: &Dir, name: &OsStr, now_ms: i64) -> Result<(), Fail> {
    let Some(there) = disk.look(dir, name)? else { return Ok(()) };
    if now_ms.saturating_sub(there.stat.modified_ms) < limits::UPLOAD_PARTIAL_KEPT_MS {
        return Ok(());
    }
    let file = there.into_file()?;
    if file.try_lock().is_ok() {
        unlinkat(&*dir.fd, name, AtFlags::empty())?;
    }
    Ok(())
}
