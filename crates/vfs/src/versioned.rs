//! Plain access to the files of a versioned directory, for whoever keeps its history: surveys without opening a file,
//! contents, and replacement of a file only while it is what it was taken for.
//!
//! All of it is done as the owner of the place, below its root, without following a link, and on the thread that asks.

use std::os::fd::AsFd;

use protocol::identity::ProcessIdentity;
use protocol::ids::Uid;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use crate::disk::dir::{Dir, OpenEntry};
use crate::disk::fail::Fail;
use crate::disk::meta::READ;
use crate::disk::swap::Swap;
pub use crate::disk::swap::Wanted;
use crate::disk::text_cache::FileVersion;
use crate::disk::walk::{Entry, Found};
use crate::disk::write::read_open;
use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::stat::FileKind;
use crate::tree::Tree;
use crate::view::Follow;

/// A directory whose files are versioned, as its owner sees it.
pub struct Place<'t> {
    tree: &'t Tree,
    root: VPath,
    who: &'t ProcessIdentity,
}

/// What tells a file from others and from itself before a change, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp(FileVersion);

impl Stamp {
    /// When it last changed, in milliseconds by the clock of the file system.
    pub fn changed_ms(&self) -> i64 {
        self.0.changed_ms()
    }
}

/// A file or a link that a survey has met; directories are only gone through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// Below the root, without a slash in front.
    pub path: String,
    /// What it was like; nothing where it can not be versioned.
    pub stamp: Option<Stamp>,
}

/// What a name holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A regular file.
    File { bytes: Vec<u8>, executable: bool, stamp: Stamp },
    /// A symbolic link.
    Link { target: String, stamp: Stamp },
    /// Something that is not versioned, and why.
    Skipped(&'static str),
    /// A directory.
    Directory,
}

/// What became of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    Done,
    /// Something else is there than was expected: it was left alone.
    Changed,
}

/// How much a survey may meet.
const DEPTH_MAX: usize = 100;

impl Tree {
    /// A directory as its owner sees it. Nothing when it is not there, is no directory, or is not that owner's.
    pub fn place<'t>(&'t self, root: &VPath, who: &'t ProcessIdentity) -> Option<Place<'t>> {
        let place = Place { tree: self, root: root.clone(), who };
        let there = place.entry("").ok()?;
        let there = there.there.as_ref().filter(|there| there.is_directory())?;
        (there.stat.uid == who.uid).then_some(place)
    }

    /// Whose a directory is; nothing when there is none.
    pub fn owner_of(&self, directory: &VPath) -> Option<Uid> {
        let root = crate::home::superuser();
        match self.disk.find(&root, directory, Follow::No).ok()? {
            Found::Entry(entry) if entry.path() == *directory => {
                entry.there.filter(OpenEntry::is_directory).map(|there| there.stat.uid)
            }
            _ => None,
        }
    }

    /// The names in a directory of the system's own, such as `/workspaces`, and whose each is.
    pub fn places_in(&self, directory: &VPath) -> Result<Vec<(String, Uid)>, Fault> {
        let root = crate::home::superuser();
        let listed = || -> Result<Vec<(String, Uid)>, Fail> {
            let found = self.disk.find(&root, directory, Follow::No)?;
            let dir = self.disk.directory(&root, found)?;
            let mut places = Vec::new();
            for name in self.disk.names(&dir)? {
                let there = self.disk.look(&dir, &name)?.filter(OpenEntry::is_directory);
                if let (Some(there), Some(name)) = (there, name.to_str()) {
                    places.push((name.to_string(), there.stat.uid));
                }
            }
            Ok(places)
        };
        listed().map_err(|fail| fail.at("scandir", directory.as_str()))
    }
}

