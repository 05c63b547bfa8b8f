//! Writing files: a draft beside the file takes its place when it is complete and durable, so readers, also
//! after a crash, see the old content or the new one. An existing file keeps its owner, group and mode.
//! Content is durable before it takes its place; that it has taken its place is durable moments later.
//!
//! Appending goes into the file itself and is as durable as the page cache: a killed gateway loses nothing, a
//! machine that loses power may. The next write of the file makes it durable.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use base::limits;
use protocol::identity::ProcessIdentity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::Disk;
use super::dir::{Dir, There, modified_ms};
use super::fail::Fail;
use super::meta::{Meta, READ, WRITE};
use super::mounts;
use super::walk::{Entry, Found};
use crate::fault::Code;
use crate::path::VPath;
use crate::stat::{Kind, Stat};
use crate::view::{Follow, Writing};

/// What is found at a path that is to be written.
pub(crate) enum Target {
    /// The live tree.
    Live(VPath),
    /// A name in a directory; what it names may be gone or changed until its lock is held.
    Entry(Entry),
}

/// A file being written, beside the one it will replace. It is removed unless it took its place.
pub(crate) struct Draft {
    dir: Arc<OwnedFd>,
    name: OsString,
    pub file: File,
    keep: bool,
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.keep
            && let Err(errno) = unlinkat(&*self.dir, &*self.name, AtFlags::empty())
        {
            tracing::debug!(%errno, "a draft could not be removed");
        }
    }
}

impl Disk {
    /// Where a write of this path goes.
    pub(crate) fn target(&self, who: &ProcessIdentity, path: &VPath, parents: bool) -> Result<Target, Fail> {
        let found = if parents {
            self.find_with_parents(who, path, true)?
        } else {
            self.find(who, path, Follow::Yes)?
        };
        match found {
            Found::Live(path) => Ok(Target::Live(path)),
            Found::Root(_) => Err(Code::IsDirectory.into()),
            // What is not shown can not be written either: a name of the gateway's own, or a stranger among the
            // made-up directories.
            Found::Entry(entry) if !entry.dir.shows(entry.os_name()) => {
                self.meta_of_new(who, &entry, Kind::File, 0)?;
                Err(Code::NotPermitted.into())
            }
            Found::Entry(entry) => Ok(Target::Entry(entry)),
        }
    }

