//! Conversations as callers name them and see them: ids, records, policies, and the signals of their changes.

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid};
use protocol::proc::conversation::{ContextPolicy, Conversation, Overflow};
use protocol::signal::run::{Change as What, Changed};
use serde_json::{Map, Value};
use store::conversations::{ConversationRow, PolicyRow};
use store::processes::ProcessRow;

use crate::mail::Condition;
use crate::signals;
use crate::world::World;

/// What happens when nobody said what should: nothing.
pub(crate) const POLICY: PolicyRow =
    PolicyRow { overflow: Overflow::Manual, compact_at: 0.9, keep_last: 80, updated_at: 0 };

/// What a change of a conversation's record is.
pub(crate) const LIFECYCLE: [What; 2] = [What::Lifecycle, What::Conversations];

/// Why a process can have no further conversation, if so.
pub(crate) async fn full(world: &World, pid: &Pid) -> Result<Option<String>, Error> {
    let most = limits::process::CONVERSATIONS_MAX;
    let count = world.store.conversations().count(pid).await?;
    Ok((count >= most).then(|| format!("This process has {most} conversations already: use one of them")))
}

/// What must hold when a change of a conversation is applied that was read as `row`.
pub(crate) fn condition(id: &ConversationId, row: Option<&ConversationRow>, idle: bool) -> Condition {
    Condition { conversation: id.clone(), generation: row.map_or(0, |row| row.generation), idle }
}

/// A conversation as a caller names it: `default` when it names none.
pub(crate) fn named(call: &str, id: Option<&ConversationId>) -> Result<ConversationId, Error> {
    let id = non_blank(id).unwrap_or("default");
    if id.len() > limits::files::NAME_MAX_BYTES || id.chars().any(char::is_control) {
        return Err(Error::bad_argument(call, "conversationId", "too long, or with control characters"));
    }
    Ok(id.into())
}

/// What a caller wrote, unless that is blank.
pub(crate) fn non_blank(id: Option<&ConversationId>) -> Option<&str> {
    id.map(|id| id.as_str().trim()).filter(|id| !id.is_empty())
}

/// A conversation's record as the wire shows it.
pub(crate) fn record(row: ConversationRow) -> Conversation {
    let ConversationRow { id, generation, status, title, message_count, created_at, updated_at, .. } = row;
    Conversation { id, generation, status, title, message_count, created_at, updated_at }
}

/// The policy that holds for a conversation.
pub(crate) fn policy_to_wire(id: &ConversationId, row: Option<PolicyRow>) -> ContextPolicy {
    let PolicyRow { overflow, compact_at, keep_last, updated_at } = row.unwrap_or(POLICY);
    ContextPolicy {
        conversation_id: id.clone(),
        overflow,
        compact_at_pressure: compact_at,
        keep_last,
        updated_at,
    }
}

/// Tells that something happened to a conversation.
pub(crate) async fn tell<const N: usize>(
    world: &World,
    process: &ProcessRow,
    changes: &[What],
    id: &ConversationId,
    event: &str,
    more: [(&str, Value); N],
) {
    let queued_count = match world.store.queue().length(&process.pid).await {
        Ok(length) => length,
        Err(error) => {
            tracing::warn!(%error, "a queue could not be counted for a signal");
            0
        }
    };
    let more: Map<String, Value> = more.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    let signal = changed(world, process, changes, queued_count);
    let signal =
        Changed { conversation_id: Some(id.clone()), event: Some(event.to_string()), more, ..signal };
    world.emit(process, None, &signal);
}

/// A `proc.changed` that says no more than what changed.
pub(crate) fn changed(world: &World, process: &ProcessRow, changes: &[What], queued_count: u64) -> Changed {
    signals::changed(&process.pid, changes, queued_count, world.now_ms())
}

/// A wire type as JSON.
pub(crate) fn to_value<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