impl Place<'_> {
    /// Its root.
    pub fn root(&self) -> &VPath {
        &self.root
    }

    /// Meets every file at a path or below it, at most so many; false when there are more. Names that `wants` does not
    /// want are left out with everything below them.
    pub fn survey(
        &self,
        path: &str,
        wants: &dyn Fn(&str) -> bool,
        max: usize,
        met: &mut Vec<Surveyed>,
    ) -> Result<bool, Fault> {
        let mut surveyed = || -> Result<bool, Fail> {
            let entry = match self.entry(path) {
                Err(fail) if is_absence(fail.code) => return Ok(true),
                entry => entry?,
            };
            let Some(there) = entry.there else { return Ok(true) };
            if !there.is_directory() {
                met.push(Surveyed {
                    path: path.to_string(),
                    stamp: stamp_of(&entry.dir, &entry.name, &there),
                });
                return Ok(true);
            }
            let dir = self.tree.disk.enter(&entry.dir, std::ffi::OsStr::new(&entry.name), there)?;
            self.below(&dir, path, 0, wants, max, met)
        };
        surveyed().map_err(|fail| fail.at("scandir", &format!("{}/{path}", self.root)))
    }

    fn below(
        &self,
        dir: &Dir,
        path: &str,
        depth: usize,
        wants: &dyn Fn(&str) -> bool,
        max: usize,
        met: &mut Vec<Surveyed>,
    ) -> Result<bool, Fail> {
        if depth > DEPTH_MAX || dir.need_list(self.who).is_err() {
            met.push(Surveyed { path: path.to_string(), stamp: None });
            return Ok(true);
        }
        for name in self.tree.disk.names(dir)? {
            let Some(text) = name.to_str().filter(|name| wants(name)) else { continue };
            let inner = if path.is_empty() { text.to_string() } else { format!("{path}/{text}") };
            let host = match statat(&*dir.fd, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(host) => host,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno.into()),
            };
            match FileType::from_raw_mode(host.st_mode) {
                FileType::Directory => {
                    let there = self.tree.disk.look(dir, &name)?.filter(OpenEntry::is_directory);
                    let Some(there) = there else { continue };
                    let Ok(entered) = self.tree.disk.enter(dir, &name, there) else {
                        met.push(Surveyed { path: inner, stamp: None });
                        continue;
                    };
                    if !self.below(&entered, &inner, depth + 1, wants, max, met)? {
                        return Ok(false);
                    }
                }
                FileType::RegularFile | FileType::Symlink => {
                    met.push(Surveyed { path: inner, stamp: Some(Stamp(FileVersion::of(&host))) });
                }
                _ => met.push(Surveyed { path: inner, stamp: None }),
            }
            if met.len() > max {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is at a path; nothing where there is nothing. Files larger than `max_bytes` are not read.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Option<Content>, Fault> {
        let entry = match self.entry(path) {
            Err(fail) if is_absence(fail.code) => return Ok(None),
            entry => entry,
        };
        let read = entry.and_then(|entry| match &entry.there {
            Some(there) => self.content(&entry, there, max_bytes).map(Some),
            None => Ok(None),
        });
        read.map_err(|fail| fail.at("open", &format!("{}/{path}", self.root)))
    }

    fn content(&self, entry: &Entry, there: &OpenEntry, max_bytes: u64) -> Result<Content, Fail> {
        if there.is_directory() {
            return Ok(Content::Directory);
        }
        let Some(stamp) = stamp_of(&entry.dir, &entry.name, there) else {
            return Ok(Content::Skipped("it is no regular file"));
        };
        if there.is_link() {
            let target = entry.dir.link_target(entry.os_name())?;
            return Ok(match target.into_string() {
                Ok(target) => Content::Link { target, stamp },
                Err(_) => Content::Skipped("where it leads is no text"),
            });
        }
        if !there.meta().allows(self.who, READ) {
            return Ok(Content::Skipped("its owner may not read it"));
        }
        if there.stat.size > max_bytes {
            return Ok(Content::Skipped("it is too large"));
        }
        let Ok(handle) = there.handle() else { return Ok(Content::Skipped("the gateway may not read it")) };
        let bytes = read_open(&std::fs::File::from(handle.try_clone_to_owned()?), there.stat.size)?;
        if bytes.len() as u64 > max_bytes {
            return Ok(Content::Skipped("it is too large"));
        }
        Ok(Content::File { bytes, executable: there.stat.mode & 0o100 != 0, stamp })
    }

    /// Puts something in the place of what is at a path, if that is what `expected` says: nobody else changes it in
    /// between. Directories on the way are made, and empty ones in the way removed.
    pub fn replace(
        &self,
        path: &str,
        max_bytes: u64,
        expected: &dyn Fn(Option<&Content>) -> bool,
        wanted: Wanted<'_>,
    ) -> Result<Replaced, Fault> {
        let replaced = || -> Result<Replaced, Fail> {
            let entry = match self.entry_with_parents(path, matches!(wanted, Wanted::Nothing)) {
                // What is to go is gone with its directory.
                Err(fail) if is_absence(fail.code) && matches!(wanted, Wanted::Nothing) => {
                    return Ok(if expected(None) { Replaced::Done } else { Replaced::Changed });
                }
                entry => entry?,
            };
            let swap = Swap {
                is_expected: &|there| {
                    let there = there.map(|there| self.content(&entry, there, max_bytes)).transpose()?;
                    Ok(expected(there.as_ref()))
                },
                wanted,
            };
            let is_done = self.tree.disk.swap(self.who, &entry, &swap)?;
            Ok(if is_done { Replaced::Done } else { Replaced::Changed })
        };
        replaced().map_err(|fail| fail.at("open", &format!("{}/{path}", self.root)))
    }

    /// The entry of a path below the root, with no link on the way to it.
    fn entry(&self, path: &str) -> Result<Entry, Fail> {
        let full = self.full(path)?;
        match self.tree.disk.find(self.who, &full, Follow::No)? {
            Found::Entry(entry) if entry.path() == full => Ok(entry),
            _ => Err(Code::Loop.into()),
        }
    }

    fn entry_with_parents(&self, path: &str, only_find: bool) -> Result<Entry, Fail> {
        match self.entry(path) {
            Err(fail) if fail.code == Code::NotFound && !only_find => {}
            found => return found,
        }
        let names: Vec<&str> = path.split('/').collect();
        for end in 1..names.len() {
            let entry = self.entry(&names[..end].join("/"))?;
            if entry.there.is_none() {
                match self.tree.disk.make_directory(self.who, &entry, 0o750) {
                    Err(fail) if fail.code == Code::Exists => {}
                    made => made?,
                }
            }
        }
        self.entry(path)
    }

    fn full(&self, path: &str) -> Result<VPath, Fail> {
        let is_plain = |name: &str| !matches!(name, "" | "." | "..");
        if path.is_empty() {
            return Ok(self.root.clone());
        }
        if !path.split('/').all(is_plain) {
            return Err(Code::Invalid.into());
        }
        VPath::absolute(&format!("{}/{path}", self.root)).map_err(|fault| Fail::from(fault.code))
    }
}

/// Whether nothing is there, or something that has nothing below it.
fn is_absence(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::NotDirectory | Code::Loop)
}

/// What something is like; nothing of what is neither a file nor a link, or is gone.
fn stamp_of(dir: &Dir, name: &str, there: &OpenEntry) -> Option<Stamp> {
    let is_plain = matches!(there.stat.kind, FileKind::File | FileKind::Link) && !there.special;
    let host = match there.handle() {
        Ok(handle) => rustix::fs::fstat(handle.as_fd()),
        Err(_) => statat(&*dir.fd, name, AtFlags::SYMLINK_NOFOLLOW),
    };
    is_plain.then_some(Stamp(FileVersion::of(&host.ok()?)))
}
