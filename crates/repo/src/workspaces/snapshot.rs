//! Snapshot of a directory as commits, and back: what is set aside becomes the main branch of a repository, and a branch
//! becomes a directory again. Links are kept as links; empty directories are not kept, as git knows none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use base::clock::Clock;
use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::tree::{EntryKind, EntryMode};
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use vfs::workspace::{Building, Kept};
use vfs::{Fault as FileFault, Tree};

use super::file_refusal;
use crate::commits::Author;
use crate::git::bare::Bare;
use crate::git::commit::{self, NewCommit, Stamp};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;
use crate::repos::refusal;
use crate::slug::Slug;

/// The message of these commits.
const MESSAGE: &str = "gsv: archive workspace";

/// Why a workspace could not be kept or brought back: the repository's side, or the tree's.
#[derive(Debug)]
pub(super) enum Trouble {
    Git(Fault),
    Files(FileFault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Git(fault)
    }
}

impl From<FileFault> for Trouble {
    fn from(fault: FileFault) -> Trouble {
        Trouble::Files(fault)
    }
}

impl Trouble {
    /// What it is on the wire.
    pub(super) fn refusal(self, slug: &Slug, id: &str) -> Error {
        match self {
            Trouble::Git(fault) => refusal(slug, fault),
            Trouble::Files(fault) => file_refusal(id, &fault),
        }
    }
}

/// What is set aside of a workspace, on its way into a repository.
pub(super) struct Keep<'a> {
    pub tree: &'a Tree,
    pub id: &'a str,
    pub author: &'a Author,
    pub seconds: i64,
    pub clock: &'a Clock,
}

impl Keep<'_> {
    /// Makes the main branch the same as the directory; false when it was. Content is read file by file, and committed
    /// in pieces that fit into memory.
    pub(super) fn commit(&self, repository: &Path) -> Result<bool, Trouble> {
        let bare = Bare::open(repository)?;
        let before = flattened(&bare, bare.reference(&Branch::main().full())?)?;
        let paths = self.paths()?;
        let (mut changes, mut bytes, mut has_changed) = (deletions(&before, &paths)?, 0, false);
        self.tree.each_set_aside(self.id, &mut |path, kept| {
            let Some(change) = changed(&before, path, kept)? else { return Ok::<(), Trouble>(()) };
            bytes += match &change {
                Change::Put { content, .. } => content.len(),
                _ => 0,
            };
            changes.push(change);
            if bytes >= limits::WORKSPACE_COMMIT_BYTES || changes.len() >= limits::OPS_MAX {
                has_changed |= self.advance(&bare, std::mem::take(&mut changes))?;
                bytes = 0;
            }
            Ok(())
        })?;
        has_changed |= self.advance(&bare, changes)?;
        Ok(has_changed)
    }

    /// Every path that is set aside, each fit for a repository.
    fn paths(&self) -> Result<BTreeSet<String>, Trouble> {
        let mut paths = BTreeSet::new();
        self.tree.each_set_aside(self.id, &mut |path, _| {
            tree_path(path)?;
            paths.insert(path.to_string());
            Ok::<(), Trouble>(())
        })?;
        Ok(paths)
    }

    fn advance(&self, bare: &Bare, changes: Vec<Change>) -> Result<bool, Trouble> {
        if changes.is_empty() {
            return Ok(false);
        }
        let Author { name, email } = self.author.clone();
        let stamp = Stamp { name, email, seconds: self.seconds };
        let new = NewCommit {
            branch: Branch::main(),
            author: stamp.clone(),
            committer: stamp,
            message: MESSAGE.to_string(),
            expected: None,
            allow_empty: false,
            changes,
        };
        let before = bare.reference(&new.branch.full())?;
        let after = commit::advance(bare, &new, self.clock)?;
        commit::settle_head(bare, &new.branch, self.clock)?;
        Ok(before != after)
    }
}

fn tree_path(path: &str) -> Result<TreePath, Fault> {
    let unfit = |_| {
        let why = format!("a repository can not keep '{path}': move or delete it first");
        Fault::Conflict(why)
    };
    TreePath::to_write(path).map_err(unfit)
}

/// What is to be deleted before anything is written: what is gone, and directories that are files now.
fn deletions(
    before: &BTreeMap<String, (EntryMode, ObjectId)>,
    now: &BTreeSet<String>,
) -> Result<Vec<Change>, Fault> {
    let mut gone = BTreeSet::new();
    for path in before.keys().filter(|path| !now.contains(*path)) {
        let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
        gone.insert(ends.into_iter().find(|above| now.contains(*above)).unwrap_or(path).to_string());
    }
    let delete = |path: String| Ok(Change::Delete { path: TreePath::to_read(&path)?, recursive: true });
    gone.into_iter().map(delete).collect()
}

