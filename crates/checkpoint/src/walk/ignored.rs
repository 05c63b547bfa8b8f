//! What git would ignore on the walk: when it is looked at all the same, and what is noted of it.

use std::os::fd::OwnedFd;

use base::limits::checkpoint as limits;

use super::rules::Rules;
use super::tracked::has_below;
use super::{Walk, WalkEntry, names};
use crate::error::Fault;
use crate::label::Why;
use crate::place;
use crate::snapshot::{Name, push};
use crate::state::FileKind;

/// Directories that tools fill by themselves: what is ignored in them is not a person's work.
const FILLED_BY_TOOLS: &[&[u8]] = &[
    b"node_modules",
    b"target",
    b".venv",
    b"venv",
    b"__pycache__",
    b"dist",
    b"build",
    b"out",
    b".next",
    b".gradle",
    b".cache",
    b".tox",
    b"vendor",
];
/// The file by which tools mark such a directory.
const CACHE_TAG: &[u8] = b"CACHEDIR.TAG";

/// How much is kept of what is ignored, was not there at the last checkpoint, and so was not made by an agent's run.
pub(super) struct Newcomers {
    names: usize,
    bytes: u64,
}

impl Default for Newcomers {
    fn default() -> Newcomers {
        Newcomers { names: limits::NEWCOMERS_MAX, bytes: limits::NEWCOMERS_BYTES_MAX }
    }
}

impl Newcomers {
    /// Takes a name of that size, if there is room for it.
    fn take(&mut self, bytes: u64) -> bool {
        if self.names == 0 || bytes > limits::NEWCOMER_BYTES_MAX || bytes > self.bytes {
            return false;
        }
        self.names -= 1;
        self.bytes -= bytes;
        true
    }
}

impl Walk<'_, '_> {
    /// Whether something that is ignored appeared since the last run ended, and is kept within a small budget: the rule
    /// that ignores it may be the agent's, the file is not.
    pub(super) fn is_newcomer(&mut self, found: &WalkEntry<'_>, path: &Name) -> bool {
        let Some(last) = self.plan.last else { return false };
        if last.has_more || last.noted.get(path).is_some_and(|noted| noted.why == Why::Ignored) {
            return false;
        }
        match found.state.kind {
            FileKind::Special => false,
            FileKind::Dir => !is_filled_by_tools(found) && self.newcomers.take(0),
            FileKind::File | FileKind::Link => self.newcomers.take(found.state.key.size),
        }
    }

    /// Whether something that is ignored is looked at all the same: git tracks it, or a checkpoint has it.
    pub(super) fn is_known(&self, rules: &Rules, path: &Name, kind: FileKind) -> bool {
        if rules.is_tracked(path, kind == FileKind::Dir) {
            return true;
        }
        let known = self.plan.known.iter();
        let cached = self.plan.keeps_known && self.plan.cache.is_complete;
        match kind {
            FileKind::Dir => {
                known.into_iter().any(|names| has_below(names, path))
                    || (cached && has_below(&self.plan.cache.files, path))
            }
            _ => {
                known.into_iter().any(|names| names.contains_key(path))
                    || (cached && self.plan.cache.files.contains_key(path))
            }
        }
    }

    /// Notes what is ignored. Where names that appear are looked for, a directory that has come to be ignored only
    /// since the last checkpoint is gone through by name.
    pub(super) fn ignore(
        &mut self,
        found: &WalkEntry<'_>,
        path: &mut Name,
        depth: usize,
    ) -> Result<(), Fault> {
        let WalkEntry { dir, name, state } = *found;
        self.note(path, Why::Ignored, state.kind, state.key);
        if state.kind != FileKind::Dir {
            return Ok(());
        }
        // What is new stays new until the next run, however often it is looked at in this one.
        let is_new = self.plan.keeps_known && !self.plan.cache.ignored_dirs.contains(path);
        if !is_new {
            self.cache.ignored_dirs.insert(path.clone());
        }
        if is_new && state.dev == self.device && depth < limits::DEPTH_MAX && !self.snapshot.has_more {
            let Ok(opened) = place::open_dir(dir, name) else { return Ok(()) };
            self.names_below(&opened, path, depth + 1)?;
        }
        Ok(())
    }

    fn names_below(&mut self, dir: &OwnedFd, path: &mut Name, depth: usize) -> Result<(), Fault> {
        for name in names(dir)? {
            if self.snapshot.has_more {
                return Ok(());
            }
            self.meet()?;
            let length = push(path, &name);
            if let Ok(Some(state)) = place::state_at(dir, &name) {
                self.note(path, Why::Ignored, state.kind, state.key);
                let enters =
                    state.kind == FileKind::Dir && state.dev == self.device && depth < limits::DEPTH_MAX;
                if enters && let Ok(opened) = place::open_dir(dir, &name) {
                    self.names_below(&opened, path, depth + 1)?;
                }
            }
            path.truncate(length);
        }
        Ok(())
    }
}

fn is_filled_by_tools(found: &WalkEntry<'_>) -> bool {
    if FILLED_BY_TOOLS.contains(&found.name) {
        return true;
    }
    let Ok(opened) = place::open_dir(found.dir, found.name) else { return true };
    matches!(place::state_at(&opened, CACHE_TAG), Ok(Some(_)))
}
