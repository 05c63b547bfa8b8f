//! Recursive removal by directory handles. Links are removed, not followed.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;

use base::limits;
use protocol::identity::ProcessIdentity;
use rustix::fs::{AtFlags, FileType, unlinkat};
use rustix::io::Errno;

use super::Disk;
use super::dir::{Dir, HostId, OpenEntry};
use super::fail::Fail;
use super::meta::{ENTER, READ, WRITE};
use super::mounts::{self, Protected};
use super::traverse::Ancestor;
use super::walk::Entry;
use crate::fault::Code;

/// Names of a directory that are removed before it is read again.
const BATCH: usize = 256;

/// What was read of a directory that is to be emptied.
#[derive(Default)]
struct Batch {
    names: Vec<(OsString, FileType)>,
    /// Whether all of them are the gateway's own.
    only_ours: bool,
}

impl Disk {
    /// Removes a file, a link or an empty directory; with `recursive`, a directory with everything in it.
    pub(crate) fn remove(&self, who: &ProcessIdentity, entry: &Entry, recursive: bool) -> Result<(), Fail> {
        let there = entry.existing()?;
        if there.is_directory() {
            refuse_removal(entry)?;
        }
        entry.dir.need_change(who)?;
        if !there.meta().lets_go(entry.dir.meta, who) {
            return Err(Code::NotPermitted.into());
        }
        if !there.is_directory() {
            let id = entry.dir.id()?;
            let _held = self.locks.one(id, entry.os_name())?;
            self.unlink(who, &entry.dir, entry.os_name())?;
            return Ok(self.journal.removed(id, entry.os_name())?);
        }
        if recursive {
            return self.remove_tree(who, entry);
        }
        self.remove_empty(who, &entry.dir, entry.os_name())
    }

    /// Removes a home or a workspace with everything in it, which nobody else can.
    pub(crate) fn remove_place(&self, root: &ProcessIdentity, place: &Entry) -> Result<(), Fail> {
        debug_assert!(
            root.uid.is_root()
                && matches!(
                    mounts::protection(place.path().as_str()),
                    Some(Protected::Home | Protected::Workspace)
                )
        );
        self.remove_tree(root, place)
    }

    /// The name's lock must be held.
    fn unlink(&self, who: &ProcessIdentity, dir: &Dir, name: &OsStr) -> Result<(), Fail> {
        let careful = self.counts_usage() || is_shared(dir);
        let there = if careful { self.look(dir, name)? } else { None };
        if let Some(there) = &there {
            refuse_keeping(who, dir, name, there)?;
            if there.is_directory() {
                return Err(Code::IsDirectory.into());
            }
        }
        unlinkat(&*dir.fd, name, AtFlags::empty())?;
        self.refund_file(there.as_ref());
        Ok(())
    }

    /// Removes a directory in which there is nothing to be seen.
    fn remove_empty(&self, who: &ProcessIdentity, dir: &Dir, name: &OsStr) -> Result<(), Fail> {
        let id = dir.id()?;
        let _held = self.locks.one(id, name)?;
        // The name may name something else by now that somebody has put there.
        if is_shared(dir)
            && let Some(there) = self.look(dir, name)?
        {
            refuse_keeping(who, dir, name, &there)?;
        }
        let _invalidation = self.invalidate_directories();
        let _closed = self.journal.close_gate()?;
        self.retire_below(dir, id, name)?;
        match unlinkat(&*dir.fd, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.clear_ours(dir, name)? => {
                Ok(unlinkat(&*dir.fd, name, AtFlags::REMOVEDIR)?)
            }
            Err(Errno::EXIST) => Err(Code::NotEmpty.into()),
            done => Ok(done?),
        }
    }

    /// Lets the journal go of what is at a name in a directory and below it. The journal's gate must be closed.
    pub(super) fn retire_below(&self, dir: &Dir, id: HostId, name: &OsStr) -> Result<(), Fail> {
        if self.journal.is_idle() {
            return Ok(());
        }
        let is_sure = name.to_str().is_some() && self.leads_to(dir, id);
        Ok(self.journal.retire_below(dir.path.join(&name.to_string_lossy()).as_str(), is_sure)?)
    }

    /// Removes the gateway's own files from a directory if there is nothing else in it.
    pub(super) fn clear_ours(&self, dir: &Dir, name: &OsStr) -> Result<bool, Fail> {
        let Some(there) = self.look(dir, name)?.filter(OpenEntry::is_directory) else { return Ok(false) };
        let inside = self.enter(dir, name, there)?;
        loop {
            let batch = read_batch(&inside)?;
            if batch.names.is_empty() {
                return Ok(true);
            }
            if !batch.only_ours {
                return Ok(false);
            }
            for (name, kind) in batch.names {
                let is_directory = kind == FileType::Directory;
                let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
                match unlinkat(&*inside.fd, &*name, flags) {
                    // Whoever writes it has put it in its place, or given up.
                    Err(Errno::NOENT) => {}
                    done => done?,
                }
            }
        }
    }

