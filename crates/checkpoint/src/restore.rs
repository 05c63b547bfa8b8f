//! Bringing a checkpoint back: a checkpoint of the present first, then each file as a temporary beside its target that
//! is renamed into place. No link is followed, and nothing is overwritten that changed since it was looked at.

mod apply;
mod unlock;

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::budget::Budget;
use crate::error::Error;
use crate::label::{Id, Label, LeftOut, Summary, When, Why};
use crate::place;
use crate::plan::Given;
use crate::prune;
use crate::snapshot::{Name, Snapshot, path_of};
use crate::store::Store;
use crate::take;

/// How a checkpoint is brought back.
///
/// Files that somebody changed after the run are only overwritten with `force`. Files that the checkpoint did not have
/// are removed only if the run made them: not there before it, there at its end. Objects of a repository that was there
/// are never removed. What comes back has the time it had; a file whose content is replaced has that of now, as build
/// tools would take it for unchanged otherwise.
#[derive(Clone, Debug, Default)]
pub struct Restore {
    /// Only these paths and what is below them, absolute or below the workspace; all when there are none.
    pub paths: Option<Vec<PathBuf>>,
    /// Overwrites what was changed after the run too.
    pub force: bool,
    /// When the run ended, in milliseconds since the Unix epoch, for a run without a checkpoint after it.
    pub ended_ms: Option<i64>,
    /// Takes back only what is different at the run's end, and leaves alone what is in the way of that: the rest is
    /// brought back all the same. Without a checkpoint at the run's end that is nothing.
    pub of_run: bool,
    /// With `of_run`: paths that are not touched, nor what is below them, absolute or below the workspace.
    pub except: Vec<PathBuf>,
    /// Only tells what would be done. Nothing is taken either, so that `before` and `after` are `None`.
    pub dry_run: bool,
}

/// What was brought back. When there are conflicts and no `force`, nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The checkpoint of the present that was taken first: restoring that one undoes this.
    pub before: Option<Id>,
    /// The checkpoint taken at the end; none when it could not be taken.
    pub after: Option<Id>,
    /// Files, links and directories that were written, or whose permissions were set.
    #[serde(serialize_with = "crate::escape::paths")]
    pub written: Vec<PathBuf>,
    /// What the run had made and is gone now.
    #[serde(serialize_with = "crate::escape::paths")]
    pub removed: Vec<PathBuf>,
    /// What somebody changed after the run; left alone without `force`.
    pub conflicts: Vec<Conflict>,
    /// What could not be brought back.
    pub failed: Vec<Failed>,
    /// What the checkpoint does not hold, so that it did not come back.
    pub left_out: Vec<LeftOut>,
}

/// A path that stands against a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Below the workspace.
    #[serde(serialize_with = "crate::escape::path")]
    pub path: PathBuf,
    /// It is not in the checkpoint of the present either, so overwriting it would lose it.
    pub is_unsaved: bool,
}

/// A path that could not be brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// Below the workspace.
    #[serde(serialize_with = "crate::escape::path")]
    pub path: PathBuf,
    /// The reason, in words.
    pub why: String,
}

