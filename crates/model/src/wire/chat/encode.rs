//! Encoder of Chat Completions requests.

use http::header::{AUTHORIZATION, HeaderName};
use protocol::ai::Tool;
use protocol::signal::stream::{AssistantContent, AssistantMessage, ThinkingContent};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::http::Call;
use crate::message::{Block, Message, Request, ToolResult, images, words};
use crate::models::Thinking;
use crate::provider::{Endpoint, ProviderKind};
use crate::reasoning::Reasoning;

pub(super) fn call(request: &Request, endpoint: &Endpoint, openrouter: bool) -> Result<Call, Failure> {
    // A server of one's own may want no key.
    let key = match endpoint.is_usual() {
        true => Some(endpoint.required_key()?),
        false => endpoint.secret(),
    };
    let mut body = json!({
        "model": request.model.id,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": messages(request, openrouter),
    });
    // OpenAI's newer models refuse the name that everybody else knows.
    let limit =
        if endpoint.base().contains("api.openai.com") { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.output_tokens());
    if !request.tools.is_empty() {
        body["parallel_tool_calls"] = json!(true);
    }
    if openrouter {
        body["usage"] = json!({ "include": true });
    }
    think(request, &mut body, openrouter);
    let mut call = Call::post(
        format!("{}/chat/completions", endpoint.base()),
        "application/json",
        super::super::body(&body, request, super::API, tools),
    );
    if let Some(affinity) = &request.affinity {
        call = call.header(HeaderName::from_static("x-session-affinity"), affinity);
    }
    if openrouter {
        call = call.header(HeaderName::from_static("x-title"), "GSV");
    }
    match key {
        Some(key) => call.key(AUTHORIZATION, "Bearer ", key),
        None => Ok(call),
    }
}

/// Tools as functions; Ollama has the same words for them.
pub(in crate::wire) fn tools(tools: &[Tool]) -> Value {
    let function = |tool: &Tool| {
        json!({ "type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
        }})
    };
    tools.iter().map(function).collect()
}

fn think(request: &Request, body: &mut Value, openrouter: bool) {
    let level = request.level();
    let lowest = request.model.reasoning.first();
    match (request.model.thinking, level, openrouter) {
        (Thinking::Absent, ..) => {}
        (_, Reasoning::Off, true) => body["reasoning"] = json!({ "enabled": false }),
        (Thinking::EffortOrNone, Reasoning::Off, false) => body["reasoning_effort"] = json!("none"),
        // What cannot be turned off is turned down, where it is known to be like that.
        (Thinking::Effort, Reasoning::Off, false)
            if request.model.known && request.model.provider == ProviderKind::Openai =>
        {
            body["reasoning_effort"] = json!(lowest.map(|level| level.as_str()));
        }
        (_, Reasoning::Off, false) => {}
        (_, level, true) => body["reasoning"] = json!({ "effort": level.as_str() }),
        (_, level, false) => body["reasoning_effort"] = json!(level.as_str()),
    }
}

fn messages(request: &Request, openrouter: bool) -> Value {
    // Anthropic's models behind OpenRouter cache only what is marked.
    let marked = openrouter && request.model.id.starts_with("anthropic/");
    let mut out = Vec::new();
    if !request.system.trim().is_empty() {
        out.push(match marked {
            true => json!({ "role": "system", "content": [
                { "type": "text", "text": &*request.system, "cache_control": { "type": "ephemeral" } },
            ]}),
            false => json!({ "role": "system", "content": &*request.system }),
        });
    }
    let mut seen = Vec::new();
    for message in &request.messages {
        // Results hold only words here: their pictures come after the last of them, as if a person showed them.
        if !matches!(message, Message::ToolResult(_)) {
            show(&mut seen, &mut out);
        }
        match message {
            Message::User { content } => out.push(json!({ "role": "user", "content": user(content) })),
            Message::Assistant(answer) => out.push(assistant(answer, openrouter)),
            Message::ToolResult(result) => out.push(tool_result(result, &mut seen)),
        }
    }
    show(&mut seen, &mut out);
    if marked {
        mark_last(&mut out);
    }
    Value::from(out)
}

fn show(seen: &mut Vec<Value>, out: &mut Vec<Value>) {
    if !seen.is_empty() {
        let mut content = vec![json!({ "type": "text", "text": "Images from the tool results above:" })];
        content.append(seen);
        out.push(json!({ "role": "user", "content": content }));
    }
}

fn mark_last(messages: &mut [Value]) {
    let Some(last) = messages.iter_mut().rfind(|message| message["role"] == "user") else { return };
    if let Some(text) = last["content"].as_str().map(str::to_owned) {
        last["content"] = json!([{ "type": "text", "text": text }]);
    }
    if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn user(content: &[Block]) -> Value {
    if images(content).next().is_none() {
        return Value::from(words(content));
    }
    let blocks = content.iter().map(|block| match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Image { mime_type, data } => image(mime_type, data),
    });
    blocks.collect()
}

fn image(mime_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } })
}

fn tool_result(result: &ToolResult, seen: &mut Vec<Value>) -> Value {
    let pictures: Vec<Value> =
        images(&result.content).map(|(mime_type, data)| image(mime_type, data)).collect();
    let mut content = words(&result.content);
    if content.is_empty() {
        content = if pictures.is_empty() { "(no output)" } else { "(see the image below)" }.to_owned();
    }
    seen.extend(pictures);
    json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": content })
}

fn assistant(answer: &AssistantMessage, openrouter: bool) -> Value {
    let mut out = json!({ "role": "assistant", "content": null });
    let mut spoken = String::new();
    let mut calls = Vec::new();
    for content in &answer.content {
        match content {
            AssistantContent::Text(text) => spoken.push_str(&text.text),
            AssistantContent::Thinking(thinking) => replay(thinking, &mut out, openrouter),
            AssistantContent::ToolCall(call) => calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": arguments(&call.arguments) },
            })),
        }
    }
    if !spoken.is_empty() {
        out["content"] = Value::from(spoken);
    }
    if calls.is_empty() {
        if out["content"].is_null() {
            out["content"] = Value::from("");
        }
    } else {
        out["tool_calls"] = Value::from(calls);
    }
    out
}

/// Thoughts go back the way they came: under the name, or as the details, that their signature says.
fn replay(thinking: &ThinkingContent, out: &mut Value, openrouter: bool) {
    let Some(signature) = thinking.thinking_signature.as_deref() else { return };
    match serde_json::from_str::<Value>(signature) {
        Ok(details @ Value::Array(_)) if openrouter => out["reasoning_details"] = details,
        Ok(_) => {}
        Err(_) if ["reasoning_content", "reasoning", "reasoning_text"].contains(&signature) => {
            out[signature] = Value::from(thinking.thinking.clone());
        }
        Err(_) => {}
    }
}

fn arguments(arguments: &Map<String, Value>) -> String {
    Value::Object(arguments.clone()).to_string()
}
