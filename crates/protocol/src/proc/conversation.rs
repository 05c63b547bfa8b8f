//! Wire types and table of `proc.conversation.*`: opening, closing, clearing, and what happens when one grows too
//! long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ConversationId, Pid};
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Opens a conversation: a new one, or one that exists.
    "proc.conversation.open" Open => Outcome<Opened>, Granted, Process, Writes, Users.*;
    /// Lists conversations; open ones unless `includeClosed` is true.
    "proc.conversation.list" List => Outcome<Listed>, Granted, Process, Reads, Users.*;
    /// Reads one conversation's record. Unknown ones are `null`.
    "proc.conversation.get" Get => Outcome<Got>, Granted, Process, Reads, Users.*;
    /// Closes a conversation and keeps its history. It takes no messages until it is opened again.
    "proc.conversation.close" Close => Outcome<Closed>, Granted, Process, Destroys, Users.*;
    /// Archives a conversation unless told not to, clears it and reopens it. Others stay as they are.
    "proc.conversation.reset" Reset => Outcome<ResetDone>, Granted, Process, Destroys, Users.*;
    /// Reads what happens when a conversation outgrows the model's context.
    "proc.conversation.policy.get" PolicyGet => Outcome<PolicyResult>, Granted, Process, Reads, Users.*;
    /// Sets what happens when a conversation outgrows the model's context.
    "proc.conversation.policy.set" PolicySet => Outcome<PolicyResult>, Granted, Process, Writes, Users.*;
}

/// A conversation's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversation")]
pub struct Conversation {
    /// Its id, unique within the process.
    pub id: ConversationId,
    /// How often it was reset, from 1.
    pub generation: u64,
    /// Whether it takes messages.
    pub status: Status,
    /// Its name for people.
    pub title: Option<String>,
    /// How many messages it has.
    pub message_count: u64,
    /// When it was made, in milliseconds.
    pub created_at: i64,
    /// When it was last opened, closed, reset or compacted.
    pub updated_at: i64,
}

/// Whether a conversation takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcConversationStatus")]
pub enum Status {
    /// It does.
    Open,
    /// It does not.
    Closed,
}

/// What happens when a conversation outgrows the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ProcOverflow")]
pub enum Overflow {
    /// Nothing: somebody compacts it.
    Manual,
    /// It is compacted before the next model call.
    AutoCompact,
    /// The run fails.
    Fail,
}

/// What happens when a conversation outgrows the context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationContextPolicy")]
pub struct ContextPolicy {
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// What happens.
    pub overflow: Overflow,
    /// From which pressure on; 0.9 by default.
    pub compact_at_pressure: f64,
    /// How many messages stay; 80 by default.
    pub keep_last: u64,
    /// When it was set, in milliseconds; 0 when never.
    pub updated_at: i64,
}

/// Arguments of `proc.conversation.open`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationOpenArgs")]
pub struct Open {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; a new id when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Result of `proc.conversation.open`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcConversationOpenResult")]
pub struct Opened {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// The conversation as it is now.
    pub conversation: Conversation,
    /// False when it existed.
    pub created: bool,
}

/// Arguments of `proc.conversation.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationListArgs")]
pub struct List {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// Also list closed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_closed: Option<bool>,
}

/// Result of `proc.conversation.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcConversationListResult")]
pub struct Listed {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Last changed first.
    pub conversations: Vec<Conversation>,
}

/// Arguments of `proc.conversation.get`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationGetArgs")]
pub struct Get {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
}

/// Result of `proc.conversation.get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcConversationGetResult")]
pub struct Got {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// `null` when there is none.
    pub conversation: Option<Conversation>,
}

/// Arguments of `proc.conversation.close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationCloseArgs")]
pub struct Close {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
}

/// Result of `proc.conversation.close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationCloseResult")]
pub struct Closed {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// False when it was unknown or closed already.
    pub closed: bool,
}

/// Arguments of `proc.conversation.reset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationResetArgs")]
pub struct Reset {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Keeps the messages; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<bool>,
}

/// Result of `proc.conversation.reset`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationResetResult")]
pub struct ResetDone {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// Its new life.
    pub generation: u64,
    /// How many messages were kept.
    pub archived_messages: u64,
    /// The archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<String>,
}

/// Arguments of `proc.conversation.policy.get`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationPolicyGetArgs")]
pub struct PolicyGet {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
}

/// Arguments of `proc.conversation.policy.set`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationPolicySetArgs")]
pub struct PolicySet {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// What happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
    /// From which pressure on; above 0, at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact_at_pressure: Option<f64>,
    /// How many messages stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u64>,
}

/// Result of `proc.conversation.policy.get` and `proc.conversation.policy.set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcConversationPolicyResult")]
pub struct PolicyResult {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// The policy as it is now.
    pub policy: ContextPolicy,
}
