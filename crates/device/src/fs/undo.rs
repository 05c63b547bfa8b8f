//! `fs.undo`: takes back what one run of an agent did to files of this machine.
//!
//! Two sources say what that was: the records of its `fs.*` calls, and the checkpoints around its confined commands. A
//! path that is not as the run left it is named and left alone. What the undo overwrites is kept before it begins.

mod commands;
mod trail;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::limits::overwritten as limits;
use protocol::fs::history::{Undo, UndoAction, Undone, UndonePath};

use crate::files::{Failure, Files};
use crate::overwritten::{Item, Overwritten, Record, State, captured, present_at, put, put_file};
use commands::Commands;
use trail::Trail;

pub(super) fn undo(
    files: &Files,
    store: &Overwritten,
    request: &str,
    args: &Undo,
) -> Result<Undone, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("Nothing was changed: {error}"));
    let run = args.run_id.0.as_str();
    let records: Vec<Record> =
        store.records().map_err(failed)?.into_iter().filter(|record| record.run == run).collect();
    let commands = Commands::of(store, run).map_err(failed)?;
    let trails = trail::trails(&records, &commands);
    let is_dry = args.dry_run == Some(true);

    let mut done = Done::default();
    let mut steps = Vec::new();
    for (path, trail) in &trails {
        match judged(files, path, trail) {
            Ok(Some(step)) => steps.push(step),
            Ok(None) | Err(_) if trail.is_directory() => {}
            Ok(None) => done.tell(path, UndoAction::Unchanged, None),
            Err(why) => done.tell(path, UndoAction::Conflict, Some(why)),
        }
    }
    if !is_dry && !steps.is_empty() {
        done.versions.push(keep(files, store, request, &steps)?);
    }
    let steps = ordered(steps);
    for step in &steps {
        let done_so = if is_dry { Ok(()) } else { put_back(files, store, &commands, step) };
        match done_so {
            Err(error) => done.tell(&step.path, UndoAction::Conflict, Some(error.to_string())),
            Ok(()) if step.is_directory() => {}
            Ok(()) if matches!(step.wanted, State::Absent) => {
                done.tell(&step.path, UndoAction::Removed, None)
            }
            Ok(()) => done.tell(&step.path, UndoAction::Restored, None),
        }
    }
    if !is_dry {
        close_directories(files, &steps);
    }
    // What lies in records is done by them; a directory's children are records of their own.
    let taken_care_of: Vec<PathBuf> =
        trails.iter().filter(|(_, trail)| !trail.is_directory()).map(|(path, _)| path.clone()).collect();
    commands.take_back(&taken_care_of, is_dry, &mut done);
    done.cannot.extend(what_cannot(&records));
    store.prune_when_due();
    Ok(done.undone())
}

/// What an undo has done so far.
#[derive(Default)]
struct Done {
    paths: BTreeMap<PathBuf, (UndoAction, Option<String>)>,
    versions: Vec<u64>,
    checkpoints: Vec<String>,
    cannot: Vec<String>,
}

impl Done {
    fn tell(&mut self, path: &Path, action: UndoAction, why: Option<String>) {
        self.paths.insert(path.to_path_buf(), (action, why));
    }

    fn undone(self) -> Undone {
        let path = |(path, (action, why)): (PathBuf, _)| UndonePath {
            path: path.to_string_lossy().into_owned(),
            action,
            why,
        };
        let versions = self.versions.iter().map(u64::to_string).chain(self.checkpoints).collect();
        Undone { paths: self.paths.into_iter().map(path).collect(), versions, cannot: self.cannot }
    }
}

/// One path that is to become what it was.
struct Step {
    path: PathBuf,
    present: State,
    wanted: State,
}

impl Step {
    fn is_directory(&self) -> bool {
        matches!(self.wanted, State::Dir { .. }) || matches!(self.present, State::Dir { .. })
    }
}

/// Gives directories that came back the modes they had, once what they hold is in them; inner ones first.
fn close_directories(files: &Files, steps: &[Step]) {
    for step in steps.iter().rev() {
        let State::Dir { mode: Some(mode) } = step.wanted else { continue };
        if let Err(error) = files.entry_exactly(&step.path).and_then(|entry| entry.set_mode(mode)) {
            tracing::warn!(path = %step.path.display(), %error, "a directory is back with another mode");
        }
    }
}

