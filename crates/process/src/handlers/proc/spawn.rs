//! Handler of `proc.spawn`: new processes, and the one `init` that every user has.

pub(in crate::handlers) mod place;

use base::limits;
use protocol::config::PROCESS_MAX_PER_USER;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Pid, Uid};
use protocol::outcome::Outcome;
use protocol::proc::profile::Profile;
use protocol::proc::{Assignment, Send, Spawn, Spawned};
use store::processes::ProcessRow;

use super::{check_length, unknown};
use crate::checkpoint;
use crate::handlers::Cx;
use crate::subsystem::init_pid;

pub(crate) async fn spawn(cx: Cx, args: Spawn) -> Result<Outcome<Spawned>, Error> {
    let profile = args.profile.as_ref().map_or("task", Profile::as_str).trim().to_string();
    check_profile(&cx, &profile)?;
    let context_files = context_files(args.assignment.as_ref())?;
    if let Some(prompt) = &args.prompt {
        check_length("proc.spawn", "prompt", prompt)?;
    }
    let row = if profile == "init" {
        check_run_as(&args, &cx.caller.identity)?;
        cx.area.ensure_init_with(&cx.caller.identity, &context_files).await?;
        super::reach(&cx, None).await?
    } else {
        let parent = parent(&cx, args.parent_pid.as_ref()).await?;
        let row = match plan(&cx, &args, &profile, parent, context_files).await? {
            Ok(row) => row,
            Err(why) => return Ok(Outcome::Failed(why)),
        };
        if !cx.area.gateway.store().processes().create(&row).await? {
            return Err(Error::conflict(format!("There is a process of that id already: {}", row.pid)));
        }
        checkpoint::begin(&cx.area.host.world, &row).await;
        row
    };
    set_off(&cx, &row.pid, &args).await?;
    Ok(Outcome::Done(Spawned {
        pid: row.pid,
        label: row.label,
        profile: Profile(row.profile),
        workspace_id: row.workspace_id,
        cwd: row.cwd,
    }))
}

/// Which profiles the caller may start.
fn check_profile(cx: &Cx, profile: &str) -> Result<(), Error> {
    if let Some((package, name)) = profile.rsplit_once('#')
        && !package.is_empty()
        && !name.is_empty()
    {
        return Err(Error::not_found(format!("Unknown package profile: {profile}")));
    }
    let Some(known) = crate::SYSTEM_PROFILES.iter().find(|known| known.id == profile) else {
        let why = format!("Invalid process profile: {profile}");
        return Err(Error::bad_argument("proc.spawn", "profile", &why));
    };
    // What works unattended is never asked for approval, so an agent must not be able to choose that.
    if known.background && cx.caller.origin.is_program() {
        return Err(Error::for_people_only(&format!("starting a process of profile {profile}")));
    }
    if known.startable || (known.background && cx.caller.is_root()) {
        return Ok(());
    }
    let who = if known.background { "the scheduler and root start" } else { "packages start" };
    Err(Error::forbidden(format!("Permission denied: only {who} processes of profile {profile}")))
}

/// The process to start it under.
async fn parent(cx: &Cx, named: Option<&Pid>) -> Result<Option<ProcessRow>, Error> {
    let Some(pid) = named else {
        return cx
            .area
            .gateway
            .store()
            .processes()
            .by_id(&init_pid(cx.caller.uid()))
            .await
            .map_err(Error::from);
    };
    let found = cx.area.gateway.store().processes().by_id(pid).await?;
    match found {
        Some(row) if row.uid == cx.caller.uid() || cx.caller.is_root() => Ok(Some(row)),
        None if cx.caller.is_root() => Err(unknown(pid)),
        _ => Err(Error::forbidden(format!("Cannot spawn under foreign process: {pid}"))),
    }
}

