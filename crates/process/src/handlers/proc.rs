//! Handlers of `proc.*`: they decide who may reach which process, and leave the rest to [`crate::Host`].

pub(crate) mod approval;
pub(crate) mod conversation;
pub(crate) mod ipc;
pub(crate) mod spawn;
pub(crate) mod undo;

use base::limits;
use protocol::error::Error;
use protocol::ids::{Pid, RunId, Uid};
use protocol::outcome::Outcome;
use protocol::proc::cost::{Cost, Costs};
use protocol::proc::history::{History, Media, MediaRead, Read};
use protocol::proc::profile::{self, Profile, ProfileInfo, ProfileKind, SpawnMode};
use protocol::proc::{Abort, Aborted, Archived, Kill, List, Listed, Reset, Send, Sent, Summary};
use store::Store;
use store::processes::{ProcessRow, ProcessState};

use super::Cx;
use crate::subsystem::init_pid;

/// The process a call is about: the caller's own `init` when none is named. A foreign one is root's business only.
pub(crate) async fn reach(cx: &Cx, pid: Option<&Pid>) -> Result<ProcessRow, Error> {
    let own;
    let pid = match pid {
        Some(pid) => pid,
        None => {
            own = init_pid(cx.caller.uid());
            &own
        }
    };
    let found = cx.area.gateway.store().processes().by_id(pid).await?;
    let process = found.ok_or_else(|| unknown(pid))?;
    if process.uid != cx.caller.uid() && !cx.caller.is_root() {
        return Err(Error::forbidden(format!("Permission denied: cannot access process {pid}")));
    }
    Ok(process)
}

/// 404 for a process that does not exist.
pub(crate) fn unknown(pid: &Pid) -> Error {
    Error::not_found(format!("Process not found: {pid}"))
}

/// Whose processes a caller asks about; only root asks about others.
fn whose(cx: &Cx, call: &str, uid: Option<Uid>) -> Result<Option<Uid>, Error> {
    match uid {
        Some(uid) if uid != cx.caller.uid() && !cx.caller.is_root() => {
            Err(Error::forbidden(format!("Permission denied: {call} of another user is for root only")))
        }
        uid => Ok(uid),
    }
}

pub(crate) async fn list(cx: Cx, args: List) -> Result<Listed, Error> {
    let mut uid = whose(&cx, "proc.list", args.uid)?;
    if uid.is_none() && !cx.caller.is_root() {
        uid = Some(cx.caller.uid());
    }
    let rows = cx.area.gateway.store().processes().of(uid).await?;
    let mut processes = Vec::with_capacity(rows.len());
    for row in rows {
        processes.push(summary(cx.area.gateway.store(), row).await?);
    }
    Ok(Listed { processes })
}

async fn summary(store: &Store, row: ProcessRow) -> Result<Summary, Error> {
    // Nothing waits where nothing runs, so only the busy ones are asked.
    let queued_count = match row.state {
        ProcessState::Idle | ProcessState::Exited => 0,
        _ => store.queue().length(&row.pid).await?,
    };
    Ok(Summary {
        pid: row.pid,
        uid: row.uid,
        profile: Profile(row.profile),
        parent_pid: row.parent_pid,
        state: row.state.as_str().to_string(),
        label: row.label,
        created_at: row.created_at,
        workspace_id: row.workspace_id,
        cwd: row.cwd,
        active_run_id: row.active_run_id,
        active_conversation_id: row.active_conversation_id,
        queued_count: Some(queued_count),
        last_active_at: Some(row.last_active_at),
    })
}

pub(crate) async fn profiles(_: Cx, _: profile::List) -> Result<profile::Listed, Error> {
    let one = |known: &crate::SystemProfile| ProfileInfo {
        id: Profile(known.id.to_string()),
        alias: None,
        kind: ProfileKind::System,
        display_name: known.display_name.to_string(),
        description: Some(known.description.to_string()),
        interactive: known.interactive,
        startable: known.startable,
        background: known.background,
        spawn_mode: if known.singleton { SpawnMode::Singleton } else { SpawnMode::New },
        package_id: None,
        package_name: None,
    };
    Ok(profile::Listed { profiles: crate::SYSTEM_PROFILES.iter().map(one).collect() })
}

pub(crate) async fn send(cx: Cx, args: Send) -> Result<Outcome<Sent>, Error> {
    let own = args.pid.as_ref().is_none_or(|pid| *pid == init_pid(cx.caller.uid()));
    if own {
        cx.area.ensure_init(&cx.caller.identity).await?;
    }
    let process = reach(&cx, args.pid.as_ref()).await?;
    if let Some(why) = use_workspace(&cx, &process).await? {
        return Ok(Outcome::Failed(why));
    }
    let run_id = RunId(cx.area.gateway.random().uuid());
    // Before the message is taken: the first signal of the run must find its way.
    cx.area.gateway.follow_run(&run_id, &cx.caller.origin);
    cx.area.host.send(&process.pid, args, origin(&cx), Some(run_id)).await
}

/// Notes that the workspace of a process is used; why the process can not work, where its files were put away.
pub(crate) async fn use_workspace(cx: &Cx, process: &ProcessRow) -> Result<Option<String>, Error> {
    let Some(id) = &process.workspace_id else { return Ok(None) };
    let (workspaces, now_ms) = (cx.area.gateway.store().workspaces(), cx.area.gateway.now_ms());
    if workspaces.touch(id, now_ms).await? || workspaces.by_id(id).await?.is_none() {
        return Ok(None);
    }
    Ok(Some(spawn::place::archived(id)))
}

/// 413 for a text that no process takes.
pub(crate) fn check_length(call: &str, field: &str, text: &str) -> Result<(), Error> {
    if text.len() <= limits::process::MESSAGE_MAX_BYTES {
        return Ok(());
    }
    let why = format!("{call}: {field}: must be at most {} bytes", limits::process::MESSAGE_MAX_BYTES);
    Err(Error::new(413, why))
}

/// Where a message came from, as it is kept with it.
fn origin(cx: &Cx) -> Option<String> {
    cx.caller.origin.describe(cx.caller.uid()).map(|origin| origin.to_string())
}

pub(crate) async fn abort(cx: Cx, args: Abort) -> Result<Outcome<Aborted>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.abort(&process.pid).await
}

pub(crate) async fn kill(cx: Cx, args: Kill) -> Result<Outcome<Archived>, Error> {
    let process = reach(&cx, Some(&args.pid)).await?;
    cx.area.host.kill(&process.pid, args.archive.unwrap_or(true)).await
}

pub(crate) async fn reset(cx: Cx, args: Reset) -> Result<Outcome<Archived>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.reset(&process.pid).await
}

pub(crate) async fn history(cx: Cx, args: Read) -> Result<Outcome<History>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.history(&process.pid, &args).await
}

pub(crate) async fn media_read(cx: Cx, args: MediaRead) -> Result<Outcome<Media>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.media_read(&process.pid, &args).await
}

pub(crate) async fn cost(cx: Cx, args: Cost) -> Result<Costs, Error> {
    let uid = whose(&cx, "proc.cost", args.uid)?;
    let uid = match &args.pid {
        None => uid.unwrap_or(cx.caller.uid()),
        Some(pid) => reach(&cx, Some(pid)).await?.uid,
    };
    cx.area.host.costs(uid, &args).await
}
