//! Encoder of Ollama's own API.

use http::header::AUTHORIZATION;
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde_json::{Value, json};

use super::root;
use crate::failure::Failure;
use crate::http::Call;
use crate::message::{Block, Message, Request, images, words};
use crate::models::Thinking;
use crate::provider::Endpoint;
use crate::reasoning::Reasoning;
use crate::wire::chat::encode::tools;

pub(super) fn call(request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
    let mut options = json!({ "num_predict": request.output_tokens() });
    if let Some(window) = request.model.context_window_tokens {
        options["num_ctx"] = json!(window);
    }
    let mut body = json!({
        "model": request.model.id,
        "stream": true,
        "messages": messages(request),
        "options": options,
    });
    if request.model.thinking != Thinking::Absent {
        body["think"] = think(request);
    }
    let call = Call::post(
        format!("{}/api/chat", root(endpoint.base())),
        "application/json",
        super::super::body(&body, request, super::API, tools),
    );
    match endpoint.secret() {
        Some(key) => call.key(AUTHORIZATION, "Bearer ", key),
        None => Ok(call),
    }
}

/// One family takes a level, and cannot be turned off; the others take yes or no.
fn think(request: &Request) -> Value {
    let level = request.level();
    match (request.model.id.contains("gpt-oss"), level) {
        (true, Reasoning::Off) => json!("low"),
        (true, level) => json!(level.as_str()),
        (false, level) => json!(level != Reasoning::Off),
    }
}

fn messages(request: &Request) -> Value {
    let system =
        (!request.system.trim().is_empty()).then(|| json!({ "role": "system", "content": &*request.system }));
    let others = request.messages.iter().map(|message| match message {
        Message::User { content } => said("user", content),
        Message::ToolResult(result) => {
            let mut out = said("tool", &result.content);
            out["tool_name"] = json!(result.tool_name);
            out["tool_call_id"] = json!(result.tool_call_id);
            out
        }
        Message::Assistant(answer) => assistant(answer),
    });
    system.into_iter().chain(others).collect()
}

fn said(role: &str, content: &[Block]) -> Value {
    let mut out = json!({ "role": role, "content": words(content) });
    let pictures: Vec<&str> = images(content).map(|(_, data)| data).collect();
    if !pictures.is_empty() {
        out["images"] = json!(pictures);
    }
    out
}

fn assistant(answer: &AssistantMessage) -> Value {
    let (mut spoken, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for content in &answer.content {
        match content {
            AssistantContent::Text(text) => spoken.push_str(&text.text),
            AssistantContent::Thinking(thinking) => thoughts.push_str(&thinking.thinking),
            AssistantContent::ToolCall(call) => calls.push(json!({
                "id": call.id,
                "function": { "name": call.name, "arguments": call.arguments },
            })),
        }
    }
    let mut out = json!({ "role": "assistant", "content": spoken });
    if !thoughts.is_empty() {
        out["thinking"] = json!(thoughts);
    }
    if !calls.is_empty() {
        out["tool_calls"] = json!(calls);
    }
    out
}
