//! Facade of the checkpoints of one workspace: open, take, list, compare, bring back, remove. All calls block.

use std::path::{Path, PathBuf};

use base::clock::Clock;

use crate::budget::Budget;
use crate::diff::{self, Difference};
use crate::error::Error;
use crate::label::{Id, Label, LeftOut, Summary, Taken, Why};
use crate::objects::ObjectKind;
use crate::prune::{self, Pruned};
use crate::restore::{self, Restore, Restored};
use crate::seen::{self, Seen};
use crate::store::Store;
use crate::take;

/// The checkpoints of one workspace. Cheap to open; any number of processes may, one at a time changes something.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    pub(crate) store: Store,
}

impl Checkpoints {
    /// Opens the checkpoints of a workspace in a directory that may hold those of other workspaces too and that only
    /// its owner may enter. It is made where there is none. The two must not lie inside each other.
    pub fn open(store: &Path, workspace: &Path) -> Result<Checkpoints, Error> {
        Ok(Checkpoints { store: Store::open(store, workspace)? })
    }

    /// The same with another clock, which limits of time go by.
    pub fn with_clock(mut self, clock: Clock) -> Checkpoints {
        self.store.clock = clock;
        self
    }

    /// The workspace, resolved.
    pub fn workspace(&self) -> &Path {
        &self.store.workspace
    }

    /// The shadow repository, for the git program: `git --git-dir=…`.
    pub fn repository(&self) -> PathBuf {
        self.store.repository()
    }

    /// Takes a checkpoint of the workspace as it is. Only when it fails with [`Error::TimedOut`] something is kept:
    /// what was read, so that the next try is shorter.
    pub fn take(&self, label: &Label, now_ms: i64, budget: &Budget) -> Result<Taken, Error> {
        let lock = self.store.lock()?;
        let fresh = take::take(&self.store, &lock, label, now_ms, budget, Vec::new())?;
        // What is kept too long or too much does not make this checkpoint fail; the next one tries again.
        prune::prune_when_due(&self.store, now_ms).ok();
        Ok(fresh.taken)
    }

    /// All checkpoints, oldest first.
    pub fn list(&self) -> Result<Vec<Summary>, Error> {
        self.store.entries()
    }

    /// One checkpoint.
    pub fn summary(&self, id: Id) -> Result<Summary, Error> {
        self.list()?.into_iter().find(|summary| summary.id == id).ok_or(Error::Unknown { id })
    }

    /// What a checkpoint does not hold. What is ignored is not listed.
    pub fn left_out(&self, id: Id) -> Result<Vec<LeftOut>, Error> {
        self.store.snapshot(id).map(|snapshot| snapshot.left_out())
    }

    /// What was ignored when a checkpoint was taken: names directly met, not what ignored directories hold.
    pub fn ignored(&self, id: Id) -> Result<Vec<PathBuf>, Error> {
        let snapshot = self.store.snapshot(id)?;
        let noted = snapshot.noted.iter().filter(|(_, noted)| noted.why == Why::Ignored);
        Ok(noted.map(|(name, _)| crate::snapshot::path_of(name)).collect())
    }

    /// What is different in `new`.
    pub fn diff(&self, old: Id, new: Id) -> Result<Vec<Difference>, Error> {
        Ok(diff::diff(&self.store.snapshot(old)?, &self.store.snapshot(new)?))
    }

    /// What is different in the workspace as it is now. Takes no checkpoint.
    pub fn diff_present(&self, old: Id, budget: &Budget) -> Result<Vec<Difference>, Error> {
        let old = self.store.snapshot(old)?;
        let present = take::look(&self.store, &self.store.lock()?, budget, vec![&old.entries])?;
        Ok(diff::diff(&old, &present))
    }

    /// The content of a file, or the target of a link, in a checkpoint; `None` when it has no such file.
    pub fn content(&self, id: Id, path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        let snapshot = self.store.snapshot(id)?;
        let name = restore::name_in(&self.store.workspace, path)?;
        let Some(oid) = snapshot.entries.get(&name).and_then(|entry| entry.oid) else { return Ok(None) };
        let mut content = Vec::new();
        let objects = self.store.objects();
        let copied =
            objects.and_then(|objects| objects.copy(&oid, ObjectKind::Blob, bytes_max, &mut content));
        copied.map(|()| Some(content)).map_err(|fault| self.store.told(fault))
    }

    /// What a checkpoint knows of each of some paths. One outside of the workspace is unknown to it.
    pub fn seen(&self, id: Id, paths: &[PathBuf]) -> Result<Vec<Seen>, Error> {
        let snapshot = self.store.snapshot(id)?;
        let one = |path: &PathBuf| match restore::name_in(&self.store.workspace, path) {
            Ok(name) => seen::seen(&snapshot, &name),
            Err(_) => Seen::Unknown,
        };
        Ok(paths.iter().map(one).collect())
    }

    /// Brings the workspace, or paths in it, back to what a checkpoint holds. See [`Restore`] for what is never done.
    pub fn restore(&self, id: Id, how: &Restore, now_ms: i64, budget: &Budget) -> Result<Restored, Error> {
        restore::restore(&self.store, id, how, now_ms, budget)
    }

    /// Removes checkpoints that are too old, too many or too much, and what only they held.
    pub fn prune(&self, now_ms: i64) -> Result<Pruned, Error> {
        let _lock = self.store.lock()?;
        prune::prune(&self.store, now_ms).map_err(|fault| self.store.told(fault))
    }

    /// Removes all checkpoints. What is ignored now is then left out of the next one, also where these had it.
    pub fn forget(&self) -> Result<Pruned, Error> {
        let _lock = self.store.lock()?;
        prune::forget(&self.store).map_err(|fault| self.store.told(fault))
    }

    /// Protected paths that appeared or changed between two checkpoints, among them such as are ignored or too large
    /// to be kept. The predicate gets paths below the workspace: of files, links and directories. Not seen is what
    /// appears inside a directory that was already ignored at the first.
    pub fn new_protected_names(
        &self,
        before: Id,
        after: Id,
        is_protected: impl Fn(&Path) -> bool,
    ) -> Result<Vec<PathBuf>, Error> {
        let (before, after) = (self.store.snapshot(before)?, self.store.snapshot(after)?);
        Ok(diff::appeared(&before, &after, is_protected))
    }
}
