//! Rehearsal (dry run) of a command: it runs in the sandbox on copy-on-write layers over the machine's files, without
//! network; what the layers hold afterwards is what it would have done.
//!
//! Nothing of it touches the machine. The layers are kept for a while, so that exactly this can be put in place.

mod cannot;
mod kept;
mod layers;
mod record;
mod tell;
mod trees;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use base::limits::device as limit;
use egress::Proxy;
use places::Roots;
use protocol::confine::{Confine, Way};
use protocol::error::Error;
use protocol::hosts::Allow;
use protocol::ids::Pid;
use protocol::shell::ExecResult;
use protocol::shell::rehearsal::Rehearsal;
use sandbox::{NetworkNamespace, Outcome, Overlay, Setup, Spec, overlay};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::kept::{Kept, KeptTable, Surroundings};
use self::layers::{Layers, Scratch};
use self::tell::Tree;
use self::trees::Trees;
use super::{Confiner, environment, runs};

/// Rehearsals of one driver.
pub(super) struct Rehearsals {
    workspace: PathBuf,
    home: PathBuf,
    state: PathBuf,
    clock: Clock,
    scratch: Scratch,
    kept: KeptTable,
    at_once: Arc<Semaphore>,
}

/// How much of the machine a rehearsal may change a copy of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All that its user may change.
    Machine,
    /// The workspace alone, where no more can be laid over.
    Workspace,
}

/// A command that is ready to be rehearsed, or was.
pub(crate) struct Stage {
    /// Starts the helper, which becomes the command; taken once.
    pub(crate) command: Option<Command>,
    setup: Option<Setup>,
    input: String,
    cwd: PathBuf,
    since_ms: i64,
    trees: Vec<Tree>,
    targets: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
    /// Why no more than the workspace could be laid over.
    narrowed: Option<String>,
    proxy: Proxy,
    _network: NetworkNamespace,
    tmp: TempDir,
    layers: Layers,
    /// Why it was ended before its time.
    ended: Option<String>,
    _slot: OwnedSemaphorePermit,
}

impl Rehearsals {
    pub(super) fn new(workspace: PathBuf, home: PathBuf, state: PathBuf, clock: Clock) -> Rehearsals {
        let scratch = Scratch::new(&state);
        let at_once = Arc::new(Semaphore::new(limit::REHEARSALS_AT_ONCE));
        Rehearsals { workspace, home, state, clock, scratch, kept: KeptTable::default(), at_once }
    }
}

impl Confiner {
    /// Prepares a command for a rehearsal.
    pub(crate) async fn stage(
        self: &Arc<Self>,
        input: &str,
        words: Vec<OsString>,
        cwd: &Path,
        reach: Reach,
    ) -> Result<Stage, Error> {
        let rehearsals = &self.rehearsals;
        let now_ms = rehearsals.clock.now_ms();
        rehearsals.kept.forget_old(now_ms);
        let slot = rehearsals.at_once.clone().try_acquire_owned();
        let slot = slot.map_err(|_| Error::too_busy("too many rehearsals on this device"))?;
        let (confiner, at) = (self.clone(), cwd.to_path_buf());
        let working = tokio::task::spawn_blocking(move || confiner.lay_out(words, &at, reach));
        let laid_out = working.await.map_err(|error| Error::internal(&error.to_string()))?.map_err(failed)?;
        let LaidOut { mut spec, trees, left_out, layers, network, tmp } = laid_out;
        let clock = rehearsals.clock.clone();
        let proxy = runs::start_proxy(&network, Allow::default(), clock).map_err(failed)?;
        let mut set = egress::proxy_environment(egress::Ports::default(), "", &proxy.allowed());
        set.extend(self.view.environment());
        spec.env = environment::of(&set);
        let confined = self.sandbox.command(&spec, Some(&network)).map_err(failed)?;
        Ok(Stage {
            command: Some(Command::from(confined.command)),
            setup: Some(confined.setup),
            input: input.to_string(),
            cwd: cwd.to_path_buf(),
            since_ms: rehearsals.clock.now_ms(),
            targets: trees.iter().map(|tree| tree.target.clone()).collect(),
            trees,
            left_out,
            narrowed: None,
            proxy,
            _network: network,
            tmp,
            layers,
            ended: None,
            _slot: slot,
        })
    }

