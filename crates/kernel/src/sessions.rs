//! Shell sessions: the gateway's ids for them, and which device runs which of whom.

use std::sync::Arc;

use base::limits;
use protocol::args::{Members, push_string};
use protocol::error::Error;
use protocol::ids::{DeviceId, SessionId, Uid};
use protocol::shell::{ExecResult, Status};
use protocol::signal::ExecStatus;
use store::sessions::ShellSession;

use crate::Kernel;
use crate::caller::{Caller, Relayed, Ticket};
use crate::routes::{self, Departure, Leg, Route};

/// What the kernel must know to treat the answer to a `shell.exec`.
pub(crate) struct ShellLeg {
    /// Who asked.
    pub(crate) uid: Uid,
    /// The session it goes on with.
    pub(crate) session_id: Option<SessionId>,
}

impl ShellLeg {
    /// A device speaks of its own session id; the caller knows another.
    pub(crate) fn rename_error(&self, error: Error) -> Error {
        match &self.session_id {
            Some(session_id) if error.code == 404 => Error::unknown_session(&session_id.0),
            _ => error,
        }
    }
}

/// Sends a continuation to the device that owns the session.
pub(crate) async fn resume(
    kernel: Arc<Kernel>,
    caller: Caller,
    ticket: Ticket,
    session_id: SessionId,
    args: String,
) {
    match find(&kernel, &caller, &session_id, &args).await {
        Err(error) => ticket.fail(error),
        Ok(Found::Ended(result)) => {
            let text = ticket.head() + &protocol::frame::to_json(&result);
            ticket.answer(Ok(text));
        }
        Ok(Found::Device(device_id, args)) => {
            match kernel.devices.driver_for(&device_id, ticket.call, &caller.identity) {
                Err(error) => ticket.fail(error),
                Ok(driver) => {
                    let leg = Leg::Shell(ShellLeg { uid: caller.uid(), session_id: Some(session_id) });
                    let departure = Departure { ticket, origin: caller.origin, device_id, args, leg };
                    routes::open(&kernel, &driver, departure);
                }
            }
        }
    }
}

enum Found {
    /// It failed before, and why is known.
    Ended(ExecResult),
    /// Ask this device, with these arguments.
    Device(DeviceId, String),
}

async fn find(kernel: &Kernel, caller: &Caller, session_id: &SessionId, args: &str) -> Result<Found, Error> {
    let unknown = || Error::unknown_session(&session_id.0);
    let row = kernel.store.session(session_id, kernel.clock.now_ms()).await.map_err(crate::store_error)?;
    let session = row.filter(|session| session.uid == caller.uid()).ok_or_else(unknown)?;
    let bad = || Error::bad_argument("shell.exec", "args", "could not be decoded");
    let members = Members::parse(args).ok_or_else(bad)?;
    if members.text("target").is_some_and(|target| target != session.device_id.0) {
        return Err(Error::session_target_mismatch());
    }
    if session.status == Status::Failed
        && let Some(error) = session.error.clone()
    {
        let device = kernel.devices.visible(&session.device_id, &caller.identity);
        device.ok_or_else(|| Error::device_access_denied(&session.device_id.0))?;
        return Ok(Found::Ended(ended(&session, error)));
    }
    let device_session = quoted(&session.device_session_id);
    let args = members.rewrite(&["target"], &[("sessionId", &device_session)]);
    Ok(Found::Device(session.device_id, args))
}

fn ended(session: &ShellSession, error: String) -> ExecResult {
    ExecResult {
        ok: true,
        status: Status::Failed,
        output: String::new(),
        error: Some(error),
        exit_code: session.exit_code,
        session_id: Some(session.session_id.0.clone()),
        truncated: None,
        stdout: None,
        stderr: None,
        tail: None,
        cwd: None,
        pid: None,
        started_at: None,
        ended_at: None,
        duration_ms: None,
        signal: None,
        timed_out: None,
    }
}

/// A device answered a `shell.exec`.
pub(crate) fn answered(kernel: &Arc<Kernel>, route: Route, data: Relayed<'_>) {
    let Some(leg) = route.shell_leg() else { return };
    let Some(members) = data.text.and_then(Members::parse) else {
        return routes::finish(kernel, route, Ok(data));
    };
    let Some(device_session) = members.text("sessionId").filter(|id| !id.is_empty()) else {
        return routes::finish(kernel, route, Ok(data));
    };
    let status = match members.text("status").as_deref() {
        Some("completed") => Status::Completed,
        Some("failed") => Status::Failed,
        _ => Status::Running,
    };
    match (&leg.session_id, status) {
        (Some(session_id), _) => {
            let exit_code = members.get("exitCode").and_then(|raw| raw.parse().ok());
            note(kernel, route.device_id().clone(), device_session.into_owned(), status, exit_code, None);
            let renamed = members.rewrite(&[], &[("sessionId", &quoted(&session_id.0))]);
            routes::finish(kernel, route, Ok(Relayed::rewritten(&renamed)));
        }
        // The device forgets a session with its last answer; an id would lead nowhere.
        (None, Status::Completed | Status::Failed) => {
            let without = members.rewrite(&["sessionId"], &[]);
            routes::finish(kernel, route, Ok(Relayed::rewritten(&without)));
        }
        (None, Status::Running) => {
            let session_id = SessionId(base::random::tagged("sh_"));
            let renamed = members.rewrite(&[], &[("sessionId", &quoted(&session_id.0))]);
            let session = begin(kernel, &route, leg.uid, session_id, device_session.into_owned());
            let kernel = kernel.clone();
            crate::tasks::run(async move {
                // The caller learns the id only once it would survive a crash.
                match kernel.store.session_create(session).await {
                    Ok(()) => routes::finish(&kernel, route, Ok(Relayed::rewritten(&renamed))),
                    Err(error) => routes::finish(&kernel, route, Err(crate::store_error(error))),
                }
            });
        }
    }
}

fn begin(
    kernel: &Kernel,
    route: &Route,
    uid: Uid,
    session_id: SessionId,
    device_session_id: String,
) -> ShellSession {
    let now_ms = kernel.clock.now_ms();
    ShellSession {
        session_id,
        uid,
        device_id: route.device_id().clone(),
        device_session_id,
        status: Status::Running,
        exit_code: None,
        error: None,
        created_at: now_ms,
        updated_at: now_ms,
        expires_at: now_ms + limits::SHELL_SESSION_MS,
    }
}

/// A driver tells how a command stands.
pub(crate) fn told(kernel: &Arc<Kernel>, device_id: &DeviceId, event: ExecStatus) {
    let (status, error) = match event.event.as_str() {
        "finished" => (Status::Completed, None),
        // The device still has the last output, so the next poll must reach it: no error is noted here.
        "failed" | "timed_out" => (Status::Failed, None),
        _ => (Status::Running, None),
    };
    note(kernel, device_id.clone(), event.session_id, status, event.exit_code, error);
}

fn note(
    kernel: &Arc<Kernel>,
    device_id: DeviceId,
    device_session_id: String,
    status: Status,
    exit_code: Option<i32>,
    error: Option<String>,
) {
    let kernel = kernel.clone();
    crate::tasks::run(async move {
        let now_ms = kernel.clock.now_ms();
        let expires_at = now_ms + limits::SHELL_SESSION_MS;
        let error = error.as_deref();
        let noted = kernel
            .store
            .session_update(&device_id, &device_session_id, status, exit_code, error, now_ms, expires_at)
            .await;
        if let Err(error) = noted {
            tracing::warn!(%device_id, %error, "a shell session could not be updated");
        }
    });
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}
