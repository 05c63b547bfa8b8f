//! First-parent walk of a history, newest first; with a path only the commits that changed what is there.

use base::limits::repo as limits;
use gix_hash::ObjectId;

use super::bare::Bare;
use super::commit::Commit;
use super::fault::Fault;
use super::paths::TreePath;

/// Which part of a history is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub limit: usize,
    /// How many of the newest are left out.
    pub offset: u64,
    /// Only what changed this.
    pub path: Option<TreePath>,
}

impl Bare {
    /// A part of the history that a commit ends.
    pub(crate) fn log(&self, newest: ObjectId, wanted: &Wanted) -> Result<Vec<Commit>, Fault> {
        let (mut found, mut skipped) = (Vec::new(), 0);
        let mut next = Some(self.commit(&newest)?);
        for _ in 0..limits::COMMITS_WALKED_MAX {
            let Some(commit) = next.take() else { break };
            next = match commit.parents.first() {
                // A shallow import ends where the other side cut it.
                Some(parent) if self.has(parent) => Some(self.commit(parent)?),
                _ => None,
            };
            if !self.touches(&commit, next.as_ref(), wanted.path.as_ref())? {
                continue;
            }
            if skipped < wanted.offset {
                skipped += 1;
                continue;
            }
            found.push(commit);
            if found.len() >= wanted.limit {
                break;
            }
        }
        Ok(found)
    }

    fn touches(
        &self,
        commit: &Commit,
        parent: Option<&Commit>,
        path: Option<&TreePath>,
    ) -> Result<bool, Fault> {
        let Some(path) = path.filter(|path| !path.is_root()) else { return Ok(true) };
        if parent.is_some_and(|parent| parent.tree == commit.tree) {
            return Ok(false);
        }
        let names = path.names();
        let before = match parent {
            Some(parent) => self.entry_at(&parent.tree, &names)?,
            None => None,
        };
        Ok(self.entry_at(&commit.tree, &names)? != before)
    }
}
