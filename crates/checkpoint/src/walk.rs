//! Directory walk by descriptor, in a fixed order, that turns a workspace into a snapshot.
//!
//! It follows no link, enters no other file system, opens no FIFO, and what it passes by it notes with the reason.

mod ignored;
mod read;
mod repository;
mod rules;
mod tracked;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use base::clock::Clock;
use base::limits::checkpoint as limits;
use rustix::fs::{Dir, readlinkat};
use rustix::io::Errno;

use crate::budget::Budget;
use crate::cache::Cache;
use crate::error::Fault;
use crate::label::Why;
use crate::objects::{ObjectKind, Oid, Writer};
use crate::place;
use crate::snapshot::{Entry, Name, Noted, Snapshot, push};
use crate::state::{FileKind, FileState, Key};
use crate::tree::{self, Item};

use ignored::Newcomers;
use read::Read;
use repository::Repository;
use rules::Rules;

/// What a walk goes by.
pub(crate) struct Plan<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) budget: &'a Budget,
    pub(crate) clock: &'a Clock,
    /// The file system's time when the walk begins.
    pub(crate) began_ns: i64,
    pub(crate) cache: &'a Cache,
    /// Files that are looked at even where they are ignored: an agent could have had them ignored.
    pub(crate) known: Vec<&'a BTreeMap<Name, Entry>>,
    /// The same for files of the last checkpoint, and names below what has come to be ignored since.
    pub(crate) keeps_known: bool,
    /// Before a run: what was there when the last one had ended. What is ignored now and was not there then is a
    /// person's, made under rules that an agent may have written.
    pub(crate) last: Option<&'a Snapshot>,
}

/// A walk under way.
pub(crate) struct Walk<'a, 'w> {
    plan: Plan<'a>,
    writer: &'a mut Writer<'w>,
    deadline: Instant,
    device: u64,
    pub(crate) snapshot: Snapshot,
    pub(crate) cache: Cache,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    object_files: usize,
    object_bytes: u64,
    names: usize,
    /// What is left for files that are ignored and kept all the same.
    newcomers: Newcomers,
}

/// What a directory is part of.
#[derive(Clone)]
enum Part {
    /// The person's files.
    Files(Rc<Rules>),
    /// A directory that is ignored: only what is tracked in it.
    Ignored(Rc<Rules>),
    /// The directory of a repository.
    Repository,
    /// The object database of a repository (`.git/objects`).
    Objects,
}

/// A name in a directory.
struct WalkEntry<'d> {
    dir: &'d OwnedFd,
    name: &'d [u8],
    state: FileState,
}

impl<'a, 'w> Walk<'a, 'w> {
    pub(crate) fn new(plan: Plan<'a>, writer: &'a mut Writer<'w>) -> Walk<'a, 'w> {
        let deadline = plan.clock.instant() + plan.budget.time_max;
        Walk {
            plan,
            writer,
            deadline,
            device: 0,
            snapshot: Snapshot::default(),
            cache: Cache::default(),
            files: 0,
            bytes: 0,
            object_files: 0,
            object_bytes: 0,
            names: 0,
            newcomers: Newcomers::default(),
        }
    }

    /// Walks the whole workspace; the tree of its files.
    pub(crate) fn run(&mut self, root: &OwnedFd) -> Result<Oid, Fault> {
        self.device = place::state_of(root)?.dev;
        let above = Rules::above(self.plan.workspace);
        let dir = place::open_dir(root, b".")?;
        let tree = self.directory(dir, &mut Vec::new(), &Part::Files(above), 0)?;
        self.cache.is_complete = true;
        Ok(tree)
    }

    fn directory(&mut self, dir: OwnedFd, path: &mut Name, part: &Part, depth: usize) -> Result<Oid, Fault> {
        let names = names(&dir)?;
        let part = self.enter(&dir, path, &names, part);
        let mut items = Vec::new();
        for name in &names {
            self.meet()?;
            let length = push(path, name);
            match place::state_at(&dir, name) {
                Ok(Some(state)) => {
                    let found = WalkEntry { dir: &dir, name, state };
                    items.extend(self.entry(&found, path, &part, depth)?);
                }
                // It was removed while we looked.
                Ok(None) => {}
                Err(_) => self.note(path, Why::Unreadable, FileKind::File, Key::default()),
            }
            path.truncate(length);
        }
        tree::write(self.writer, items)
    }