/// Brings a checkpoint back.
pub(crate) fn restore(
    at: &Store,
    id: Id,
    how: &Restore,
    now_ms: i64,
    budget: &Budget,
) -> Result<Restored, Error> {
    let scope =
        how.paths.as_ref().map(|paths| paths.iter().map(|path| name_in(&at.workspace, path)).collect());
    let scope: Option<Vec<Name>> = scope.transpose()?;
    let lock = at.lock()?;
    let entries = at.entries()?;
    let summary = entries.iter().find(|summary| summary.id == id).ok_or(Error::Unknown { id })?;
    let target = at.load(summary)?;
    let end = end_of_run(&entries, summary);
    let after = end.map(|end| at.load(end)).transpose()?;
    let ended_ns = end.map(|end| end.began_ns).or(how.ended_ms.map(|ms| ms.saturating_mul(1_000_000)));

    let known: Vec<_> =
        [Some(&target), after.as_ref()].into_iter().flatten().map(|each| &each.entries).collect();
    let root = place::open_root(&at.workspace);
    let root = root.map_err(|source| Error::Workspace { path: at.workspace.clone(), source })?;
    let except: Vec<Name> =
        how.except.iter().map(|path| name_in(&at.workspace, path)).collect::<Result<_, _>>()?;
    let (after, scope, of_run) = (after.as_ref(), scope.as_deref(), how.of_run.then_some(&except[..]));
    if how.dry_run {
        let present = take::look(at, &lock, budget, known)?;
        let given = Given { target: &target, after, ended_ns, present: &present, scope, of_run };
        return Ok(foretold(&given));
    }
    let unlocked = unlock::unlock(&root, &target);
    let label = restore_label(id, &entries, When::Before);
    let taken = take::take(at, &lock, &label, now_ms, budget, known.clone());
    let present = taken.inspect_err(|_| unlock::lock_again(&root, &unlocked))?;
    let given = Given { target: &target, after, ended_ns, present: &present.snapshot, scope, of_run };
    let actions = given.actions();
    let mut restored = Restored {
        before: Some(present.taken.id),
        conflicts: actions.conflicts.iter().map(|name| conflict(&present.snapshot, name)).collect(),
        left_out: left_out(&target, &given),
        ..Default::default()
    };
    if !restored.conflicts.is_empty() && !how.force && !how.of_run {
        unlock::lock_again(&root, &unlocked);
        return Ok(restored);
    }
    restored.written = unlocked.iter().map(|(name, _)| path_of(name)).collect();
    apply::apply(at, root, &actions, &present.snapshot, &mut restored)?;
    // Without it nothing is lost: undoing the restore then asks about every file.
    let label = restore_label(id, &entries, When::After);
    let last = take::take(at, &lock, &label, now_ms, budget, known).ok();
    restored.after = last.map(|last| last.taken.id);
    prune::prune_when_due(at, now_ms).ok();
    Ok(restored)
}

/// What a restore would do, told as if it were done.
fn foretold(given: &Given<'_>) -> Restored {
    let actions = given.actions();
    let kept: HashSet<&Name> = actions.write.iter().chain(&actions.make).map(|(name, _)| name).collect();
    let removed = actions.remove.iter().filter(|(name, _)| !kept.contains(name));
    let written = actions.make.iter().chain(&actions.write).chain(&actions.modes);
    Restored {
        written: written.map(|(name, _)| path_of(name)).collect(),
        removed: removed.map(|(name, _)| path_of(name)).collect(),
        conflicts: actions.conflicts.iter().map(|name| conflict(given.present, name)).collect(),
        left_out: left_out(given.target, given),
        ..Default::default()
    }
}

/// The checkpoint at the end of the run that this one is before of.
fn end_of_run<'a>(entries: &'a [Summary], summary: &Summary) -> Option<&'a Summary> {
    if summary.label.when != When::Before {
        return None;
    }
    let is_end =
        |other: &&Summary| other.label.when == When::After && other.label.is_same_run(&summary.label);
    entries.iter().rev().find(|other| other.id > summary.id && is_end(other))
}

/// A restore is a run of its own, so that it can be undone by the same rules.
fn restore_label(id: Id, entries: &[Summary], when: When) -> Label {
    let number = entries.last().map_or(0, |summary| summary.id.0) + 1;
    Label { pid: String::new(), run: format!("restore {id} at {number}"), call: None, when }
}

fn conflict(present: &Snapshot, name: &Name) -> Conflict {
    let is_unsaved =
        present.noted.get(name).is_some_and(|noted| noted.why.is_loss() || noted.why == Why::Ignored);
    Conflict { path: path_of(name), is_unsaved }
}

fn left_out(target: &Snapshot, given: &Given<'_>) -> Vec<LeftOut> {
    let noted = target.noted.iter().filter(|(name, noted)| noted.why.is_loss() && given.is_in_scope(name));
    noted.map(|(name, noted)| LeftOut { path: path_of(name), why: noted.why }).collect()
}

/// The bytes of a path below the workspace; the workspace itself is the empty one.
pub(crate) fn name_in(workspace: &Path, path: &Path) -> Result<Name, Error> {
    let outside = || Error::Outside { path: path.to_path_buf() };
    let below = if path.is_absolute() { path.strip_prefix(workspace).map_err(|_| outside())? } else { path };
    let mut name = Name::new();
    for component in below.components() {
        match component {
            Component::Normal(component) => {
                crate::snapshot::push(&mut name, component.as_bytes());
            }
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    Ok(name)
}
