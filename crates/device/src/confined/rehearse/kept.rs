//! Bounded table of rehearsals that can still be put in place, the oldest of which makes way for a new one; and putting
//! one in place.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use base::limits::device as limit;
use base::sync::lock;
use checkpoint::{Budget, Checkpoints, Label, When};
use protocol::error::Error;
use protocol::shell::ExecResult;
use protocol::shell::rehearsal::Rehearsal;
use sandbox::overlay::{self, ChangeKind};

use super::layers::Layers;
use super::record;
use super::tell::Tree;

/// A rehearsal, with all that it takes to put it in place.
pub(super) struct Kept {
    pub(super) id: String,
    pub(super) input: String,
    pub(super) cwd: PathBuf,
    /// How the command ended, with what it said.
    pub(super) result: ExecResult,
    pub(super) trees: Vec<Tree>,
    /// When it began, in milliseconds.
    pub(super) since_ms: i64,
    pub(super) expires_at: i64,
    pub(super) bytes: u64,
    pub(super) blocked: Option<String>,
    pub(super) layers: Layers,
}

/// Those that are kept, oldest first.
#[derive(Default)]
pub(super) struct KeptTable(Mutex<Vec<Kept>>);

/// Where things are that putting in place has to know.
pub(super) struct Surroundings<'a> {
    pub(super) workspace: &'a Path,
    pub(super) state: &'a Path,
    /// What the driver writes to itself, which may lie in the workspace.
    pub(super) own: &'a [PathBuf],
    pub(super) now_ms: i64,
}

impl KeptTable {
    pub(super) fn keep(&self, kept: Kept, now_ms: i64) {
        let mut table = lock(&self.0);
        table.retain(|old| old.expires_at > now_ms);
        table.push(kept);
        let too_much = |table: &[Kept]| {
            table.len() > limit::REHEARSALS_KEPT_MAX
                || table.iter().map(|kept| kept.bytes).sum::<u64>() > limit::REHEARSALS_KEPT_MAX_BYTES
        };
        while table.len() > 1 && too_much(&table) {
            table.remove(0);
        }
    }

    pub(super) fn discard(&self, id: &str) -> Result<(), Error> {
        let mut table = lock(&self.0);
        let before = table.len();
        table.retain(|kept| kept.id != id);
        if table.len() < before { Ok(()) } else { Err(unknown()) }
    }

    /// Forgets those that are too old.
    pub(super) fn forget_old(&self, now_ms: i64) {
        lock(&self.0).retain(|kept| kept.expires_at > now_ms);
    }

    /// Takes one out for exactly this command.
    pub(super) fn take(&self, id: &str, input: &str, cwd: &Path, now_ms: i64) -> Result<Kept, Error> {
        let mut table = lock(&self.0);
        table.retain(|kept| kept.expires_at > now_ms);
        let at = table.iter().position(|kept| kept.id == id).ok_or_else(unknown)?;
        let kept = &table[at];
        if kept.input != input || kept.cwd != cwd {
            return Err(Error::conflict("Not put in place: it was another command that was rehearsed"));
        }
        if let Some(why) = &kept.blocked {
            return Err(Error::conflict(format!("Not put in place: {why}. Run the command instead")));
        }
        Ok(table.remove(at))
    }
}

fn unknown() -> Error {
    let kept_minutes = limit::REHEARSAL_KEPT.as_secs() / 60;
    Error::not_found(format!(
        "There is no such rehearsal: it was put in place or discarded, is older than {kept_minutes} minutes, made way for \
         newer ones, or the driver was started again. Rehearse the command again"
    ))
}

