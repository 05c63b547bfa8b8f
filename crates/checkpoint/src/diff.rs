//! Differences between two snapshots, as a person would name them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::snapshot::{Name, Snapshot, is_in_repository, path_of};
use crate::state::FileKind;

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its content is another, or a link leads elsewhere.
    Content,
    /// Only its permission bits are others.
    Mode,
    /// A file became a directory, a link a file, and so on.
    Kind,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Below the workspace.
    #[serde(serialize_with = "crate::escape::path")]
    pub path: PathBuf,
    /// How it differs.
    pub change: Change,
    /// It is a directory; one that holds something is told by what it holds.
    pub is_dir: bool,
    /// It is part of a repository's own directory: `.git/index`, branches, and so on.
    pub in_repository: bool,
}

/// What is different in `new`.
pub(crate) fn diff(old: &Snapshot, new: &Snapshot) -> Vec<Difference> {
    let mut out = Vec::new();
    for (name, entry) in &old.entries {
        let change = match new.entries.get(name) {
            None if is_told_by_content(old, name) => continue,
            None => Change::Removed,
            Some(other) if other.is_same(entry) => continue,
            Some(other) if other.kind != entry.kind => Change::Kind,
            Some(other) if other.oid != entry.oid => Change::Content,
            Some(_) => Change::Mode,
        };
        out.push(difference(name, change, entry.kind));
    }
    for (name, entry) in &new.entries {
        if !old.entries.contains_key(name) && !is_told_by_content(new, name) {
            out.push(difference(name, Change::Added, entry.kind));
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

fn difference(name: &Name, change: Change, kind: FileKind) -> Difference {
    let in_repository = is_in_repository(name);
    Difference { path: path_of(name), change, is_dir: kind == FileKind::Dir, in_repository }
}

/// Whether it is a directory with something in it.
fn is_told_by_content(snapshot: &Snapshot, name: &Name) -> bool {
    let prefix = [name, &b"/"[..]].concat();
    snapshot.entries.range(prefix.clone()..).next().is_some_and(|(next, _)| next.starts_with(&prefix))
}

/// Paths that are new or others in `new`, among them what is not kept, of which only the state is compared.
pub(crate) fn appeared(old: &Snapshot, new: &Snapshot, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = new
        .entries
        .iter()
        .filter(|(name, entry)| old.entries.get(*name).is_none_or(|other| !other.is_same(entry)));
    let noted = new.noted.iter().filter(|(name, noted)| match old.noted.get(*name) {
        // A directory's time of change is that of the names in it, which are noted themselves where they are new.
        Some(other) => other.is_dir != noted.is_dir || (!noted.is_dir && other.key != noted.key),
        None => true,
    });
    let names = entries.map(|(name, _)| name).chain(noted.map(|(name, _)| name));
    let mut paths: Vec<PathBuf> = names.map(|name| path_of(name)).filter(|path| wanted(path)).collect();
    paths.sort();
    paths.dedup();
    paths
}
