//! Conversion of a stored message to the content that `proc.history` answers.

use protocol::media::StoredMedia;
use protocol::proc::history::MessageRole;
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde::Deserialize;
use serde_json::{Value, json};
use store::messages::MessageRow;

/// How an answer is shown that is nothing but text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the text.
    Brief,
    /// As an object, as all answers of an archive are.
    Full,
}

/// What a tool's message says beside its output.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolMeta {
    tool_name: Option<String>,
    is_error: bool,
}

/// A message's content.
pub(crate) fn expanded(row: MessageRow, form: Form) -> Value {
    match row.role {
        MessageRole::ToolResult => tool_result(row),
        MessageRole::Assistant => assistant(row, form),
        MessageRole::User => user(row),
        MessageRole::System => Value::String(row.content),
    }
}

fn tool_result(row: MessageRow) -> Value {
    let meta = row.meta.as_deref().and_then(|meta| serde_json::from_str::<ToolMeta>(meta).ok());
    let ToolMeta { tool_name, is_error } = meta.unwrap_or_default();
    let mut content = json!({
        "toolName": tool_name.unwrap_or_else(|| "unknown".to_string()),
        "isError": is_error,
        "toolCallId": row.tool_call_id,
        "output": row.content,
    });
    if let Some(media) = media(row.media.as_deref()) {
        content["media"] = json!(media);
    }
    content
}

fn assistant(row: MessageRow, form: Form) -> Value {
    let answer = row.meta.as_deref().and_then(|meta| serde_json::from_str::<AssistantMessage>(meta).ok());
    let (mut thinking, mut calls) = (Vec::new(), Vec::new());
    for content in answer.map(|answer| answer.content).unwrap_or_default() {
        match content {
            AssistantContent::Thinking(thought) => thinking.push(thought),
            AssistantContent::ToolCall(call) => calls.push(call),
            AssistantContent::Text(_) => {}
        }
    }
    if form == Form::Brief && thinking.is_empty() && calls.is_empty() {
        return Value::String(row.content);
    }
    json!({ "text": row.content, "thinking": thinking, "toolCalls": calls })
}

fn user(row: MessageRow) -> Value {
    match media(row.media.as_deref()) {
        Some(media) => json!({ "text": row.content, "media": media }),
        None => Value::String(row.content),
    }
}

/// What goes with a message, if anything does.
fn media(json: Option<&str>) -> Option<Vec<StoredMedia>> {
    let media = json.and_then(|json| serde_json::from_str::<Vec<StoredMedia>>(json).ok());
    media.filter(|media| !media.is_empty())
}
