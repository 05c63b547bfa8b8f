//! Per-run resources: what the commands of one run share: a network namespace, a directory for temporary files, the
//! proxy to allowed hosts, and the checkpoint that was taken before the first of them. Kept while it is used, let go
//! when it is idle.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use checkpoint::{Budget, Checkpoints, Label, When};
use egress::{Proxy, Tried};
use protocol::confine::Confine;
use protocol::error::Error;
use protocol::hosts::Allow;
use sandbox::{NetworkNamespace, Sandbox};
use tempfile::TempDir;

use super::caches;

/// The runs that this driver serves at the moment.
pub(super) struct Runs {
    sandbox: Sandbox,
    workspace: PathBuf,
    state: PathBuf,
    clock: Clock,
    runs: Mutex<HashMap<String, Arc<Run>>>,
    /// One set-up at a time, so that a run is not set up twice.
    opening: tokio::sync::Mutex<()>,
}

/// A host that a confined command was kept from.
#[derive(PartialEq, Eq)]
pub(crate) struct RefusedHost {
    host: String,
    /// How a person could allow it; `None` for what no list allows.
    pub(crate) entry: Option<String>,
}

impl std::fmt::Display for RefusedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "tried to reach {entry}, which is not allowed here"),
            None => write!(f, "tried to reach {}, which can not be allowed", self.host),
        }
    }
}

/// What the commands of one run share.
pub(crate) struct Run {
    label: Label,
    workspace: PathBuf,
    checkpoints: PathBuf,
    /// The checkpoint before its first command.
    before: checkpoint::Id,
    /// Protected names that were told of already.
    told: Mutex<HashSet<PathBuf>>,
    network: NetworkNamespace,
    tmp: TempDir,
    proxy: Proxy,
    clock: Clock,
    used: Mutex<Duration>,
}