    /// Lays everything out that lies on the disk.
    fn lay_out(&self, words: Vec<OsString>, cwd: &Path, reach: Reach) -> std::io::Result<LaidOut> {
        let rehearsals = &self.rehearsals;
        let wanted = match reach {
            Reach::Machine => trees::wanted(&rehearsals.workspace, &rehearsals.home, cwd),
            Reach::Workspace => vec![rehearsals.workspace.clone()],
        };
        let place = rehearsals.scratch.place_for(&wanted);
        let mut spec = self.view.spec(words, cwd, place, &nobody());
        let Trees { targets, left_out } = Trees::find(&wanted, place, &spec.hidden)?;
        let Some(first) = targets.first().cloned() else {
            return Err(std::io::Error::other("there is nothing that an overlay can be laid over"));
        };
        let layers = rehearsals.scratch.make(place, &base::random::uuid())?;
        let (mut overlays, mut trees) = (Vec::new(), Vec::new());
        for (number, target) in targets.into_iter().enumerate() {
            let directory = layers.directory.join(number.to_string());
            let (upper, work) = (directory.join("upper"), directory.join("work"));
            std::fs::create_dir_all(&upper)?;
            std::fs::create_dir_all(&work)?;
            overlays.push(Overlay { target: target.clone(), upper: upper.clone(), work, kept: false });
            trees.push(Tree { target, upper, changes: Vec::new() });
        }
        let tmp = tempfile::Builder::new().prefix("tmp-").tempdir_in(&layers.directory)?;
        spec.tmp = tmp.path().to_path_buf();
        // Nothing but copies is writable: what the command "works on" is the first of them.
        spec.workspace = first;
        spec.writable = Vec::new();
        // What runs later is shown as it would be changed, and never put in place.
        spec.read_only = Vec::new();
        spec.overlays = overlays;
        spec.hidden.extend(rehearsals.scratch.places().iter().cloned());
        spec.limits.file_bytes = limit::REHEARSAL_MAX_BYTES;
        let network = self.sandbox.network()?;
        Ok(LaidOut { spec, trees, left_out, layers, network, tmp })
    }

