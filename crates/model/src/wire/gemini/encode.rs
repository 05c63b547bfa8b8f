//! Encoder of Google's Gemini.

use http::header::HeaderName;
use protocol::ai::Tool;
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde_json::{Value, json};

use crate::failure::{Cause, Failure};
use crate::http::Call;
use crate::message::{Block, Message, Request, ToolResult, images, words};
use crate::models::Thinking;
use crate::provider::Endpoint;
use crate::reasoning::Reasoning;

/// What Google takes in place of the signature of a call that another model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn call(request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
    let key = endpoint.required_key()?;
    let mut body = json!({
        "contents": contents(&request.messages, request.model.thinking == Thinking::Level),
        "generationConfig": { "maxOutputTokens": request.output_tokens() },
    });
    if !request.system.trim().is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": &*request.system }] });
    }
    if let Some(thinking) = thinking(request) {
        body["generationConfig"]["thinkingConfig"] = thinking;
    }
    let url =
        format!("{}/models/{}:streamGenerateContent?alt=sse", endpoint.base(), path_name(&request.model.id)?);
    Call::post(url, "application/json", super::super::body(&body, request, super::API, tools)).key(
        HeaderName::from_static("x-goog-api-key"),
        "",
        key,
    )
}

fn tools(tools: &[Tool]) -> Value {
    let declaration = |tool: &Tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.input_schema,
        })
    };
    json!([{ "functionDeclarations": tools.iter().map(declaration).collect::<Value>() }])
}

/// The model's name goes into the path, so it may hold nothing that ends a path.
fn path_name(id: &str) -> Result<&str, Failure> {
    let id = id.strip_prefix("models/").unwrap_or(id);
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    match !id.is_empty() && !id.starts_with('.') && id.chars().all(good) {
        true => Ok(id),
        false => Err(Failure::new(Cause::Request, format!("Model not found: gemini/{id}"))),
    }
}

fn thinking(request: &Request) -> Option<Value> {
    let level = request.level();
    Some(match (request.model.thinking, level) {
        (Thinking::Absent, _) => return None,
        (Thinking::Budget, Reasoning::Off) => json!({ "thinkingBudget": 0 }),
        (Thinking::BudgetAlways, Reasoning::Off) => json!({ "thinkingBudget": 128 }),
        // A level can only be turned down; one nobody knows is left alone.
        (_, Reasoning::Off) if request.model.known => {
            json!({ "thinkingLevel": request.model.reasoning.first().map(|level| level.as_str()) })
        }
        (_, Reasoning::Off) => return None,
        (Thinking::Level, level) => json!({ "includeThoughts": true, "thinkingLevel": level.as_str() }),
        (style, level) => json!({ "includeThoughts": true, "thinkingBudget": budget(style, level) }),
    })
}

fn budget(style: Thinking, level: Reasoning) -> u64 {
    match level {
        Reasoning::Off | Reasoning::Minimal => 512,
        Reasoning::Low => 2_048,
        Reasoning::Medium => 8_192,
        Reasoning::High | Reasoning::Xhigh if style == Thinking::BudgetAlways => 32_768,
        Reasoning::High | Reasoning::Xhigh => 24_576,
    }
}

/// The messages: the results of one turn go into one message, and their pictures into the next.
fn contents(messages: &[Message], signed: bool) -> Value {
    let mut out: Vec<Value> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    let mut seen: Vec<Value> = Vec::new();
    for message in messages {
        match message {
            Message::ToolResult(result) => {
                results.push(tool_result(result));
                seen.extend(images(&result.content).map(|(mime_type, data)| inline(mime_type, data)));
            }
            other => {
                flush(&mut results, &mut seen, &mut out);
                let (role, parts) = match other {
                    Message::User { content } => ("user", content.iter().map(part).collect()),
                    Message::Assistant(answer) => ("model", assistant(answer, signed)),
                    Message::ToolResult(_) => continue,
                };
                if !parts.is_empty() {
                    out.push(json!({ "role": role, "parts": parts }));
                }
            }
        }
    }
    flush(&mut results, &mut seen, &mut out);
    Value::from(out)
}

fn flush(results: &mut Vec<Value>, seen: &mut Vec<Value>, out: &mut Vec<Value>) {
    for parts in [results, seen] {
        if !parts.is_empty() {
            out.push(json!({ "role": "user", "parts": std::mem::take(parts) }));
        }
    }
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "text": text }),
        Block::Image { mime_type, data } => inline(mime_type, data),
    }
}

fn inline(mime_type: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": mime_type, "data": data } })
}

fn tool_result(result: &ToolResult) -> Value {
    let name = if result.is_error { "error" } else { "output" };
    json!({ "functionResponse": {
        "id": result.tool_call_id,
        "name": result.tool_name,
        "response": { name: words(&result.content) },
    }})
}

/// An answer's parts. Models that want calls `signed` take a fixed word for calls of other models.
fn assistant(answer: &AssistantMessage, signed: bool) -> Vec<Value> {
    let parts = answer.content.iter().map(|content| {
        let (mut part, signature) = match content {
            AssistantContent::Text(text) => (json!({ "text": text.text }), &text.text_signature),
            AssistantContent::Thinking(thinking) => {
                (json!({ "thought": true, "text": thinking.thinking }), &thinking.thinking_signature)
            }
            AssistantContent::ToolCall(call) => {
                let given = json!({ "id": call.id, "name": call.name, "args": call.arguments });
                (json!({ "functionCall": given }), &call.thought_signature)
            }
        };
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature);
        }
        part
    });
    let mut parts: Vec<Value> = parts.collect();
    let bare = !parts.iter().any(|part| part["thoughtSignature"].is_string());
    if let Some(first) = parts.iter_mut().find(|part| part["functionCall"].is_object())
        && signed
        && bare
    {
        first["thoughtSignature"] = json!(NO_SIGNATURE);
    }
    parts
}
