//! Lifecycle of workspaces on disk: made for their owner, set aside while they are archived, built beside their place
//! and renamed into it when they are restored. What decides about it is elsewhere; every step here can be done again.
//!
//! A workspace that is set aside or being built has a name of the gateway's own, so that nobody sees or changes it.

mod removed;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::ops::ControlFlow;

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};

use crate::disk::dir::Dir;
use crate::disk::fail::Fail;
use crate::disk::meta::{Meta, UMASK};
use crate::disk::mounts::{self, AWAY, BACK, WORKSPACES};
use crate::disk::walk::Entry;
use crate::fault::{Code, Fault};
use crate::home::superuser;
use crate::path::VPath;
use crate::stat::FileKind;
use crate::tree::Tree;
use crate::view::{Follow, Writing};

/// The mode of a workspace: nothing is for others.
const PRIVATE: u32 = 0o750;

/// Where the files of a workspace are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// At its place in the tree.
    pub in_place: bool,
    /// Set aside.
    pub aside: bool,
}

/// Something in a workspace that is set aside; directories are told by what is in them.
pub enum Kept {
    /// A file, at its beginning.
    File { file: File, size: u64, executable: bool },
    /// A symbolic link, as it is written.
    Link { target: String },
}

impl Tree {
    /// Makes the directory of a workspace, if need be; false when it was there. Waits for the disk.
    pub fn make_workspace(&self, id: &str, uid: Uid, gid: Gid) -> Result<bool, Fault> {
        self.disk.change_workspace(id, Some((uid, gid)));
        let made = || -> Result<bool, Fail> {
            let entry = self.workspace_entry(id)?;
            if entry.there.is_some() {
                return Ok(false);
            }
            self.disk.make_with(&entry, Meta { uid, gid, mode: PRIVATE & !UMASK })?;
            Ok(true)
        };
        made().map_err(|fail| fail.at("mkdir", &place(id)))
    }

    /// Where the files of a workspace are. Waits for the disk.
    pub fn workspace_whereabouts(&self, id: &str) -> Result<Whereabouts, Fault> {
        let is_there = |name: &str| self.workspace_entry(name).map(|entry| entry.there.is_some());
        let look = || -> Result<Whereabouts, Fail> {
            Ok(Whereabouts { in_place: is_there(id)?, aside: is_there(&away(id))? })
        };
        look().map_err(|fail| fail.at("stat", &place(id)))
    }

    /// Takes a workspace out of the tree, with everything in it. Waits for the disk.
    pub fn set_workspace_aside(&self, id: &str) -> Result<(), Fault> {
        self.move_workspace(id, &away(id)).map_err(|fail| fail.at("rename", &place(id)))
    }

    /// Puts a workspace that was set aside back into its place. Waits for the disk.
    pub fn bring_workspace_back(&self, id: &str) -> Result<(), Fault> {
        self.move_workspace(&away(id), id).map_err(|fail| fail.at("rename", &place(id)))
    }

    /// Deletes a workspace that was set aside, and what is left of one that was not restored. Waits for the disk.
    pub fn discard_workspace(&self, id: &str) -> Result<(), Fault> {
        let discard = || self.remove_workspace(&away(id)).and_then(|()| self.remove_workspace(&back(id)));
        discard().map_err(|fail| fail.at("unlink", &place(id)))
    }

