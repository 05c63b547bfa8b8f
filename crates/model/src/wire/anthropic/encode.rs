//! Encoder of Anthropic's Messages API.

use http::header::HeaderName;
use protocol::ai::Tool;
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::http::Call;
use crate::message::{Block, Message, Request, ToolResult};
use crate::models::Thinking;
use crate::provider::Endpoint;
use crate::reasoning::Reasoning;

const VERSION: &str = "2023-06-01";
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// Fewer tokens than this for words, and thinking would leave nothing to say.
const WORDS_TOKENS_MIN: u64 = 1_024;
/// What a model may write when nobody knows its limit.
const OUTPUT_TOKENS_UNKNOWN: u64 = 64_000;

pub(super) fn call(request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
    let key = endpoint.required_key()?;
    let mut body = json!({
        "model": request.model.id,
        "stream": true,
        "max_tokens": request.output_tokens(),
        "messages": messages(&request.messages),
    });
    if !request.system.trim().is_empty() {
        body["system"] = json!([{ "type": "text", "text": &*request.system, "cache_control": ephemeral() }]);
    }
    let budgeted = think(request, &mut body);
    let body = super::super::body(&body, request, super::API, tools);
    let call = Call::post(format!("{}/messages", endpoint.base()), "application/json", body)
        .header(HeaderName::from_static("anthropic-version"), VERSION);
    let call = match budgeted && !request.tools.is_empty() {
        true => call.header(HeaderName::from_static("anthropic-beta"), INTERLEAVED),
        false => call,
    };
    call.key(HeaderName::from_static("x-api-key"), "", key)
}

fn tools(tools: &[Tool]) -> Value {
    let one = |tool: &Tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema });
    tools.iter().map(one).collect()
}

fn ephemeral() -> Value {
    json!({ "type": "ephemeral" })
}

/// Says how much to think; true when by a number of tokens.
fn think(request: &Request, body: &mut Value) -> bool {
    let level = request.level();
    match (request.model.thinking, level) {
        (Thinking::Absent, _) => false,
        // Newer models think only when asked to, and some of them refuse the word.
        (Thinking::Adaptive, Reasoning::Off) => false,
        (_, Reasoning::Off) => {
            body["thinking"] = json!({ "type": "disabled" });
            false
        }
        (Thinking::Adaptive, level) => {
            // Without the word the newest models keep their thoughts to themselves.
            body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
            body["output_config"] = json!({ "effort": effort(level) });
            false
        }
        (_, level) => {
            let (max, budget) = budget(level, request);
            body["max_tokens"] = json!(max);
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
            true
        }
    }
}

fn effort(level: Reasoning) -> &'static str {
    match level {
        Reasoning::Off | Reasoning::Minimal | Reasoning::Low => "low",
        Reasoning::Medium => "medium",
        Reasoning::High => "high",
        Reasoning::Xhigh => "max",
    }
}

/// The longest answer with its thoughts, and how much of it may be thoughts.
fn budget(level: Reasoning, request: &Request) -> (u64, u64) {
    let budget = match level {
        Reasoning::Off | Reasoning::Minimal => 1_024,
        Reasoning::Low => 2_048,
        Reasoning::Medium => 8_192,
        Reasoning::High | Reasoning::Xhigh => 16_384,
    };
    let most = request.model.max_output_tokens.unwrap_or(OUTPUT_TOKENS_UNKNOWN);
    let max = request.max_tokens.saturating_add(budget).min(most);
    let budget = if max <= budget { max.saturating_sub(WORDS_TOKENS_MIN) } else { budget };
    // The provider takes no smaller budget.
    (max.max(2_048), budget.max(1_024))
}

/// The messages: results go into what the user says, and two of one speaker become one.
fn messages(messages: &[Message]) -> Value {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { content } => ("user", content.iter().map(block).collect()),
            Message::ToolResult(result) => ("user", vec![tool_result(result)]),
            Message::Assistant(answer) => ("assistant", assistant(answer)),
        };
        match out.last_mut() {
            Some((last, earlier)) if *last == role => earlier.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => out.push((role, blocks)),
        }
    }
    // The end of what the user said is where the next request can begin to read from the cache.
    if let Some((_, blocks)) = out.iter_mut().rfind(|(role, _)| *role == "user")
        && let Some(last) = blocks.last_mut()
    {
        last["cache_control"] = ephemeral();
    }
    out.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Image { mime_type, data } => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime_type, "data": data },
        }),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let content: Vec<Value> = result.content.iter().map(block).collect();
    json!({
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": content,
        "is_error": result.is_error,
    })
}

fn assistant(answer: &AssistantMessage) -> Vec<Value> {
    let blocks = answer.content.iter().filter_map(|content| match content {
        AssistantContent::Text(text) => Some(json!({ "type": "text", "text": text.text })),
        AssistantContent::ToolCall(call) => {
            Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }))
        }
        AssistantContent::Thinking(thinking) => match (&thinking.thinking_signature, thinking.redacted) {
            (Some(signature), Some(true)) => Some(json!({ "type": "redacted_thinking", "data": signature })),
            (Some(signature), _) => {
                Some(json!({ "type": "thinking", "thinking": thinking.thinking, "signature": signature }))
            }
            // Thoughts without a signature, from an answer that was cut, are only words.
            (None, _) if thinking.thinking.trim().is_empty() => None,
            (None, _) => Some(json!({ "type": "text", "text": thinking.thinking })),
        },
    });
    blocks.collect()
}