    /// The rules of a directory: its own ignore file on top, and those of its repository where one begins.
    fn enter(&mut self, dir: &OwnedFd, path: &Name, names: &[Name], part: &Part) -> Part {
        let rules = match part {
            Part::Files(rules) | Part::Ignored(rules) => rules,
            _ => return part.clone(),
        };
        let has = |name: &[u8]| names.binary_search_by(|other| other.as_slice().cmp(name)).is_ok();
        let mut rules = rules.clone();
        if has(b".git") {
            let repository = Repository::open(self.plan.workspace, dir, path);
            if repository.is_elsewhere {
                let git = if path.is_empty() { b".git".to_vec() } else { [path, &b"/.git"[..]].concat() };
                self.note(&git, Why::RepositoryElsewhere, FileKind::File, Key::default());
            }
            rules = Rules::of_repository(path, repository);
        }
        if has(b".gitignore") {
            rules = Rules::with_file(rules, dir, path);
        }
        match part {
            Part::Ignored(_) => Part::Ignored(rules),
            _ => Part::Files(rules),
        }
    }

    /// One name: what the tree of its directory says of it, if anything.
    fn entry(
        &mut self,
        found: &WalkEntry<'_>,
        path: &mut Name,
        part: &Part,
        depth: usize,
    ) -> Result<Option<Item>, Fault> {
        let WalkEntry { name, state, .. } = *found;
        let inner = match part {
            Part::Objects | Part::Repository if repository::is_transient(name) => {
                return Ok(self.pass_by(path, Why::Ignored, &state));
            }
            Part::Objects => Part::Objects,
            Part::Repository if repository::holds_objects(name) => Part::Objects,
            Part::Repository => Part::Repository,
            Part::Files(_) | Part::Ignored(_) if name == b".git" && state.kind == FileKind::Dir => {
                Part::Repository
            }
            Part::Files(rules) if !rules.is_ignored(path, state.kind == FileKind::Dir) => {
                Part::Files(rules.clone())
            }
            Part::Files(rules) | Part::Ignored(rules) => {
                if !self.is_known(rules, path, state.kind) && !self.is_newcomer(found, path) {
                    return self.ignore(found, path, depth).map(|()| None);
                }
                Part::Ignored(rules.clone())
            }
        };
        match state.kind {
            FileKind::Special => Ok(self.pass_by(path, Why::Special, &state)),
            FileKind::Dir => self.subdirectory(found, path, &inner, depth),
            FileKind::Link => self.link(found, path),
            FileKind::File => self.file(found, path, matches!(inner, Part::Objects)),
        }
    }

    fn subdirectory(
        &mut self,
        found: &WalkEntry<'_>,
        path: &mut Name,
        part: &Part,
        depth: usize,
    ) -> Result<Option<Item>, Fault> {
        let WalkEntry { dir, name, state } = *found;
        if state.dev != self.device {
            return Ok(self.pass_by(path, Why::OtherFileSystem, &state));
        }
        if depth >= limits::DEPTH_MAX {
            return Ok(self.pass_by(path, Why::TooDeep, &state));
        }
        self.count(0, matches!(part, Part::Objects))?;
        let opened = match place::open_dir(dir, name) {
            Ok(opened) => opened,
            Err(Errno::NOENT) => return Ok(None),
            Err(_) => return Ok(self.pass_by(path, Why::Unreadable, &state)),
        };
        let key = self.insert(path, &state, None);
        let oid = self.directory(opened, path, part, depth + 1)?;
        Ok(Some(Item { name: name.to_vec(), kind: FileKind::Dir, mode: key, oid }))
    }

    fn link(&mut self, found: &WalkEntry<'_>, path: &Name) -> Result<Option<Item>, Fault> {
        let WalkEntry { dir, name, state } = *found;
        let Ok(target) = readlinkat(dir, name, Vec::new()) else {
            return Ok(self.pass_by(path, Why::Unreadable, &state));
        };
        self.count(state.key.size, false)?;
        self.files += 1;
        let oid = self.writer.add(ObjectKind::Blob, target.as_bytes())?;
        // It is always read again; that it is known keeps it when it comes to be ignored.
        self.cache.files.insert(path.clone(), (Key::default(), oid));
        let mode = self.insert(path, &state, Some(oid));
        Ok(Some(Item { name: name.to_vec(), kind: FileKind::Link, mode, oid }))
    }