    fn remove_tree(&self, who: &ProcessIdentity, entry: &Entry) -> Result<(), Fail> {
        let there = self.look(&entry.dir, entry.os_name())?.ok_or(Code::NotFound)?;
        refuse_keeping(who, &entry.dir, entry.os_name(), &there)?;
        let mut here = self.enter(&entry.dir, entry.os_name(), there)?;
        let mut above: Vec<(Ancestor, OsString)> = Vec::new();
        let mut races = 0;
        loop {
            if let Some((name, below)) = self.empty(who, &here)? {
                above.push((Ancestor::of(&here)?, name));
                here = below;
                continue;
            }
            let (parent, name) = match above.pop() {
                Some((parent, name)) => (parent.again(&here)?, name),
                None => (entry.dir.clone(), entry.name.clone().into()),
            };
            match self.remove_empty(who, &parent, &name) {
                // Somebody has put something into it: it is emptied again.
                Err(fail) if fail.code == Code::NotEmpty && races < limits::files::RACES_MAX => {
                    races += 1;
                    let Some(again) = self.look(&parent, &name)? else { return Err(Code::NotFound.into()) };
                    let below = self.enter(&parent, &name, again)?;
                    if !(above.is_empty() && parent.path == entry.dir.path) {
                        above.push((Ancestor::of(&parent)?, name));
                    }
                    here = below;
                    continue;
                }
                removed => removed?,
            }
            if above.is_empty() && parent.path == entry.dir.path {
                return Ok(());
            }
            here = parent;
        }
    }

    /// Removes what is in a directory up to the first directory in it, which is returned open.
    fn empty(&self, who: &ProcessIdentity, here: &Dir) -> Result<Option<(OsString, Dir)>, Fail> {
        loop {
            let batch = read_batch(here)?;
            if batch.names.is_empty() {
                return Ok(None);
            }
            if !batch.only_ours && !here.allows(who, READ | WRITE | ENTER) {
                return Err(Fail::because(Code::Denied, format!("permission denied, '{}'", here.path)));
            }
            for (name, kind) in batch.names {
                if !matches!(kind, FileType::Directory | FileType::Unknown) {
                    self.unlink_below(who, here, &name)?;
                    continue;
                }
                let Some(there) = self.look(here, &name)? else { continue };
                refuse_keeping(who, here, &name, &there)?;
                if there.is_directory() {
                    let below = self.enter(here, &name, there)?;
                    return Ok(Some((name, below)));
                }
                self.unlink_below(who, here, &name)?;
            }
        }
    }

    /// Removes a file of a directory that is about to be removed; the journal lets go of all of them then.
    fn unlink_below(&self, who: &ProcessIdentity, here: &Dir, name: &OsStr) -> Result<(), Fail> {
        let id = here.id()?;
        let _held = self.locks.one(id, name)?;
        self.unlink(who, here, name)?;
        self.journal.note_removal(id, name);
        Ok(())
    }
}

/// Whether what is in a directory may be taken out of it only by its owner.
fn is_shared(dir: &Dir) -> bool {
    dir.meta.mode & 0o1000 != 0
}

/// EPERM for what somebody may not take out of a shared directory.
fn refuse_keeping(who: &ProcessIdentity, dir: &Dir, name: &OsStr, there: &OpenEntry) -> Result<(), Fail> {
    if there.meta().lets_go(dir.meta, who) || mounts::is_reserved(name) {
        return Ok(());
    }
    let path = dir.path.join(&name.to_string_lossy());
    Err(Fail::because(Code::NotPermitted, format!("operation not permitted, unlink '{path}'")))
}

/// EPERM for removing mount points, homes, workspaces and what is made up.
fn refuse_removal(entry: &Entry) -> Result<(), Fail> {
    let path = entry.path();
    let what = match mounts::protection(path.as_str()) {
        Some(Protected::Home) => "home mount",
        Some(Protected::Workspace) => "workspace root",
        Some(Protected::Workspaces) => "workspace mount",
        Some(Protected::System | Protected::Mount) => return refuse_protected(entry, "removed"),
        None => return Ok(()),
    };
    Err(Fail::because(Code::NotPermitted, format!("cannot remove {what} '{path}'")))
}

/// EPERM for doing something else with them.
pub(super) fn refuse_protected(entry: &Entry, what: &str) -> Result<(), Fail> {
    let path = entry.path();
    match mounts::protection(path.as_str()) {
        Some(why) => {
            let note = format!("'{path}' {} and cannot be {what}", why.words());
            Err(Fail::because(Code::NotPermitted, note))
        }
        None => Ok(()),
    }
}

fn read_batch(dir: &Dir) -> Result<Batch, Errno> {
    let mut batch = Batch { names: Vec::new(), only_ours: true };
    dir.each_raw(|name, kind| {
        batch.only_ours &= mounts::is_reserved(name);
        batch.names.push((name.to_os_string(), kind));
        if batch.names.len() < BATCH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(batch)
}
