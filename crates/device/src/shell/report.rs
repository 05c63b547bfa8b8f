//! What is told of a command: the results of calls, and the `exec.status` signals.

use protocol::shell::{ExecResult, Status};
use protocol::signal::ExecStatus;

use super::session::{End, Session, State};

impl Session {
    pub(super) fn result(&self, state: &State) -> ExecResult {
        let Some(end) = state.end.clone() else { return self.running(state) };
        let error = match &end {
            End { timed_out: true, .. } => Some("Command timed out".to_string()),
            End { signal: Some(signal), .. } => Some(format!("Command failed: {signal}")),
            End { exit_code: Some(0), .. } => None,
            End { exit_code: Some(code), .. } => Some(format!("Command exited with code {code}")),
            _ => Some("Command failed".to_string()),
        };
        ExecResult {
            status: if error.is_none() { Status::Completed } else { Status::Failed },
            error,
            exit_code: if end.timed_out { None } else { end.exit_code },
            stdout: Some(state.stdout.text()),
            stderr: Some(state.stderr.text()),
            ended_at: Some(end.ended_at),
            duration_ms: Some((end.ended_at - self.started_at).max(0)),
            signal: end.signal,
            timed_out: Some(end.timed_out),
            ..self.running(state)
        }
    }

    pub(super) fn running(&self, state: &State) -> ExecResult {
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
            cwd: Some(self.cwd.to_string_lossy().into_owned()),
            pid: Some(self.pid),
            started_at: Some(self.started_at),
            ended_at: None,
            duration_ms: None,
            signal: None,
            timed_out: None,
        }
    }

    pub(super) fn tell_status(&self, state: &State, event: &str) {
        let end = state.end.as_ref();
        let status = ExecStatus {
            event_id: Some(base::random::uuid()),
            session_id: self.id.clone(),
            event: event.to_string(),
            call_id: Some(self.call_id.clone()),
            exit_code: end.and_then(|end| end.exit_code),
            signal: end.and_then(|end| end.signal.clone()),
            output_tail: Some(state.tail.tail()),
            started_at: Some(self.started_at),
            ended_at: end.map(|end| end.ended_at),
        };
        (self.tell)(protocol::frame::signal("exec.status", &status));
    }
}