    fn file(&mut self, found: &WalkEntry<'_>, path: &Name, is_object: bool) -> Result<Option<Item>, Fault> {
        let WalkEntry { dir, name, mut state } = *found;
        let budget = self.plan.budget;
        if is_object {
            let fits = self.object_bytes + state.key.size <= budget.repository_bytes_max
                && self.object_files < limits::REPOSITORY_FILES_MAX;
            if !fits {
                return Ok(self.pass_by(path, Why::RepositoryTooLarge, &state));
            }
        } else if state.key.size > budget.file_bytes_max {
            return Ok(self.pass_by(path, Why::TooLarge, &state));
        }
        self.count(state.key.size, is_object)?;
        let known = self.plan.cache.find(path, &state.key).filter(|oid| self.writer.contains(oid));
        let mut torn = false;
        let oid = match known {
            Some(oid) => oid,
            None => {
                let bytes_max = if is_object { budget.repository_bytes_max } else { budget.file_bytes_max };
                match read::read(self.writer, dir, name, bytes_max)? {
                    Read::Kept { oid, state: seen, is_torn } => {
                        (state, torn) = (seen, is_torn);
                        oid
                    }
                    Read::Gone => return Ok(None),
                    Read::Not(why) => return Ok(self.pass_by(path, why, &state)),
                }
            }
        };
        if torn {
            self.note(path, Why::Torn, FileKind::File, state.key);
        }
        let is_reliable = !torn && state.key.is_past_clock_grain(self.plan.began_ns);
        self.cache.files.insert(path.clone(), (if is_reliable { state.key } else { Key::default() }, oid));
        let mode = self.insert(path, &state, Some(oid));
        self.files += 1;
        Ok(Some(Item { name: name.to_vec(), kind: FileKind::File, mode, oid }))
    }

    /// Adds to the snapshot; the permission bits.
    fn insert(&mut self, path: &Name, state: &FileState, oid: Option<Oid>) -> u32 {
        let entry = Entry {
            kind: state.kind,
            oid,
            mode: state.mode,
            uid: state.uid,
            gid: state.gid,
            size: if state.kind == FileKind::Dir { 0 } else { state.key.size },
            mtime_ns: state.mtime_ns,
            key: Some(state.key),
        };
        self.snapshot.entries.insert(path.clone(), entry);
        state.mode
    }

    /// Meets a name, as long as there is time and they are not too many.
    fn meet(&mut self) -> Result<(), Fault> {
        self.names += 1;
        if self.names > limits::NAMES_MAX {
            return Err(Fault::TooLarge(format!("the workspace has more than {} names", limits::NAMES_MAX)));
        }
        if self.plan.clock.instant() >= self.deadline {
            return Err(Fault::TimedOut);
        }
        Ok(())
    }

    /// Counts what is kept, and fails where that passes a limit.
    fn count(&mut self, bytes: u64, is_object: bool) -> Result<(), Fault> {
        if is_object {
            self.object_files += 1;
            self.object_bytes += bytes;
            return Ok(());
        }
        self.bytes += bytes;
        let budget = self.plan.budget;
        if self.bytes > budget.bytes_max {
            let limit = budget.bytes_max / (1024 * 1024);
            return Err(Fault::TooLarge(format!("the workspace has more than {limit} MB")));
        }
        if self.snapshot.entries.len() - self.object_files.min(self.snapshot.entries.len())
            >= budget.files_max
        {
            return Err(Fault::TooLarge(format!("the workspace has more than {} files", budget.files_max)));
        }
        Ok(())
    }

    fn pass_by(&mut self, path: &Name, why: Why, state: &FileState) -> Option<Item> {
        self.note(path, why, state.kind, state.key);
        None
    }

    fn note(&mut self, path: &Name, why: Why, kind: FileKind, key: Key) {
        if self.snapshot.noted.len() >= limits::NOTED_MAX && !why.is_loss() {
            self.snapshot.has_more = true;
            return;
        }
        self.snapshot.noted.insert(path.clone(), Noted { why, is_dir: kind == FileKind::Dir, key });
    }
}

/// The names in a directory, in the order of their bytes.
fn names(dir: &OwnedFd) -> Result<Vec<Name>, Fault> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = match entry {
            // The directory was removed while we looked.
            Err(Errno::NOENT) => break,
            entry => entry?,
        };
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
        if names.len() > limits::NAMES_MAX {
            return Err(Fault::TooLarge(format!("a directory has more than {} names", limits::NAMES_MAX)));
        }
    }
    names.sort_unstable();
    Ok(names)
}
