//! Handlers of `repo.diff` and `repo.compare`.

use base::limits::repo as limits;
use gix_hash::ObjectId;
use protocol::error::Error;
use protocol::literal::Nullable;
use protocol::repo::change::{
    Compare, CompareResult, Diff, DiffFile, DiffLine, DiffResult, DiffStatus, DiffTag, Hunk, Stats,
};

use super::{Cx, readable};
use crate::git::bare::Bare;
use crate::git::diff::FileChange;
use crate::git::fault::Fault;
use crate::git::hunks::{self, FileDiff, LineTag};

/// `repo.diff`
pub(crate) async fn diff(cx: Cx, args: Diff) -> Result<DiffResult, Error> {
    let (slug, found) = readable(&cx, &args.repo).await?;
    if args.commit.trim().is_empty() {
        return Err(Error::bad("commit is required"));
    }
    let context = clamped(args.context);
    let repo = slug.to_string();
    let look = move |bare: &Bare| {
        let commit = bare.commit(&bare.resolve(args.commit.trim())?)?;
        // A shallow push ends where its clone was cut.
        let parent = commit.parents.first().copied().filter(|parent| bare.has(parent));
        let before = match parent {
            Some(parent) => Some(bare.commit(&parent)?.tree),
            None => None,
        };
        let (stats, files) = compared(bare, before, commit.tree, context, true)?;
        let parent_hash = parent.map_or(Nullable::Null, |parent| Nullable::Value(parent.to_string()));
        Ok(DiffResult { repo, commit_hash: commit.id.to_string(), parent_hash, stats, files })
    };
    cx.area.with(&slug, &found, look).await
}

/// `repo.compare`
pub(crate) async fn compare(cx: Cx, args: Compare) -> Result<CompareResult, Error> {
    let (slug, found) = readable(&cx, &args.repo).await?;
    if args.base.trim().is_empty() || args.head.trim().is_empty() {
        return Err(Error::bad("base and head are required"));
    }
    let (context, repo) = (clamped(args.context), slug.to_string());
    let look = move |bare: &Bare| {
        let tree = |word: &str| bare.commit(&bare.resolve(word.trim())?).map(|commit| commit.tree);
        let (before, after) = (tree(&args.base)?, tree(&args.head)?);
        let with_hunks = args.stat != Some(true);
        let (stats, files) = compared(bare, Some(before), after, context, with_hunks)?;
        Ok(CompareResult { repo, base: args.base, head: args.head, stats, files })
    };
    cx.area.with(&slug, &found, look).await
}

fn clamped(context: Option<u32>) -> usize {
    context.unwrap_or(limits::CONTEXT_DEFAULT).min(limits::CONTEXT_MAX) as usize
}

fn compared(
    bare: &Bare,
    before: Option<ObjectId>,
    after: ObjectId,
    context: usize,
    with_hunks: bool,
) -> Result<(Stats, Vec<DiffFile>), Fault> {
    let changes = bare.changes(before, Some(after))?;
    let mut stats = Stats { files_changed: changes.len() as u64, additions: 0, deletions: 0 };
    let (mut bytes_left, mut budget) = (limits::DIFF_MAX_BYTES, limits::DIFF_READ_MAX_BYTES);
    let mut files = Vec::with_capacity(changes.len());
    for change in changes {
        let diff = bare.file_diff(&change, context, &mut budget)?;
        stats.additions += diff.additions;
        stats.deletions += diff.deletions;
        let left = bytes_left.checked_sub(weight(&diff)).filter(|_| with_hunks);
        bytes_left = left.unwrap_or(bytes_left);
        files.push(shown(&change, left.is_some().then_some(diff)));
    }
    Ok((stats, files))
}

/// What the lines of a file take in the answer, about.
fn weight(diff: &FileDiff) -> usize {
    diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.content.len() + 40).sum()
}

fn shown(change: &FileChange, diff: Option<FileDiff>) -> DiffFile {
    let hash = |side: Option<(_, ObjectId)>| side.map(|(_, id)| id.to_string());
    let modes = change.old.zip(change.new).map(|((old, _), (new, _))| (old.value(), new.value()));
    let modes =
        modes.filter(|(old, new)| old != new).map(|(old, new)| (format!("{old:06o}"), format!("{new:06o}")));
    let (old_mode, new_mode) = modes.unzip();
    DiffFile {
        path: String::from_utf8_lossy(&change.path).into_owned(),
        status: match (&change.old, &change.new) {
            (None, _) => DiffStatus::Added,
            (_, None) => DiffStatus::Deleted,
            _ => DiffStatus::Modified,
        },
        old_hash: hash(change.old),
        new_hash: hash(change.new),
        old_mode,
        new_mode,
        hunks: diff.map(|diff| diff.hunks.into_iter().map(hunk_shown).collect()),
    }
}

fn hunk_shown(hunk: hunks::Hunk) -> Hunk {
    let line = |line: hunks::Line| DiffLine {
        tag: match line.tag {
            LineTag::Context => DiffTag::Context,
            LineTag::Add => DiffTag::Add,
            LineTag::Delete => DiffTag::Delete,
            LineTag::Binary => DiffTag::Binary,
        },
        content: line.content,
        no_newline: (!line.ends).then_some(true),
    };
    Hunk {
        old_start: hunk.old_start,
        old_count: hunk.old_count,
        new_start: hunk.new_start,
        new_count: hunk.new_count,
        lines: hunk.lines.into_iter().map(line).collect(),
    }
}
