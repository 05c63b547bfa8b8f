//! Constructors of a process's signals.

use protocol::ids::{Pid, RunId};
use protocol::signal::Signal;
use protocol::signal::run::{Change as What, Changed};
use serde_json::Map;
use store::processes::ProcessRow;

use gateway::{OutgoingSignal, SignalBody};

/// A `proc.changed` that says nothing more yet.
pub(crate) fn changed(pid: &Pid, changes: &[What], queued_count: u64, now_ms: i64) -> Changed {
    Changed {
        pid: pid.clone(),
        changes: changes.to_vec(),
        queued_count,
        timestamp: now_ms,
        conversation_id: None,
        run_id: None,
        enqueued_run_id: None,
        drained_queued_messages: None,
        message_id: None,
        role: None,
        content: None,
        context: None,
        event: None,
        more: Map::new(),
    }
}

/// A signal that is sent once what it tells is kept.
pub(crate) fn outgoing<S: Signal>(
    process: &ProcessRow,
    run_id: Option<&RunId>,
    payload: &S,
) -> OutgoingSignal {
    OutgoingSignal {
        uid: process.uid,
        run_id: run_id.cloned(),
        name: S::SPEC.name,
        body: SignalBody::Text(protocol::frame::to_json(payload)),
    }
}
