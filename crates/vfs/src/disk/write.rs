//! Atomic writes: a draft beside the file takes its place when it is complete, so readers, also after a
//! crash, see the old content or the new one. An existing file keeps its owner, group and mode. What is small is
//! durable, with its name, before the write is answered: by its record in the journal. Else the content is durable
//! before it takes its place, and that it has taken its place is moments later.
//!
//! Appending goes into the file itself and is as durable as the page cache: a killed gateway loses nothing, a
//! machine that loses power may. The next write of the file makes it durable.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::limits;
use protocol::identity::ProcessIdentity;
use protocol::ids::Uid;
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::Disk;
use super::dir::{Dir, OpenEntry};
use super::fail::Fail;
use super::meta::{Meta, READ, WRITE};
use super::mounts;
use super::usage::signed;
use super::walk::{Entry, Found};
use crate::fault::Code;
use crate::path::VPath;
use crate::stat::{FileKind, Stat};
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
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: OsString,
    pub file: File,
    pub(super) keep: bool,
    /// What is kept beside it, if that is known.
    pub(super) meta: Option<Meta>,
    /// Whether all of it is durable.
    pub(super) durable: bool,
    /// All of its content, as long as it is small enough for the journal.
    pub(super) content: Option<Vec<u8>>,
    /// Bytes that somebody was charged for it so far.
    pub(super) charged: (Uid, i64),
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
        let found =
            if parents { self.find_with_parents(who, path)? } else { self.find(who, path, Follow::Yes)? };
        match found {
            Found::Live(path) => Ok(Target::Live(path)),
            Found::Root(_) => Err(Code::IsDirectory.into()),
            // What is not shown cannot be written either: a name of the gateway's own, or a stranger among the
            // made-up directories.
            Found::Entry(entry) if !entry.dir.shows(entry.os_name()) => {
                self.meta_of_new(who, &entry, FileKind::File, 0)?;
                Err(Code::NotPermitted.into())
            }
            Found::Entry(entry) => Ok(Target::Entry(entry)),
        }
    }

    /// Replaces or creates a file by what `fill` writes, atomically. Others are kept from the file only while
    /// the complete and durable draft takes its place.
    pub(crate) fn replace(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        how: Writing,
        fill: impl FnOnce(&mut Filling) -> Result<(), Fail>,
    ) -> Result<Stat, Fail> {
        self.freshen_usage();
        let meta = self.meta_after_write(who, entry, entry.there.as_ref(), how)?;
        let mut draft = self.draft(&entry.dir, meta)?;
        let placed = (|| {
            fill(&mut Filling::new(self, &mut draft, entry.there.as_ref()))?;
            if draft.content.is_none() {
                self.prepare(&mut draft, meta)?;
            }
            let id = entry.dir.id()?;
            let held = self.locks.one(id, entry.os_name())?;
            let there = self.look(&entry.dir, entry.os_name())?;
            let meta = self.meta_after_write(who, entry, there.as_ref(), how)?;
            let (stat, placed) = self.put(id, entry, there.as_ref(), &mut draft, meta)?;
            drop(held);
            self.finish_publish(placed, id, entry, there)?;
            Ok(stat)
        })();
        self.refund_unless_placed(&draft, &placed);
        placed
    }

    /// Owner, group and mode that a file has after somebody has written it, or why they may not.
    pub(crate) fn meta_after_write(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        there: Option<&OpenEntry>,
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
            None => self.meta_of_new(who, entry, FileKind::File, how.mode),
        }
    }

    /// Owner, group and mode of what somebody makes in a directory, or why they may not.
    pub(crate) fn meta_of_new(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        kind: FileKind,
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
        let default = self.default_meta(&entry.dir, entry.os_name(), kind);
        let is_home = kind == FileKind::Directory && mounts::holds_places(entry.dir.path.as_str());
        if default.uid == who.uid || (is_home && who.uid.is_root()) {
            return Ok(default);
        }
        let note = format!(
            "'{}' would belong to somebody else: the disk under this system keeps no owners",
            entry.path()
        );
        Err(Fail::because(Code::NotPermitted, note))
    }

    /// Like [`Disk::replace`] for a draft that was made earlier: asks again whether the caller may, and returns
    /// when everything is durable.
    pub(crate) fn put_durably(
        &self,
        who: &ProcessIdentity,
        entry: &Entry,
        mut draft: Draft,
        how: Writing,
    ) -> Result<Stat, Fail> {
        let id = entry.dir.id()?;
        let there = self.look(&entry.dir, entry.os_name())?;
        let meta = self.meta_after_write(who, entry, there.as_ref(), how)?;
        self.prepare(&mut draft, meta)?;
        let held = self.locks.one(id, entry.os_name())?;
        let there = self.look(&entry.dir, entry.os_name())?;
        let meta = self.meta_after_write(who, entry, there.as_ref(), how)?;
        let placed = self.put(id, entry, there.as_ref(), &mut draft, meta);
        self.refund_unless_placed(&draft, &placed);
        drop(held);
        let (stat, _) = placed?;
        self.directory_sync.sync_now(id, &*entry.dir.fd)?;
        Ok(stat)
    }

    /// Keeps owner, group and mode beside a file, where the disk can.
    pub(crate) fn stamp(&self, file: impl AsFd, meta: Meta) -> Result<(), Errno> {
        if self.attributes { meta.write(file) } else { Ok(()) }
    }

    /// A new draft in a directory, for the gateway alone.
    pub(crate) fn draft(&self, dir: &Dir, meta: Meta) -> Result<Draft, Fail> {
        self.sweep(dir);
        let name = self.draft_name();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&*dir.fd, &*name, flags, Mode::RUSR | Mode::WUSR)?);
        let dir = dir.fd.clone();
        let content = self.journal.accepts(0).then(Vec::new);
        let charged = (meta.uid, 0);
        let mut draft = Draft { dir, name, file, keep: false, meta: None, durable: false, content, charged };
        // It counts as its owner's from the beginning.
        self.stamp(&draft.file, meta)?;
        draft.meta = Some(meta);
        Ok(draft)
    }

    /// A name for a draft that no other has.
    pub(super) fn draft_name(&self) -> OsString {
        let number = self.drafts.fetch_add(1, Ordering::Relaxed);
        OsString::from(format!("{}{}-{number}", mounts::DRAFT, self.run))
    }

    /// An unfinished file that already is in the directory under a name of the gateway's own, as a draft. It is
    /// kept if it does not take its place.
    pub(crate) fn draft_of_partial(&self, dir: &Dir, name: &OsStr, file: File) -> Draft {
        let (dir, name) = (dir.fd.clone(), name.to_os_string());
        let charged = (Uid::ROOT, 0);
        Draft { dir, name, file, keep: true, meta: None, durable: false, content: None, charged }
    }

    /// Adds to the end of a file, which is made if need be.
    pub(crate) fn append(&self, who: &ProcessIdentity, entry: &Entry, bytes: &[u8]) -> Result<(), Fail> {
        self.freshen_usage();
        let id = entry.dir.id()?;
        let _held = self.locks.one(id, entry.os_name())?;
        let there = self.look(&entry.dir, entry.os_name())?;
        let meta = self.meta_after_write(who, entry, there.as_ref(), Writing::default())?;
        self.journal.retire(id, entry.os_name())?;
        let Some(there) = there else {
            let mut draft = self.draft(&entry.dir, meta)?;
            let placed = (|| {
                Filling::new(self, &mut draft, None).add(bytes)?;
                renameat(&*draft.dir, &*draft.name, &*entry.dir.fd, entry.os_name())?;
                draft.keep = true;
                Ok(())
            })();
            self.refund_unless_placed(&draft, &placed);
            return placed;
        };
        let grows = signed(bytes.len() as u64);
        self.charge(meta.uid, grows)?;
        let added = self.append_to(entry, &there, bytes);
        if added.is_err() {
            self.refund(meta.uid, grows);
        }
        added
    }

    fn append_to(&self, entry: &Entry, there: &OpenEntry, bytes: &[u8]) -> Result<(), Fail> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(&*entry.dir.fd, entry.os_name(), flags, Mode::empty())?);
        let before = file.metadata()?;
        if !before.is_file() {
            return Err(Fail::because(Code::Invalid, "not a regular file"));
        }
        debug_assert!(there.stat.kind == FileKind::File);
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
        self.freshen_usage();
        let id = entry.dir.id()?;
        let held = self.locks.one(id, entry.os_name())?;
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
        let mut draft = self.draft(&entry.dir, meta)?;
        let placed = (|| {
            Filling::new(self, &mut draft, Some(&there)).add(&after)?;
            self.put(id, entry, Some(&there), &mut draft, meta)
        })();
        self.refund_unless_placed(&draft, &placed);
        let (_, placed) = placed?;
        drop(held);
        self.finish_publish(placed, id, entry, Some(there))?;
        Ok(Ok(value))
    }
}