    /// Replaces or creates a file by what `fill` writes, atomically.
    pub(crate) fn replace(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        how: Writing,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<Stat, Fail> {
        let id = entry.dir.id()?;
        let held = self.locks.one(id, entry.os_name());
        let there = self.look(&entry.dir, entry.os_name())?;
        let meta = self.meta_after_write(who, entry, there.as_ref(), how)?;
        let mut draft = self.draft(&entry.dir)?;
        fill(&mut draft.file)?;
        let stat = self.put(entry, there.as_ref(), draft, meta)?;
        drop(held);
        self.settle.soon(id, &entry.dir.fd);
        Ok(stat)
    }

    /// Owner, group and mode that a file has after somebody has written it, or why they may not.
    pub(crate) fn meta_after_write(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        there: Option<&There>,
        how: Writing,
    ) -> Result<Meta, Fail> {
        match there {
            Some(_) if how.exclusive => Err(Code::Exists.into()),
            Some(there) if there.is_directory() => Err(Code::IsDirectory.into()),
            // It was no link when it was found: somebody has just swapped it.
            Some(there) if there.is_link() => Err(Code::Loop.into()),
            Some(there) if there.special => Err(Fail::because(Code::Invalid, "not a regular file")),
            Some(there) if there.meta().allows(who, WRITE) => Ok(there.meta()),
            Some(_) => Err(Code::Denied.into()),
            None => self.meta_of_new(who, entry, Kind::File, how.mode),
        }
    }

    /// Owner, group and mode of what somebody makes in a directory, or why they may not.
    pub(crate) fn meta_of_new(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        kind: Kind,
        mode: u32,
    ) -> Result<Meta, Fail> {
        if mounts::is_reserved(entry.os_name()) {
            let note = format!("'{}' is a name that the system keeps for itself", entry.path());
            return Err(Fail::because(Code::NotPermitted, note));
        }
        entry.dir.need_change(who)?;
        let meta = Meta::new_by(who, mode);
        if self.attributes {
            return Ok(meta);
        }
        let default = self.meta_from_place(&entry.dir, entry.os_name(), kind);
        let is_home = kind == Kind::Directory && mounts::holds_places(entry.dir.path.as_str());
        if default.uid == who.uid || (is_home && who.uid.is_root()) {
            return Ok(default);
        }
        let note = format!(
            "'{}' would belong to somebody else: the disk under this system keeps no owners",
            entry.path()
        );
        Err(Fail::because(Code::NotPermitted, note))
    }

    /// Lets a finished draft take its place. The file's lock must be held, and the directory settled afterwards.
    pub(crate) fn put(
        &self,
        entry: &Entry,
        there: Option<&There>,
        mut draft: Draft,
        meta: Meta,
    ) -> Result<Stat, Fail> {
        let size = draft.file.metadata()?.len();
        let grows = size as i64 - there.map_or(0, |there| there.stat.size as i64);
        self.charge(meta.uid, grows)?;
        let placed = (|| {
            self.stamp(&draft.file, meta)?;
            fsync(&draft.file)?;
            renameat(&*draft.dir, &*draft.name, &*entry.dir.fd, entry.os_name())
        })();
        if let Err(errno) = placed {
            self.refund(meta.uid, grows);
            return Err(errno.into());
        }
        draft.keep = true;
        let modified_ms = modified_ms(&fstat(&draft.file)?);
        let Meta { uid, gid, mode } = meta;
        Ok(Stat { kind: Kind::File, size, mode, uid, gid, modified_ms })
    }

    /// Like [`Disk::put`] for a draft that was made earlier: takes the lock, asks again whether the caller may,
    /// and returns when everything is durable.
    pub(crate) fn put_durably(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        draft: Draft,
        how: Writing,
    ) -> Result<Stat, Fail> {
        let id = entry.dir.id()?;
        let held = self.locks.one(id, entry.os_name());
        let there = self.look(&entry.dir, entry.os_name())?;
        let meta = self.meta_after_write(who, entry, there.as_ref(), how)?;
        let stat = self.put(entry, there.as_ref(), draft, meta)?;
        drop(held);
        self.settle.settle(id, &*entry.dir.fd)?;
        Ok(stat)
    }

    /// Keeps owner, group and mode beside a file, where the disk can.
    pub(crate) fn stamp(&self, file: impl AsFd, meta: Meta) -> Result<(), Errno> {
        if self.attributes { meta.write(file) } else { Ok(()) }
    }

    /// A new draft in a directory, for the gateway alone.
    pub(crate) fn draft(&self, dir: &Dir) -> Result<Draft, Fail> {
        self.sweep(dir)?;
        let number = self.drafts.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!("{}{}-{number}", mounts::DRAFT, self.run));
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&*dir.fd, &*name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Draft { dir: dir.fd.clone(), name, file: File::from(fd), keep: false })
    }

    /// An unfinished file that already is in the directory under a name of the gateway's own, as a draft. It is
    /// kept if it does not take its place.
    pub(crate) fn draft_of_partial(&self, dir: &Dir, name: &OsStr, file: File) -> Draft {
        Draft { dir: dir.fd.clone(), name: name.to_os_string(), file, keep: true }
    }

    /// Adds to the end of a file, which is made if need be.
    pub(crate) fn append(&self, who: &ProcessIdentity, entry: &Entry, bytes: &[u8]) -> Result<(), Fail> {
        let _held = self.locks.one(entry.dir.id()?, entry.os_name());
        let there = self.look(&entry.dir, entry.os_name())?;
        let meta = self.meta_after_write(who, entry, there.as_ref(), Writing::default())?;
        let grows = bytes.len() as i64;
        let Some(there) = there else {
            let mut draft = self.draft(&entry.dir)?;
            draft.file.write_all(bytes)?;
            self.stamp(&draft.file, meta)?;
            self.charge(meta.uid, grows)?;
            renameat(&*draft.dir, &*draft.name, &*entry.dir.fd, entry.os_name())?;
            draft.keep = true;
            return Ok(());
        };
        self.charge(meta.uid, grows)?;
        let added = self.append_to(entry, &there, bytes);
        if added.is_err() {
            self.refund(meta.uid, grows);
        }
        added
    }

    fn append_to(&self, entry: &Entry, there: &There, bytes: &[u8]) -> Result<(), Fail> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(&*entry.dir.fd, entry.os_name(), flags, Mode::empty())?);
        let before = file.metadata()?;
        if !before.is_file() {
            return Err(Fail::because(Code::Invalid, "not a regular file"));
        }
        debug_assert!(there.stat.kind == Kind::File);
        if let Err(error) = file.write_all(bytes) {
            // Half of what was to be added is worse than nothing of it.
            file.set_len(before.len())?;
            return Err(error.into());
        }
        Ok(())
    }

    /// Replaces a file by what `change` makes of its content, while nobody else changes it.
    pub(crate) fn edit<T, E>(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        change: impl FnOnce(Vec<u8>) -> Result<(Vec<u8>, T), E>,
    ) -> Result<Result<T, E>, Fail> {
        let id = entry.dir.id()?;
        let held = self.locks.one(id, entry.os_name());
        let there = self.look(&entry.dir, entry.os_name())?.ok_or(Code::NotFound)?;
        let meta = self.meta_after_write(who, entry, Some(&there), Writing::default())?;
        if !meta.allows(who, READ) {
            return Err(Code::Denied.into());
        }
        let before = read_whole(&there)?;
        let (after, value) = match change(before) {
            Ok(changed) => changed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let mut draft = self.draft(&entry.dir)?;
        draft.file.write_all(&after)?;
        self.put(entry, Some(&there), draft, meta)?;
        drop(held);
        self.settle.soon(id, &entry.dir.fd);
        Ok(Ok(value))
    }

    /// Removes old drafts of broken writes from a directory, once in a while.
    fn sweep(&self, dir: &Dir) -> Result<(), Fail> {
        let now_ms = self.clock.now_ms();
        let mut swept: MutexGuard<_> = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let id = dir.id()?;
        if swept.get(&id).is_some_and(|at| now_ms - at < limits::FILE_DRAFT_KEPT_MS) {
            return Ok(());
        }
        if swept.len() >= limits::FILE_DRAFT_SWEEPS_MAX {
            swept.clear();
        }
        swept.insert(id, now_ms);
        drop(swept);
        let mut drafts = Vec::new();
        dir.each_raw(|name, kind| {
            let ours = name.as_encoded_bytes().starts_with(mounts::DRAFT.as_bytes());
            if ours && matches!(kind, FileType::RegularFile | FileType::Unknown) {
                drafts.push(name.to_os_string());
            }
            if drafts.len() < limits::FILE_DRAFT_SWEEPS_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        for name in drafts {
            let old = self.look(dir, &name)?.filter(|there| {
                !there.is_directory() && now_ms - there.stat.modified_ms >= limits::FILE_DRAFT_KEPT_MS
            });
            if old.is_some() {
                unlinkat(&*dir.fd, &*name, AtFlags::empty())?;
            }
        }
        Ok(())
    }
}

/// A whole file that may be read.
pub(crate) fn read_whole(there: &There) -> Result<Vec<u8>, Fail> {
    if there.stat.size > limits::FILE_READ_BYTES_MAX {
        return Err(too_large());
    }
    let file = File::from(there.handle()?.try_clone_to_owned()?);
    read_open(&file, there.stat.size)
}

/// The rest of an open file of about `size` bytes.
pub(crate) fn read_open(file: &File, size: u64) -> Result<Vec<u8>, Fail> {
    if size > limits::FILE_READ_BYTES_MAX {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(limits::FILE_READ_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::FILE_READ_BYTES_MAX { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> Fail {
    let mib = limits::FILE_READ_BYTES_MAX / (1024 * 1024);
    Fail::because(Code::TooLarge, format!("the file is larger than {mib} MiB"))
}
