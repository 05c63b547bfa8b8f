//! Atomic move within the tree, of a file or of a directory with all that is in it.

use protocol::identity::ProcessIdentity;
use rustix::fs::renameat;
use rustix::io::Errno;

use super::Disk;
use super::dir::{HostId, OpenEntry};
use super::fail::Fail;
use super::meta::WRITE;
use super::mounts;
use super::remove::refuse_protected;
use super::walk::Entry;
use crate::fault::Code;
use crate::stat::FileKind;

impl Disk {
    /// Moves an entry to another one, which is replaced: a file by a file, an empty directory by a directory.
    pub(crate) fn rename(&self, who: &ProcessIdentity, from: &Entry, to: &Entry) -> Result<(), Fail> {
        let (from_id, to_id) = (from.dir.id()?, to.dir.id()?);
        from.existing()?;
        if from_id == to_id && from.name == to.name {
            return Ok(());
        }
        let _held = self.locks.two((from_id, from.os_name()), (to_id, to.os_name()))?;
        let moved = self.look(&from.dir, from.os_name())?.ok_or(Code::NotFound)?;
        let is_visible = to.dir.shows(to.os_name());
        let replaced = if is_visible { self.look(&to.dir, to.os_name())? } else { None };
        self.refuse_move(who, from, &moved, to, replaced.as_ref())?;
        if moved.is_directory() && from_id != to_id && !moved.meta().allows(who, WRITE) {
            return Err(Code::Denied.into());
        }
        self.stamp_before_move(from, &moved, to)?;
        self.carry_out((from_id, from), (to_id, to), &moved, replaced.as_ref())
    }

    /// Moves a workspace, which nobody else can, to a name that is free.
    pub(crate) fn rename_workspace(&self, from: &Entry, to: &Entry) -> Result<(), Fail> {
        let (from_id, to_id) = (from.dir.id()?, to.dir.id()?);
        let _held = self.locks.two((from_id, from.os_name()), (to_id, to.os_name()))?;
        let moved = self.look(&from.dir, from.os_name())?.ok_or(Code::NotFound)?;
        if self.look(&to.dir, to.os_name())?.is_some() {
            return Err(Code::Exists.into());
        }
        self.carry_out((from_id, from), (to_id, to), &moved, None)
    }

    /// Moves what may be moved. Both names' locks must be held.
    fn carry_out(
        &self,
        (from_id, from): (HostId, &Entry),
        (to_id, to): (HostId, &Entry),
        moved: &OpenEntry,
        replaced: Option<&OpenEntry>,
    ) -> Result<(), Fail> {
        let _invalidation = moved.is_directory().then(|| self.invalidate_directories());
        let _closed = if moved.is_directory() { Some(self.journal.close_gate()?) } else { None };
        for (id, entry) in [(from_id, from), (to_id, to)] {
            if moved.is_directory() {
                self.retire_below(&entry.dir, id, entry.os_name())?;
            } else {
                self.journal.retire(id, entry.os_name())?;
            }
        }
        let change = self.directory_sync.begin_change();
        let rename = || renameat(&*from.dir.fd, from.os_name(), &*to.dir.fd, to.os_name());
        match rename() {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                if !self.clear_ours(&to.dir, to.os_name())? {
                    return Err(Code::NotEmpty.into());
                }
                rename()?;
            }
            done => done?,
        }
        change.done(&[(from_id, &from.dir.fd), (to_id, &to.dir.fd)]);
        self.refund_file(replaced);
        Ok(())
    }

    /// Why somebody may not move this there, if so.
    fn refuse_move(
        &self,
        who: &ProcessIdentity,
        from: &Entry,
        moved: &OpenEntry,
        to: &Entry,
        replaced: Option<&OpenEntry>,
    ) -> Result<(), Fail> {
        if moved.is_directory() {
            refuse_protected(from, "renamed")?;
        }
        if replaced.is_some_and(OpenEntry::is_directory) {
            refuse_protected(to, "replaced")?;
        }
        if mounts::is_reserved(to.os_name()) {
            let note = format!("'{}' is a name that the system keeps for itself", to.path());
            return Err(Fail::because(Code::NotPermitted, note));
        }
        from.dir.need_change(who)?;
        to.dir.need_change(who)?;
        let let_go = moved.meta().lets_go(from.dir.meta, who)
            && replaced.is_none_or(|replaced| replaced.meta().lets_go(to.dir.meta, who));
        if !let_go {
            return Err(Code::NotPermitted.into());
        }
        if moved.is_link() {
            self.refuse_link_in_shared(who, to)?;
        }
        if moved.is_directory() && to.path().is_within(&from.path()) {
            let note = format!("'{}' cannot be moved into itself", from.path());
            return Err(Fail::because(Code::Invalid, note));
        }
        match replaced {
            Some(replaced) if moved.is_directory() && !replaced.is_directory() => {
                Err(Code::NotDirectory.into())
            }
            Some(replaced) if !moved.is_directory() && replaced.is_directory() => {
                Err(Code::IsDirectory.into())
            }
            _ => Ok(()),
        }
    }

    /// What has no owner of its own would change hands by moving to another place: it gets the one it has.
    fn stamp_before_move(&self, from: &Entry, moved: &OpenEntry, to: &Entry) -> Result<(), Fail> {
        let here = self.default_meta(&from.dir, from.os_name(), moved.stat.kind);
        let there = self.default_meta(&to.dir, to.os_name(), moved.stat.kind);
        if here == there || moved.is_link() || moved.special {
            return Ok(());
        }
        if !self.attributes {
            let note = "it would change hands: the disk under this system keeps no owners";
            return Err(Fail::because(Code::NotPermitted, note));
        }
        if !moved.stamped {
            moved.meta().write(moved.handle()?)?;
        }
        if !moved.is_directory() {
            return Ok(());
        }
        let Some(again) = self.look(&from.dir, from.os_name())? else { return Err(Code::NotFound.into()) };
        let top = self.enter(&from.dir, from.os_name(), again)?;
        let mut stamp = |below: &OpenEntry| {
            let plain = !below.stamped && !below.special && below.stat.kind != FileKind::Link;
            if plain && let Ok(handle) = below.handle() {
                below.meta().write(handle)?;
            }
            Ok(())
        };
        self.traverse(top, &mut stamp, &mut |_, fail| Err(fail))
    }
}
