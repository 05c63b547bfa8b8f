//! Metadata changes: directories, links, modes, owners and times.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use base::limits;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use rustix::fs::{
    AtFlags, Mode, Timespec, Timestamps, UTIME_OMIT, futimens, mkdirat, openat, renameat, symlinkat, unlinkat,
};
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::dir::OpenEntry;
use super::fail::Fail;
use super::meta::{MODE_MASK, Meta, WRITE};
use super::mounts;
use super::usage::signed;
use super::walk::{Entry, Found};
use super::{DIRECTORY, Disk};
use crate::fault::Code;
use crate::stat::FileKind;

/// How far from now a time may be that somebody gives who may write a file but does not own it.
const NOW_MS: i64 = 2_000;

impl Disk {
    /// Makes a directory; EEXIST when anything is there. It appears with its owner, or not at all.
    pub(crate) fn make_directory(&self, who: &ProcessIdentity, entry: &Entry, mode: u32) -> Result<(), Fail> {
        let id = entry.dir.id()?;
        let _held = self.locks.one(id, entry.os_name())?;
        if entry.dir.shows(entry.os_name()) && self.look(&entry.dir, entry.os_name())?.is_some() {
            return Err(Code::Exists.into());
        }
        let meta = self.meta_of_new(who, entry, FileKind::Directory, mode)?;
        self.journal.retire(id, entry.os_name())?;
        let change = self.directory_sync.begin_change();
        self.make_with(entry, meta)?;
        change.done(&[(id, &entry.dir.fd)]);
        Ok(())
    }

    /// Makes a directory of a name that is free, whoever asks for it.
    pub(crate) fn make_with(&self, entry: &Entry, meta: Meta) -> Result<(), Fail> {
        if !self.attributes {
            return Ok(mkdirat(&*entry.dir.fd, entry.os_name(), Mode::RWXU)?);
        }
        let draft = self.draft_name();
        mkdirat(&*entry.dir.fd, &*draft, Mode::RWXU)?;
        let placed = (|| {
            let made = openat(&*entry.dir.fd, &*draft, DIRECTORY, Mode::empty())?;
            meta.write(&made)?;
            rename_new(&entry.dir.fd, &draft, entry.os_name())
        })();
        if placed.is_err()
            && let Err(errno) = unlinkat(&*entry.dir.fd, &*draft, AtFlags::REMOVEDIR)
        {
            tracing::debug!(%errno, path = %entry.path(), "the draft of a directory could not be removed");
        }
        Ok(placed?)
    }

    /// Makes a symbolic link.
    pub(crate) fn make_link(&self, who: &ProcessIdentity, entry: &Entry, target: &str) -> Result<(), Fail> {
        if target.is_empty() {
            return Err(Code::NotFound.into());
        }
        if target.contains('\0') {
            return Err(Fail::because(Code::Invalid, "a path must not contain NUL"));
        }
        if target.len() > limits::files::PATH_MAX_BYTES {
            return Err(Code::NameTooLong.into());
        }
        let id = entry.dir.id()?;
        let _held = self.locks.one(id, entry.os_name())?;
        if entry.dir.shows(entry.os_name()) && self.look(&entry.dir, entry.os_name())?.is_some() {
            return Err(Code::Exists.into());
        }
        if mounts::is_reserved(entry.os_name()) {
            self.meta_of_new(who, entry, FileKind::Link, 0o777)?;
        }
        entry.dir.need_change(who)?;
        self.refuse_link_in_shared(who, entry)?;
        self.journal.retire(id, entry.os_name())?;
        Ok(symlinkat(target, &*entry.dir.fd, entry.os_name())?)
    }

    /// Links have no owner of their own, so in a directory that everybody shares nobody could be told from
    /// others who may remove it.
    pub(super) fn refuse_link_in_shared(&self, who: &ProcessIdentity, entry: &Entry) -> Result<(), Fail> {
        if who.uid.is_root() || entry.dir.meta.mode & 0o1000 == 0 {
            return Ok(());
        }
        let note = format!(
            "'{}' is a shared directory, where links are not possible; make a directory of your own in it",
            entry.dir.path
        );
        Err(Fail::because(Code::NotPermitted, note))
    }

    /// Sets the permission bits: the owner and root may.
    pub(crate) fn change_mode(&self, who: &ProcessIdentity, found: Found, mode: u32) -> Result<(), Fail> {
        let Found::Entry(entry) = found else { return Err(part_of_system("/")) };
        self.change_mode_of(who, &entry, mode)
    }

