//! Decoder of Anthropic's Messages API. Writing requests is in `encode.rs`.

mod encode;

use protocol::signal::stream::DoneReason;
use serde_json::Value;

use super::{Decoder, Wire, json, number, text};
use crate::draft::Output;
use crate::failure::{Cause, Failure};
use crate::http::Call;
use crate::message::Request;
use crate::models::Tokens;
use crate::provider::Endpoint;

/// What a reader sees of thoughts that the provider hides.
const REDACTED: &str = "[Reasoning redacted]";

/// Its name in messages.
const API: &str = "anthropic-messages";

pub(crate) struct Messages;

impl Wire for Messages {
    fn api(&self) -> &'static str {
        API
    }

    fn call(&self, request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
        encode::call(request, endpoint)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reader>::default()
    }
}

#[derive(Default)]
struct Reader {
    /// The blocks that are open, by the provider's index.
    open: Vec<Open>,
    tokens: Tokens,
    stop: Option<Result<DoneReason, Failure>>,
}

struct Open {
    index: u64,
    block: usize,
    kind: BlockKind,
    signature: String,
    /// Arguments that came with the start of a tool call, in case nothing follows.
    input: Option<Value>,
}

#[derive(Clone, Copy, PartialEq)]
enum BlockKind {
    Text,
    Thinking,
    Tool,
}

impl Decoder for Reader {
    fn decode(&mut self, data: &str, out: &mut Output) -> Result<(), Failure> {
        let event = json(data)?;
        match text(&event, "/type") {
            "message_start" => {
                out.start();
                out.identify(Some(text(&event, "/message/id")), Some(text(&event, "/message/model")));
                self.count(&event["message"]["usage"], out);
            }
            "content_block_start" => self.open(&event, out)?,
            "content_block_delta" => self.delta(&event, out),
            "content_block_stop" => self.close(number(&event, "/index"), out),
            "message_delta" => {
                self.count(&event["usage"], out);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop(reason, &event));
                }
            }
            "message_stop" => {
                while let Some(open) = self.open.first() {
                    self.close(open.index, out);
                }
                match self.stop.take() {
                    Some(Ok(reason)) => out.done(reason),
                    Some(Err(failure)) => return Err(failure),
                    None => return Err(Failure::broken_off()),
                }
            }
            "error" => {
                return Err(Failure::reported(text(&event, "/error/type"), text(&event, "/error/message")));
            }
            // `ping`, and what was added since.
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn open(&mut self, event: &Value, out: &mut Output) -> Result<(), Failure> {
        let given = &event["content_block"];
        let (kind, block, signature) = match text(given, "/type") {
            "text" => (BlockKind::Text, out.open_text()?, ""),
            "thinking" => (BlockKind::Thinking, out.open_thinking()?, text(given, "/signature")),
            "redacted_thinking" => {
                let block = out.open_thinking()?;
                out.redact(block);
                out.append(block, REDACTED);
                (BlockKind::Thinking, block, text(given, "/data"))
            }
            "tool_use" => (BlockKind::Tool, out.open_tool(text(given, "/id"), text(given, "/name"))?, ""),
            // Blocks of tools that run at the provider; we offer none.
            _ => return Ok(()),
        };
        out.append(block, text(given, "/text"));
        out.append(block, text(given, "/thinking"));
        let index = number(event, "/index");
        self.open.push(Open {
            index,
            block,
            kind,
            signature: signature.to_owned(),
            input: given.get("input").cloned(),
        });
        Ok(())
    }

    fn delta(&mut self, event: &Value, out: &mut Output) {
        let index = number(event, "/index");
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else { return };
        let delta = &event["delta"];
        match (text(delta, "/type"), open.kind) {
            ("text_delta", BlockKind::Text) => out.append(open.block, text(delta, "/text")),
            ("thinking_delta", BlockKind::Thinking) => out.append(open.block, text(delta, "/thinking")),
            ("signature_delta", BlockKind::Thinking) => open.signature.push_str(text(delta, "/signature")),
            ("input_json_delta", BlockKind::Tool) => {
                out.append(open.block, text(delta, "/partial_json"));
                if !text(delta, "/partial_json").is_empty() {
                    open.input = None;
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, index: u64, out: &mut Output) {
        let Some(at) = self.open.iter().position(|open| open.index == index) else { return };
        let open = self.open.remove(at);
        if !open.signature.is_empty() {
            out.sign(open.block, open.signature);
        }
        if let Some(input) = open.input.filter(|input| input.as_object().is_some_and(|map| !map.is_empty())) {
            out.append(open.block, &input.to_string());
        }
        out.close(open.block);
    }

    /// Counts are totals so far; one that is absent has not changed.
    fn count(&mut self, usage: &Value, out: &mut Output) {
        let take = |place: &str, to: &mut u64| {
            if usage.pointer(place).is_some_and(Value::is_number) {
                *to = number(usage, place);
            }
        };
        take("/input_tokens", &mut self.tokens.input);
        take("/output_tokens", &mut self.tokens.output);
        take("/cache_read_input_tokens", &mut self.tokens.cache_read);
        take("/cache_creation_input_tokens", &mut self.tokens.cache_write);
        out.count(self.tokens);
    }
}

fn stop(reason: &str, event: &Value) -> Result<DoneReason, Failure> {
    match reason {
        "end_turn" | "pause_turn" | "stop_sequence" => Ok(DoneReason::Stop),
        "max_tokens" => Ok(DoneReason::Length),
        "tool_use" => Ok(DoneReason::ToolUse),
        "model_context_window_exceeded" => {
            Err(Failure::new(Cause::ContextOverflow, "The conversation exceeds the model's context window"))
        }
        "refusal" | "sensitive" => {
            let why = text(event, "/delta/stop_details/explanation");
            let why = if why.is_empty() { "The model declined to answer" } else { why };
            Err(Failure::new(Cause::Refused, format!("{why} (stop reason: {reason})")))
        }
        other => Err(Failure::new(Cause::Provider, format!("Provider stop_reason: {other}"))),
    }
}
