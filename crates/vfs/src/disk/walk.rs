//! Path resolution: finds what a path names, one name at a time, by directory handles. Links are read and followed
//! here, inside the tree; the host never follows one. Each directory passed must let the caller through.

use std::ffi::OsStr;

use base::limits;
use protocol::identity::ProcessIdentity;

use super::Disk;
use super::dir::{Dir, OpenEntry};
use super::fail::Fail;
use super::meta::{ENTER, Meta};
use super::mounts;
use crate::fault::Code;
use crate::live;
use crate::path::VPath;
use crate::stat::{FileKind, Stat};
use crate::view::Follow;

/// Where a path leads.
pub(crate) enum Found {
    /// To the live tree; the path is without links up to there.
    Live(VPath),
    /// To the root directory.
    Root(Dir),
    /// To a name in a directory.
    Entry(Entry),
}

/// A name in an open directory, and what it names, if anything.
pub(crate) struct Entry {
    pub dir: Dir,
    pub name: String,
    pub there: Option<OpenEntry>,
}

impl Entry {
    /// Its path in the tree, free of links on the way.
    pub fn path(&self) -> VPath {
        self.dir.path.join(&self.name)
    }

    /// The name as the host wants it.
    pub fn os_name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }

    /// What is there; ENOENT when nothing is.
    pub fn existing(&self) -> Result<&OpenEntry, Fail> {
        self.there.as_ref().ok_or_else(|| self.missing())
    }

    /// ENOENT, in the words for workspaces where it is one.
    pub fn missing(&self) -> Fail {
        if self.dir.path.as_str() == mounts::WORKSPACES {
            return Fail::because(Code::NotFound, format!("workspace not found '{}'", self.name));
        }
        Code::NotFound.into()
    }
}

impl Found {
    /// What is known about it; nothing about the live tree.
    pub fn stat(&self) -> Result<Stat, Fail> {
        match self {
            Found::Live(_) => Err(Code::NotFound.into()),
            Found::Root(dir) => Ok(stat_of_root(dir.meta)),
            Found::Entry(entry) => entry.existing().map(|there| there.stat),
        }
    }
}

fn stat_of_root(meta: Meta) -> Stat {
    Stat { kind: FileKind::Directory, size: 0, mode: meta.mode, uid: meta.uid, gid: meta.gid, modified_ms: 0 }
}

/// How a walk ended.
pub(crate) enum End {
    Found(Found),
    /// A name on the way is not there: the entry it would have, and the names that were to follow.
    Missing(Entry, Vec<String>),
}

/// A walk under way.
struct Walk<'a> {
    disk: &'a Disk,
    who: &'a ProcessIdentity,
    here: Dir,
    /// The names still to go, the next one last.
    todo: Vec<String>,
    links: usize,
    steps: usize,
    /// Permissions of the directories passed, from the root on.
    passed: Vec<Meta>,
}

impl Disk {
    /// What a path leads to. A name that is not there is an entry without anything, if its directory is there.
    pub(crate) fn find(&self, who: &ProcessIdentity, path: &VPath, follow: Follow) -> Result<Found, Fail> {
        match self.walk(who, path, follow)? {
            End::Found(found) => Ok(found),
            End::Missing(entry, rest) if rest.is_empty() => Ok(Found::Entry(entry)),
            End::Missing(entry, _) => Err(entry.missing()),
        }
    }

    /// Like [`Disk::find`], telling also how far it got.
    pub(crate) fn walk(&self, who: &ProcessIdentity, path: &VPath, follow: Follow) -> Result<End, Fail> {
        self.walk_passing(who, path, follow).map(|(end, _)| end)
    }

    /// Like [`Disk::walk`], with the permissions of the directories passed when no link was.
    pub(crate) fn walk_passing(
        &self,
        who: &ProcessIdentity,
        path: &VPath,
        follow: Follow,
    ) -> Result<(End, Option<Vec<Meta>>), Fail> {
        let todo: Vec<String> = rev(path.as_str());
        let (here, passed) = (self.top(), Vec::with_capacity(todo.len()));
        let mut walk = Walk { disk: self, who, here, todo, links: 0, steps: 0, passed };
        let end = walk.run(follow)?;
        Ok((end, (walk.links == 0).then_some(walk.passed)))
    }

    /// The directory a path leads to, for looking through it.
    pub(crate) fn directory(&self, who: &ProcessIdentity, found: Found) -> Result<Dir, Fail> {
        let dir = match found {
            Found::Live(_) => return Err(Code::NotFound.into()),
            Found::Root(dir) => dir,
            Found::Entry(entry) => {
                entry.existing()?;
                let Entry { dir, name, there } = entry;
                self.enter(&dir, OsStr::new(&name), there.ok_or(Code::NotFound)?)?
            }
        };
        dir.need_list(who).map(|()| dir)
    }
}

/// The names of a path or of a link's target, the next one last.
fn rev(path: &str) -> Vec<String> {
    path.split('/').rev().filter(|part| !part.is_empty() && *part != ".").map(str::to_string).collect()
}

