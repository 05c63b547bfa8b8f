//! Decoder of OpenAI's Responses API. Writing requests is in `encode.rs`.

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

/// Its name in messages.
const API: &str = "openai-responses";

pub(crate) struct Responses;

impl Wire for Responses {
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
    /// The items that are open, by their place in the output.
    open: Vec<Item>,
    has_tool: bool,
}

struct Item {
    index: u64,
    block: usize,
    /// What was said so far; a last event may bring all of it when there were no deltas.
    said: bool,
    parts: u64,
}

impl Decoder for Reader {
    fn decode(&mut self, data: &str, out: &mut Output) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let event = json(data)?;
        let index = number(&event, "/output_index");
        match text(&event, "/type") {
            "response.created" | "response.in_progress" => {
                out.start();
                out.identify(event["response"]["id"].as_str(), event["response"]["model"].as_str());
            }
            "response.output_item.added" => self.open(index, &event["item"], out)?,
            "response.output_text.delta"
            | "response.refusal.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.function_call_arguments.delta" => self.append(index, text(&event, "/delta"), out),
            "response.reasoning_summary_part.added" => self.part(index, out),
            "response.output_item.done" => self.close(index, &event["item"], out)?,
            "response.completed" | "response.incomplete" | "response.done" => {
                self.end(&event["response"], out)?
            }
            "response.failed" => {
                let error = &event["response"]["error"];
                return Err(Failure::reported(text(error, "/code"), text(error, "/message")));
            }
            "error" => {
                // The error is the event itself, or inside it.
                let error = if event["error"].is_object() { &event["error"] } else { &event };
                return Err(Failure::reported(text(error, "/code"), text(error, "/message")));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn open(&mut self, index: u64, item: &Value, out: &mut Output) -> Result<(), Failure> {
        let block = match text(item, "/type") {
            "message" => out.open_text()?,
            "reasoning" => out.open_thinking()?,
            "function_call" => {
                self.has_tool = true;
                out.open_tool(text(item, "/call_id"), text(item, "/name"))?
            }
            _ => return Ok(()),
        };
        let given = text(item, "/arguments");
        out.append(block, given);
        self.open.push(Item { index, block, said: !given.is_empty(), parts: 0 });
        Ok(())
    }

    fn append(&mut self, index: u64, delta: &str, out: &mut Output) {
        if let Some(item) = self.open.iter_mut().find(|item| item.index == index) {
            item.said = item.said || !delta.is_empty();
            out.append(item.block, delta);
        }
    }

    /// A blank line between two parts of a summary.
    fn part(&mut self, index: u64, out: &mut Output) {
        if let Some(item) = self.open.iter_mut().find(|item| item.index == index) {
            item.parts += 1;
            if item.parts > 1 {
                out.append(item.block, "\n\n");
            }
        }
    }

    fn close(&mut self, index: u64, item: &Value, out: &mut Output) -> Result<(), Failure> {
        if !self.open.iter().any(|open| open.index == index) {
            self.open(index, item, out)?;
        }
        let Some(at) = self.open.iter().position(|open| open.index == index) else { return Ok(()) };
        let open = self.open.remove(at);
        if !open.said {
            out.append(open.block, &said(item));
        }
        match text(item, "/type") {
            // The whole item goes back with the next request: its encrypted part is what the model thought.
            "reasoning" => out.sign(open.block, item.to_string()),
            _ if text(item, "/id").is_empty() => {}
            _ => out.sign(open.block, text(item, "/id")),
        }
        out.close(open.block);
        Ok(())
    }

    fn end(&mut self, response: &Value, out: &mut Output) -> Result<(), Failure> {
        for item in std::mem::take(&mut self.open) {
            out.close(item.block);
        }
        out.start();
        out.identify(response["id"].as_str(), response["model"].as_str());
        if response["usage"].is_object() {
            out.count(tokens(&response["usage"]));
        }
        let reason = text(response, "/incomplete_details/reason");
        match (text(response, "/status"), reason) {
            ("incomplete", "content_filter") => {
                return Err(Failure::new(Cause::Refused, "Provider finish_reason: content_filter"));
            }
            ("incomplete", _) => out.done(DoneReason::Length),
            ("failed" | "cancelled", _) => {
                let error = &response["error"];
                return Err(Failure::reported(text(error, "/code"), text(error, "/message")));
            }
            _ if self.has_tool => out.done(DoneReason::ToolUse),
            _ => out.done(DoneReason::Stop),
        }
        Ok(())
    }
}

/// All that an item says.
fn said(item: &Value) -> String {
    let texts = |place: &str, name: &str| -> Vec<String> {
        let parts = item[place].as_array().map(Vec::as_slice).unwrap_or_default();
        parts.iter().filter_map(|part| part[name].as_str().map(str::to_owned)).collect()
    };
    match text(item, "/type") {
        "function_call" => text(item, "/arguments").to_owned(),
        "reasoning" => texts("summary", "text").join("\n\n"),
        _ => texts("content", "text").concat() + &texts("content", "refusal").concat(),
    }
}

fn tokens(usage: &Value) -> Tokens {
    let cache_read = number(usage, "/input_tokens_details/cached_tokens");
    Tokens {
        input: number(usage, "/input_tokens").saturating_sub(cache_read),
        output: number(usage, "/output_tokens"),
        cache_read,
        cache_write: 0,
        cost: None,
    }
}
