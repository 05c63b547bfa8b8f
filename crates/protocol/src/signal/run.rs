//! Wire types of a process's signals: what its runs do, and what else changed about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::stream::{StreamEvent, ThinkingContent, Usage};
use crate::ids::{ConversationId, Pid, RunId};
use crate::literal::True;
use crate::proc::approval::HilRequest;
use crate::proc::history::{ContextState, MessageRole};

/// Payload of `proc.changed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcChanged")]
pub struct Changed {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// What clients should read again.
    pub changes: Vec<Change>,
    /// Messages that wait for the active run to end.
    pub queued_count: u64,
    /// When, in milliseconds.
    pub timestamp: i64,
    /// Id of the conversation, within its process; `default` always exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Id of the run, unique in the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The run that was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enqueued_run_id: Option<RunId>,
    /// Queued messages that the active run took in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drained_queued_messages: Option<u64>,
    /// The new message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<i64>,
    /// Who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<MessageRole>,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// How full the context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextState>,
    /// What happened to a conversation, such as `conversation.forked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// What belongs to that event.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What changed about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcChange")]
pub enum Change {
    /// The messages that wait for its active run.
    Queue,
    /// The messages of a conversation.
    Messages,
    /// How full its context is.
    Context,
    /// A conversation was compacted, forked or the like.
    Lifecycle,
    /// Its list of conversations.
    Conversations,
}

/// Payload of `proc.run.started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunStarted")]
pub struct Started {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// Why, such as `proc.send` or `schedule.event`.
    pub reason: String,
    /// Messages that wait for it to end.
    pub queued_count: u64,
    /// When, in milliseconds.
    pub timestamp: i64,
}

/// Payload of `proc.run.stream`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunStream")]
pub struct Stream {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// Counts the stream events of the run, from 1, through all its model calls. It always grows and may skip numbers:
    /// events that are merged for a slow connection carry the last of theirs, and after a restart of the gateway it goes
    /// on with a larger one. To resume, use the frame's own `seq`, which counts all signals of a user.
    pub seq: u64,
    /// What the model did.
    pub event: StreamEvent,
    /// When, in milliseconds.
    pub timestamp: i64,
}

/// Payload of `proc.run.output`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunOutput")]
pub struct Output {
    /// What the model said in this turn.
    pub text: String,
    /// What it thought.
    pub thinking: Vec<ThinkingContent>,
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
}

/// Payload of `proc.run.tool.started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunToolStarted")]
pub struct ToolStarted {
    /// The tool.
    pub name: String,
    /// The call behind it.
    pub syscall: String,
    /// The arguments of the call, by name.
    pub args: Map<String, Value>,
    /// The tool call.
    pub call_id: String,
    /// The tool call of the CodeMode block that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
}

/// Payload of `proc.run.tool.finished`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunToolFinished")]
pub struct ToolFinished {
    /// The tool, or the call where no tool has that name.
    pub name: String,
    /// The call behind it.
    pub syscall: String,
    /// The tool call.
    pub call_id: String,
    /// The tool call of the CodeMode block that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    /// Whether it worked.
    pub ok: bool,
    /// What it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
}

/// Payload of `proc.run.hil.requested`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcRunHilRequested")]
pub struct HilRequested {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// The tool call that waits.
    #[serde(flatten)]
    pub request: HilRequest,
}

/// Payload of `proc.run.finished`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunFinished")]
pub struct Finished {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// How it ended.
    pub status: FinishStatus,
    /// Why, such as `turn.complete` or `generation.error`.
    pub reason: String,
    /// Its answer; `null` when there is none.
    pub text: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a person should know of the answer: that it was cut at its length, that a picture was not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// There when it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<True>,
    /// Messages that still wait.
    pub queued_count: u64,
    /// When, in milliseconds.
    pub timestamp: i64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcRunStatus")]
pub enum FinishStatus {
    /// With an answer.
    Ok,
    /// It failed; the error is beside it.
    Error,
    /// Somebody cancelled it.
    Aborted,
}

/// Payload of `process.exit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcessExit")]
pub struct Exit {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Why, such as `proc.kill`.
    pub reason: String,
    /// When, in milliseconds.
    pub timestamp: i64,
}
