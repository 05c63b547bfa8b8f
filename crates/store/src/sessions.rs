//! Session registry with expiry: which device runs which shell command of whom.

use protocol::confine::Way;
use protocol::ids::{DeviceId, Pid, SessionId, Uid};
use protocol::shell::Status;

use crate::sql::{Batch, Row, Statement, unexpected};
use crate::{Result, Store};

/// Row of a shell session.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellSession {
    /// The gateway's id, `sh_…`.
    pub session_id: SessionId,
    /// Who started it.
    pub uid: Uid,
    /// The process that did so for them; none when they did it themselves.
    pub pid: Option<Pid>,
    /// How that process was allowed to start it, where that is known.
    pub way: Option<Way>,
    /// Where it runs.
    pub device_id: DeviceId,
    /// The device's own id for it.
    pub device_session_id: String,
    /// How it stands, as far as the gateway knows.
    pub status: Status,
    pub exit_code: Option<i32>,
    /// Why it failed.
    pub error: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds.
    pub updated_at: i64,
    /// Forgotten from then on.
    pub expires_at: i64,
}

/// Shell sessions. See [`Store::sessions`].
#[derive(Clone, Copy)]
pub struct Sessions<'a>(pub(crate) &'a Store);

impl Store {
    /// Shell sessions.
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(self)
    }
}

impl Sessions<'_> {
    /// Keeps a new session. One the same device used that id for before is forgotten: it is over, and whoever
    /// started it must not reach the new one.
    pub async fn create(self, session: ShellSession) -> Result<()> {
        let forget = Statement::new(
            "DELETE FROM shell_sessions WHERE device_id = $1 AND device_session_id = $2 AND session_id <> $3",
        )
        .bind(&session.device_id)
        .bind(session.device_session_id.as_str())
        .bind(&session.session_id);
        let keep = Statement::new(
            "INSERT INTO shell_sessions (session_id, uid, device_id, device_session_id, status, exit_code, \
             error, created_at, updated_at, expires_at, pid, way) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(&session.session_id)
        .bind(session.uid)
        .bind(&session.device_id)
        .bind(session.device_session_id.as_str())
        .bind(status_name(session.status))
        .bind(session.exit_code)
        .bind(session.error)
        .bind(session.created_at)
        .bind(session.updated_at)
        .bind(session.expires_at)
        .bind(session.pid.as_ref().map(Pid::as_str))
        .bind(session.way.map(way_name));
        let written = self.0.write(Batch::new().step(forget).step(keep)).await;
        written.map(|_| ()).map_err(|error| error.named(session.session_id.as_str()))
    }

    /// A session that has not expired.
    pub async fn by_id(self, session_id: &SessionId, now_ms: i64) -> Result<Option<ShellSession>> {
        let statement = Statement::new(
            "SELECT session_id, uid, device_id, device_session_id, status, exit_code, error, created_at, \
             updated_at, expires_at, pid, way FROM shell_sessions WHERE session_id = $1 AND expires_at > $2",
        );
        self.0.read(statement.bind(session_id).bind(now_ms)).await?.pop().map(session_from).transpose()
    }

    /// Those of a user, or of everybody, that have not expired, by id.
    pub async fn of(self, of: Option<Uid>, now_ms: i64) -> Result<Vec<ShellSession>> {
        // Everybody's is a range of uids, so that one text serves both.
        let (from, to) = of.map_or((Uid(0), Uid(u32::MAX)), |uid| (uid, uid));
        let statement = Statement::new(
            "SELECT session_id, uid, device_id, device_session_id, status, exit_code, error, created_at, \
             updated_at, expires_at, pid, way FROM shell_sessions WHERE uid >= $1 AND uid <= $2 AND expires_at > $3 \
             ORDER BY session_id",
        );
        self.0.read(statement.bind(from).bind(to).bind(now_ms)).await?.into_iter().map(session_from).collect()
    }

    /// Notes how it stands. An exit code or error noted before is kept when the new one is absent. False when
    /// there is no such session.
    #[allow(clippy::too_many_arguments, reason = "each is one column of the row")]
    pub async fn update(
        self,
        device_id: &DeviceId,
        device_session_id: &str,
        status: Status,
        exit_code: Option<i32>,
        error: Option<&str>,
        now_ms: i64,
        expires_at: i64,
    ) -> Result<bool> {
        let statement = Statement::new(
            "UPDATE shell_sessions SET status = $3, exit_code = COALESCE($4, exit_code), \
             error = COALESCE($5, error), updated_at = $6, expires_at = $7 \
             WHERE device_id = $1 AND device_session_id = $2 RETURNING session_id",
        )
        .bind(device_id)
        .bind(device_session_id)
        .bind(status_name(status))
        .bind(exit_code)
        .bind(error)
        .bind(now_ms)
        .bind(expires_at);
        Ok(!self.0.change(statement).await?.is_empty())
    }

    /// Removes expired sessions; returns how many.
    pub async fn prune(self, now_ms: i64) -> Result<u64> {
        let statement =
            Statement::new("DELETE FROM shell_sessions WHERE expires_at <= $1 RETURNING session_id");
        Ok(self.0.change(statement.bind(now_ms)).await?.len() as u64)
    }
}

fn session_from(mut row: Row) -> Result<ShellSession> {
    Ok(ShellSession {
        session_id: SessionId(row.text()?),
        uid: row.uid()?,
        device_id: DeviceId(row.text()?),
        device_session_id: row.text()?,
        status: status_from(&row.text()?)?,
        exit_code: row.i32_or_null()?,
        error: row.text_or_null()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        expires_at: row.int()?,
        pid: row.text_or_null()?.map(Pid),
        way: row.text_or_null()?.as_deref().map(way_from).transpose()?,
    })
}

fn way_name(way: Way) -> &'static str {
    match way {
        Way::Proved => "proved",
        Way::Confined => "confined",
        Way::Approved => "approved",
    }
}

fn way_from(name: &str) -> Result<Way> {
    match name {
        "proved" => Ok(Way::Proved),
        "confined" => Ok(Way::Confined),
        "approved" => Ok(Way::Approved),
        other => Err(unexpected("a way", other)),
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Running => "running",
        Status::Failed => "failed",
    }
}

fn status_from(name: &str) -> Result<Status> {
    match name {
        "completed" => Ok(Status::Completed),
        "running" => Ok(Status::Running),
        "failed" => Ok(Status::Failed),
        other => Err(unexpected("a status", other)),
    }
}
