//! Session registry of the gateway: its ids for commands that go on, and which device runs which of whom.

use std::borrow::Cow;
use std::sync::Arc;

use base::limits;
use gateway::{Caller, Continued, Gateway, Later, Located, Permit, Reply, Rewrite, Watch};
use protocol::args::{Members, push_string};
use protocol::confine::Way;
use protocol::error::Error;
use protocol::frame;
use protocol::ids::{DeviceId, Pid, SessionId, Uid};
use protocol::shell::{ExecResult, Status};
use protocol::signal::ExecStatus;
use store::Store;
use store::sessions::ShellSession;

use super::{NATIVE, ShellArea};

/// Where a `shell.exec` goes: a session knows its target.
pub(super) fn locate(area: Arc<ShellArea>, caller: &Caller, args: &Members<'_>) -> Result<Located, Error> {
    let session_id = args.text("sessionId").filter(|id| !id.trim().is_empty());
    let Some(session_id) = session_id.map(|id| SessionId(id.trim().to_string())) else {
        return Ok(Located::ByTarget);
    };
    let target = args.text("target").filter(|target| !target.is_empty()).map(Cow::into_owned);
    if area.shells.knows((caller.uid(), &caller.origin), &session_id.0) {
        if target.is_some_and(|target| target != NATIVE) {
            return Err(Error::session_target_mismatch());
        }
        return Ok(Located::Here(args.rewrite(&["target"], &[])));
    }
    Ok(Located::Later(Box::pin(continued(area, caller.clone(), session_id, target))))
}

/// The device that owns the session, as a row of the store says.
async fn continued(
    area: Arc<ShellArea>,
    caller: Caller,
    session_id: SessionId,
    target: Option<String>,
) -> Result<Continued, Error> {
    let (store, now_ms) = (area.gateway.store(), area.gateway.now_ms());
    let row = store.sessions().by_id(&session_id, now_ms).await?;
    let is_theirs = |session: &ShellSession| {
        session.uid == caller.uid() && caller.origin.may_continue(session.pid.as_ref())
    };
    let session = row.filter(is_theirs);
    let session = session.ok_or_else(|| Error::unknown_session(&session_id.0))?;
    if target.is_some_and(|target| !session.device_id.is_named(&target)) {
        return Err(Error::session_target_mismatch());
    }
    if session.device_id.0 == NATIVE {
        return over(&area.gateway, session).map(|result| Continued::Over(frame::to_json(&result)));
    }
    let is_stale = now_ms - session.updated_at > RENEW_MS;
    let device_id = session.device_id.clone();
    let (uid, pid, way) = (session.uid, session.pid, session.way);
    let watch = SessionWatch { area, uid, pid, way, device_id, session_id: Some(session_id), is_stale };
    let rewrite = Rewrite {
        drop: &["target"],
        set: vec![("sessionId", quoted(&session.device_session_id))],
        watch: Some(Box::new(watch)),
    };
    Ok(Continued::On(session.device_id, rewrite))
}

/// A `shell.exec` that begins a command on a device.
pub(super) fn watched(area: Arc<ShellArea>, caller: &Caller, device_id: DeviceId) -> Rewrite {
    let (uid, pid) = (caller.uid(), caller.origin.pid().cloned());
    // What carries no permit of a run is confined, and nobody knows what types into it.
    let way = caller.permit.as_deref().filter(|_| pid.is_some()).map(Permit::session_way);
    let watch = SessionWatch { area, uid, pid, way, device_id, session_id: None, is_stale: false };
    Rewrite { drop: &["target", "sessionId"], set: Vec::new(), watch: Some(Box::new(watch)) }
}

/// Exchanges the device's session id in the answer to a `shell.exec` for the gateway's, and records how the session
/// stands.
struct SessionWatch {
    area: Arc<ShellArea>,
    /// Who asked.
    uid: Uid,
    /// The process that did so for them.
    pid: Option<Pid>,
    /// How that process was allowed to.
    way: Option<Way>,
    device_id: DeviceId,
    /// The session it goes on with.
    session_id: Option<SessionId>,
    /// Whether the session's row is old enough to be written again for the sake of its expiry.
    is_stale: bool,
}

/// A command of the native shell that is not known any more: it ended with an earlier gateway, or long ago.
fn over(gateway: &Gateway, session: ShellSession) -> Result<ExecResult, Error> {
    // Whatever it came to, its output went with the gateway that ran it.
    let is_of_an_earlier_gateway = session.updated_at <= gateway.started_at();
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
        rehearsal: None,
        refused_hosts: None,
    })
}

/// What is said of a command that an earlier gateway ran.
const RESTARTED: &str = "Command ended: the gateway was restarted";

