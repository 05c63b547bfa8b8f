//! Crash recovery of small writes: brings the tree to what the journal that was left behind says, before anything is
//! served. What is to be done about each path is decided by the journal; this finds and writes the files.

use std::ffi::OsStr;
use std::io;

use rustix::fs::{fstat, fsync};

use super::Disk;
use super::dir::Dir;
use super::fail::Fail;
use super::mounts;
use crate::path::VPath;
use crate::stat::FileKind;
use journal::{Identity, Redo, Step};

impl Disk {
    /// Does what a journal that was left behind says. Without one this is a single look.
    pub(super) fn recover(&self) -> io::Result<()> {
        self.journal.recover(&self.files, |last| {
            self.redo(last).map_err(|Fail { code, note }| {
                let why = note.unwrap_or_else(|| code.words().to_string());
                io::Error::other(format!("{}: {why}", last.written.path))
            })
        })
    }

    fn redo(&self, last: &Redo<'_>) -> Result<(), Fail> {
        let path = &last.written.path;
        let Some((dir, name)) = self.place_of(path)? else {
            tracing::error!(path, "a file that was written has no directory any more");
            return Ok(());
        };
        let there = self.look(&dir, OsStr::new(&name))?;
        let Some(there) = there else {
            return match last.step(None) {
                Step::Restore => self.restore(&dir, &name, last.written),
                Step::Sync | Step::Leave | Step::KeepNewer => Ok(()),
            };
        };
        if there.stat.kind != FileKind::File || there.special {
            tracing::warn!(path, "what was written is something else by now, which is left alone");
            return Ok(());
        }
        let Ok(handle) = there.handle() else {
            tracing::warn!(path, "what was written is kept from the gateway by now, and is left alone");
            return Ok(());
        };
        match last.step(Some(Identity::of(&fstat(handle)?))) {
            Step::Leave => Ok(()),
            Step::Sync => {
                fsync(handle)?;
                Ok(fsync(&*dir.fd)?)
            }
            Step::KeepNewer => {
                tracing::warn!(
                    path,
                    "it was changed from outside before the power was lost, and is left alone"
                );
                Ok(())
            }
            Step::Restore => self.restore(&dir, &name, last.written),
        }
    }

    /// The directory and the name of a path that a record tells, without following a link.
    fn place_of(&self, path: &str) -> Result<Option<(Dir, String)>, Fail> {
        let Ok(asked) = VPath::absolute(path) else { return Ok(None) };
        let is_plain = asked.as_str() == path
            && mounts::is_kept(path)
            && mounts::mount(path).is_none()
            && !asked.parts().any(|part| mounts::is_reserved(OsStr::new(part)));
        let Some(parent) = asked.parent().filter(|_| is_plain) else { return Ok(None) };
        let mut dir = self.top();
        for part in parent.parts() {
            let there = self.look(&dir, OsStr::new(part))?;
            let Some(there) = there.filter(|there| there.is_directory()) else { return Ok(None) };
            dir = self.enter(&dir, OsStr::new(part), there)?;
        }
        Ok(Some((dir, asked.name().to_string())))
    }
}
