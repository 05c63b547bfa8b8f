//! Import from a repository on this machine, for root: its objects are read where they lie.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::Kind;

use crate::git::bare::Bare;
use crate::git::fault::Fault;
use crate::git::write::NewObjects;

use super::quarantine::check_entry;

/// The git directory at a path: itself, or the `.git` within.
pub(crate) fn directory(path: &Path) -> Result<PathBuf, Fault> {
    let found = [path.join(".git"), path.to_path_buf()];
    let found = found.into_iter().find(|dir| dir.join("objects").is_dir() && dir.join("HEAD").is_file());
    found.ok_or_else(|| Fault::Missing(format!("No repository at {}", path.display())))
}

/// Copies everything that a commit needs and that is not here, what is named before what names it.
pub(crate) fn copy(from: &Bare, to: &Bare, commit: ObjectId) -> Result<(), Fault> {
    let mut objects = NewObjects::new(to);
    let (mut seen, mut commits, mut order) = (HashSet::new(), vec![commit], Vec::new());
    while let Some(id) = commits.pop() {
        if !to.has(&id) && seen.insert(id) {
            let commit = from.commit(&id)?;
            commits.extend(&commit.parents);
            order.push((id, commit.tree));
        }
    }
    let mut bytes = 0;
    for (id, tree) in order.into_iter().rev() {
        copy_tree(from, to, tree, &mut seen, &mut objects, &mut bytes)?;
        objects.add(Kind::Commit, from.object(&id, Kind::Commit)?)?;
    }
    objects.flush()
}

fn copy_tree(
    from: &Bare,
    to: &Bare,
    tree: ObjectId,
    seen: &mut HashSet<ObjectId>,
    objects: &mut NewObjects<'_>,
    bytes: &mut u64,
) -> Result<(), Fault> {
    if to.has(&tree) || !seen.insert(tree) {
        return Ok(());
    }
    for entry in from.tree(&tree)? {
        check_entry(&entry)?;
        if entry.mode.is_tree() {
            copy_tree(from, to, entry.oid, seen, objects, bytes)?;
        } else if !entry.mode.is_commit() && !to.has(&entry.oid) && seen.insert(entry.oid) {
            let content = from.blob(&entry.oid)?;
            *bytes += content.len() as u64;
            // All of it is in memory until it is written.
            if *bytes > limits::IMPORT_LOCAL_MAX_BYTES || seen.len() > limits::IMPORT_OBJECTS_MAX {
                return Err(Fault::TooLarge(
                    "the repository is too large to be imported from a path: push it with git instead"
                        .to_string(),
                ));
            }
            objects.add(Kind::Blob, content)?;
        }
    }
    objects.add(Kind::Tree, from.object(&tree, Kind::Tree)?).map(|_| ())
}