    /// The same of an entry.
    pub(crate) fn change_mode_of(&self, who: &ProcessIdentity, entry: &Entry, mode: u32) -> Result<(), Fail> {
        self.change_meta(entry, |there| {
            let meta = there.meta();
            if !meta.is_ruled_by(who) {
                return Err(Code::NotPermitted.into());
            }
            Ok(Meta { mode: mode & MODE_MASK, ..meta })
        })
    }

    /// Sets owner and group: root any, the owner a group of its own.
    pub(crate) fn change_owner(
        &self,
        who: &ProcessIdentity,
        found: Found,
        uid: Option<Uid>,
        gid: Option<Gid>,
    ) -> Result<(), Fail> {
        let Found::Entry(entry) = found else { return Err(part_of_system("/")) };
        self.change_meta(&entry, |there| {
            let meta = there.meta();
            let after = Meta { uid: uid.unwrap_or(meta.uid), gid: gid.unwrap_or(meta.gid), ..meta };
            let own_group = after.gid == meta.gid || after.gid == who.gid || who.gids.contains(&after.gid);
            let allowed = meta.is_ruled_by(who) && after.uid == meta.uid && own_group;
            if who.uid.is_root() || allowed { Ok(after) } else { Err(Code::NotPermitted.into()) }
        })
    }

    fn change_meta(
        &self,
        entry: &Entry,
        change: impl FnOnce(&OpenEntry) -> Result<Meta, Fail>,
    ) -> Result<(), Fail> {
        if mounts::fixed_names(entry.path().as_str()).is_some() {
            return Err(part_of_system(entry.path().as_str()));
        }
        let id = entry.dir.id()?;
        let _held = self.locks.one(id, entry.os_name())?;
        entry.existing()?;
        let there = self.look(&entry.dir, entry.os_name())?.ok_or(Code::NotFound)?;
        // A link has neither owner nor mode, and where it leads was not asked about.
        if there.is_link() {
            return Err(Code::Loop.into());
        }
        let (before, after) = (there.meta(), change(&there)?);
        if !self.attributes && before != after {
            let note = "the disk under this system keeps no owners and modes";
            return Err(Fail::because(Code::Unsupported, note));
        }
        if there.is_directory() {
            let _invalidation = self.invalidate_directories();
            let change = self.directory_sync.begin_change();
            self.stamp(there.handle()?, after)?;
            let directory = Arc::new(there.handle()?.try_clone_to_owned()?);
            change.done(&[(there.id, &directory)]);
            return Ok(());
        }
        self.journal.retire(id, entry.os_name())?;
        self.stamp(there.handle()?, after)?;
        if before.uid != after.uid && there.stat.kind == FileKind::File {
            let bytes = signed(there.stat.size);
            self.refund(before.uid, bytes);
            self.refund(after.uid, -bytes);
        }
        Ok(())
    }

    /// Sets the time of the last change: the owner and root any, others who may write only about now.
    pub(crate) fn change_time(&self, who: &ProcessIdentity, found: Found, ms: i64) -> Result<(), Fail> {
        let Found::Entry(entry) = found else { return Err(part_of_system("/")) };
        let there = entry.existing()?;
        let about_now = self.clock.now_ms().saturating_sub(ms).saturating_abs() <= NOW_MS;
        let allowed = there.meta().is_ruled_by(who) || (about_now && there.meta().allows(who, WRITE));
        if !allowed {
            return Err(Code::NotPermitted.into());
        }
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT as _ },
            last_modification: Timespec {
                tv_sec: ms.div_euclid(1_000),
                tv_nsec: (ms.rem_euclid(1_000) * 1_000_000) as _,
            },
        };
        let id = entry.dir.id()?;
        let _held = self.locks.one(id, entry.os_name())?;
        self.journal.retire(id, entry.os_name())?;
        Ok(futimens(there.handle()?, &times)?)
    }
}

/// Gives something in a directory a name that nothing has. Where the host cannot see to that, the name's lock
/// does.
fn rename_new(dir: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return done,
    }
    renameat(dir, from, dir, to)
}

fn part_of_system(path: &str) -> Fail {
    Fail::because(Code::NotPermitted, format!("'{path}' is part of the system and cannot be changed"))
}