/// The change that makes the repository's file what is kept; nothing when it is.
fn changed(
    before: &BTreeMap<String, (EntryMode, ObjectId)>,
    path: &str,
    kept: Kept,
) -> Result<Option<Change>, Trouble> {
    let (kind, content, change) = match kept {
        Kept::Link { target } => {
            let change = Change::Link { path: tree_path(path)?, target: target.clone() };
            (EntryKind::Link, target.into_bytes(), Some(change))
        }
        Kept::File { file, size, executable } => {
            let content = content_of(path, file, size)?;
            (if executable { EntryKind::BlobExecutable } else { EntryKind::Blob }, content, None)
        }
    };
    let id = gix_object::compute_hash(gix_hash::Kind::Sha1, Kind::Blob, &content).map_err(Fault::damaged)?;
    if before.get(path).is_some_and(|(mode, known)| mode.kind() == kind && *known == id) {
        return Ok(None);
    }
    let executable = Some(kind == EntryKind::BlobExecutable);
    Ok(Some(match change {
        Some(link) => link,
        None => Change::Put { path: tree_path(path)?, content, executable },
    }))
}

fn content_of(path: &str, file: std::fs::File, size: u64) -> Result<Vec<u8>, Fault> {
    let mut content = Vec::new();
    file.take(limits::OBJECT_MAX_BYTES + 1).read_to_end(&mut content)?;
    let (read, limit) = (content.len() as u64, limits::OBJECT_MAX_BYTES);
    if read > limit {
        let size = size.max(read);
        return Err(Fault::TooLarge(format!(
            "'{path}' has {size} bytes, the limit of a repository is {limit}: move or delete it first"
        )));
    }
    Ok(content)
}

/// Every file and link of a commit by its path; submodules are none.
fn flattened(
    bare: &Bare,
    commit: Option<ObjectId>,
) -> Result<BTreeMap<String, (EntryMode, ObjectId)>, Fault> {
    let mut files = BTreeMap::new();
    walk(bare, commit, &mut |path, mode, id| {
        files.insert(path.to_string(), (mode, id));
        Ok::<(), Fault>(())
    })?;
    Ok(files)
}

/// Calls `each` for everything in a commit but its directories.
fn walk<E: From<Fault>>(
    bare: &Bare,
    commit: Option<ObjectId>,
    each: &mut dyn FnMut(&str, EntryMode, ObjectId) -> Result<(), E>,
) -> Result<(), E> {
    let Some(commit) = commit else { return Ok(()) };
    let mut pending = vec![(String::new(), bare.commit(&commit)?.tree)];
    let mut entries = 0;
    while let Some((inside, tree)) = pending.pop() {
        for entry in bare.tree(&tree)? {
            entries += 1;
            let name = String::from_utf8(entry.filename.into()).map_err(|_| {
                Fault::Bad("a name in the repository is no UTF-8 text: clone it with git".to_string())
            })?;
            let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            if entries > limits::WORKSPACE_ENTRIES_MAX || path.len() > limits::PATH_MAX_BYTES {
                let most = limits::WORKSPACE_ENTRIES_MAX;
                let why = format!("the repository has more than {most} names, or longer paths than are kept");
                return Err(Fault::TooLarge(why).into());
            }
            match entry.mode.is_tree() {
                true => pending.push((path, entry.oid)),
                false => each(&path, entry.mode, entry.oid)?,
            }
        }
    }
    Ok(())
}

/// Builds the files of a workspace from the main branch of a repository, and puts them into their place.
pub(super) fn restore(
    tree: &Tree,
    id: &str,
    owner: &ProcessIdentity,
    repository: &Path,
) -> Result<(), Trouble> {
    let bare = Bare::open(repository)?;
    let building = tree.begin_workspace(id, owner)?;
    let head = bare.reference(&Branch::main().full())?;
    walk(&bare, head, &mut |path, mode, id| put(&bare, &building, path, mode, id))?;
    Ok(building.finish()?)
}

fn put(
    bare: &Bare,
    building: &Building<'_>,
    path: &str,
    mode: EntryMode,
    id: ObjectId,
) -> Result<(), Trouble> {
    // A push may have brought names that are no good in a tree.
    TreePath::to_write(path)?;
    match mode.kind() {
        EntryKind::Commit | EntryKind::Tree => building.directory(path)?,
        EntryKind::Link => {
            let target = String::from_utf8(bare.blob(&id)?);
            let target = target.map_err(|_| Fault::Bad(format!("the link {path} leads to no text")))?;
            building.link(path, &target)?;
        }
        EntryKind::Blob | EntryKind::BlobExecutable => {
            building.file(path, &bare.blob(&id)?, mode.is_executable())?;
        }
    }
    Ok(())
}