/// Puts a rehearsal in place if everything is still as it was, and answers as the command did.
pub(super) fn apply(kept: Kept, around: &Surroundings<'_>) -> Result<ExecResult, Error> {
    let _alone = only_one(around.state)?;
    check(&kept, around)?;
    let checkpoint = take_checkpoint(&kept, around);
    record::write(&kept.layers.directory, &kept.trees)
        .map_err(|error| Error::new(500, format!("Nothing was put in place: {error}")))?;
    let mut done = 0;
    for tree in &kept.trees {
        if let Err(stopped) = overlay::apply(&tree.target, &tree.upper, &tree.changes) {
            let names: Vec<String> = stopped
                .done
                .iter()
                .take(20)
                .map(|path| tree.target.join(path).display().to_string())
                .collect();
            let in_place = match done + stopped.done.len() as u64 {
                0 => "nothing was put in place".to_string(),
                count => format!("{count} of {} changes are in place: {}", total(&kept), names.join(", ")),
            };
            let undo = checkpoint.map_or_else(String::new, |id| {
                format!("; `gsv device checkpoints restore {id}` on the device brings the workspace back")
            });
            return Err(Error::conflict(format!("Stopped at {stopped}; {in_place}{undo}")));
        }
        done += tree.changes.len() as u64;
    }
    let rehearsal = Rehearsal {
        id: kept.id.clone(),
        total: done,
        applied: Some(done),
        checkpoint,
        ..Rehearsal::default()
    };
    Ok(ExecResult { rehearsal: Some(rehearsal), ..kept.result })
}

fn total(kept: &Kept) -> u64 {
    kept.trees.iter().map(|tree| tree.changes.len() as u64).sum()
}

/// One application at a time, in whichever driver.
fn only_one(state: &Path) -> Result<File, Error> {
    let directory = state.join("rehearsals");
    let opened =
        std::fs::create_dir_all(&directory).and_then(|()| File::create(directory.join("apply.lock")));
    let file = opened.map_err(|error| Error::new(500, format!("Nothing was put in place: {error}")))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::too_busy("another rehearsal is being put in place")),
        Err(TryLockError::Error(error)) => Err(Error::new(500, format!("Nothing was put in place: {error}"))),
    }
}

/// Whether nothing in the workspace, and nothing that would be replaced, has changed since the rehearsal began.
fn check(kept: &Kept, around: &Surroundings<'_>) -> Result<(), Error> {
    let since = moment(kept.since_ms);
    let changed = |path: &Path| {
        Error::conflict(format!(
            "Nothing was put in place: {} was changed since the rehearsal. Rehearse the command again",
            path.display()
        ))
    };
    let failed = |error: std::io::Error| Error::conflict(format!("Nothing was put in place: {error}"));
    if let Some(path) = overlay::changed_since_but(around.workspace, since, around.own).map_err(failed)? {
        return Err(changed(&path));
    }
    for tree in &kept.trees {
        if let Some(change) = overlay::replaces_newer(&tree.changes, since).map_err(failed)? {
            return Err(changed(&tree.target.join(&change.path)));
        }
        overlay::check(&tree.target, &tree.changes).map_err(failed)?;
        let is_directory =
            |change: &&overlay::Change| change.before.as_ref().is_some_and(|before| before.is_directory());
        let gone =
            tree.changes.iter().filter(|change| change.kind == ChangeKind::Deleted).filter(is_directory);
        for change in gone {
            let directory = tree.target.join(&change.path);
            if let Some(path) = overlay::changed_since(&directory, since).map_err(failed)? {
                return Err(changed(&path));
            }
        }
    }
    Ok(())
}

fn moment(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// The workspace as it was just before, where it can be kept. A person who runs a command has no such thing either, so
/// it is no condition.
fn take_checkpoint(kept: &Kept, around: &Surroundings<'_>) -> Option<u64> {
    let is_touched = |tree: &Tree| {
        tree.changes.iter().any(|change| tree.target.join(&change.path).starts_with(around.workspace))
    };
    if !kept.trees.iter().any(is_touched) {
        return None;
    }
    let label =
        Label { pid: String::new(), run: format!("rehearsal {}", kept.id), call: None, when: When::Before };
    let taken = Checkpoints::open(&around.state.join("checkpoints"), around.workspace)
        .and_then(|checkpoints| checkpoints.take(&label, around.now_ms, &Budget::default()));
    match taken {
        Ok(taken) => Some(taken.id.0),
        Err(error) => {
            tracing::warn!(%error, "no checkpoint before a rehearsal is put in place");
            None
        }
    }
}
