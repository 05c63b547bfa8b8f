//! Compare-and-swap of a file: it is replaced or removed only while it is what it was taken for, under the file's lock.

use protocol::identity::ProcessIdentity;
use rustix::fs::{AtFlags, renameat, symlinkat, unlinkat};

use super::Disk;
use super::dir::OpenEntry;
use super::fail::Fail;
use super::meta::{Meta, WRITE};
use super::walk::Entry;
use super::write::Filling;
use crate::fault::Code;
use crate::stat::FileKind;

/// What is to be there instead.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    Nothing,
    File { bytes: &'a [u8], executable: bool },
    Link { target: &'a str },
}

/// A replacement that is wanted.
pub(crate) struct Swap<'a> {
    /// Whether what is there is what it was taken for.
    pub is_expected: &'a dyn Fn(Option<&OpenEntry>) -> Result<bool, Fail>,
    pub wanted: Wanted<'a>,
}

impl Disk {
    /// Replaces an entry itself, never what a link leads to. False, and nothing is changed, when something else is
    /// there than was expected. A file keeps its owner and its mode, but for whether it may be run.
    pub(crate) fn swap(&self, who: &ProcessIdentity, entry: &Entry, swap: &Swap<'_>) -> Result<bool, Fail> {
        if !entry.dir.shows(entry.os_name()) {
            self.meta_of_new(who, entry, FileKind::File, 0)?;
            return Err(Code::NotPermitted.into());
        }
        self.freshen_usage();
        self.make_room(who, entry, swap.wanted)?;
        let id = entry.dir.id()?;
        let held = self.locks.one(id, entry.os_name())?;
        let there = self.look(&entry.dir, entry.os_name())?;
        if !(swap.is_expected)(there.as_ref())? {
            return Ok(false);
        }
        if there.as_ref().is_some_and(OpenEntry::is_directory) {
            return Err(Code::IsDirectory.into());
        }
        entry.dir.need_change(who)?;
        if there.as_ref().is_some_and(|there| !there.meta().lets_go(entry.dir.meta, who)) {
            return Err(Code::NotPermitted.into());
        }
        match swap.wanted {
            Wanted::Nothing if there.is_none() => {}
            Wanted::Nothing => {
                self.journal.retire(id, entry.os_name())?;
                let change = self.directory_sync.begin_change();
                unlinkat(&*entry.dir.fd, entry.os_name(), AtFlags::empty())?;
                self.refund_file(there.as_ref());
                self.journal.removed(id, entry.os_name())?;
                change.done(&[(id, &entry.dir.fd)]);
            }
            Wanted::Link { target } => {
                self.journal.retire(id, entry.os_name())?;
                let draft = self.draft_name();
                let change = self.directory_sync.begin_change();
                symlinkat(target, &*entry.dir.fd, &*draft)?;
                if let Err(errno) = renameat(&*entry.dir.fd, &*draft, &*entry.dir.fd, entry.os_name()) {
                    unlinkat(&*entry.dir.fd, &*draft, AtFlags::empty()).ok();
                    return Err(errno.into());
                }
                self.refund_file(there.as_ref());
                change.done(&[(id, &entry.dir.fd)]);
            }
            Wanted::File { bytes, executable } => {
                let file = there.as_ref().filter(|there| there.stat.kind == FileKind::File && !there.special);
                if file.is_some_and(|file| !file.meta().allows(who, WRITE)) {
                    return Err(Code::Denied.into());
                }
                let meta = match file {
                    Some(file) => file.meta(),
                    None => self.meta_of_new(who, entry, FileKind::File, 0o640)?,
                };
                let meta = Meta { mode: with_executable(meta.mode, executable), ..meta };
                let mut draft = self.draft(&entry.dir, meta)?;
                let placed = (|| {
                    Filling::new(self, &mut draft, file).add(bytes)?;
                    // A link that gives way is nothing that the journal knows.
                    if there.is_some() && file.is_none() {
                        draft.content = None;
                    }
                    self.put(id, entry, file, &mut draft, meta)
                })();
                self.refund_unless_placed(&draft, &placed);
                let (_, placed) = placed?;
                drop(held);
                self.finish_publish(placed, id, entry, there)?;
            }
        }
        Ok(true)
    }

    /// Removes empty directories where a file is to be.
    fn make_room(&self, who: &ProcessIdentity, entry: &Entry, wanted: Wanted<'_>) -> Result<(), Fail> {
        let is_in_the_way = entry.there.as_ref().is_some_and(OpenEntry::is_directory);
        if matches!(wanted, Wanted::Nothing) || !is_in_the_way || !self.holds_no_file(entry, 0)? {
            return Ok(());
        }
        self.remove(who, entry, true)
    }

    /// Whether there are only directories in a directory.
    fn holds_no_file(&self, entry: &Entry, depth: usize) -> Result<bool, Fail> {
        let Some(there) = self.look(&entry.dir, entry.os_name())?.filter(OpenEntry::is_directory) else {
            return Ok(false);
        };
        let dir = self.enter(&entry.dir, entry.os_name(), there)?;
        for name in self.names(&dir)? {
            let Some(name) = name.to_str() else { return Ok(false) };
            let inner = Entry { dir: dir.clone(), name: name.to_string(), there: None };
            if depth >= base::limits::native_shell::SKILL_DEPTH_MAX
                || !self.holds_no_file(&inner, depth + 1)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A mode with which everybody who reads may run the file too, or nobody.
fn with_executable(mode: u32, executable: bool) -> u32 {
    match executable {
        true if mode & 0o100 != 0 => mode,
        true => mode | ((mode & 0o444) >> 2),
        false => mode & !0o111,
    }
}