/// The new process's row, or why there can be none.
async fn plan(
    cx: &Cx,
    args: &Spawn,
    profile: &str,
    parent: Option<ProcessRow>,
    context_files: String,
) -> Result<Result<ProcessRow, String>, Error> {
    if let Err(why) = place::check_mounts(args.mounts.as_deref().unwrap_or_default()) {
        return Ok(Err(why));
    }
    // A process under another one acts as the same user.
    let who = identity(cx, parent.as_ref().map(|parent| parent.uid)).await?;
    check_run_as(args, &who)?;
    check_count(cx, who.uid).await?;
    let label = args.label.as_deref().map(label).filter(|label| !label.is_empty());
    // Last of all: killed right now, the gateway leaves an empty workspace, which is listed and can be archived.
    let place = match place::place(cx, args, &who, parent.as_ref(), label.as_deref()).await? {
        Ok(place) => place,
        Err(why) => return Ok(Err(why)),
    };
    let fresh = cx.area.new_row(Pid(cx.area.gateway.random().uuid()), &who, profile, label);
    Ok(Ok(ProcessRow {
        parent_pid: parent.as_ref().map(|parent| parent.pid.clone()),
        cwd: place.cwd.unwrap_or(fresh.cwd),
        workspace_id: place.workspace_id,
        context_files,
        ..fresh
    }))
}

async fn identity(cx: &Cx, uid: Option<Uid>) -> Result<ProcessIdentity, Error> {
    match uid {
        Some(uid) if uid != cx.caller.uid() => Ok(cx.area.gateway.account(uid).await?.identity()),
        _ => Ok(ProcessIdentity::clone(&cx.caller.identity)),
    }
}

/// Who asks for another user than the process would act as is refused: it would act with the wrong rights.
fn check_run_as(args: &Spawn, who: &ProcessIdentity) -> Result<(), Error> {
    let Some(named) = args.run_as.as_deref().map(str::trim) else { return Ok(()) };
    if named == who.username || named == who.uid.to_string() {
        return Ok(());
    }
    let why = format!(
        "a process acts as the user of its parent, here {}, and never as another; leave it out",
        who.username
    );
    Err(Error::bad_argument("proc.spawn", "runAs", &why))
}

/// Whether the user may have one more.
async fn check_count(cx: &Cx, uid: Uid) -> Result<(), Error> {
    let most = cx.area.gateway.store().config().setting(PROCESS_MAX_PER_USER).await?;
    if most == 0 || cx.area.gateway.store().processes().alive(uid).await? < most {
        return Ok(());
    }
    let key = PROCESS_MAX_PER_USER.name();
    let why = format!("{most} processes is the most a user may have ({key}); kill one first");
    Err(Error::too_busy(&why))
}

/// What it is told when it starts, as its row keeps it.
fn context_files(assignment: Option<&Assignment>) -> Result<String, Error> {
    let files = assignment.map(|assignment| assignment.context_files.as_slice()).unwrap_or_default();
    let field = |index: usize| format!("assignment.contextFiles[{index}].name");
    for (index, file) in files.iter().enumerate() {
        let name = file.name.trim();
        if name.is_empty()
            || name.chars().count() > limits::config::LABEL_MAX_CHARS
            || name.chars().any(char::is_control)
        {
            let why = format!("must be 1 to {} characters on one line", limits::config::LABEL_MAX_CHARS);
            return Err(Error::bad_argument("proc.spawn", &field(index), &why));
        }
    }
    let bytes: usize = files.iter().map(|file| file.name.len() + file.text.len()).sum();
    if bytes > limits::process::CONTEXT_MAX_BYTES {
        let most = limits::process::CONTEXT_MAX_BYTES;
        let why = format!("proc.spawn: assignment.contextFiles: at most {most} bytes all together");
        return Err(Error::new(413, why));
    }
    Ok(protocol::frame::to_json(&files))
}

/// A note for people, fit to be shown on one line.
fn label(text: &str) -> String {
    let printable = text.trim().chars().filter(|c| !c.is_control());
    printable.take(limits::config::LABEL_MAX_CHARS).collect()
}

/// Its first message, or a run without one.
async fn set_off(cx: &Cx, pid: &Pid, args: &Spawn) -> Result<(), Error> {
    let host = &cx.area.host;
    if let Some(prompt) = args.prompt.as_ref().filter(|prompt| !prompt.trim().is_empty()) {
        let first =
            Send { pid: Some(pid.clone()), conversation_id: None, message: prompt.clone(), media: None };
        let sent = host.send(pid, first, super::origin(cx), None).await?;
        return sent.into_result().map(drop).map_err(Error::conflict);
    }
    if args.assignment.as_ref().is_some_and(|assignment| assignment.auto_start == Some(true)) {
        host.autostart(pid, "assignment.autostart", !cx.caller.origin.is_program()).await?;
    }
    Ok(())
}
