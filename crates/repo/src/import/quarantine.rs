//! Quarantine of received objects: a pack is indexed and walked in a directory of its own, which sees the repository's
//! objects and is not seen by it, until everything the new commit needs is known to be there and harmless.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::Kind;

use crate::faults::step;
use crate::git::bare::{Bare, Entry};
use crate::git::fault::Fault;
use crate::git::lock::IMPORT;
use crate::git::paths::check_name;

/// A place for objects that are not trusted yet; goes with this.
pub(crate) struct Quarantine {
    repository: PathBuf,
    dir: PathBuf,
}

impl Quarantine {
    /// An empty one.
    pub(crate) fn new(repository: &Path, unique: &str) -> Result<Quarantine, Fault> {
        let dir = repository.join(format!("{IMPORT}{unique}"));
        let quarantine = Quarantine { repository: repository.to_path_buf(), dir };
        let make = |path: &Path| DirBuilder::new().mode(0o700).recursive(true).create(path);
        for part in ["objects/pack", "objects/info"] {
            make(&quarantine.dir.join(part))?;
        }
        let others = fs::canonicalize(repository.join("objects"))?;
        let others = others.to_str().ok_or_else(|| Fault::Damaged("its path is not text".to_string()))?;
        fs::write(quarantine.dir.join("objects/info/alternates"), format!("{others}\n"))?;
        Ok(quarantine)
    }

    /// The file that a pack is received into.
    pub(crate) fn incoming(&self) -> Result<File, Fault> {
        let path = self.dir.join("incoming.pack");
        Ok(OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?)
    }

    /// Indexes what was received; deltas against objects of the repository are made whole.
    pub(crate) fn index(&self, interrupted: &AtomicBool) -> Result<(), Fault> {
        let path = self.dir.join("incoming.pack");
        if is_empty_pack(&path)? {
            return Ok(());
        }
        let bare = Bare::open(&self.repository)?;
        let options = gix_pack::bundle::write::Options {
            thread_limit: Some(1),
            alloc_limit_bytes: Some(limits::OBJECT_MAX_BYTES as usize),
            ..Default::default()
        };
        gix_pack::Bundle::write_to_directory(
            &mut BufReader::new(File::open(&path)?),
            Some(&self.dir.join("objects/pack")),
            &mut gix_utils::progress::Discard,
            interrupted,
            Some(bare.objects().clone()),
            gix_hash::Kind::Sha1,
            options,
        )
        .map_err(|error| {
            Fault::Bad(format!("what the other side sent is no pack that can be used: {error}"))
        })?;
        fs::remove_file(path)?;
        Ok(())
    }

    /// The repository with what is in quarantine.
    pub(crate) fn open(&self) -> Result<Bare, Fault> {
        Bare::open(&self.dir)
    }

    /// Moves packs into the repository; durable when this returns. An index comes last: with it a pack is seen.
    pub(crate) fn release(self) -> Result<(), Fault> {
        let (from, to) = (self.dir.join("objects/pack"), self.repository.join("objects/pack"));
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(&from)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "pack" || end == "idx") {
                files.push(path);
            }
        }
        for path in &files {
            File::open(path)?.sync_all()?;
        }
        files.sort_by_key(|path| path.extension().is_some_and(|end| end == "idx"));
        for path in files {
            step("pack moved")?;
            if let Some(name) = path.file_name() {
                fs::rename(&path, to.join(name))?;
            }
        }
        File::open(to)?.sync_all()?;
        step("packs moved")?;
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            tracing::warn!(dir = %self.dir.display(), %error, "what is left of an import could not be removed");
        }
    }
}

fn is_empty_pack(path: &Path) -> Result<bool, Fault> {
    let mut head = Vec::new();
    File::open(path)?.take(12).read_to_end(&mut head)?;
    Ok(head.get(8..12) == Some(&[0, 0, 0, 0]))
}

/// Walks everything a commit needs that the repository has not: all of it must be there, and no name in a directory may
/// mean something else to git or to a file system.
pub(crate) fn check(
    all: &Bare,
    known: &Bare,
    commit: ObjectId,
    interrupted: &AtomicBool,
) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    let mut commits = vec![commit];
    while let Some(id) = commits.pop() {
        if known.has(&id) || !seen.insert(id) {
            continue;
        }
        let commit = all.commit(&id).map_err(incomplete)?;
        commits.extend(commit.parents);
        check_tree(all, known, commit.tree, &mut seen, interrupted)?;
    }
    Ok(())
}

fn check_tree(
    all: &Bare,
    known: &Bare,
    tree: ObjectId,
    seen: &mut HashSet<ObjectId>,
    interrupted: &AtomicBool,
) -> Result<(), Fault> {
    let mut trees = vec![(tree, 0)];
    while let Some((id, depth)) = trees.pop() {
        if known.has(&id) || !seen.insert(id) {
            continue;
        }
        if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Fault::Busy("the import took too long".to_string()));
        }
        if depth > limits::DEPTH_MAX || seen.len() > limits::IMPORT_OBJECTS_MAX {
            return Err(Fault::TooLarge(
                "the repository has too many objects, or directories nested too deep".to_string(),
            ));
        }
        for entry in all.tree(&id).map_err(incomplete)? {
            check_entry(&entry)?;
            if entry.mode.is_tree() {
                trees.push((entry.oid, depth + 1));
            } else if !entry.mode.is_commit() && !known.has(&entry.oid) {
                match all.header(&entry.oid)? {
                    Some((Kind::Blob, _)) => {}
                    _ => return Err(incomplete(Fault::Damaged(format!("{} is missing", entry.oid)))),
                }
            }
        }
    }
    Ok(())
}

/// Refuses a name in a directory that may mean something else to git or to a file system.
pub(crate) fn check_entry(entry: &Entry) -> Result<(), Fault> {
    check_name(&entry.filename, entry.mode.is_link()).map_err(|why| {
        let name = String::from_utf8_lossy(&entry.filename).into_owned();
        Fault::Bad(format!("the repository has a file called {name:?}, which is refused: {why}"))
    })
}

/// What is missing was not sent.
fn incomplete(fault: Fault) -> Fault {
    match fault {
        Fault::Damaged(why) => Fault::Bad(format!("the other side sent something incomplete: {why}")),
        other => other,
    }
}
