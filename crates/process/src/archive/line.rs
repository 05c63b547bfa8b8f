//! Codec between one message and one line of an archive.

use protocol::ids::{ConversationId, RunId};
use protocol::proc::history::MessageRole;
use protocol::signal::stream::{AssistantContent, AssistantMessage, ThinkingContent, ToolCall};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use store::messages::MessageRow;

/// A line. What stands in the row as JSON stands here as the same JSON.
#[derive(Serialize, Deserialize)]
struct Line {
    id: i64,
    conversation_id: ConversationId,
    generation: u64,
    role: String,
    content: String,
    /// For the agent its tool calls; for a tool its name and whether it failed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    thinking: Option<Box<RawValue>>,
    /// For the agent, the whole answer as the model gave it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    answer: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    media: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    origin: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    ts: i64,
}

/// A line of a transcript.
#[derive(Serialize)]
struct PlainLine<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    ts: i64,
}

/// What is there is there, also a `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// A message as a line, without a line break.
pub(crate) fn text(row: &MessageRow) -> String {
    let meta = row.meta.as_deref();
    let (tool_calls, thinking, answer) = match row.role {
        MessageRole::Assistant => {
            let (calls, thinking) = parts(meta);
            (calls, thinking, meta.and_then(raw))
        }
        _ => (meta.and_then(raw), None, None),
    };
    let line = Line {
        id: row.id,
        conversation_id: row.conversation_id.clone(),
        generation: row.generation,
        role: role_name(row.role).to_string(),
        content: row.content.clone(),
        tool_calls,
        thinking,
        answer,
        media: row.media.as_deref().and_then(raw),
        tool_call_id: row.tool_call_id.clone(),
        origin: row.origin.as_deref().and_then(raw),
        run_id: row.run_id.clone(),
        ts: row.created_at,
    };
    protocol::frame::to_json(&line)
}

/// A message as a line for those who read it without us: what was said, and nothing that only we need.
pub(crate) fn plain(row: &MessageRow) -> String {
    let meta = row.meta.as_deref();
    let (tool_calls, thinking) = match row.role {
        MessageRole::Assistant => parts(meta),
        _ => (meta.and_then(raw), None),
    };
    protocol::frame::to_json(&PlainLine {
        role: role_name(row.role),
        content: &row.content,
        tool_calls,
        thinking,
        media: row.media.as_deref().and_then(raw),
        tool_call_id: row.tool_call_id.as_deref(),
        ts: row.created_at,
    })
}

/// The message that a line tells.
pub(super) fn row(text: &str) -> Result<MessageRow, String> {
    let line: Line =
        serde_json::from_str(text).map_err(|error| format!("invalid archived message: {error}"))?;
    let role = role_from(&line.role)?;
    let meta = if role == MessageRole::Assistant { line.answer } else { line.tool_calls };
    let json = |raw: Option<Box<RawValue>>| raw.map(|raw| raw.get().to_string());
    Ok(MessageRow {
        id: line.id,
        conversation_id: line.conversation_id,
        generation: line.generation,
        role,
        content: line.content,
        meta: json(meta),
        tool_call_id: line.tool_call_id,
        media: json(line.media),
        origin: json(line.origin),
        run_id: line.run_id,
        created_at: line.ts,
    })
}

/// The tool calls and the thinking of an answer, for those who read archives without us.
fn parts(meta: Option<&str>) -> (Option<Box<RawValue>>, Option<Box<RawValue>>) {
    let answer = meta.and_then(|meta| serde_json::from_str::<AssistantMessage>(meta).ok());
    let Some(answer) = answer else { return (None, None) };
    let mut calls: Vec<&ToolCall> = Vec::new();
    let mut thinking: Vec<&ThinkingContent> = Vec::new();
    for content in &answer.content {
        match content {
            AssistantContent::ToolCall(call) => calls.push(call),
            AssistantContent::Thinking(thought) => thinking.push(thought),
            AssistantContent::Text(_) => {}
        }
    }
    let calls = (!calls.is_empty()).then(|| to_raw_value(&calls).ok()).flatten();
    let thinking = (!thinking.is_empty()).then(|| to_raw_value(&thinking).ok()).flatten();
    (calls, thinking)
}

/// JSON as it is, on one line. What is no JSON, because somebody changed the database, is kept as a text.
fn raw(text: &str) -> Option<Box<RawValue>> {
    let raw = if text.contains(['\n', '\r']) {
        serde_json::from_str::<serde_json::Value>(text).and_then(|value| to_raw_value(&value))
    } else {
        RawValue::from_string(text.to_string())
    };
    raw.or_else(|_| to_raw_value(text)).ok()
}

fn role_name(role: MessageRole) -> &'static str {
    match role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::System => "system",
        MessageRole::ToolResult => "toolResult",
    }
}

fn role_from(name: &str) -> Result<MessageRole, String> {
    [MessageRole::User, MessageRole::Assistant, MessageRole::System, MessageRole::ToolResult]
        .into_iter()
        .find(|role| role_name(*role) == name)
        .ok_or_else(|| format!("invalid archived message role: {name}"))
}