/// Puts one path back, with the content from where it is kept.
fn put_back(files: &Files, store: &Overwritten, commands: &Commands, step: &Step) -> std::io::Result<()> {
    if let State::File { sha256, mode, .. } = &step.wanted
        && !store.holds(sha256)
        && let Some(content) = commands.content(&step.path, &step.wanted)
    {
        return put_file(files, &step.path, &content, *mode);
    }
    put(files, store, &step.path, &step.wanted)
}

/// What is to be done about a path: nothing where it is as it was already, or the reason why it is left alone.
fn judged(files: &Files, path: &Path, trail: &Trail) -> Result<Option<Step>, String> {
    let present = present_at(files, path).map_err(|error| error.to_string())?;
    let wanted = trail.before().clone();
    if present.is_same(&wanted) {
        return Ok(None);
    }
    if matches!(wanted, State::Other) {
        return Err("it was a socket, a device or a pipe, which is not made again".to_string());
    }
    if trail.is_mixed() {
        return Err("somebody else changed it while the run went on".to_string());
    }
    if !trail.was_left_as(&present) {
        return match (&present, &wanted) {
            // A directory that the run made, and that was something else before that.
            (State::Dir { .. }, State::Absent) => Ok(None),
            (State::Absent, _) => Err("it was deleted after the run".to_string()),
            _ => Err("it was changed after the run".to_string()),
        };
    }
    Ok(Some(Step { path: path.to_path_buf(), present, wanted }))
}

/// Keeps what the steps are about to overwrite, as one record of its own.
fn keep(files: &Files, store: &Overwritten, request: &str, steps: &[Step]) -> Result<u64, Failure> {
    let unkept = |why: &dyn std::fmt::Display| {
        Failure::Failed(format!("Nothing was changed: what is there now could not be kept, because {why}"))
    };
    let mut batch = store.batch();
    let mut items = Vec::with_capacity(steps.len());
    for step in steps {
        let before = match &step.present {
            State::File { .. } => {
                let entry = files.entry_exactly(&step.path).map_err(|error| unkept(&error))?;
                captured(&entry, &mut batch).map_err(|why| unkept(&why))?
            }
            present => present.clone(),
        };
        if !before.is_same(&step.present) {
            return Err(Failure::Failed(format!(
                "Nothing was changed: '{}' is being changed right now, try again",
                step.path.display()
            )));
        }
        items.push(Item { path: step.path.clone(), before, after: step.wanted.clone() });
    }
    let (pid, call, request) = (String::new(), "fs.undo".to_string(), request.to_string());
    // The store completes it with the number, so that an undo can be undone like a run.
    let run = "undo-".to_string();
    let at_ms = store.now_ms();
    let record = Record { id: 0, at_ms, pid, run, call, request, items, command: None, lost: None };
    // Nothing is removed for it: what is put back may be the oldest that is kept.
    store.add_unpruned(batch, record).map_err(|why| unkept(&why))
}

/// What is in the way goes first, inner paths before outer ones; then what comes back, outer ones before inner ones.
fn ordered(steps: Vec<Step>) -> Vec<Step> {
    let is_gone = |step: &Step| matches!(step.wanted, State::Absent);
    let (mut gone, mut back): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_gone);
    gone.sort_by(|a, b| b.path.cmp(&a.path));
    back.sort_by(|a, b| a.path.cmp(&b.path));
    gone.extend(back);
    gone
}

fn what_cannot(records: &[Record]) -> Vec<String> {
    let commands = records.iter().filter_map(|record| record.command.as_deref());
    let mut told: Vec<String> = commands.map(protocol::fs::history::ran_outside).collect();
    told.dedup();
    let more = told.len().saturating_sub(limits::COMMANDS_TOLD_MAX);
    told.truncate(limits::COMMANDS_TOLD_MAX);
    if more > 0 {
        told.push(format!("{more} more commands ran outside the sandbox"));
    }
    told.extend(records.iter().filter_map(|record| record.lost.clone()));
    told
}
