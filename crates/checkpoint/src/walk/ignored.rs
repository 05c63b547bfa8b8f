//! What git would ignore on the walk: when it is looked at all the same, and what is noted of it.

use std::os::fd::OwnedFd;

use base::limits::checkpoint as limits;

use super::rules::Rules;
use super::tracked::has_below;
use super::{Found, Walk, names};
use crate::error::Fault;
use crate::label::Why;
use crate::place;
use crate::snapshot::{Name, push};
use crate::state::FileKind;

impl Walk<'_, '_> {
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
    pub(super) fn ignore(&mut self, found: &Found<'_>, path: &mut Name, depth: usize) -> Result<(), Fault> {
        let Found { dir, name, state } = *found;
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
