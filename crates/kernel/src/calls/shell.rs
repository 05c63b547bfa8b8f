//! `shell.exec` on the native target.

use std::sync::Arc;

use base::limits;
use futures_util::future;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{DeviceId, SessionId, Uid};
use protocol::shell::{Exec, ExecResult, Status};
use protocol::signal::ExecStatus;
use shell::Order;
use store::sessions::ShellSession;

use super::Cx;
use crate::caller::Origin;
use crate::dispatch::NATIVE;
use crate::{Kernel, native, sessions, store_error};

/// `shell.exec`: starts a command, or goes on with one that runs here.
pub(crate) async fn exec(cx: Cx, args: Exec) -> Result<ExecResult, Error> {
    match args.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
        None => start(cx, args).await,
        Some(id) => {
            let id = id.to_string();
            let is_gone = || match &cx.caller.origin {
                Origin::Connection(connection) => connection.outbox.is_sealed(),
                Origin::Process(_) | Origin::Inside => false,
            };
            let gone_on = cx.kernel.shells.go_on(cx.caller.uid(), &id, &args, is_gone).await;
            gone_on.ok_or_else(|| Error::unknown_session(&id))?
        }
    }
}

async fn start(cx: Cx, args: Exec) -> Result<ExecResult, Error> {
    let kernel = &cx.kernel;
    let who = located(&cx, args.cwd.as_deref())?;
    let pid = match &cx.caller.origin {
        Origin::Process(pid) => Some(pid.0.clone()),
        Origin::Connection(_) | Origin::Inside => None,
    };
    // The kernel keeps the session, so the session must not keep the kernel.
    let teller = Arc::downgrade(kernel);
    let order = Order {
        view: native::view_at(kernel, &cx.caller, who),
        calls: native::calls(kernel, &cx.caller),
        settings: kernel.settings.shell(&kernel.version, pid),
        tell: Arc::new(move |status| {
            if let Some(kernel) = teller.upgrade() {
                told(&kernel, status);
            }
        }),
    };
    // The first is polled first: the command is among those that end before it is asked whether it should.
    let started = future::join(kernel.shells.start(order, &args), look_again(&cx));
    let result = started.await.0?;
    if let (Status::Running, Some(id)) = (result.status, &result.session_id) {
        // The caller learns the id only once it would survive a crash.
        if let Err(error) = kernel.store.session_create(row(kernel, cx.caller.uid(), id)).await {
            // Nobody will ever ask for it.
            kernel.shells.end(id);
            return Err(store_error(error));
        }
        if kernel.shells.has_ended(id) {
            sessions::note_native(kernel, id, Status::Failed, None);
        }
    }
    Ok(result)
}

/// Whoever asks may have lost rights in the same moment: then the command that was just taken in ends too.
async fn look_again(cx: &Cx) {
    let Cx { kernel, caller, .. } = cx;
    let keeps_rights = match native::renewed(kernel, caller).await {
        Ok(None) => true,
        Ok(Some(now)) => {
            now.capabilities.cover("shell.exec")
                && native::keeps_rights(&caller.identity.gids, &now.identity.gids)
        }
        Err(_) => false,
    };
    if !keeps_rights && !caller.is_root() {
        kernel.shells.end_of(|uid| uid == caller.uid());
    }
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

fn row(kernel: &Kernel, uid: Uid, id: &str) -> ShellSession {
    let now_ms = kernel.clock.now_ms();
    ShellSession {
        session_id: SessionId(id.to_string()),
        uid,
        device_id: DeviceId(NATIVE.to_string()),
        device_session_id: id.to_string(),
        status: Status::Running,
        exit_code: None,
        error: None,
        created_at: now_ms,
        updated_at: now_ms,
        expires_at: now_ms + limits::SHELL_SESSION_MS,
    }
}

/// A command that callers know has started or ended.
fn told(kernel: &Arc<Kernel>, status: ExecStatus) {
    match status.event.as_str() {
        "started" => {}
        "finished" => sessions::note_native(kernel, &status.session_id, Status::Completed, status.exit_code),
        _ => sessions::note_native(kernel, &status.session_id, Status::Failed, status.exit_code),
    }
}
