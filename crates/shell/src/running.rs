//! Handle of one started command: its session, its cancellation, and whether its thread has left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::ids::{Pid, Uid};
use session::Session;
use vfs::tree::SessionInfo;

use crate::cancellation::Cancellation;

/// A command that was started, and what holds it.
pub(crate) struct Running {
    pub(crate) session: Arc<Session>,
    pub(crate) cancellation: Arc<Cancellation>,
    pub(crate) uid: Uid,
    /// The process that began it; none when a person did.
    pub(crate) begun_by: Option<Pid>,
    pub(crate) input: String,
    pub(crate) wait_ms: u64,
    pub(crate) has_left: AtomicBool,
}

impl Running {
    /// Whether it keeps its thread busy although it was told to end.
    pub(crate) fn is_ending(&self) -> bool {
        !self.session.has_ended() && self.cancellation.is_overdue()
    }

    /// What the live tree shows of it while it runs.
    pub(crate) fn info(&self) -> Option<SessionInfo> {
        let Session { id, started_at, .. } = &*self.session;
        (!self.session.has_ended()).then(|| SessionInfo {
            id: id.clone(),
            uid: self.uid,
            input: self.input.clone(),
            started_at: *started_at,
        })
    }
}

/// Says, however it goes away, that a command's thread is free.
pub(crate) struct Leaving(pub(crate) Arc<Running>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.has_left.store(true, Ordering::Release);
    }
}
