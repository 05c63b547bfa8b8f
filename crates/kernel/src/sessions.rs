//! Shell sessions: the gateway's ids for them, and which device runs which of whom.

use std::borrow::Cow;
use std::sync::Arc;

use base::limits;
use protocol::args::{Members, push_string};
use protocol::error::Error;
use protocol::frame;
use protocol::ids::{DeviceId, SessionId, Uid};
use protocol::shell::{ExecResult, Status};
use protocol::signal::ExecStatus;
use store::Store;
use store::sessions::ShellSession;

use crate::Kernel;
use crate::caller::{Caller, Relayed, Ticket};
use crate::connections::{Connection, Slot};
use crate::dispatch::NATIVE;
use crate::routes::{self, Departure, Leg, Letter, Route};

/// What the kernel must know to treat the answer to a `shell.exec`.
pub(crate) struct ShellLeg {
    /// Who asked.
    pub(crate) uid: Uid,
    /// The session it goes on with.
    pub(crate) session_id: Option<SessionId>,
    /// Whether the session's row is old enough to be written again for the sake of its expiry.
    pub(crate) is_stale: bool,
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
        Ok((session, _)) if session.device_id.0 == NATIVE => {
            let text = over(&kernel, session).map(|result| ticket.head() + &frame::to_json(&result));
            ticket.answer(text);
        }
        Ok((session, letter)) => {
            let device_id = session.device_id;
            let is_stale = kernel.clock.now_ms() - session.updated_at > RENEW_MS;
            match kernel.devices.driver_for(&device_id, ticket.call, &caller.identity) {
                Err(error) => ticket.fail(error),
                Ok(driver) => {
                    let (uid, origin) = (caller.uid(), caller.origin);
                    let leg = Leg::Shell(ShellLeg { uid, session_id: Some(session_id), is_stale });
                    let departure = Departure { ticket, origin, uid, device_id, letter, leg };
                    routes::open(&kernel, &driver, departure);
                }
            }
        }
    }
}

/// A command of the native shell that is not known any more: it ended with an earlier gateway, or long ago.
fn over(kernel: &Kernel, session: ShellSession) -> Result<ExecResult, Error> {
    // Whatever it came to, its output went with the gateway that ran it.
    let is_of_an_earlier_gateway = session.updated_at <= kernel.started_at;
    let error = match session.error {
        Some(error) => error,
        None if is_of_an_earlier_gateway => RESTARTED.to_string(),
        None => return Err(Error::unknown_session(&session.session_id.0)),
    };
    Ok(ExecResult {
        ok: true,
        status: Status::Failed,
        output: String::new(),
        error: Some(error),
        exit_code: session.exit_code,
        session_id: Some(session.session_id.0),
        truncated: Some(false),
        stdout: None,
        stderr: None,
        tail: None,
        cwd: None,
        pid: None,
        started_at: Some(session.created_at),
        ended_at: Some(session.updated_at),
        duration_ms: None,
        signal: None,
        timed_out: None,
    })
}

/// What is said of a command that an earlier gateway ran.
const RESTARTED: &str = "Command ended: the gateway was restarted";

/// Marks the commands that an earlier gateway ran: they have ended with it.
pub(crate) async fn end_native(store: &Store, now_ms: i64) -> Result<(), store::Error> {
    let of_native =
        |session: &ShellSession| session.device_id.0 == NATIVE && session.status == Status::Running;
    for session in store.sessions(None, now_ms).await?.into_iter().filter(of_native) {
        let (id, expires_at) = (&session.device_session_id, session.expires_at);
        let error = Some(RESTARTED);
        store.session_update(&session.device_id, id, Status::Failed, None, error, now_ms, expires_at).await?;
    }
    Ok(())
}

