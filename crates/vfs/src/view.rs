//! Per-caller facade of the tree: every operation, checked against the caller.
//!
//! Here is what a view is and how its work on the disk is done; `view/looking.rs`, `view/writing.rs` and
//! `view/changing.rs` have the operations.

mod changing;
pub(crate) mod inline_write;
mod looking;
mod quick;
mod quota;
mod writing;

use std::fs::File;
use std::sync::Arc;

use base::limits;
use protocol::calls::Calls;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Pid, RunId};

use crate::disk::fail::Fail;
use crate::disk::fingerprint::Fingerprint;
use crate::disk::walk::Found;
use crate::disk::{Disk, mounts};
use crate::fault::{Code, Fault};
use crate::live;
use crate::observe::Agent;
use crate::path::VPath;
use crate::stat::Stat;
use crate::tree::Tree;

/// Whether the last part of a path, if it is a link, is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is followed.
    Yes,
    /// The link itself is meant.
    No,
}

/// Where file work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// On the thread that asks: for threads that may wait, such as those of the shell.
    Here,
    /// On a thread for work that waits: for callers on the async runtime.
    Aside,
}

/// What was opened for reading.
pub enum Opened {
    /// A file on disk, at its beginning.
    File(File, Stat),
    /// A live file's text as it is now; `stat.size` is its length.
    Bytes(Vec<u8>, Stat),
    Directory(Stat),
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// The mode of a new file; an existing one keeps its own.
    pub mode: u32,
    /// Whether missing directories on the way are made.
    pub parents: bool,
    /// Whether the file must not be there yet.
    pub exclusive: bool,
}

impl Default for Writing {
    fn default() -> Self {
        Writing { mode: 0o644, parents: false, exclusive: false }
    }
}

/// The tree as one caller sees it. Cheap to clone.
#[derive(Clone)]
pub struct View {
    pub(crate) tree: Arc<Tree>,
    pub(crate) who: Arc<ProcessIdentity>,
    pub(crate) calls: Calls,
    pub(crate) work: Work,
    /// The process that looks; a person's connection is none.
    pub(crate) pid: Option<Pid>,
    /// The same with the run it is in, for whoever is told of changes.
    pub(crate) agent: Option<Arc<Agent>>,
    /// Whether a program looks, and not a person: it sees no secrets, whoever it acts for.
    pub(crate) is_program: bool,
}

impl View {
    /// The tree as `who` sees it; live files make their calls through `calls`.
    pub fn new(tree: Arc<Tree>, who: Arc<ProcessIdentity>, calls: Calls, work: Work) -> View {
        View { tree, who, calls, work, pid: None, agent: None, is_program: false }
    }

    /// The same view for a process: `/proc/self` is that one.
    pub fn of_process(self, pid: Pid) -> View {
        let agent = Some(Arc::new(Agent { pid: pid.clone(), run: None }));
        View { pid: Some(pid), agent, is_program: true, ..self }
    }

    /// The same view of a process in the course of a run: what it changes is that run's.
    pub fn in_run(self, run: RunId) -> View {
        let agent = self.agent.map(|agent| Arc::new(Agent { pid: agent.pid.clone(), run: Some(run) }));
        View { agent, ..self }
    }

    /// The same view for any program that acts for its user: secrets are masked.
    pub fn of_program(self) -> View {
        View { is_program: true, ..self }
    }

    /// Who looks.
    pub fn who(&self) -> &ProcessIdentity {
        &self.who
    }

    /// The same view for a thread that may wait.
    pub fn here(&self) -> View {
        View { work: Work::Here, ..self.clone() }
    }

    /// Tells whether anything below directories has changed between two of them; nothing when that can not be told.
    /// Done on the thread that asks: no file is opened.
    pub fn fingerprint(&self, roots: &[VPath]) -> Option<Fingerprint> {
        self.tree.disk.fingerprint(roots)
    }

    /// What a path given by a person means: `~`, relative to the cwd, `.` and `..`.
    pub fn path(&self, text: &str) -> Result<VPath, Fault> {
        VPath::resolve(text, &self.who.home, &self.who.cwd)
    }
}

/// Where a path led: what was done on disk, or the live path to do it at.
pub(crate) enum Resolved<T, L = VPath> {
    Disk(T),
    Live(L),
}

impl View {
    /// Does work on the disk where this view does it.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk, &ProcessIdentity) -> Result<T, Fail> + Send + 'static,
    ) -> Result<T, Fail> {
        if self.work == Work::Here {
            return work(&self.tree.disk, &self.who);
        }
        let turn =
            tokio::time::timeout(limits::files::WORK_WAIT, self.tree.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Fail::because(Code::Io, "the disk has too much to do, try again later"));
        };
        let (tree, who) = (self.tree.clone(), self.who.clone());
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&tree.disk, &who);
            drop(turn);
            done
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "work on the disk broke off");
            Err(Fail::because(Code::Io, "the work broke off"))
        })
    }

    /// Finds a path and does work on what it leads to, unless that is live.
    pub(crate) async fn found<T: Send + 'static>(
        &self,
        path: &VPath,
        follow: Follow,
        work: impl FnOnce(&Disk, &ProcessIdentity, Found) -> Result<T, Fail> + Send + 'static,
    ) -> Result<Resolved<T>, Fail> {
        if is_surely_live(path) {
            return Ok(Resolved::Live(path.clone()));
        }
        let path = path.clone();
        self.on_disk(move |disk, who| match disk.find(who, &path, follow)? {
            Found::Live(path) => Ok(Resolved::Live(path)),
            found => work(disk, who, found).map(Resolved::Disk),
        })
        .await
    }
}

/// Whether a path is live with no directory on disk on the way, so that the disk need not be asked.
fn is_surely_live(path: &VPath) -> bool {
    live::covers(path) && !mounts::is_kept(path.as_str())
}
