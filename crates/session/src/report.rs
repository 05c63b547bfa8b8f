//! Wire view of a command: the results of calls, and the `exec.status` signals.

use protocol::shell::{ExecResult, Status};
use protocol::signal::ExecStatus;

use crate::command::{End, Session, SessionState};

impl Session {
    pub(crate) fn result(&self, state: &SessionState) -> ExecResult {
        let Some(end) = state.end.clone() else { return self.running(state) };
        let error = match &end {
            End { error: Some(error), .. } => Some(error.clone()),
            End { timed_out: true, .. } => Some("Command timed out".to_string()),
            End { signal: Some(signal), .. } => Some(format!("Command failed: {signal}")),
            End { exit_code: Some(0), .. } => None,
            End { exit_code: Some(code), .. } => Some(format!("Command exited with code {code}")),
            _ => Some("Command failed".to_string()),
        };
        let running = self.running(state);
        ExecResult {
            status: if error.is_none() { Status::Completed } else { Status::Failed },
            error,
            exit_code: end.exit_code,
            stdout: Some(state.stdout.text()),
            stderr: Some(state.stderr.text()),
            cwd: end.cwd.or(running.cwd),
            ended_at: Some(state.ended_at),
            duration_ms: Some((state.ended_at - self.started_at).max(0)),
            signal: end.signal,
            timed_out: Some(end.timed_out),
            refused_hosts: Some(end.refused_hosts).filter(|hosts| !hosts.is_empty()),
            ..running
        }
    }

    pub(crate) fn running(&self, state: &SessionState) -> ExecResult {
        ExecResult {
            ok: true,
            status: Status::Running,
            output: String::new(),
            error: None,
            exit_code: None,
            session_id: Some(self.id.clone()),
            truncated: None,
            stdout: None,
            stderr: None,
            tail: Some(state.tail.tail()),
            cwd: Some(self.about.cwd.clone()),
            pid: self.about.pid,
            started_at: Some(self.started_at),
            ended_at: None,
            duration_ms: None,
            signal: None,
            timed_out: None,
            rehearsal: None,
            refused_hosts: None,
        }
    }

    pub(crate) fn tell_status(&self, state: &SessionState, event: &str) {
        let end = state.end.as_ref();
        (self.about.tell)(ExecStatus {
            event_id: Some(base::random::uuid()),
            session_id: self.id.clone(),
            event: event.to_string(),
            call_id: self.about.call_id.clone(),
            exit_code: end.and_then(|end| end.exit_code),
            signal: end.and_then(|end| end.signal.clone()),
            output_tail: Some(state.tail.tail()),
            started_at: Some(self.started_at),
            ended_at: end.map(|_| state.ended_at),
        });
    }
}
