//! Outgoing signal of an area, before the connection's codec writes its frame.

use protocol::ids::{ConversationId, Pid, RunId, Uid};

/// A signal on its way out.
#[derive(Clone, Debug)]
pub struct OutgoingSignal {
    /// The user whose connections are told.
    pub uid: Uid,
    /// The run it belongs to; signals of a run go to the connection that started it, if it is still there.
    pub run_id: Option<RunId>,
    /// A name of the table in `protocol::signal`.
    pub name: &'static str,
    pub body: SignalBody,
}

/// Payload of a signal, finished or still to be encoded.
#[derive(Clone, Debug)]
pub enum SignalBody {
    /// JSON.
    Text(String),
    /// An event of a model's answer. Several may be merged for a client that is slow to read.
    Stream(RunEvent),
}

/// A `proc.run.stream` whose text is made when it is sent.
#[derive(Clone, Debug)]
pub struct RunEvent {
    pub pid: Pid,
    pub run_id: RunId,
    pub conversation_id: ConversationId,
    /// Counts the events of one run, from 1.
    pub seq: u64,
    /// In milliseconds.
    pub timestamp: i64,
    /// What is new, and a handle on the answer so far.
    pub event: model::Event,
}
