//! Shell sessions: which device runs which command of whom.

use protocol::ids::{DeviceId, SessionId, Uid};
use protocol::shell::Status;

use crate::{Result, Store};

/// A shell session.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellSession {
    /// The gateway's id, `sh_…`.
    pub session_id: SessionId,
    /// Who started it.
    pub uid: Uid,
    /// Where it runs.
    pub device_id: DeviceId,
    /// The device's own id for it.
    pub device_session_id: String,
    /// How it stands, as far as the gateway knows.
    pub status: Status,
    /// Exit code.
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

impl Store {
    /// Keeps a new session.
    pub async fn session_create(&self, _session: ShellSession) -> Result<()> {
        unimplemented!()
    }

    /// A session that has not expired.
    pub async fn session(&self, _session_id: &SessionId, _now_ms: i64) -> Result<Option<ShellSession>> {
        unimplemented!()
    }

    /// Notes how it stands. An exit code or error noted before is kept when the new one is absent.
    pub async fn session_update(
        &self,
        _device_id: &DeviceId,
        _device_session_id: &str,
        _status: Status,
        _exit_code: Option<i32>,
        _error: Option<&str>,
        _now_ms: i64,
        _expires_at: i64,
    ) -> Result<bool> {
        unimplemented!()
    }

    /// Removes expired sessions; returns how many.
    pub async fn sessions_prune(&self, _now_ms: i64) -> Result<u64> {
        unimplemented!()
    }
}