impl Walk<'_> {
    fn run(&mut self, follow: Follow) -> Result<End, Fail> {
        while let Some(name) = self.todo.pop() {
            self.steps += 1;
            if self.steps > limits::files::WALK_STEPS_MAX {
                return Err(Code::Loop.into());
            }
            if name == ".." {
                self.here.need_enter(self.who)?;
                self.restart(self.here.path.parent().unwrap_or_else(VPath::root));
                continue;
            }
            self.here.need_enter(self.who)?;
            if self.links == 0 {
                self.passed.push(self.here.meta);
            }
            let path = self.here.path.join(&name);
            if live::covers(&path) {
                match self.leave(path) {
                    Some(live) => return Ok(End::Found(Found::Live(live))),
                    None => continue,
                }
            }
            let is_visible = self.here.shows(OsStr::new(&name));
            let there = if is_visible { self.disk.look(&self.here, OsStr::new(&name))? } else { None };
            if let Some(end) = self.step(name, there, follow)? {
                return Ok(end);
            }
        }
        Ok(End::Found(Found::Root(self.here.clone())))
    }

    /// One name further; the end when this was the last one.
    fn step(&mut self, name: String, there: Option<OpenEntry>, follow: Follow) -> Result<Option<End>, Fail> {
        let last = self.todo.is_empty();
        let Some(there) = there else {
            let entry = Entry { dir: self.here.clone(), name, there: None };
            return Ok(Some(End::Missing(entry, std::mem::take(&mut self.todo))));
        };
        if self.here.path.as_str() == mounts::WORKSPACES && !there.meta().allows(self.who, ENTER) {
            return Err(Fail::because(Code::Denied, format!("permission denied, workspace '{name}'")));
        }
        if there.is_link() && (!last || follow == Follow::Yes) {
            return self.follow(&name).map(|()| None);
        }
        // A name that is followed by `..` alone still has to be a directory, so it is entered, not returned.
        if last {
            let entry = Entry { dir: self.here.clone(), name, there: Some(there) };
            return Ok(Some(End::Found(Found::Entry(entry))));
        }
        self.here = self.disk.enter(&self.here, OsStr::new(&name), there)?;
        Ok(None)
    }

    fn follow(&mut self, name: &str) -> Result<(), Fail> {
        self.links += 1;
        if self.links > limits::files::LINKS_FOLLOWED_MAX {
            return Err(Code::Loop.into());
        }
        let target = self.here.link_target(OsStr::new(name))?;
        // A target that is no text cannot be a path of this tree.
        let target = target.into_string().map_err(|_| Fail::from(Code::NotFound))?;
        if target.is_empty() {
            return Err(Code::NotFound.into());
        }
        if target.starts_with('/') {
            self.here = self.disk.top();
        }
        self.todo.extend(rev(&target));
        if self.todo.is_empty() {
            // The link leads to the directory it is in, or to the root.
            self.restart(self.here.path.clone());
        }
        Ok(())
    }

    /// Goes on from another directory. It is found anew, so that no more than one handle is open.
    fn restart(&mut self, path: VPath) {
        self.here = self.disk.top();
        self.todo.extend(rev(path.as_str()));
    }

    /// The live path that is left to go, or nothing if the rest leads back to the disk.
    fn leave(&mut self, mut path: VPath) -> Option<VPath> {
        while let Some(name) = self.todo.pop() {
            path = match name.as_str() {
                ".." => path.parent().unwrap_or_else(VPath::root),
                name => path.join(name),
            };
        }
        if live::covers(&path) {
            return Some(path);
        }
        self.restart(path);
        None
    }
}

impl Disk {
    /// Makes a name's missing directories, each with the caller as owner, and finds it then.
    pub(crate) fn find_with_parents(&self, who: &ProcessIdentity, path: &VPath) -> Result<Found, Fail> {
        for _ in 0..limits::files::RACES_MAX {
            match self.walk(who, path, Follow::Yes)? {
                End::Found(found) => return Ok(found),
                End::Missing(entry, rest) => {
                    if let Some(entry) = self.make_missing(who, entry, rest)? {
                        return Ok(Found::Entry(entry));
                    }
                }
            }
        }
        Err(Code::Loop.into())
    }

    /// Makes a missing directory and those that are to follow in it, up to the last name. Nothing when something
    /// came in between: then the path has to be walked again.
    fn make_missing(
        &self,
        who: &ProcessIdentity,
        mut entry: Entry,
        mut rest: Vec<String>,
    ) -> Result<Option<Entry>, Fail> {
        while let Some(next) = rest.pop() {
            match self.make_directory(who, &entry, 0o755) {
                Err(fail) if fail.code == Code::Exists => return Ok(None),
                made => made?,
            }
            let made = self.look(&entry.dir, entry.os_name())?.filter(OpenEntry::is_directory);
            let Some(made) = made.filter(|_| next != "..") else { return Ok(None) };
            let dir = self.enter(&entry.dir, entry.os_name(), made)?;
            entry = Entry { there: self.look(&dir, OsStr::new(&next))?, dir, name: next };
            if entry.there.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(entry))
    }
}
