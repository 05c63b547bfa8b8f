//! Three-way comparison that says what a restore does: the checkpoint, the run's end, and the present. Pure.
//!
//! A path may be overwritten or removed unasked only where it is still as the run left it. What the checkpoint did not
//! have is removed only where the run made it, and never what may have been there unseen.

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::{Entry, Name, Snapshot, git_dir_of_object, split};
use crate::state::{FileKind, Key};

/// What a restore goes by.
pub(crate) struct Given<'a> {
    pub(crate) target: &'a Snapshot,
    /// The run's end, where there is a checkpoint of it.
    pub(crate) after: Option<&'a Snapshot>,
    /// When the run ended, by the file system's clock, where that is known.
    pub(crate) ended_ns: Option<i64>,
    pub(crate) present: &'a Snapshot,
    /// Paths to bring back with what is below them; all when there are none.
    pub(crate) scope: Option<&'a [Name]>,
    /// Only what is different at the run's end, and nothing at or below these paths. What is in the way is then left alone, and the
    /// rest is brought back.
    pub(crate) of_run: Option<&'a [Name]>,
}

/// What a restore does, in this order.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    /// What is in the way or was made by the run; what is inside a directory comes before it.
    pub(crate) remove: Vec<(Name, Entry)>,
    /// Directories to make, outer ones first.
    pub(crate) make: Vec<(Name, Entry)>,
    /// Files and links to write, git objects first: a branch never names what is not there.
    pub(crate) write: Vec<(Name, Entry)>,
    /// Permission bits to set.
    pub(crate) modes: Vec<(Name, Entry)>,
    /// Paths that somebody changed after the run, and that would be overwritten or removed.
    pub(crate) conflicts: BTreeSet<Name>,
}

impl Given<'_> {
    /// Says what to do.
    pub(crate) fn actions(&self) -> Actions {
        let mut actions = Actions::default();
        let mut make = BTreeMap::new();
        for (name, entry) in self.target.entries.iter().filter(|(name, _)| self.is_in_scope(name)) {
            self.bring_back(name, entry, &mut actions, &mut make);
        }
        for (name, entry) in self.present.entries.iter().filter(|(name, _)| self.is_in_scope(name)) {
            if !self.target.entries.contains_key(name) && self.is_made_by_run(name) {
                self.check(name, &mut actions);
                actions.remove.push((name.clone(), *entry));
            }
        }
        actions.make = make.into_iter().collect();
        if self.of_run.is_some() {
            actions.leave_conflicts();
        }
        actions.remove.sort_by(|(a, _), (b, _)| b.cmp(a));
        actions.write.sort_by_key(|(name, _)| git_dir_of_object(name).is_none());
        actions
    }

    fn bring_back(
        &self,
        name: &Name,
        entry: &Entry,
        actions: &mut Actions,
        make: &mut BTreeMap<Name, Entry>,
    ) {
        let present = self.present.entries.get(name);
        if present.is_some_and(|present| present.is_same(entry)) {
            return;
        }
        self.check(name, actions);
        match present {
            Some(present) if present.kind == entry.kind && present.oid == entry.oid => {
                actions.modes.push((name.clone(), *entry));
                return;
            }
            // A rename puts a file in the place of a file or a link, but not across directories.
            Some(present) if (present.kind == FileKind::Dir) != (entry.kind == FileKind::Dir) => {
                actions.remove.push((name.clone(), *present));
            }
            _ => {}
        }
        self.make_parents(name, actions, make);
        match entry.kind {
            FileKind::Dir => {
                make.insert(name.clone(), *entry);
            }
            _ => actions.write.push((name.clone(), *entry)),
        }
    }

    /// The directories around a path, where they are not there or something else is in their place.
    fn make_parents(&self, name: &[u8], actions: &mut Actions, make: &mut BTreeMap<Name, Entry>) {
        let (mut parent, _) = split(name);
        while !parent.is_empty() && !make.contains_key(parent) {
            let present = self.present.entries.get(parent);
            let Some(entry) = self.target.entries.get(parent) else { return };
            if present.is_some_and(|present| present.kind == FileKind::Dir) {
                return;
            }
            if !self.is_in_scope(parent) {
                self.check(&parent.to_vec(), actions);
                actions.remove.extend(present.map(|present| (parent.to_vec(), *present)));
            }
            make.insert(parent.to_vec(), *entry);
            parent = split(parent).0;
        }
    }

    fn check(&self, name: &Name, actions: &mut Actions) {
        if !self.is_as_the_run_left_it(name) {
            actions.conflicts.insert(name.clone());
        }
    }

    /// Whether nobody changed a path since the run ended. What is not there any more can be brought back unasked.
    fn is_as_the_run_left_it(&self, name: &Name) -> bool {
        let (present, noted) = (self.present.entries.get(name), self.present.noted.get(name));
        let key: Key = match (present, noted) {
            (None, None) => return true,
            (Some(present), _) => present.key.unwrap_or_default(),
            (None, Some(noted)) => noted.key,
        };
        if let Some(after) = self.after {
            let same = match (present, after.entries.get(name)) {
                (Some(present), Some(after)) => present.is_same(after),
                (None, None) => noted.map(|noted| noted.key) == after.noted.get(name).map(|noted| noted.key),
                _ => false,
            };
            if same {
                return true;
            }
        }
        self.ended_ns.is_some_and(|ended_ns| key.ctime_ns <= ended_ns)
    }

    /// Whether the run made a path: its end had it, and nothing was there before, seen or unseen.
    fn is_made_by_run(&self, name: &Name) -> bool {
        let Some(after) = self.after else { return false };
        if !after.entries.contains_key(name) || self.target.has_more {
            return false;
        }
        // New objects of a repository that was there do no harm; those of one that the run made go with it.
        if git_dir_of_object(name).is_some_and(|git| self.target.entries.contains_key(git)) {
            return false;
        }
        let mut at: &[u8] = name;
        while !at.is_empty() {
            if self.target.noted.contains_key(at) {
                return false;
            }
            at = split(at).0;
        }
        true
    }

    pub(crate) fn is_in_scope(&self, name: &[u8]) -> bool {
        if let Some(except) = self.of_run
            && (is_below(name, except) || !self.is_changed_by_run(name))
        {
            return false;
        }
        self.scope.is_none_or(|scope| is_below(name, scope))
    }

    fn is_changed_by_run(&self, name: &[u8]) -> bool {
        let Some(after) = self.after else { return false };
        match (self.target.entries.get(name), after.entries.get(name)) {
            (Some(before), Some(after)) => !before.is_same(after),
            (None, None) => false,
            _ => true,
        }
    }
}

/// Whether a path is one of these, or below one of them.
fn is_below(name: &[u8], paths: &[Name]) -> bool {
    paths.iter().any(|path| {
        path.is_empty()
            || name == path.as_slice()
            || name.strip_prefix(path.as_slice()).is_some_and(|rest| rest.starts_with(b"/"))
    })
}

impl Actions {
    /// Drops what would be done to paths that are in the way, and to what is below them.
    fn leave_conflicts(&mut self) {
        let conflicts = &self.conflicts;
        let is_free = |(name, _): &(Name, Entry)| {
            let mut at: &[u8] = name;
            while !at.is_empty() {
                if conflicts.contains(at) {
                    return false;
                }
                at = split(at).0;
            }
            true
        };
        for list in [&mut self.remove, &mut self.make, &mut self.write, &mut self.modes] {
            list.retain(is_free);
        }
    }
}
