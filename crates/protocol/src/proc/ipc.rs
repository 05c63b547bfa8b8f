//! Wire types and table of `proc.ipc.*`: messages between processes of one user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Started;
use crate::identity::ProcessIdentity;
use crate::ids::{ConversationId, Pid, RunId};
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Sends a message from one process to another of the same user.
    "proc.ipc.send" Send => Outcome<Sent>, Granted, Kernel, Writes, Users.*;
    /// Sends a message and asks for a reply before a deadline.
    /// The answer says that it was taken; the reply, or the timeout, reaches the calling process later.
    "proc.ipc.call" Call => Outcome<Called>, Granted, Kernel, Writes, Users.*;
    /// Puts a checked message into the target process.
    "proc.ipc.deliver" Deliver => Outcome<Sent>, Kernel, Process, Writes, Users.*;
}

/// Arguments of `proc.ipc.send`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcIpcSendArgs")]
pub struct Send {
    /// The process that gets it.
    pub pid: Pid,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The text.
    pub message: String,
    /// Anything beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// Result of `proc.ipc.send` and `proc.ipc.deliver`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcIpcSendResult")]
pub struct Sent {
    /// Always `started`.
    pub status: Started,
    /// The process that got it.
    pub pid: Pid,
    /// The process that sent it.
    pub source_pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// The run that will take it up.
    pub run_id: RunId,
    /// True when it waits for the active run to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}

/// Arguments of `proc.ipc.call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcIpcCallArgs")]
pub struct Call {
    /// The process that gets it.
    pub pid: Pid,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The text.
    pub message: String,
    /// Anything beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// How long to wait for the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Result of `proc.ipc.call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcIpcCallResult")]
pub struct Called {
    /// Always `started`.
    pub status: Started,
    /// Comes back with the reply.
    pub call_id: String,
    /// The process that got it.
    pub pid: Pid,
    /// The process that sent it.
    pub source_pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// The run that will take it up.
    pub run_id: RunId,
    /// When the reply must be there, in milliseconds.
    pub deadline_at: i64,
    /// True when it waits for the active run to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}

/// Arguments of `proc.ipc.deliver`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcIpcDeliverArgs")]
pub struct Deliver {
    /// The process that sent it.
    pub source_pid: Pid,
    /// Who that process acts as.
    pub source: ProcessIdentity,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The text.
    pub message: String,
    /// Anything beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// When it was sent, in milliseconds.
    pub sent_at: i64,
    /// There when a reply is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<PendingCall>,
}

/// A reply that is expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcIpcPendingCall")]
pub struct PendingCall {
    /// Comes back with the reply.
    pub call_id: String,
    /// Who waits.
    pub reply_to_pid: Pid,
    /// Until when, in milliseconds.
    pub deadline_at: i64,
}
