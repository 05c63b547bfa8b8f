//! Removing files and whole trees, by handles. Links are removed, not followed.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;

use base::limits;
use protocol::identity::ProcessIdentity;
use rustix::fs::{AtFlags, FileType, unlinkat};
use rustix::io::Errno;

use super::Disk;
use super::dir::{Dir, There};
use super::fail::Fail;
use super::meta::{ENTER, READ, WRITE};
use super::mounts;
use super::tour::Above;
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
            refuse_protected(entry, "removed")?;
        }
        entry.dir.need_change(who)?;
        if !there.meta().lets_go(entry.dir.meta, who) {
            return Err(Code::NotPermitted.into());
        }
        if !there.is_directory() {
            return self.unlink(&entry.dir, entry.os_name());
        }
        if recursive {
            return self.remove_tree(who, entry);
        }
        let removed = self.remove_empty(&entry.dir, entry.os_name());
        self.forget_directories();
        removed
    }

    fn unlink(&self, dir: &Dir, name: &OsStr) -> Result<(), Fail> {
        let _held = self.locks.one(dir.id()?, name);
        let there = if self.counts_usage() { self.look(dir, name)? } else { None };
        unlinkat(&*dir.fd, name, AtFlags::empty())?;
        self.refund_file(there.as_ref());
        Ok(())
    }

    /// Removes a directory in which there is nothing to be seen.
    pub(super) fn remove_empty(&self, dir: &Dir, name: &OsStr) -> Result<(), Fail> {
        let _held = self.locks.one(dir.id()?, name);
        match unlinkat(&*dir.fd, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.clear_ours(dir, name)? => {
                Ok(unlinkat(&*dir.fd, name, AtFlags::REMOVEDIR)?)
            }
            Err(Errno::EXIST) => Err(Code::NotEmpty.into()),
            done => Ok(done?),
        }
    }

    /// Removes the gateway's own files from a directory if there is nothing else in it.
    pub(super) fn clear_ours(&self, dir: &Dir, name: &OsStr) -> Result<bool, Fail> {
        let Some(there) = self.look(dir, name)?.filter(There::is_directory) else { return Ok(false) };
        let inside = self.enter(dir, name, there)?;
        loop {
            let batch = read_batch(&inside)?;
            if batch.names.is_empty() {
                return Ok(true);
            }
            if !batch.only_ours {
                return Ok(false);
            }
            for (name, _) in batch.names {
                unlinkat(&*inside.fd, &*name, AtFlags::empty())?;
            }
        }
    }

    fn remove_tree(&self, who: &ProcessIdentity, entry: &Entry) -> Result<(), Fail> {
        let there = self.look(&entry.dir, entry.os_name())?.ok_or(Code::NotFound)?;
        let mut here = self.enter(&entry.dir, entry.os_name(), there)?;
        let mut above: Vec<(Above, OsString)> = Vec::new();
        let mut races = 0;
        loop {
            if let Some((name, below)) = self.empty(who, &here)? {
                above.push((Above::of(&here)?, name));
                here = below;
                continue;
            }
            let (parent, name) = match above.pop() {
                Some((parent, name)) => (parent.again(&here)?, name),
                None => (entry.dir.clone(), entry.name.clone().into()),
            };
            match self.remove_empty(&parent, &name) {
                // Somebody has put something into it: it is emptied again.
                Err(fail) if fail.code == Code::NotEmpty && races < limits::FILE_RACES_MAX => {
                    races += 1;
                    let Some(again) = self.look(&parent, &name)? else { return Err(Code::NotFound.into()) };
                    let below = self.enter(&parent, &name, again)?;
                    if !(above.is_empty() && parent.path == entry.dir.path) {
                        above.push((Above::of(&parent)?, name));
                    }
                    here = below;
                    continue;
                }
                removed => removed?,
            }
            self.forget_directories();
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
                return Err(Fail::because(
                    Code::Denied,
                    format!("permission denied, scandir or unlink in '{}'", here.path),
                ));
            }
            for (name, kind) in batch.names {
                let careful = here.meta.mode & 0o1000 != 0 || kind == FileType::Unknown;
                if kind != FileType::Directory && !careful {
                    self.unlink(here, &name)?;
                    continue;
                }
                let Some(there) = self.look(here, &name)? else { continue };
                if !there.meta().lets_go(here.meta, who) && !mounts::is_reserved(&name) {
                    let path = here.path.join(&name.to_string_lossy());
                    let note = format!("operation not permitted, unlink '{path}'");
                    return Err(Fail::because(Code::NotPermitted, note));
                }
                if there.is_directory() {
                    let below = self.enter(here, &name, there)?;
                    return Ok(Some((name, below)));
                }
                self.unlink(here, &name)?;
            }
        }
    }
}

/// EPERM for mount points, homes and what is made up.
pub(super) fn refuse_protected(entry: &Entry, what: &str) -> Result<(), Fail> {
    let path = entry.path();
    match mounts::protection(path.as_str()) {
        Some(why) => Err(Fail::because(Code::NotPermitted, format!("'{path}' {why} and can not be {what}"))),
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
