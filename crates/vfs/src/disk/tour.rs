//! Goes through everything below a directory without recursion and with one handle at a time, however deep.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, openat};

use super::Disk;
use super::dir::{Dir, HostId, Place, There};
use super::fail::Fail;
use super::meta::Meta;
use crate::fault::Code;

/// A directory that was gone through: enough to find it again from below.
pub(crate) struct Above {
    id: HostId,
    meta: Meta,
    place: Place,
    fixed: Option<&'static [&'static str]>,
}

impl Above {
    pub fn of(dir: &Dir) -> Result<Above, Fail> {
        Ok(Above { id: dir.id()?, meta: dir.meta, place: dir.place, fixed: dir.fixed })
    }

    /// Goes back up from `below`. Somebody may have moved it meanwhile: then its parent is another one.
    pub fn again(self, below: &Dir) -> Result<Dir, Fail> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(below.fd.as_fd(), "..", flags, Mode::empty())?;
        let path = below.path.parent().unwrap_or_else(|| below.path.clone());
        let dir = Dir { fd: Arc::new(fd), path, meta: self.meta, place: self.place, fixed: self.fixed };
        if dir.id()? == self.id {
            return Ok(dir);
        }
        Err(Fail::because(Code::Io, format!("'{}' was moved meanwhile", below.path)))
    }
}

impl Disk {
    /// Calls `visit` for everything below a directory that is to be seen, each directory before what is in it.
    pub(crate) fn tour(
        &self,
        top: Dir,
        visit: &mut impl FnMut(&Dir, &OsStr, &There) -> Result<(), Fail>,
    ) -> Result<(), Fail> {
        let mut above: Vec<(Above, Vec<OsString>)> = Vec::new();
        let mut pending = self.visit_names(&top, visit)?;
        let mut here = top;
        loop {
            if let Some(name) = pending.pop() {
                let Some(there) = self.look(&here, &name)?.filter(There::is_directory) else { continue };
                let below = self.enter(&here, &name, there)?;
                let names = self.visit_names(&below, visit)?;
                above.push((Above::of(&here)?, std::mem::replace(&mut pending, names)));
                here = below;
            } else {
                let Some((parent, rest)) = above.pop() else { return Ok(()) };
                here = parent.again(&here)?;
                pending = rest;
            }
        }
    }

    /// Visits what is in one directory; returns the directories in it.
    fn visit_names(
        &self,
        dir: &Dir,
        visit: &mut impl FnMut(&Dir, &OsStr, &There) -> Result<(), Fail>,
    ) -> Result<Vec<OsString>, Fail> {
        let mut directories = Vec::new();
        for name in dir.names()? {
            let Some(there) = self.look(dir, &name)? else { continue };
            visit(dir, &name, &there)?;
            // A directory that the host keeps from us is one we can not look into.
            if there.is_directory() && there.handle().is_ok() {
                directories.push(name);
            }
        }
        Ok(directories)
    }
}
