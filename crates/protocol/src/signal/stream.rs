//! Wire types of a streamed answer: the events of `proc.run.stream` and the message they build up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of a model's answer. `start` comes first, `done` or `error` last; `contentIndex` names the block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "ProcStreamEvent")]
pub enum StreamEvent {
    /// The answer begins.
    Start {
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// A block of text begins.
    TextStart {
        /// The block.
        content_index: u64,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// More text.
    TextDelta {
        /// The block.
        content_index: u64,
        /// What is new.
        delta: String,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// The text is complete.
    TextEnd {
        /// The block.
        content_index: u64,
        /// All of it.
        content: String,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// A block of thinking begins.
    ThinkingStart {
        /// The block.
        content_index: u64,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// More thinking.
    ThinkingDelta {
        /// The block.
        content_index: u64,
        /// What is new.
        delta: String,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// The thinking is complete.
    ThinkingEnd {
        /// The block.
        content_index: u64,
        /// All of it.
        content: String,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// A tool call begins.
    ToolcallStart {
        /// The block.
        content_index: u64,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// More of its arguments.
    ToolcallDelta {
        /// The block.
        content_index: u64,
        /// A piece of their JSON.
        delta: String,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// The tool call is complete.
    ToolcallEnd {
        /// The block.
        content_index: u64,
        /// All of it.
        tool_call: ToolCall,
        /// The answer so far.
        partial: AssistantMessage,
    },
    /// The answer is complete.
    Done {
        /// Why it ended.
        reason: DoneReason,
        /// All of it.
        message: AssistantMessage,
    },
    /// The answer broke off.
    Error {
        /// Why.
        reason: ErrorReason,
        /// What there was of it.
        error: AssistantMessage,
    },
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcStreamDoneReason")]
pub enum DoneReason {
    /// The model was done.
    Stop,
    /// It became too long.
    Length,
    /// The model waits for its tools.
    ToolUse,
}

/// Why an answer broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcStreamErrorReason")]
pub enum ErrorReason {
    /// Somebody cancelled it.
    Aborted,
    /// Something went wrong.
    Error,
}

/// Why a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AssistantStopReason")]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// It became too long.
    Length,
    /// The model waits for its tools.
    ToolUse,
    /// Something went wrong.
    Error,
    /// Somebody cancelled it.
    Aborted,
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Always `assistant`.
    pub role: AssistantRole,
    /// Its blocks.
    pub content: Vec<AssistantContent>,
    /// How the provider was spoken to.
    pub api: String,
    /// The provider that answered, such as `anthropic`.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// When, in milliseconds.
    pub timestamp: i64,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AssistantRole {
    /// The model.
    Assistant,
}

/// One block of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AssistantContent {
    /// Words.
    Text(TextContent),
    /// Thoughts.
    Thinking(ThinkingContent),
    /// What the model wants to be done.
    ToolCall(ToolCall),
}

/// Words of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    /// Always `text`.
    #[serde(rename = "type")]
    pub content_type: TextType,
    /// The words.
    pub text: String,
    /// The provider's seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
}

/// The type of a block of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TextContentType")]
pub enum TextType {
    /// Words.
    Text,
}

/// Thoughts of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    /// Always `thinking`.
    #[serde(rename = "type")]
    pub content_type: ThinkingType,
    /// The thoughts.
    pub thinking: String,
    /// The provider's seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// True when the provider hides them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
}

/// The type of a block of thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ThinkingContentType")]
pub enum ThinkingType {
    /// Thoughts.
    Thinking,
}

/// A tool call of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Always `toolCall`.
    #[serde(rename = "type")]
    pub content_type: ToolCallType,
    /// The id that its result refers to, by the provider.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the schema of the tool has them.
    pub arguments: Map<String, Value>,
    /// The provider's seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

/// The type of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ToolCallContentType")]
pub enum ToolCallType {
    /// A tool call.
    ToolCall,
}

/// What a model used, in tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelUsage")]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// All together.
    pub total_tokens: u64,
    /// What it cost, in US dollars.
    pub cost: Cost,
}

/// What a model cost, in US dollars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelCost")]
pub struct Cost {
    /// For what it read.
    pub input: f64,
    /// For what it wrote.
    pub output: f64,
    /// For reading the cache, in US dollars.
    pub cache_read: f64,
    /// For writing the cache.
    pub cache_write: f64,
    /// All together.
    pub total: f64,
}