    /// Reads what a command did that has ended, and keeps it for a while. `result` is how it ended.
    pub(crate) async fn conclude(
        self: &Arc<Self>,
        stage: Stage,
        result: ExecResult,
    ) -> Result<ExecResult, Error> {
        let confiner = self.clone();
        let working = tokio::task::spawn_blocking(move || confiner.read(stage, result));
        working.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    fn read(&self, mut stage: Stage, result: ExecResult) -> Result<ExecResult, Error> {
        let rehearsals = &self.rehearsals;
        let mut left = limit::REHEARSAL_FILES_MAX;
        let mut is_cut = false;
        for tree in &mut stage.trees {
            let (changes, cut) = overlay::changes_up_to(&tree.target, &tree.upper, left)
                .map_err(|error| Error::new(500, format!("What the command did can not be read: {error}")))?;
            left -= changes.len();
            is_cut |= cut;
            tree.changes = changes;
        }
        stage.trees.retain(|tree| !tree.changes.is_empty());
        let roots = Roots {
            home: rehearsals.home.to_str(),
            workspace: rehearsals.workspace.to_str(),
            fold_case: false,
        };
        let mut told = tell::told(&stage.trees, &roots, &rehearsals.clock);
        let total: usize = stage.trees.iter().map(|tree| tree.changes.len()).sum();
        let truncated = is_cut || total > told.changes.len();
        if truncated {
            told.block("it would change more files than can be shown");
        }
        if stage.ended.is_some() || result.timed_out == Some(true) || result.signal.is_some() {
            told.block("it did not come to its end");
        }
        let tried = cannot::tried(&stage.proxy, stage.since_ms);
        let mut cannot = cannot::sentences(&stage, &result, &tried);
        cannot.append(&mut told.cannot);
        let (id, expires_at) = (
            base::random::uuid(),
            rehearsals.clock.now_ms() + i64::try_from(limit::REHEARSAL_KEPT.as_millis()).unwrap_or(0),
        );
        let rehearsal = Rehearsal {
            id: id.clone(),
            expires_at: Some(expires_at),
            changes: told.changes,
            total: total as u64,
            truncated,
            tried,
            cannot,
            blocked: told.blocked.clone(),
            applied: None,
            checkpoint: None,
        };
        let Stage { input, cwd, since_ms, trees, layers, .. } = stage;
        let bytes = size(&layers.directory, usize::MAX, u64::MAX).1;
        let blocked = told.blocked;
        let kept = Kept {
            id,
            input,
            cwd,
            result: result.clone(),
            trees,
            since_ms,
            expires_at,
            bytes,
            blocked,
            layers,
        };
        rehearsals.kept.keep(kept, rehearsals.clock.now_ms());
        Ok(ExecResult { rehearsal: Some(rehearsal), ..result })
    }

    /// Puts a rehearsal of exactly this command in place, and answers as the command did.
    pub(crate) async fn put_in_place(
        self: &Arc<Self>,
        id: &str,
        input: &str,
        cwd: &Path,
    ) -> Result<ExecResult, Error> {
        let now_ms = self.rehearsals.clock.now_ms();
        let kept = self.rehearsals.kept.take(id, input, cwd, now_ms)?;
        let confiner = self.clone();
        let working = tokio::task::spawn_blocking(move || {
            let rehearsals = &confiner.rehearsals;
            let mut own = rehearsals.scratch.places().to_vec();
            own.push(rehearsals.state.clone());
            let around = Surroundings {
                workspace: &rehearsals.workspace,
                state: &rehearsals.state,
                own: &own,
                now_ms,
            };
            kept::apply(kept, &around)
        });
        working.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    /// Forgets a rehearsal.
    pub(crate) fn discard(&self, id: &str) -> Result<(), Error> {
        self.rehearsals.kept.discard(id)
    }
}

/// What lies on the disk for a rehearsal, and its network.
struct LaidOut {
    spec: Spec,
    trees: Vec<Tree>,
    left_out: Vec<PathBuf>,
    layers: Layers,
    network: NetworkNamespace,
    tmp: TempDir,
}

impl Stage {
    /// Why the command wrote more than it may, if it did.
    pub(crate) async fn too_much(&self) -> Option<String> {
        let directory = self.layers.directory.clone();
        let sizes = tokio::task::spawn_blocking(move || {
            size(&directory, limit::REHEARSAL_FILES_MAX, limit::REHEARSAL_MAX_BYTES)
        });
        let (files, bytes) = sizes.await.ok()?;
        if bytes > limit::REHEARSAL_MAX_BYTES {
            let most = limit::REHEARSAL_MAX_BYTES / 1024 / 1024;
            return Some(format!("It was ended because it wrote more than {most} MiB."));
        }
        let most = limit::REHEARSAL_FILES_MAX;
        (files > most).then(|| format!("It was ended because it changed more than {most} files."))
    }

    /// Notes why only the workspace is laid over.
    pub(crate) fn narrow(&mut self, why: &str) {
        self.narrowed = Some(why.to_string());
    }

    /// Notes why the command is ended before its time.
    pub(crate) fn end(&mut self, why: String) {
        if self.ended.is_none() {
            self.ended = Some(why);
        }
    }

    /// Whether the command was started, once its helper has ended; the reason why not as an error.
    pub(crate) fn started(&mut self) -> Result<(), String> {
        match self.setup.take().map(Setup::outcome) {
            Some(Outcome::NotStarted(why)) => Err(why),
            Some(Outcome::OutOfMemory) => {
                self.end("It was ended because it used more memory than a confined command may.".to_string());
                Ok(())
            }
            Some(Outcome::Started) | None => Ok(()),
        }
    }
}

/// A call of nobody's: nothing is allowed to it.
fn nobody() -> Confine {
    let pid = Pid("rehearsal".to_string());
    Confine {
        pid,
        run: None,
        way: Way::Confined,
        write: Vec::new(),
        read: Vec::new(),
        hosts: Vec::new(),
        rehearsal: None,
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(500, format!("Failed to prepare the rehearsal: {error}"))
}

/// Files and bytes below a directory; not much beyond the limits.
fn size(directory: &Path, files_max: usize, bytes_max: u64) -> (usize, u64) {
    use std::os::unix::fs::MetadataExt;
    let (mut files, mut bytes) = (0, 0);
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let Ok(found) = entry.metadata() else { continue };
            files += 1;
            bytes += found.blocks() * 512;
            if files > files_max || bytes > bytes_max {
                return (files, bytes);
            }
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    (files, bytes)
}