impl Runs {
    pub(super) fn new(sandbox: Sandbox, workspace: PathBuf, state: PathBuf, clock: Clock) -> Runs {
        caches::sweep(&state.join("tmp"));
        Runs {
            sandbox,
            workspace,
            state,
            clock,
            runs: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// The run of a call. The first call of a run sets it up, and takes the checkpoint.
    pub(super) async fn enter(&self, confine: &Confine) -> Result<Arc<Run>, Error> {
        let run_id = confine.run.as_ref().map_or("", |run| run.0.as_str());
        let key = format!("{}/{run_id}", confine.pid.0);
        let allow = Allow::parse(&confine.hosts.join(","))
            .map_err(|error| Error::bad_argument("shell.exec", "confine", &error.to_string()))?;
        if let Some(run) = self.known(&key) {
            run.proxy.set_allowed(allow);
            return Ok(run);
        }
        let _one_at_a_time = self.opening.lock().await;
        if let Some(run) = self.known(&key) {
            run.proxy.set_allowed(allow);
            return Ok(run);
        }
        self.forget_idle();
        if lock(&self.runs).len() >= limits::device::RUNS_MAX {
            return Err(Error::too_busy("too many runs of agents on this device"));
        }
        let label =
            Label { pid: confine.pid.0.clone(), run: run_id.to_string(), call: None, when: When::Before };
        let run = Arc::new(self.open(label, allow).await?);
        lock(&self.runs).insert(key, run.clone());
        Ok(run)
    }

    fn known(&self, key: &str) -> Option<Arc<Run>> {
        let run = lock(&self.runs).get(key).cloned()?;
        *lock(&run.used) = self.clock.elapsed();
        Some(run)
    }

    async fn open(&self, label: Label, allow: Allow) -> Result<Run, Error> {
        let (sandbox, state) = (self.sandbox.clone(), self.state.clone());
        let (workspace, clock) = (self.workspace.clone(), self.clock.clone());
        let checkpoints = state.join("checkpoints");
        let working = tokio::task::spawn_blocking(move || {
            let before = Checkpoints::open(&checkpoints, &workspace)
                .and_then(|kept| kept.take(&label, clock.now_ms(), &Budget::default()))
                .map_err(|error| {
                    Error::approval_required(&format!("no checkpoint could be taken: {error}"))
                })?;
            let failed =
                |error: std::io::Error| Error::new(500, format!("Failed to prepare the sandbox: {error}"));
            let network = sandbox.network().map_err(failed)?;
            let below = state.join("tmp");
            std::fs::create_dir_all(&below).map_err(failed)?;
            // By the number of its process the next driver sees what a killed one has left.
            let prefix = format!("run-{}-", std::process::id());
            let tmp = tempfile::Builder::new().prefix(&prefix).tempdir_in(below).map_err(failed)?;
            Ok::<_, Error>((label, checkpoints, before.id, network, tmp))
        });
        let (label, checkpoints, before, network, tmp) =
            working.await.map_err(|error| Error::internal(&error.to_string()))??;
        let proxy = start_proxy(&network, allow, self.clock.clone())
            .map_err(|error| Error::new(500, format!("Failed to start the proxy of the sandbox: {error}")))?;
        let (workspace, clock) = (self.workspace.clone(), self.clock.clone());
        let used = Mutex::new(clock.elapsed());
        let told = Mutex::default();
        Ok(Run { label, workspace, checkpoints, before, told, network, tmp, proxy, clock, used })
    }

    /// Lets go of runs that nobody has used for a while. Commands that still run hold theirs.
    pub(super) fn forget_idle(&self) {
        let now = self.clock.elapsed();
        lock(&self.runs).retain(|_, run| {
            Arc::strong_count(run) > 1 || now.saturating_sub(*lock(&run.used)) < limits::device::RUN_IDLE_MAX
        });
    }
}

pub(super) fn start_proxy(network: &NetworkNamespace, allow: Allow, clock: Clock) -> std::io::Result<Proxy> {
    let sandbox::Listeners { http, socks, dns_udp, dns_tcp, plain, tls } = network.listeners()?;
    let listeners = egress::Listeners { http, socks, dns_udp, dns_tcp, plain, tls };
    Proxy::start(listeners, egress::Settings { clock, ..egress::Settings::new(allow) })
}

impl Run {
    pub(super) fn network(&self) -> &NetworkNamespace {
        &self.network
    }

    pub(super) fn tmp(&self) -> &Path {
        self.tmp.path()
    }

    /// The variables that lead programs to the proxy.
    pub(super) fn proxy_environment(&self) -> Vec<(String, String)> {
        egress::proxy_environment(egress::Ports::default(), "", &self.proxy.allowed())
    }

    /// What was tried since then and was not allowed, each once.
    pub(crate) fn refused_since(&self, since_ms: i64) -> Vec<RefusedHost> {
        let refused = |tried: &&Tried| !tried.is_allowed() && tried.at_ms >= since_ms;
        let mut hosts: Vec<RefusedHost> = Vec::new();
        for tried in self.proxy.log().iter().filter(refused) {
            let host = RefusedHost { host: tried.host.clone(), entry: tried.entry() };
            // A program asks for a name before it opens a connection to one of its ports.
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts.truncate(limits::device::REFUSED_HOSTS_MAX);
        hosts
    }

    /// Takes the checkpoint after a command, and tells which code that runs later has appeared or changed since the one
    /// before the run: what was not there could not be kept from being made. A command that ended well is not failed by
    /// it.
    pub(crate) fn take_after(&self) -> Vec<String> {
        let label = Label { when: When::After, ..self.label.clone() };
        let taken = Checkpoints::open(&self.checkpoints, &self.workspace).and_then(|kept| {
            let after = kept.take(&label, self.clock.now_ms(), &Budget::default())?;
            let is_protected =
                |path: &Path| path.to_str().is_none_or(|path| places::is_protected(path, false).is_some());
            kept.new_protected_names(self.before, after.id, is_protected)
        });
        let made = taken.unwrap_or_else(|error| {
            tracing::warn!(%error, "no checkpoint after a command of an agent");
            Vec::new()
        });
        let mut told = lock(&self.told);
        let new = made.into_iter().filter(|path| told.insert(path.clone()));
        new.take(limits::device::PROTECTED_TOLD_MAX)
            .map(|path| {
                format!(
                    "made or changed {}, which runs outside the sandbox later: a person should look at it",
                    path.display()
                )
            })
            .collect()
    }
}
