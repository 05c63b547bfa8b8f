//! How full a model's context is.

use model::{Message, Usage};
use protocol::ids::{ConversationId, RunId};
use protocol::proc::history::ContextState;

use crate::setup::Setup;

/// What is measured.
pub(crate) struct Measured<'a> {
    /// The conversation.
    pub(crate) conversation_id: &'a ConversationId,
    /// The run.
    pub(crate) run_id: Option<&'a RunId>,
    /// How many messages the conversation has.
    pub(crate) message_count: u64,
    /// The newest of them.
    pub(crate) last_message_id: Option<i64>,
    /// What the model gets.
    pub(crate) messages: &'a [Message],
    /// What the provider counted, after a turn.
    pub(crate) usage: Option<&'a Usage>,
    /// In milliseconds.
    pub(crate) now_ms: i64,
}

/// The state of a context before a turn (without `usage`) or after it. `ContextState::usage` is filled in by the caller.
pub(crate) fn measure(setup: &Setup, what: &Measured<'_>) -> ContextState {
    let _ = (setup, what);
    unreachable!("scaffold")
}