    /// Calls `each` for every file and link of a workspace that is set aside, by its path in it. What a repository
    /// can not keep, such as a name that is no text, ends it with a failure. Waits for the disk.
    pub fn each_set_aside<E: From<Fault>>(
        &self,
        id: &str,
        each: &mut dyn FnMut(&str, Kept) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pending = vec![String::new()];
        while let Some(inside) = pending.pop() {
            // Gone through again from the top, so that neither depth nor width costs handles.
            let dir = self.directory_aside(id, &inside).map_err(|fail| at(&inside, fail))?;
            for name in all_names(&dir).map_err(|fail| at(&inside, fail))? {
                let path = if inside.is_empty() { name.clone() } else { format!("{inside}/{name}") };
                let found = self.disk.look(&dir, OsStr::new(&name)).map_err(|fail| at(&path, fail))?;
                let Some(there) = found else { continue };
                if there.special {
                    let note = format!("'{path}' is neither a file, a directory nor a link: remove it first");
                    return Err(at(&path, Fail::because(Code::Invalid, note)));
                }
                match there.stat.kind {
                    FileKind::Directory => pending.push(path),
                    FileKind::Link => {
                        let target =
                            dir.link_target(OsStr::new(&name)).map_err(|errno| at(&path, errno.into()))?;
                        let target = target.into_string().map_err(|_| at(&path, no_text(&path)))?;
                        each(&path, Kept::Link { target })?;
                    }
                    FileKind::File => {
                        let (size, executable) = (there.stat.size, there.stat.mode & 0o100 != 0);
                        let file = there.into_file().map_err(|fail| at(&path, fail))?;
                        each(&path, Kept::File { file, size, executable })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Begins to build a workspace beside its place; what was begun earlier is removed. Waits for the disk.
    pub fn begin_workspace<'a>(
        &'a self,
        id: &str,
        owner: &'a ProcessIdentity,
    ) -> Result<Building<'a>, Fault> {
        self.disk.change_workspace(id, Some((owner.uid, owner.gid)));
        let begin = || -> Result<(), Fail> {
            self.remove_workspace(&back(id))?;
            let meta = Meta { uid: owner.uid, gid: owner.gid, mode: PRIVATE & !UMASK };
            self.disk.make_with(&self.workspace_entry(&back(id))?, meta)
        };
        begin().map_err(|fail| fail.at("mkdir", &place(id)))?;
        Ok(Building { tree: self, id: id.to_string(), owner })
    }

    fn directory_aside(&self, id: &str, inside: &str) -> Result<Dir, Fail> {
        self.descend(&away(id), inside, |_| Ok(()))
    }

    /// The directory at a path in a workspace, by handles; `missing` is called for each name that is not there.
    fn descend(
        &self,
        name: &str,
        inside: &str,
        mut missing: impl FnMut(&Entry) -> Result<(), Fail>,
    ) -> Result<Dir, Fail> {
        let mut entry = self.workspace_entry(name)?;
        let mut rest = inside.split('/').filter(|part| !part.is_empty());
        loop {
            if entry.there.is_none() {
                missing(&entry)?;
                entry.there = self.disk.look(&entry.dir, entry.os_name())?;
            }
            let Entry { dir, name, there } = entry;
            let below = self.disk.enter(&dir, OsStr::new(&name), there.ok_or(Code::NotFound)?)?;
            let Some(next) = rest.next() else { return Ok(below) };
            let there = self.disk.look(&below, OsStr::new(next))?;
            entry = Entry { dir: below, name: next.to_string(), there };
        }
    }

    fn move_workspace(&self, from: &str, to: &str) -> Result<(), Fail> {
        self.disk.rename_workspace(&self.workspace_entry(from)?, &self.workspace_entry(to)?)
    }

    fn remove_workspace(&self, name: &str) -> Result<(), Fail> {
        let entry = self.workspace_entry(name)?;
        match entry.there {
            Some(_) => self.disk.remove_place(&superuser(), &entry),
            None => Ok(()),
        }
    }

    /// A name among the workspaces, also one of the gateway's own.
    fn workspace_entry(&self, name: &str) -> Result<Entry, Fail> {
        if name.contains('/') || name == "." || name == ".." || name.is_empty() {
            return Err(Code::Invalid.into());
        }
        let root = superuser();
        let path = VPath::absolute(WORKSPACES).map_err(|_| Code::Invalid)?;
        let dir = self.disk.directory(&root, self.disk.find(&root, &path, Follow::No)?)?;
        let there = self.disk.look(&dir, OsStr::new(name))?;
        Ok(Entry { dir, name: name.to_string(), there })
    }
}

/// A workspace that is being built; without [`Building::finish`] it stays out of sight.
pub struct Building<'a> {
    tree: &'a Tree,
    id: String,
    owner: &'a ProcessIdentity,
}

impl Building<'_> {
    /// Adds a file, and the directories on the way.
    pub fn file(&self, path: &str, content: &[u8], executable: bool) -> Result<(), Fault> {
        let add = || -> Result<(), Fail> {
            let how =
                Writing { mode: if executable { 0o755 } else { 0o644 }, parents: false, exclusive: true };
            let entry = self.entry(path)?;
            self.tree.disk.replace(self.owner, &entry, how, |draft| draft.add(content)).map(drop)
        };
        add().map_err(|fail| fail.at("open", path))
    }

    /// Adds a link, and the directories on the way.
    pub fn link(&self, path: &str, target: &str) -> Result<(), Fault> {
        let add = || self.tree.disk.make_link(self.owner, &self.entry(path)?, target);
        add().map_err(|fail| fail.at("symlink", path))
    }

    /// Adds a directory, and those on the way.
    pub fn directory(&self, path: &str) -> Result<(), Fault> {
        self.inside(path).map(drop).map_err(|fail| fail.at("mkdir", path))
    }

    /// Puts it into its place, which must be free.
    pub fn finish(self) -> Result<(), Fault> {
        let Building { tree, id, .. } = self;
        tree.move_workspace(&back(&id), &id).map_err(|fail| fail.at("rename", &place(&id)))
    }

    fn entry(&self, path: &str) -> Result<Entry, Fail> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.inside(parent)?;
        let there = self.tree.disk.look(&dir, OsStr::new(name))?;
        Ok(Entry { dir, name: name.to_string(), there })
    }

    fn inside(&self, path: &str) -> Result<Dir, Fail> {
        self.tree
            .descend(&back(&self.id), path, |entry| self.tree.disk.make_directory(self.owner, entry, 0o755))
    }
}

/// Every name in a directory that is not the gateway's own; a failure for one that is no text.
fn all_names(dir: &Dir) -> Result<Vec<String>, Fail> {
    let mut names: Vec<OsString> = Vec::new();
    dir.each_raw(|name, _| {
        if !mounts::is_reserved(name) {
            names.push(name.to_os_string());
        }
        ControlFlow::Continue(())
    })?;
    let text = |name: OsString| name.into_string().map_err(|name| no_text(&name.to_string_lossy()));
    names.into_iter().map(text).collect()
}

fn at<E: From<Fault>>(path: &str, fail: Fail) -> E {
    fail.at("open", path).into()
}

fn no_text(path: &str) -> Fail {
    Fail::because(Code::Invalid, format!("'{path}' is no UTF-8 text: rename it first"))
}

fn place(id: &str) -> String {
    format!("{WORKSPACES}/{id}")
}

fn away(id: &str) -> String {
    format!("{AWAY}{id}")
}

fn back(id: &str) -> String {
    format!("{BACK}{id}")
}