/// Marks the commands that an earlier gateway ran: they have ended with it.
pub(super) async fn end_native(store: &Store, now_ms: i64) -> Result<(), store::Error> {
    let of_native =
        |session: &ShellSession| session.device_id.0 == NATIVE && session.status == Status::Running;
    for session in store.sessions().of(None, now_ms).await?.into_iter().filter(of_native) {
        let (id, expires_at) = (&session.device_session_id, session.expires_at);
        let error = Some(RESTARTED);
        store
            .sessions()
            .update(&session.device_id, id, Status::Failed, None, error, now_ms, expires_at)
            .await?;
    }
    Ok(())
}

/// Writes down how a command of the native shell ended.
pub(super) fn note_native(area: &Arc<ShellArea>, id: &str, status: Status, exit_code: Option<i32>) {
    let event = Event { device_session: id.to_string(), status, exit_code };
    tokio::spawn(note(area.clone(), DeviceId(NATIVE.to_string()), event));
}

/// A session's row is renewed when it has not been for so long.
const RENEW_MS: i64 = limits::route::SHELL_SESSION_MS / 24;
/// Longest id that a device may give a session.
const DEVICE_SESSION_BYTES_MAX: usize = 512;

impl Watch for SessionWatch {
    fn answered(self: Box<Self>, data: Option<&str>) -> Reply {
        let Some(members) = data.and_then(Members::parse) else { return Reply::Same };
        let usable = |id: &Cow<'_, str>| !id.is_empty() && id.len() <= DEVICE_SESSION_BYTES_MAX;
        let Some(device_session) = members.text("sessionId").filter(usable) else { return Reply::Same };
        let status = match members.text("status").as_deref() {
            Some("completed") => Status::Completed,
            Some("failed") => Status::Failed,
            _ => Status::Running,
        };
        match (&self.session_id, status) {
            (Some(session_id), _) => {
                let renamed = members.rewrite(&[], &[("sessionId", &quoted(&session_id.0))]);
                if status != Status::Running || self.is_stale {
                    let exit_code = members.get("exitCode").and_then(|raw| raw.parse().ok());
                    let event = Event { device_session: device_session.into_owned(), status, exit_code };
                    tokio::spawn(note(self.area.clone(), self.device_id.clone(), event));
                }
                Reply::Text(renamed)
            }
            // The device forgets a session with its last answer; an id would lead nowhere.
            (None, Status::Completed | Status::Failed) => Reply::Text(members.rewrite(&["sessionId"], &[])),
            (None, Status::Running) => {
                let session_id = SessionId(self.area.gateway.random().tagged("sh_"));
                let renamed = members.rewrite(&[], &[("sessionId", &quoted(&session_id.0))]);
                let session = self.begin(session_id, device_session.into_owned());
                Reply::Later(Box::pin(async move {
                    // The caller learns the id only once it would survive a crash.
                    self.area.gateway.store().sessions().create(session).await?;
                    Ok(renamed)
                }))
            }
        }
    }

    /// A device speaks of its own session id; the caller knows another.
    fn failed(self: Box<Self>, error: Error) -> Error {
        match &self.session_id {
            Some(session_id) if error.code == 404 => Error::unknown_session(&session_id.0),
            _ => error,
        }
    }
}

impl SessionWatch {
    fn begin(&self, session_id: SessionId, device_session_id: String) -> ShellSession {
        let now_ms = self.area.gateway.now_ms();
        ShellSession {
            session_id,
            uid: self.uid,
            pid: self.pid.clone(),
            way: self.way,
            device_id: self.device_id.clone(),
            device_session_id,
            status: Status::Running,
            exit_code: None,
            error: None,
            created_at: now_ms,
            updated_at: now_ms,
            expires_at: now_ms + limits::route::SHELL_SESSION_MS,
        }
    }
}

/// A driver tells how a command stands. The device still has the last output, so the next poll goes there.
pub(super) fn told(area: Arc<ShellArea>, device_id: &DeviceId, told: ExecStatus) -> Option<Later<()>> {
    let status = match told.event.as_str() {
        "finished" => Status::Completed,
        "failed" | "timed_out" => Status::Failed,
        _ => return None,
    };
    let event = Event { device_session: told.session_id, status, exit_code: told.exit_code };
    Some(Box::pin(note(area, device_id.clone(), event)))
}

/// How a session stands now.
struct Event {
    device_session: String,
    status: Status,
    exit_code: Option<i32>,
}

/// Writes it down.
async fn note(area: Arc<ShellArea>, device_id: DeviceId, event: Event) {
    let now_ms = area.gateway.now_ms();
    let expires_at = now_ms + limits::route::SHELL_SESSION_MS;
    let Event { device_session, status, exit_code } = event;
    let store = area.gateway.store();
    let noted = store
        .sessions()
        .update(&device_id, &device_session, status, exit_code, None, now_ms, expires_at)
        .await;
    if let Err(error) = noted {
        tracing::warn!(%device_id, %error, "a shell session could not be updated");
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}