/// A draft being filled. What is written is charged block by block, so that what does not fit ends early.
pub(crate) struct Filling<'a> {
    disk: &'a Disk,
    draft: &'a mut Draft,
    /// Bytes that are free when the draft takes its place.
    replaced: i64,
    written: i64,
}

impl<'a> Filling<'a> {
    pub(super) fn new(disk: &'a Disk, draft: &'a mut Draft, there: Option<&OpenEntry>) -> Filling<'a> {
        let replaced = there.map_or(0, |there| signed(there.stat.size));
        Filling { disk, draft, replaced, written: 0 }
    }

    /// Writes more; EDQUOT when that does not fit.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), Fail> {
        self.written = self.written.saturating_add(signed(bytes.len() as u64));
        let (uid, charged) = self.draft.charged;
        let more = self.written.saturating_sub(self.replaced).saturating_sub(charged);
        if more > 0 {
            self.disk.charge(uid, more)?;
            self.draft.charged.1 += more;
        }
        let content = self.draft.content.take();
        self.draft.content = content.filter(|kept| self.disk.journal.accepts(kept.len() + bytes.len()));
        if let Some(content) = &mut self.draft.content {
            content.extend_from_slice(bytes);
        }
        Ok(self.draft.file.write_all(bytes)?)
    }
}

/// A whole file that may be read.
pub(crate) fn read_whole(there: &OpenEntry) -> Result<Vec<u8>, Fail> {
    if there.stat.size > limits::files::READ_MAX_BYTES {
        return Err(too_large());
    }
    let file = File::from(there.handle()?.try_clone_to_owned()?);
    read_open(&file, there.stat.size)
}

/// The rest of an open file of about `size` bytes.
pub(crate) fn read_open(file: &File, size: u64) -> Result<Vec<u8>, Fail> {
    if size > limits::files::READ_MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(limits::files::READ_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::files::READ_MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> Fail {
    let mib = limits::files::READ_MAX_BYTES / (1024 * 1024);
    Fail::because(Code::TooLarge, format!("the file is larger than {mib} MiB"))
}
