//! What the confined commands of a run changed in the workspace, by the checkpoints around them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use base::limits::checkpoint as checkpoint_limits;
use base::limits::overwritten as limits;
use checkpoint::{Budget, Checkpoints, Id, Restore, Restored, Seen, Summary, When};
use protocol::fs::history::UndoAction;

use super::super::history::open_checkpoints;
use super::Done;
use super::trail::Point;
use crate::overwritten::{Overwritten, State};

/// The checkpoints of one run.
pub(super) struct Commands {
    checkpoints: Option<Checkpoints>,
    /// Those of the run, oldest first.
    of_run: Vec<Summary>,
    now_ms: i64,
}

impl Commands {
    pub(super) fn of(store: &Overwritten, run: &str) -> io::Result<Commands> {
        let checkpoints = open_checkpoints(store)?;
        let all = checkpoints.as_ref().map_or(Ok(Vec::new()), |all| all.list().map_err(io::Error::other))?;
        let of_run = all.into_iter().filter(|summary| summary.label.run == run).collect();
        Ok(Commands { checkpoints, of_run, now_ms: store.now_ms() })
    }

    fn before(&self) -> Option<Id> {
        self.of_run.iter().find(|summary| summary.label.when == When::Before).map(|summary| summary.id)
    }

    fn after(&self) -> Option<Id> {
        self.of_run.iter().rev().find(|summary| summary.label.when == When::After).map(|summary| summary.id)
    }

    /// What the checkpoints saw of these paths.
    pub(super) fn seen(&self, paths: &[PathBuf]) -> Vec<(PathBuf, Point)> {
        let mut points = Vec::new();
        let Some(checkpoints) = self.checkpoints.as_ref().filter(|_| !paths.is_empty()) else {
            return points;
        };
        for summary in &self.of_run {
            // One that can not be read tells nothing.
            let Ok(all) = checkpoints.seen(summary.id, paths) else { continue };
            for (path, seen) in paths.iter().zip(all) {
                let Some(after) = state(checkpoints, summary.id, path, seen) else { continue };
                let follows_command = summary.label.when == When::After;
                let point = Point { at_ms: summary.taken_ms, before: None, after, follows_command };
                points.push((path.clone(), point));
            }
        }
        points
    }

    /// A content that a checkpoint of the run saw at a path.
    pub(super) fn content(&self, path: &Path, wanted: &State) -> Option<Vec<u8>> {
        let checkpoints = self.checkpoints.as_ref()?;
        self.of_run.iter().find_map(|summary| {
            let content = checkpoints.content(summary.id, path, checkpoint_limits::FILE_BYTES_MAX).ok()??;
            State::file(&content).is_same(wanted).then_some(content)
        })
    }

    /// Takes back what is different at the end of the run, but for these paths.
    pub(super) fn take_back(&self, but_for: &[PathBuf], is_dry: bool, done: &mut Done) {
        let (Some(checkpoints), false) = (&self.checkpoints, self.of_run.is_empty()) else { return };
        let (Some(before), Some(after)) = (self.before(), self.after()) else {
            let why = "what its confined commands changed is not known: a checkpoint around them is missing";
            return done.cannot.push(why.to_string());
        };
        let workspace = checkpoints.workspace();
        let except: Vec<PathBuf> =
            but_for.iter().filter(|path| path.starts_with(workspace)).cloned().collect();
        let mut how = Restore { of_run: true, except, dry_run: true, ..Restore::default() };
        let budget = Budget { time_max: limits::UNDO_TIME_MAX, ..Budget::patient() };
        let taken = checkpoints.restore(before, &how, self.now_ms, &budget).and_then(|planned| {
            // A repository comes back as a whole or not at all.
            let repositories: BTreeSet<PathBuf> =
                planned.conflicts.iter().filter_map(|conflict| repository_of(&conflict.path)).collect();
            for repository in &repositories {
                let why = "the repository was used after the run".to_string();
                done.tell(&workspace.join(repository), UndoAction::Conflict, Some(why));
            }
            how.except.extend(repositories);
            how.dry_run = is_dry;
            checkpoints.restore(before, &how, self.now_ms, &budget)
        });
        match taken {
            Ok(restored) => tell(checkpoints, (before, after), &restored, done),
            Err(error) => done.cannot.push(format!("what its confined commands changed: {error}")),
        }
    }
}

fn tell(checkpoints: &Checkpoints, (before, after): (Id, Id), restored: &Restored, done: &mut Done) {
    let workspace = checkpoints.workspace();
    let told =
        [(&restored.written, before, UndoAction::Restored), (&restored.removed, after, UndoAction::Removed)];
    for (paths, id, action) in told {
        let seen = checkpoints.seen(id, paths).unwrap_or_default();
        for (place, path) in paths.iter().enumerate() {
            match (repository_of(path), seen.get(place)) {
                (Some(repository), _) => done.tell(&workspace.join(repository), UndoAction::Restored, None),
                // Directories are told by what they hold.
                (None, Some(Seen::Dir { .. })) => {}
                (None, _) => done.tell(&workspace.join(path), action, None),
            }
        }
    }
    for conflict in &restored.conflicts {
        let why = "it was changed after the run".to_string();
        done.tell(&workspace.join(&conflict.path), UndoAction::Conflict, Some(why));
    }
    for failed in &restored.failed {
        done.tell(&workspace.join(&failed.path), UndoAction::Conflict, Some(failed.why.clone()));
    }
    if let Some(first) = restored.left_out.first() {
        let (count, path) = (restored.left_out.len(), workspace.join(&first.path));
        let (path, why) = (path.display(), first.why.words());
        done.cannot.push(format!(
            "changes of {count} files that the checkpoint does not hold, such as '{path}', which {why}"
        ));
    }
    done.checkpoints.extend(restored.before.map(|id| format!("c{id}")));
}

/// The repository's own directory that a path is in.
fn repository_of(path: &Path) -> Option<PathBuf> {
    let mut repository = PathBuf::new();
    for component in path.components() {
        repository.push(component);
        if component.as_os_str() == ".git" {
            return Some(repository);
        }
    }
    None
}

fn state(checkpoints: &Checkpoints, id: Id, path: &Path, seen: Seen) -> Option<State> {
    let content = || checkpoints.content(id, path, checkpoint_limits::FILE_BYTES_MAX).ok().flatten();
    match seen {
        Seen::Unknown => None,
        Seen::Absent => Some(State::Absent),
        Seen::Dir { mode } => Some(State::Dir { mode: Some(mode) }),
        Seen::File { mode, .. } => match State::file(&content()?) {
            State::File { sha256, size, changed_ms, .. } => {
                Some(State::File { sha256, size, mode: Some(mode), changed_ms })
            }
            _ => None,
        },
        Seen::Link => {
            use std::os::unix::ffi::OsStringExt;
            Some(State::Link { target: std::ffi::OsString::from_vec(content()?).into() })
        }
    }
}
