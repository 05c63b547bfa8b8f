//! Comparison of two trees, file by file and without rename detection: what moved is deleted here and added there.

use std::collections::BTreeMap;

use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::tree::EntryMode;

use super::bare::{Bare, is_text};
use super::fault::Fault;
use super::hunks::{self, FileDiff, Hunk, LineTag};

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// Its whole path, as bytes.
    pub path: Vec<u8>,
    pub old: Option<(EntryMode, ObjectId)>,
    pub new: Option<(EntryMode, ObjectId)>,
}

type Entries = BTreeMap<Vec<u8>, (EntryMode, ObjectId)>;

impl Bare {
    /// The files that differ between two trees, by path.
    pub(crate) fn changes(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
    ) -> Result<Vec<FileChange>, Fault> {
        let mut found = Vec::new();
        self.compare(&mut Vec::new(), old, new, 0, &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn entries(&self, tree: Option<ObjectId>) -> Result<Entries, Fault> {
        let Some(tree) = tree else { return Ok(Entries::new()) };
        let entries = self.tree(&tree)?;
        Ok(entries.into_iter().map(|entry| (entry.filename.into(), (entry.mode, entry.oid))).collect())
    }

    fn compare(
        &self,
        prefix: &mut Vec<u8>,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        depth: usize,
        found: &mut Vec<FileChange>,
    ) -> Result<(), Fault> {
        if old == new {
            return Ok(());
        }
        if depth > limits::DEPTH_MAX {
            return Err(Fault::TooLarge(format!("directories are nested deeper than {}", limits::DEPTH_MAX)));
        }
        let (mut old, new) = (self.entries(old)?, self.entries(new)?);
        let mut pairs: Vec<_> = new
            .into_iter()
            .map(|(name, after)| {
                let before = old.remove(&name);
                (name, before, Some(after))
            })
            .collect();
        pairs.extend(old.into_iter().map(|(name, before)| (name, Some(before), None)));
        for (name, before, after) in pairs.into_iter().filter(|(_, before, after)| before != after) {
            let length = prefix.len();
            if !prefix.is_empty() {
                prefix.push(b'/');
            }
            prefix.extend_from_slice(&name);
            let tree = |side: Option<(EntryMode, ObjectId)>| {
                side.filter(|(mode, _)| mode.is_tree()).map(|(_, id)| id)
            };
            let file = |side: Option<(EntryMode, ObjectId)>| side.filter(|(mode, _)| !mode.is_tree());
            if tree(before).is_some() || tree(after).is_some() {
                self.compare(prefix, tree(before), tree(after), depth + 1, found)?;
            }
            let (before, after) = (file(before), file(after));
            if before.is_some() || after.is_some() {
                found.push(FileChange { path: prefix.clone(), old: before, new: after });
            }
            prefix.truncate(length);
            if found.len() > limits::DIFF_FILES_MAX {
                return Err(Fault::TooLarge(format!(
                    "more than {} files differ: compare with git in a clone",
                    limits::DIFF_FILES_MAX
                )));
            }
        }
        Ok(())
    }

    /// What changed in a file, with so many lines around each change.
    /// `budget` is how many bytes may still be compared.
    pub(crate) fn file_diff(
        &self,
        change: &FileChange,
        context: usize,
        budget: &mut u64,
    ) -> Result<FileDiff, Fault> {
        if change.old.map(|(_, id)| id) == change.new.map(|(_, id)| id) {
            return Ok(FileDiff::default());
        }
        let (old, new) = (self.side(change.old, budget)?, self.side(change.new, budget)?);
        let (Some(old), Some(new)) = (old, new) else {
            return Ok(not_text("The file is too large to be compared here"));
        };
        if !is_text(&old) || !is_text(&new) {
            return Ok(not_text("Binary files differ"));
        }
        Ok(hunks::between(&old, &new, context))
    }

    /// The text of one side; `None` when it is too large to be compared.
    fn side(&self, side: Option<(EntryMode, ObjectId)>, budget: &mut u64) -> Result<Option<Vec<u8>>, Fault> {
        let Some((mode, id)) = side else { return Ok(Some(Vec::new())) };
        if mode.is_commit() {
            return Ok(Some(format!("Subproject commit {id}\n").into_bytes()));
        }
        let size = self.blob_size(&id)?;
        match budget.checked_sub(size) {
            Some(left) if size <= limits::DIFF_FILE_MAX_BYTES => {
                *budget = left;
                self.blob(&id).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn not_text(why: &str) -> FileDiff {
    let line = hunks::Line { tag: LineTag::Binary, content: why.to_string(), ends: true };
    FileDiff { hunks: vec![Hunk { lines: vec![line], ..Hunk::default() }], ..FileDiff::default() }
}
