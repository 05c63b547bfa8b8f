//! Recovery of an actor's state from its rows, when it wakes up.

use std::collections::HashMap;
use std::sync::Arc;

use model::{AssistantMessage, ToolCall};
use protocol::ids::Pid;
use store::Store;
use store::processes::ProcessState;
use store::runs::RunRow;
use tokio::task::JoinSet;

use super::draft::DurableState;
use super::{Actor, StoreResult, VolatileState};
use crate::host::Host;
use crate::known_files::KnownByConversation;
use crate::refused_hosts::RefusedHosts;
use crate::run::RunState;

impl Actor {
    /// The actor of a process as its rows tell it; `None` when there is no such process.
    pub(super) async fn load(host: &Host, store: Store, pid: &Pid) -> StoreResult<Option<Actor>> {
        let Some(process) = store.processes().by_id(pid).await? else { return Ok(None) };
        let mut durable = DurableState {
            run: None,
            queue: store.queue().of(pid).await?.into_iter().map(Arc::new).collect(),
            next_message_id: process.next_message_id,
            exited: process.state == ProcessState::Exited,
        };
        let mut volatile = VolatileState::new(0);
        if let Some(row) = store.runs().active(pid).await? {
            match RunState::rebuild(&row, &store.runs().steps(&row.run_id).await?) {
                Ok(run) => {
                    volatile = load_volatile(host, &row, &run).await?;
                    durable.run = Some(run);
                }
                // The supervisor ends such a run.
                Err(why) => panic!("the journal of run {} is unreadable: {why}", row.run_id),
            }
        }
        Ok(Some(Actor {
            host: host.clone(),
            store,
            has_lost_lease: false,
            checkpointed_at: None,
            checkpointed_id: process.checkpointed_id,
            process: Arc::new(process),
            durable,
            volatile,
            context: None,
            used: None,
            known: KnownByConversation::default(),
            refused: RefusedHosts::default(),
            tasks: JoinSet::new(),
            work: HashMap::new(),
        }))
    }
}

/// What a run had in memory, as far as it can be had again.
async fn load_volatile(host: &Host, row: &RunRow, run: &RunState) -> StoreResult<VolatileState> {
    let store = &host.world.store;
    // Counts on from where it can not have come to: there are less than a thousand events in a millisecond.
    let elapsed_ms = u64::try_from(host.world.now_ms() - run.started_at).unwrap_or(0);
    let mut volatile = VolatileState::new(elapsed_ms.saturating_mul(1_000));
    volatile.used = row.used;
    if let Some(id) = run.message_id.filter(|_| !run.calls.is_empty()) {
        let message = store.messages().by_id(&row.pid, &run.conversation_id, id).await?;
        let answer = message.and_then(|message| serde_json::from_str(&message.meta?).ok());
        volatile.calls = answer.map(|answer| calls_of(&answer)).unwrap_or_default();
        // What blocks called is not made again; their places are kept.
        let nobodys = || model::tool_call("", "", serde_json::Map::new());
        volatile.calls.resize_with(run.calls.len().max(volatile.calls.len()), nobodys);
        let approvals = store.approvals().of_run(&row.run_id).await?.into_iter();
        volatile.approvals = approvals.map(|row| (row.request_id.clone(), row)).collect();
    }
    Ok(volatile)
}

/// The tool calls of an answer, with their arguments.
pub(super) fn calls_of(answer: &AssistantMessage) -> Vec<ToolCall> {
    model::tool_calls(answer).cloned().collect()
}
