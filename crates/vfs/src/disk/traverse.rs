//! Iterative tree traversal: everything below a directory, without recursion and with one handle at a time, however
//! deep.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, openat};

use super::Disk;
use super::dir::{DefaultOwner, Dir, HostId, OpenEntry};
use super::fail::Fail;
use super::meta::Meta;
use crate::fault::Code;
use crate::path::VPath;
use journal::JOURNAL;

/// A directory that was gone through: enough to find it again from below.
pub(crate) struct Ancestor {
    id: HostId,
    meta: Meta,
    default_owner: DefaultOwner,
    fixed: Option<&'static [&'static str]>,
}

impl Ancestor {
    pub fn of(dir: &Dir) -> Result<Ancestor, Fail> {
        Ok(Ancestor { id: dir.id()?, meta: dir.meta, default_owner: dir.default_owner, fixed: dir.fixed })
    }

    /// Goes back up from `below`. Somebody may have moved it meanwhile: then its parent is another one.
    pub fn again(self, below: &Dir) -> Result<Dir, Fail> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(below.fd.as_fd(), "..", flags, Mode::empty())?;
        let path = below.path.parent().unwrap_or_else(|| below.path.clone());
        let dir = Dir {
            fd: Arc::new(fd),
            path,
            meta: self.meta,
            default_owner: self.default_owner,
            fixed: self.fixed,
        };
        if dir.id()? == self.id {
            return Ok(dir);
        }
        Err(Fail::because(Code::Io, format!("'{}' was moved meanwhile", below.path)))
    }
}

/// What a traversal does with everything it meets.
pub(crate) trait Visit: FnMut(&OpenEntry) -> Result<(), Fail> {}
impl<F: FnMut(&OpenEntry) -> Result<(), Fail>> Visit for F {}

/// What a traversal does about a directory that fails: go on without it, or end.
pub(crate) trait OnFail: FnMut(&VPath, Fail) -> Result<(), Fail> {}
impl<F: FnMut(&VPath, Fail) -> Result<(), Fail>> OnFail for F {}

impl Disk {
    /// Calls `visit` for all files and directories on disk below one, the gateway's own and what is no text included
    /// but not the journal, each directory before what is in it. `failed` is told what cannot be gone through.
    pub(crate) fn traverse(
        &self,
        top: Dir,
        visit: &mut impl Visit,
        failed: &mut impl OnFail,
    ) -> Result<(), Fail> {
        let mut above: Vec<(Ancestor, Vec<OsString>)> = Vec::new();
        let mut pending = self.visit_names(&top, visit, failed)?;
        let mut here = top.clone();
        loop {
            if let Some(name) = pending.pop() {
                let below = match self.step_down(&here, &name) {
                    Ok(Some(below)) => below,
                    Ok(None) => continue,
                    Err(fail) => {
                        failed(&here.path.join(&name.to_string_lossy()), fail)?;
                        continue;
                    }
                };
                let names = self.visit_names(&below, visit, failed)?;
                above.push((Ancestor::of(&here)?, std::mem::replace(&mut pending, names)));
                here = below;
                continue;
            }
            let Some((parent, rest)) = above.pop() else { return Ok(()) };
            (here, pending) = match parent.again(&here) {
                Ok(dir) => (dir, rest),
                Err(fail) => {
                    failed(&here.path, fail)?;
                    match self.regain(&top, here.path.parent(), &mut above) {
                        Some(regained) => regained,
                        None => return Ok(()),
                    }
                }
            };
        }
    }

    /// Goes on from the lowest directory above that is still where it was. `lost` is the one that is not.
    fn regain(
        &self,
        top: &Dir,
        mut lost: Option<VPath>,
        above: &mut Vec<(Ancestor, Vec<OsString>)>,
    ) -> Option<(Dir, Vec<OsString>)> {
        while let Some((parent, rest)) = above.pop() {
            lost = lost.and_then(|path| path.parent());
            let names = lost.as_ref()?.as_str().strip_prefix(top.path.as_str())?;
            let mut dir = Some(top.clone());
            for name in names.split('/').filter(|name| !name.is_empty()) {
                dir = dir.and_then(|dir| self.step_down(&dir, OsStr::new(name)).ok().flatten());
            }
            if let Some(dir) = dir.filter(|dir| dir.id() == Ok(parent.id)) {
                return Some((dir, rest));
            }
        }
        None
    }

    /// A directory in a directory, if it still is one that can be opened.
    fn step_down(&self, here: &Dir, name: &OsStr) -> Result<Option<Dir>, Fail> {
        match self.look(here, name)?.filter(OpenEntry::is_directory) {
            Some(there) => self.enter(here, name, there).map(Some),
            None => Ok(None),
        }
    }

    /// Visits what is in one directory; returns the directories in it.
    fn visit_names(
        &self,
        dir: &Dir,
        visit: &mut impl Visit,
        failed: &mut impl OnFail,
    ) -> Result<Vec<OsString>, Fail> {
        let mut directories = Vec::new();
        let mut done = Ok(());
        let mut meet = |name: &OsStr| -> Result<(), Fail> {
            let Some(there) = self.look(dir, name)? else { return Ok(()) };
            visit(&there)?;
            // A directory that the host keeps from us is one we cannot look into.
            if there.is_directory() && there.handle().is_ok() {
                directories.push(name.to_os_string());
            }
            Ok(())
        };
        let listed = dir.each_raw(|name, kind| {
            if kind == FileType::Symlink || is_journal(dir, name) {
                return ControlFlow::Continue(());
            }
            done = meet(name).or_else(|fail| failed(&dir.path.join(&name.to_string_lossy()), fail));
            if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        done?;
        listed.map_err(Fail::from).or_else(|fail| failed(&dir.path, fail))?;
        Ok(directories)
    }
}

/// The journal is neither anybody's nor part of the tree.
fn is_journal(dir: &Dir, name: &OsStr) -> bool {
    dir.path.as_str() == "/" && name == JOURNAL
}

#[cfg(test)]
mod tests {
    use base::clock::Clock;

    use super::*;

    #[test]
    fn a_directory_that_is_moved_away_meanwhile_is_all_that_is_lost() {
        let data = tempfile::tempdir().unwrap();
        let disk = Disk::open(data.path(), Clock::system()).unwrap();
        let tmp = data.path().join("tmp");
        for (path, size) in [("a/b/c", 7), ("y", 20), ("z/z", 300)] {
            std::fs::create_dir_all(tmp.join(path)).unwrap();
            std::fs::write(tmp.join(path).join("file"), vec![b'x'; size]).unwrap();
        }
        let (mut bytes, mut lost) = (0, Vec::new());
        let mut visit = |there: &OpenEntry| {
            if !there.is_directory() {
                bytes += there.stat.size;
            }
            if there.stat.size == 7 {
                std::fs::rename(tmp.join("a/b"), tmp.join("moved")).unwrap();
            }
            Ok(())
        };
        let mut failed = |path: &VPath, _| {
            lost.push(path.to_string());
            Ok(())
        };
        disk.traverse(disk.top(), &mut visit, &mut failed).unwrap();
        assert_eq!((bytes, lost), (327, vec!["/tmp/a/b".to_string()]));
    }
}
