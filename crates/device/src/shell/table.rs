//! Session table of this driver: how many there may be, and when they expire.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use protocol::error::Error;
use protocol::frame;
use session::Tell;
use tokio::process::Child;

use super::child::Spawner;
use super::session::{Confined, Session, Started};
use crate::confined::HelperAhead;

/// Sessions by id.
pub(crate) struct Shells {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    spawner: Spawner,
    clock: Clock,
    tell: Tell,
}

impl Shells {
    pub(crate) fn new(clock: Clock, tell: Box<dyn Fn(String) + Send + Sync>) -> Shells {
        let tell: Tell = Arc::new(move |status| tell(frame::signal("exec.status", &status)));
        Shells { sessions: Mutex::default(), spawner: Spawner::new(), clock, tell }
    }

    /// Starts a command, in the way that is given, once there is room for it.
    pub(crate) fn start(
        &self,
        start: impl FnOnce(&Spawner) -> std::io::Result<(Child, Option<Confined>)>,
        cwd: &Path,
        call_id: &str,
        time_limit: Duration,
    ) -> Result<Arc<Session>, Error> {
        let mut sessions = lock(&self.sessions);
        make_room(&mut sessions)?;
        let (child, confined) = start(&self.spawner)
            .map_err(|error| Error::new(500, format!("Failed to start the shell: {error}")))?;
        let about = Started { cwd, call_id, time_limit, confined };
        let session = Session::begin(child, about, self.clock.clone(), self.tell.clone());
        sessions.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// Starts a helper for the next confined command, where none waits yet.
    pub(crate) fn start_ahead(&self, ahead: &Arc<HelperAhead>) {
        // Without it the next command starts one itself, and says why it cannot.
        if let Err(error) = ahead.start(|command| self.spawner.start(command)) {
            tracing::debug!(%error, "no helper could be started ahead");
        }
    }

    /// Wall time, in milliseconds.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// A session that is still known.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let mut sessions = lock(&self.sessions);
        forget_old(&mut sessions);
        sessions.get(id).cloned()
    }

    /// Forgets a session nobody was told of.
    pub(crate) fn forget(&self, id: &str) {
        lock(&self.sessions).remove(id);
    }

    /// Ends every running command: asks, then insists.
    pub(crate) async fn stop(&self) {
        let running: Vec<_> =
            lock(&self.sessions).values().filter(|session| !session.has_ended()).cloned().collect();
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            for session in &running {
                if let Err(error) = session.signal(signal) {
                    tracing::warn!(pid = session.pid, %error, "a command could not be ended");
                }
            }
            let deadline = self.clock.instant() + limits::shell::KILL_AFTER + limits::shell::DRAIN;
            for session in &running {
                session.wait_for_end(deadline.saturating_duration_since(self.clock.instant())).await;
            }
        }
    }
}

fn forget_old(sessions: &mut HashMap<String, Arc<Session>>) {
    sessions
        .retain(|_, session| !session.has_ended() || session.untouched_for() < limits::shell::FINISHED_KEPT);
}

/// Finished sessions make way for new ones, the longest untouched first.
fn make_room(sessions: &mut HashMap<String, Arc<Session>>) -> Result<(), Error> {
    forget_old(sessions);
    while sessions.len() >= limits::shell::SESSIONS_MAX {
        let finished = sessions.values().filter(|session| session.has_ended());
        let Some(oldest) = finished.min_by_key(|session| session.touched()).map(|session| session.id.clone())
        else {
            return Err(Error::too_busy(&format!("{} shell sessions are running", sessions.len())));
        };
        sessions.remove(&oldest);
    }
    Ok(())
}
