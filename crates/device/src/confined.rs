//! Confined commands of agents: what a command sees and may change, from the table of places, and what the commands of
//! one run share (a network namespace, a directory for temporary files, a proxy, a checkpoint of the workspace).

mod ahead;
mod caches;
mod environment;
#[cfg(not(target_os = "linux"))]
mod no_rehearsals;
mod opened;
#[cfg(target_os = "linux")]
mod rehearse;
mod runs;
mod secrets;
mod view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use protocol::confine::{Confine, Way};
use protocol::error::Error;
use sandbox::{Confined, Sandbox, Setup, Spec};
use tokio::process::{Child, Command};

pub(crate) use ahead::HelperAhead;
pub(crate) use caches::Lease;
#[cfg(not(target_os = "linux"))]
use no_rehearsals as rehearse;
use rehearse::Rehearsals;
pub(crate) use rehearse::{Reach, Stage};
pub(crate) use runs::Run;
use runs::Runs;
use view::View;

/// Makes confined commands.
pub(crate) struct Confiner {
    sandbox: Sandbox,
    view: View,
    runs: Runs,
    rehearsals: Rehearsals,
    ahead: Arc<HelperAhead>,
}

/// A confined command that is ready to be started.
pub(crate) struct Prepared {
    confiner: Arc<Confiner>,
    spec: Spec,
    /// What it shares with the other commands of its run. Held as long as it runs.
    pub(crate) run: Arc<Run>,
    /// Its copy of the package caches. Held until its mounts are gone.
    pub(crate) caches: Option<Lease>,
}

impl Prepared {
    /// Starts it: by the helper that waits, or else by a new one, in the way that is given. The child becomes the command.
    pub(crate) fn start(
        &self,
        start: impl FnOnce(Command) -> std::io::Result<Child>,
    ) -> std::io::Result<(Child, Setup)> {
        let network = self.run.network();
        if let Some(started) = self.confiner.ahead.hand_over(&self.spec, network) {
            return Ok(started);
        }
        let Confined { command, setup } = self.confiner.sandbox.command(&self.spec, Some(network))?;
        Ok((start(Command::from(command))?, setup))
    }
}

impl Confiner {
    /// For a workspace and a home, both resolved. What has to be kept is kept below `state`.
    pub(crate) fn new(
        sandbox: Sandbox,
        workspace: PathBuf,
        home: PathBuf,
        state: PathBuf,
        clock: Clock,
    ) -> Confiner {
        let view = View::new(workspace.clone(), home.clone(), state.clone(), clock.clone());
        let rehearsals = Rehearsals::new(workspace.clone(), home, state.clone(), clock.clone());
        let ahead = HelperAhead::new(sandbox.clone());
        let runs = Runs::new(sandbox.clone(), workspace, state, clock);
        Confiner { runs, sandbox, view, rehearsals, ahead }
    }

    /// The same on a machine that lays overlays, where commands get copies of the package caches.
    pub(crate) fn with_caches(mut self, clock: Clock) -> Confiner {
        self.view = self.view.with_caches(clock);
        self
    }

    /// The helper that waits for the next command.
    pub(crate) fn ahead(&self) -> &Arc<HelperAhead> {
        &self.ahead
    }

    /// Takes the checkpoint before a run's changes where the run has none yet.
    pub(crate) async fn keep_before(&self, confine: &Confine) -> Result<(), Error> {
        self.runs.enter(confine).await.map(drop)
    }

    /// Prepares a command of an agent. It takes a checkpoint first where the run has none, and starts no command
    /// without one.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        confine: &Confine,
        command: Vec<OsString>,
        cwd: &Path,
    ) -> Result<Prepared, Error> {
        let confiner = self.clone();
        // While the checkpoint is taken; both may take a second in a large home.
        tokio::task::spawn_blocking(move || confiner.view.look_for_secrets());
        let run = self.runs.enter(confine).await?;
        let (confiner, confine, cwd) = (self.clone(), confine.clone(), cwd.to_path_buf());
        let working = tokio::task::spawn_blocking(move || {
            let mut spec = confiner.view.spec(command, &cwd, run.tmp(), &confine);
            opened::open(&mut spec, &confine).map_err(|why| Error::approval_required(&why))?;
            let mut set = run.proxy_environment();
            set.extend(confiner.view.environment());
            if confine.way == Way::Proved {
                set.extend(places::git_environment());
            }
            spec.env = environment::of(&set);
            let failed =
                |error: std::io::Error| Error::new(500, format!("Failed to prepare the sandbox: {error}"));
            let caches = confiner.view.lend_caches(&mut spec, &confine).map_err(failed)?;
            Ok::<_, Error>(Prepared { confiner, spec, run, caches })
        });
        working.await.map_err(|error| Error::internal(&error.to_string()))?
    }
}
