//! Encoder of OpenAI's Responses API. Nothing is stored at the provider.

use http::header::AUTHORIZATION;
use protocol::ai::Tool;
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::http::Call;
use crate::message::{Block, Message, Request, ToolResult, images, words};
use crate::models::Thinking;
use crate::provider::Endpoint;
use crate::reasoning::Reasoning;

/// The provider refuses shorter answers than this.
const OUTPUT_TOKENS_MIN: u64 = 16;
/// The provider refuses longer cache keys than this.
const CACHE_KEY_CHARS_MAX: usize = 64;

pub(super) fn call(request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
    let key = endpoint.required_key()?;
    let mut body = json!({
        "model": request.model.id,
        "stream": true,
        "store": false,
        "max_output_tokens": request.output_tokens().max(OUTPUT_TOKENS_MIN),
        "input": request.messages.iter().flat_map(items).collect::<Value>(),
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = json!(&*request.system);
    }
    if !request.tools.is_empty() {
        body["parallel_tool_calls"] = json!(true);
    }
    if let Some(affinity) = &request.affinity {
        body["prompt_cache_key"] = affinity.chars().take(CACHE_KEY_CHARS_MAX).collect::<String>().into();
    }
    think(request, &mut body);
    Call::post(
        format!("{}/responses", endpoint.base()),
        "application/json",
        super::super::body(&body, request, super::API, tools),
    )
    .key(AUTHORIZATION, "Bearer ", key)
}

fn tools(tools: &[Tool]) -> Value {
    let function = |tool: &Tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
            "strict": false,
        })
    };
    tools.iter().map(function).collect()
}

fn think(request: &Request, body: &mut Value) {
    let lowest = request.model.reasoning.first().copied().unwrap_or_default();
    let effort = match (request.model.thinking, request.level()) {
        (Thinking::Absent, _) => return,
        (Thinking::EffortOrNone, Reasoning::Off) => "none",
        // What cannot be turned off is turned down; a model nobody knows may not think at all.
        (_, Reasoning::Off) if request.model.known => lowest.as_str(),
        (_, Reasoning::Off) => return,
        (_, level) => level.as_str(),
    };
    body["reasoning"] = json!({ "effort": effort });
    body["include"] = json!(["reasoning.encrypted_content"]);
    if request.level() != Reasoning::Off {
        body["reasoning"]["summary"] = json!("auto");
    }
}

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User { content } => {
            vec![json!({ "role": "user", "content": content.iter().map(block).collect::<Value>() })]
        }
        Message::ToolResult(result) => vec![tool_result(result)],
        Message::Assistant(answer) => assistant(answer),
    }
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "type": "input_text", "text": text }),
        Block::Image { mime_type, data } => json!({
            "type": "input_image",
            "detail": "auto",
            "image_url": format!("data:{mime_type};base64,{data}"),
        }),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let output = match images(&result.content).next() {
        Some(_) => result.content.iter().map(block).collect(),
        None => Value::from(words(&result.content)),
    };
    json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": output })
}

fn assistant(answer: &AssistantMessage) -> Vec<Value> {
    let items = answer.content.iter().filter_map(|content| match content {
        AssistantContent::Text(text) => {
            let mut item = json!({
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{ "type": "output_text", "text": text.text, "annotations": [] }],
            });
            if let Some(id) = &text.text_signature {
                item["id"] = json!(id);
            }
            Some(item)
        }
        // Thoughts can only go back as the item they were.
        AssistantContent::Thinking(thinking) => {
            let item: Value = serde_json::from_str(thinking.thinking_signature.as_deref()?).ok()?;
            item.is_object().then_some(item)
        }
        AssistantContent::ToolCall(call) => {
            let mut item = json!({
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": Value::Object(call.arguments.clone()).to_string(),
            });
            if let Some(id) = &call.thought_signature {
                item["id"] = json!(id);
            }
            Some(item)
        }
    });
    items.collect()
}