/// Writes down how a command of the native shell ended.
pub(crate) fn note_native(kernel: &Arc<Kernel>, id: &str, status: Status, exit_code: Option<i32>) {
    let event = Event { device_session: id.to_string(), status, exit_code };
    note(kernel, DeviceId(NATIVE.to_string()), event, None);
}

/// A session's row is renewed when it has not been for so long.
const RENEW_MS: i64 = limits::SHELL_SESSION_MS / 24;
/// Longest id that a device may give a session.
const DEVICE_SESSION_BYTES_MAX: usize = 512;

async fn find(
    kernel: &Kernel,
    caller: &Caller,
    session_id: &SessionId,
    args: &str,
) -> Result<(ShellSession, Letter), Error> {
    let unknown = || Error::unknown_session(&session_id.0);
    let bad = || Error::bad_argument("shell.exec", "args", "could not be decoded");
    let row = kernel.store.session(session_id, kernel.clock.now_ms()).await.map_err(crate::store_error)?;
    let session = row.filter(|session| session.uid == caller.uid()).ok_or_else(unknown)?;
    let members = Members::parse(args).ok_or_else(bad)?;
    let target = members.text("target").filter(|target| !target.is_empty());
    if target.is_some_and(|target| target != session.device_id.0) {
        return Err(Error::session_target_mismatch());
    }
    let device_session = quoted(&session.device_session_id);
    let letter = Letter::new(kernel, "shell.exec", &members, &["target"], &[("sessionId", &device_session)]);
    Ok((session, letter))
}

/// A device answered a `shell.exec`.
pub(crate) fn answered(kernel: &Arc<Kernel>, route: Route, data: Relayed<'_>) {
    let Some(leg) = route.shell_leg() else { return };
    let Some(members) = data.text.and_then(Members::parse) else {
        return routes::finish(kernel, route, Ok(data));
    };
    let usable = |id: &Cow<'_, str>| !id.is_empty() && id.len() <= DEVICE_SESSION_BYTES_MAX;
    let Some(device_session) = members.text("sessionId").filter(usable) else {
        return routes::finish(kernel, route, Ok(data));
    };
    let status = match members.text("status").as_deref() {
        Some("completed") => Status::Completed,
        Some("failed") => Status::Failed,
        _ => Status::Running,
    };
    match (&leg.session_id, status) {
        (Some(session_id), _) => {
            if status != Status::Running || leg.is_stale {
                let exit_code = members.get("exitCode").and_then(|raw| raw.parse().ok());
                let event = Event { device_session: device_session.into_owned(), status, exit_code };
                note(kernel, route.device_id().clone(), event, None);
            }
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

/// A driver tells how a command stands. The device still has the last output, so the next poll goes there.
pub(crate) fn told(kernel: &Arc<Kernel>, driver: &Arc<Connection>, device_id: &DeviceId, told: ExecStatus) {
    let status = match told.event.as_str() {
        "finished" => Status::Completed,
        "failed" | "timed_out" => Status::Failed,
        _ => return,
    };
    let event = Event { device_session: told.session_id, status, exit_code: told.exit_code };
    note(kernel, device_id.clone(), event, Some(Slot::take(driver)));
}

/// How a session stands now.
struct Event {
    device_session: String,
    status: Status,
    exit_code: Option<i32>,
}

/// Writes it down. A driver that tells more than can be written holds slots, and is not read further.
fn note(kernel: &Arc<Kernel>, device_id: DeviceId, event: Event, slot: Option<Slot>) {
    let kernel = kernel.clone();
    crate::tasks::run(async move {
        let now_ms = kernel.clock.now_ms();
        let expires_at = now_ms + limits::SHELL_SESSION_MS;
        let Event { device_session, status, exit_code } = event;
        let noted = kernel
            .store
            .session_update(&device_id, &device_session, status, exit_code, None, now_ms, expires_at)
            .await;
        if let Err(error) = noted {
            tracing::warn!(%device_id, %error, "a shell session could not be updated");
        }
        drop(slot);
    });
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}
