//! Handler of `shell.exec` on the native target.

use std::sync::Arc;

use base::limits;
use futures_util::future;
use gateway::{Caller, Gateway};
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{DeviceId, Gid, SessionId};
use protocol::shell::{Exec, ExecResult, Status};
use protocol::signal::ExecStatus;
use store::sessions::ShellSession;

use super::{NATIVE, ShellArea, rehearsals, sessions};
use crate::shells::Order;

type Cx = gateway::Cx<ShellArea>;

/// `shell.exec`: starts a command, or goes on with one that runs here.
pub(super) async fn exec(cx: Cx, args: Exec) -> Result<ExecResult, Error> {
    match args.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
        None => start(cx, args).await,
        Some(id) => {
            let id = id.to_string();
            let is_gone = || cx.is_abandoned();
            let gone_on =
                cx.area.shells.go_on((cx.caller.uid(), &cx.caller.origin), &id, &args, is_gone).await;
            gone_on.ok_or_else(|| Error::unknown_session(&id))?
        }
    }
}

async fn start(cx: Cx, args: Exec) -> Result<ExecResult, Error> {
    if args.rehearse.is_some() {
        return Err(rehearsals::only_on_devices());
    }
    let (area, gateway) = (&cx.area, &cx.area.gateway);
    let who = located(&cx, args.cwd.as_deref())?;
    // The area keeps the session, so the session must not keep the area.
    let teller = Arc::downgrade(area);
    let order = Order {
        view: gateway.view_as(&cx.caller, who),
        calls: gateway.calls(&cx.caller),
        settings: area.settings_for(&cx.caller),
        tell: Arc::new(move |status| {
            if let Some(area) = teller.upgrade() {
                told(&area, status);
            }
        }),
    };
    // The first is polled first: the command is among those that end before it is asked whether it should.
    let started = future::join(area.shells.start(order, &args), look_again(&cx));
    let result = started.await.0?;
    if let (Status::Running, Some(id)) = (result.status, &result.session_id) {
        // The caller learns the id only once it would survive a crash.
        if let Err(error) = gateway.store().sessions().create(row(gateway, &cx.caller, id)).await {
            // Nobody will ever ask for it.
            area.shells.end(id);
            return Err(error.into());
        }
        if area.shells.has_ended(id) {
            sessions::note_native(area, id, Status::Failed, None);
        }
    }
    Ok(result)
}

/// Whoever asks may have lost rights in the same moment: then the command that was just taken in ends too.
async fn look_again(cx: &Cx) {
    let caller = &cx.caller;
    let keeps_rights = match cx.area.gateway.renewed(caller).await {
        Ok(None) => true,
        Ok(Some(now)) => {
            now.capabilities.cover("shell.exec") && keeps_groups(&caller.identity.gids, &now.identity.gids)
        }
        Err(_) => false,
    };
    if !keeps_rights && !caller.is_root() {
        cx.area.shells.end_of(|uid| uid == caller.uid());
    }
}

/// Whether an account that was in some groups has left none of them.
fn keeps_groups(before: &[Gid], now: &[Gid]) -> bool {
    before.iter().all(|gid| now.contains(gid))
}

/// The caller at the directory the command is to start in.
fn located(cx: &Cx, cwd: Option<&str>) -> Result<Arc<ProcessIdentity>, Error> {
    let who = &cx.caller.identity;
    let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) else { return Ok(who.clone()) };
    let path = vfs::VPath::resolve(cwd, &who.home, &who.cwd).map_err(|fault| {
        let why = fault.note.clone().unwrap_or_else(|| fault.code.words().to_string());
        Error::bad_argument("shell.exec", "cwd", &why)
    })?;
    Ok(Arc::new(ProcessIdentity { cwd: path.to_string(), ..ProcessIdentity::clone(who) }))
}

fn row(gateway: &Gateway, caller: &Caller, id: &str) -> ShellSession {
    let now_ms = gateway.now_ms();
    ShellSession {
        session_id: SessionId(id.to_string()),
        uid: caller.uid(),
        pid: caller.origin.pid().cloned(),
        way: None,
        device_id: DeviceId(NATIVE.to_string()),
        device_session_id: id.to_string(),
        status: Status::Running,
        exit_code: None,
        error: None,
        created_at: now_ms,
        updated_at: now_ms,
        expires_at: now_ms + limits::route::SHELL_SESSION_MS,
    }
}

/// A command that callers know has started or ended.
fn told(area: &Arc<ShellArea>, status: ExecStatus) {
    match status.event.as_str() {
        "started" => {}
        "finished" => sessions::note_native(area, &status.session_id, Status::Completed, status.exit_code),
        _ => sessions::note_native(area, &status.session_id, Status::Failed, status.exit_code),
    }
}
