//! Housekeeping of repositories in the background, one at a time, with the git program: loose objects are packed, many
//! packs become one, and what nothing has named for two weeks is removed. Without the program nothing of it is done, and
//! nothing else suffers.
//!
//! Packing loses nothing, whoever writes meanwhile: git removes a loose object, or a pack, when what was in it is in
//! another pack, and loosens what nothing names. Only `git::loose::prune` removes, and only while it is alone.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;

use base::clock::Clock;
use base::limits::repo as limits;
use base::sync::lock;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;
use tokio::sync::Notify;

use crate::git::fault::Fault;
use crate::git::hold::Hold;
use crate::git::{loose, program};

/// Repositories that are to be looked at.
#[derive(Default)]
pub(crate) struct Housekeeping {
    due: Mutex<Due>,
    more: Notify,
}

#[derive(Default)]
struct Due {
    /// How often each changed since it was looked at.
    changes: HashMap<PathBuf, u32>,
    paths: BTreeSet<PathBuf>,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Whether objects were packed.
    pub packed: bool,
    /// Objects that are gone.
    pub pruned: usize,
}

impl Housekeeping {
    /// A repository has changed.
    pub(crate) fn changed(&self, repository: &Path) {
        let mut due = lock(&self.due);
        // Those that are forgotten are looked at with all others.
        if due.changes.len() >= limits::CHANGES_REMEMBERED_MAX {
            due.changes.clear();
        }
        let changes = due.changes.entry(repository.to_path_buf()).or_default();
        *changes += 1;
        if *changes >= limits::LOOKED_AT_AFTER_CHANGES {
            due.changes.remove(repository);
            due.paths.insert(repository.to_path_buf());
            self.more.notify_one();
        }
    }

    /// These are to be looked at.
    pub(crate) fn add(&self, repositories: Vec<PathBuf>) {
        lock(&self.due).paths.extend(repositories);
        self.more.notify_one();
    }

    /// Looks after what is due, for ever.
    pub(crate) async fn run(&self, clock: &Clock) {
        loop {
            let next = lock(&self.due).paths.pop_first();
            let Some(path) = next else {
                self.more.notified().await;
                continue;
            };
            match keep(&path, clock, program::command).await {
                Ok(kept) if kept != Kept::default() => {
                    tracing::info!(path = %path.display(), ?kept, "looked after a repository");
                }
                Ok(_) => {}
                Err(fault) => {
                    tracing::warn!(path = %path.display(), %fault, "a repository could not be looked after");
                }
            }
        }
    }
}

/// Looks after one repository.
pub(crate) async fn keep(repository: &Path, clock: &Clock, git: impl Fn() -> Command) -> Result<Kept, Fault> {
    let now_ms = clock.now_ms();
    let old_ms = now_ms - limits::UNNAMED_KEPT.as_millis() as i64;
    let path = repository.to_path_buf();
    let census = blocking(move || {
        loose::remove_drafts(&path, now_ms - limits::DRAFTS_KEPT.as_millis() as i64)?;
        Ok(loose::census(&path, old_ms)?)
    });
    let census = census.await?;
    let run = async |args: &[&str]| output(git(), repository, args, clock).await;
    let mut kept = Kept::default();
    if census.packs > limits::PACKS_MAX {
        let Some(named) = run(&["rev-list", "--all", "--objects", "--count"]).await? else { return Ok(kept) };
        let named: u64 = named.trim().parse().unwrap_or(0);
        // What nothing names becomes loose, to be removed in time. So many files nobody wants.
        let is_loosened = census.packed.saturating_sub(named) <= limits::LOOSENED_MAX;
        let all = if is_loosened { "-A" } else { "-ak" };
        kept.packed = run(&["repack", all, "-d", "-l", "-q"]).await?.is_some();
    } else if census.loose > limits::LOOSE_MAX {
        kept.packed = run(&["repack", "-d", "-l", "-q"]).await?.is_some();
    }
    if census.old > 0 {
        let expire = format!("--expire=@{} +0000", old_ms / 1_000);
        let unnamed = ["prune", "--dry-run", &expire];
        if run(&unnamed).await?.is_none_or(|listed| listed.trim().is_empty()) {
            return Ok(kept);
        }
        // Again, alone: whoever counted on something has named it by now, or has given up.
        let path = repository.to_path_buf();
        let Some(alone) = blocking(move || Ok(Hold::own(&path)?)).await? else { return Ok(kept) };
        let Ok(listed) = clock.timeout(limits::ALONE_MAX, run(&unnamed)).await else { return Ok(kept) };
        let listed = listed?.unwrap_or_default();
        let hashes = listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).collect();
        let path = repository.to_path_buf();
        kept.pruned = blocking(move || loose::prune(&path, &alone, hashes, old_ms)).await?;
    }
    Ok(kept)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(Fault::damaged)?
}

/// What is set whatever the machine and the repository say.
const SETTINGS: &[&str] = &[
    "safe.directory=*",
    "core.hooksPath=/dev/null",
    // A pack is on the disk before what it replaces is gone.
    "core.fsync=all",
    "pack.threads=1",
    "pack.windowMemory=64m",
    "pack.deltaCacheSize=32m",
    "core.bigFileThreshold=32m",
    "core.packedGitLimit=256m",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// What git prints; `None` where there is no git.
async fn output(
    mut command: Command,
    repository: &Path,
    args: &[&str],
    clock: &Clock,
) -> Result<Option<String>, Fault> {
    command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting])).arg("-C").arg(repository).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = match command.process_group(0).kill_on_drop(true).spawn() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        child => child?,
    };
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let Ok(output) = clock.timeout(limits::HOUSEKEEPING_TIMEOUT, child.wait_with_output()).await else {
        return Err(Fault::Busy(format!("git {} took too long", args.first().unwrap_or(&""))));
    };
    // It has been waited for: its number may be another's now.
    group.0 = None;
    let output = output?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Fault::Damaged(format!("git {}: {}", args.join(" "), why.trim())));
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// The processes that git starts; they end with this, and leave only what the next run removes.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(%error, "git is gone already");
        }
    }
}
