//! Incremental JSON serialiser of an answer while it grows. What was written once is kept, so that repeating the whole
//! answer in every event costs a copy of its text and not another pass over it.

use protocol::frame::to_json;
use protocol::signal::stream::{AssistantMessage, TextContent, ThinkingContent, ToolCall};
use serde_json::{Map, Value};

use crate::partial_json;

/// How far an answer had come at an event: the length of each block, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) Box<[usize]>);

/// A block as it is to be written.
pub(crate) enum BlockView<'a> {
    Text(&'a TextContent),
    Thinking(&'a ThinkingContent),
    /// The call, the JSON of its arguments as it came, and whether the call has them already.
    Tool {
        call: &'a ToolCall,
        json: &'a str,
        complete: bool,
    },
}

/// What was written of each block.
#[derive(Debug, Default)]
pub(crate) struct AnswerJson {
    blocks: Vec<BlockJson>,
}

/// The JSON of a block's first `length` bytes: the inside of a string, or the arguments of a tool call.
#[derive(Debug, Default)]
struct BlockJson {
    length: usize,
    complete: bool,
    json: String,
}

impl AnswerJson {
    /// Appends the whole message.
    pub fn write(
        &mut self,
        frame: &AssistantMessage,
        blocks: &[BlockView<'_>],
        mark: Option<&Mark>,
        out: &mut String,
    ) {
        let blocks = mark.map_or(blocks, |mark| &blocks[..mark.0.len().min(blocks.len())]);
        self.blocks.resize_with(blocks.len().max(self.blocks.len()), BlockJson::default);
        out.reserve(self.blocks.iter().map(|kept| kept.json.len() + 64).sum::<usize>() + 512);
        out.push_str(r#"{"role":"assistant","content":["#);
        for (place, (block, kept)) in blocks.iter().zip(&mut self.blocks).enumerate() {
            if place > 0 {
                out.push(',');
            }
            kept.write(block, mark.map(|mark| mark.0[place]), out);
        }
        out.push(']');
        let frame = Frame::of(frame);
        // The members of the frame follow the content.
        out.push_str(&to_json(&frame).replacen('{', ",", 1));
    }
}

impl BlockJson {
    fn write(&mut self, block: &BlockView<'_>, length: Option<usize>, out: &mut String) {
        match block {
            BlockView::Text(block) => {
                out.push_str(r#"{"type":"text","text":""#);
                self.write_text(&block.text, length, out);
                out.push('"');
                push_signature(out, "textSignature", block.text_signature.as_deref());
            }
            BlockView::Thinking(block) => {
                out.push_str(r#"{"type":"thinking","thinking":""#);
                self.write_text(&block.thinking, length, out);
                out.push('"');
                push_signature(out, "thinkingSignature", block.thinking_signature.as_deref());
                if let Some(redacted) = block.redacted {
                    out.push_str(if redacted { r#","redacted":true"# } else { r#","redacted":false"# });
                }
            }
            BlockView::Tool { call, json, complete } => {
                out.push_str(r#"{"type":"toolCall","id":"#);
                out.push_str(&to_json(&call.id));
                out.push_str(r#","name":"#);
                out.push_str(&to_json(&call.name));
                out.push_str(r#","arguments":"#);
                self.write_arguments(call, json, *complete, length, out);
                push_signature(out, "thoughtSignature", call.thought_signature.as_deref());
            }
        }
        out.push('}');
    }

    fn write_text(&mut self, text: &str, length: Option<usize>, out: &mut String) {
        let length = length.unwrap_or(text.len());
        if length < self.length {
            // Somebody slow is shown an earlier state.
            escape(&text[..length], out);
            return;
        }
        escape(&text[self.length..length], &mut self.json);
        self.length = length;
        out.push_str(&self.json);
    }

    fn write_arguments(
        &mut self,
        call: &ToolCall,
        json: &str,
        complete: bool,
        length: Option<usize>,
        out: &mut String,
    ) {
        let length = length.unwrap_or(json.len());
        // All deltas came: from here on the arguments are what they are.
        let complete = complete && length == json.len();
        if self.json.is_empty() || length != self.length || complete != self.complete {
            let partial: Map<String, Value>;
            let arguments = match complete {
                true => &call.arguments,
                false => {
                    partial = partial_json::partial_arguments(&json[..length]);
                    &partial
                }
            };
            *self = BlockJson { length, complete, json: to_json(arguments) };
        }
        out.push_str(&self.json);
    }
}

fn push_signature(out: &mut String, name: &str, signature: Option<&str>) {
    if let Some(signature) = signature {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(&to_json(signature));
    }
}

/// Appends the inside of a JSON string.
fn escape(text: &str, out: &mut String) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push_str(text);
        return;
    }
    let quoted = to_json(text);
    out.push_str(&quoted[1..quoted.len() - 1]);
}

/// A message without its role and content, in the order of the wire.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    api: &'a str,
    provider: &'a str,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'a str>,
    usage: &'a protocol::signal::stream::Usage,
    stop_reason: protocol::signal::stream::StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    timestamp: i64,
}

impl<'a> Frame<'a> {
    fn of(message: &'a AssistantMessage) -> Frame<'a> {
        Frame {
            api: &message.api,
            provider: &message.provider,
            model: &message.model,
            response_model: message.response_model.as_deref(),
            response_id: message.response_id.as_deref(),
            usage: &message.usage,
            stop_reason: message.stop_reason,
            error_message: message.error_message.as_deref(),
            timestamp: message.timestamp,
        }
    }
}

#[cfg(test)]
mod tests;
