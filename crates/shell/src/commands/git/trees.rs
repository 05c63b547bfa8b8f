//! Comparison of two trees: which files differ, with mode and object on both sides.

use std::collections::BTreeMap;

use base::limits::native_shell as limits;
use protocol::repo::{EntryType, Read, ReadResult};

use super::super::{Cx, Done};
use super::pathspec::Pathspec;
use super::{fatal, refused};

/// A file as a tree has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Git's mode, such as `100644`.
    pub(super) mode: String,
    pub(super) hash: String,
}

impl Entry {
    /// File, link or commit: what is left of the mode without permissions.
    pub(super) fn kind(&self) -> &str {
        self.mode.get(..3).unwrap_or_default()
    }
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

impl Change {
    /// `A`, `D`, `M` or `T`.
    pub(super) fn letter(&self) -> char {
        match (&self.old, &self.new) {
            (None, _) => 'A',
            (_, None) => 'D',
            (Some(old), Some(new)) if old.kind() != new.kind() => 'T',
            _ => 'M',
        }
    }
}

/// Files by path.
pub(super) type Files = BTreeMap<String, Entry>;

/// What differs between two sets of files, by path.
pub(super) fn differences(mut old: Files, new: Files) -> Vec<Change> {
    let mut found: BTreeMap<String, Change> = BTreeMap::new();
    for (path, after) in new {
        let before = old.remove(&path);
        if before.as_ref() != Some(&after) {
            found.insert(path.clone(), Change { path, old: before, new: Some(after) });
        }
    }
    for (path, before) in old {
        found.insert(path.clone(), Change { path, old: Some(before), new: None });
    }
    found.into_values().collect()
}

/// One directory of a commit, by name.
async fn directory(
    cx: &Cx<'_>,
    repo: &str,
    commit: &str,
    path: &str,
) -> Result<BTreeMap<String, (EntryType, Entry)>, Done> {
    let args = Read {
        repo: repo.to_string(),
        reference: Some(commit.to_string()),
        path: Some(path.to_string()),
        binary: None,
    };
    match cx.calls.call(&args).await.map_err(|error| refused(&error))? {
        ReadResult::Tree { entries, .. } => Ok(entries
            .into_iter()
            .map(|entry| (entry.name, (entry.entry_type, Entry { mode: entry.mode, hash: entry.hash })))
            .collect()),
        ReadResult::File { .. } => Err(fatal(format!("{path} is not a directory at {commit}"))),
    }
}

fn below(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_string() } else { format!("{directory}/{name}") }
}

/// All files of a commit that are wanted.
pub(super) async fn files(
    cx: &Cx<'_>,
    repo: &str,
    commit: Option<&str>,
    wanted: &Pathspec,
) -> Result<Files, Done> {
    let mut found = Files::new();
    let Some(commit) = commit else { return Ok(found) };
    let mut todo = vec![String::new()];
    while let Some(next) = todo.pop() {
        for (name, (kind, entry)) in directory(cx, repo, commit, &next).await? {
            let path = below(&next, &name);
            match kind {
                EntryType::Tree if wanted.may_be_below(&path) => todo.push(path),
                EntryType::Tree => {}
                _ if wanted.matches(&path) => drop(found.insert(path, entry)),
                _ => {}
            }
        }
        bounded(found.len() + todo.len())?;
    }
    Ok(found)
}

fn bounded(count: usize) -> Result<(), Done> {
    match count > limits::GIT_FILES_MAX {
        true => Err(fatal(format!(
            "more than {} files: name a path, or use the git program on a machine",
            limits::GIT_FILES_MAX
        ))),
        false => Ok(()),
    }
}

/// What differs between two commits. Only directories that differ are read; nothing stands for an empty tree.
pub(super) async fn compare(
    cx: &Cx<'_>,
    repo: &str,
    old: Option<&str>,
    new: Option<&str>,
    wanted: &Pathspec,
) -> Result<Vec<Change>, Done> {
    let (mut before, mut after) = (Files::new(), Files::new());
    let mut todo = vec![(String::new(), old.is_some(), new.is_some())];
    while let Some((path, in_old, in_new)) = todo.pop() {
        let mut left = match old.filter(|_| in_old) {
            Some(commit) => directory(cx, repo, commit, &path).await?,
            None => BTreeMap::new(),
        };
        let right = match new.filter(|_| in_new) {
            Some(commit) => directory(cx, repo, commit, &path).await?,
            None => BTreeMap::new(),
        };
        let mut pairs: Vec<_> = right
            .into_iter()
            .map(|(name, after)| {
                let before = left.remove(&name);
                (name, before, Some(after))
            })
            .collect();
        pairs.extend(left.into_iter().map(|(name, before)| (name, Some(before), None)));
        for (name, one, other) in pairs.into_iter().filter(|(_, one, other)| one != other) {
            let path = below(&path, &name);
            let is_tree = |side: &Option<(EntryType, Entry)>| {
                side.as_ref().is_some_and(|(kind, _)| *kind == EntryType::Tree)
            };
            let (old_tree, new_tree) = (is_tree(&one), is_tree(&other));
            if (old_tree || new_tree) && wanted.may_be_below(&path) {
                todo.push((path.clone(), old_tree, new_tree));
            }
            if !wanted.matches(&path) {
                continue;
            }
            if let Some((_, entry)) = one.filter(|_| !old_tree) {
                before.insert(path.clone(), entry);
            }
            if let Some((_, entry)) = other.filter(|_| !new_tree) {
                after.insert(path, entry);
            }
        }
        bounded(before.len() + after.len() + todo.len())?;
    }
    Ok(differences(before, after))
}
