//! Wire types and table of `proc.history`: messages, their media and how full the context is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::HilRequest;
use crate::ids::{ConversationId, Pid, RunId};
use crate::literal::Nullable;
use crate::outcome::Outcome;
use crate::signal::stream::Usage;
use crate::spec::syscalls;

syscalls! {
    /// Reads a conversation's messages, oldest first, with the approval that waits and the state of the context.
    "proc.history" Read => Outcome<History>, Granted, Process, Reads, Users.*;
    /// Reads the bytes of a medium that a process keeps.
    "proc.media.read" MediaRead => Outcome<Media>, Granted, Process, Reads, Users.*;
}

/// Arguments of `proc.history`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcHistoryArgs")]
pub struct Read {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Messages to return; 200 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Messages to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Returns the newest page instead of the oldest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<bool>,
    /// Returns the page that ends before this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_message_id: Option<i64>,
    /// Returns the page that begins after this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_message_id: Option<i64>,
}

/// Result of `proc.history`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcHistoryResult")]
pub struct History {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Oldest first.
    pub messages: Vec<Message>,
    /// How many there are in all.
    pub message_count: u64,
    /// True when there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// True when there are older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more_before: Option<bool>,
    /// True when there are newer ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more_after: Option<bool>,
    /// The tool call that waits for a person, if any; the oldest of several.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub pending_hil: Nullable<HilRequest>,
    /// All tool calls that wait for a person, when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_hils: Option<Vec<HilRequest>>,
    /// How full the context is, once known.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub context: Nullable<ContextState>,
}

/// One message of a conversation, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcHistoryMessage")]
pub struct Message {
    /// Its number, unique within the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Who said it.
    pub role: MessageRole,
    /// Text, or an object with text, thinking, tool calls, media or a tool's output.
    pub content: Value,
    /// When, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

/// Who said a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcMessageRole")]
pub enum MessageRole {
    /// A person or another process.
    User,
    /// The agent.
    Assistant,
    /// The process itself.
    System,
    /// The result of a tool call.
    ToolResult,
}

/// How full the model's context is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcContextState")]
pub struct ContextState {
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// The run it was measured in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Messages at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_count: Option<u64>,
    /// The newest message at that time.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub last_message_id: Nullable<i64>,
    /// The model's provider.
    pub provider: String,
    /// The provider's name for the model.
    pub model: String,
    /// How much it takes.
    pub context_window_tokens: Option<u64>,
    /// How much of that is kept for its answer.
    pub max_output_tokens: u64,
    /// Our own estimate.
    pub estimated_input_tokens: u64,
    /// What counts: the provider's number, else the estimate.
    pub input_tokens: u64,
    /// What it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Both together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// How much it takes besides its answer.
    pub available_input_tokens: Option<u64>,
    /// Input by what is available; 1 is full.
    pub pressure: Option<f64>,
    /// The same in words.
    pub level: PressureLevel,
    /// Whose numbers these are.
    pub source: PressureSource,
    /// What all runs of the conversation have used and cost so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// When it was measured, in milliseconds.
    pub updated_at: i64,
}

/// How full a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcContextLevel")]
pub enum PressureLevel {
    /// Not known.
    Unknown,
    /// There is room.
    Ok,
    /// Three quarters.
    Warn,
    /// Nine tenths.
    Critical,
    /// All of it: nothing more fits.
    Full,
}

/// Whose numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcContextSource")]
pub enum PressureSource {
    /// Ours.
    Estimate,
    /// Tokens that the provider counted.
    Provider,
}

/// Arguments of `proc.media.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcMediaReadArgs")]
pub struct MediaRead {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The medium, as its message names it.
    pub key: String,
    /// The type to answer with; the stored one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Result of `proc.media.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcMediaReadResult")]
pub struct Media {
    /// The medium.
    pub key: String,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its bytes, as a data URL in base64.
    pub data_url: String,
}
