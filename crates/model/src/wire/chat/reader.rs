//! Decoder of Chat Completions: one block of text, one of thoughts, and tool calls that may grow side by side.

use protocol::signal::stream::DoneReason;
use serde_json::Value;

use super::super::{Decoder, json, number, text};
use crate::draft::Output;
use crate::failure::{Cause, Failure};
use crate::models::Tokens;

/// Where servers put thoughts; the first that says something counts.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

#[derive(Default)]
pub(super) struct Reader {
    text: Option<usize>,
    thinking: Option<usize>,
    tools: Vec<Tool>,
    /// What OpenRouter wants back with the next request, in pieces that belong together.
    details: Vec<Value>,
    finish: Option<String>,
}

struct Tool {
    index: Option<u64>,
    id: String,
    block: usize,
}

impl Decoder for Reader {
    fn decode(&mut self, data: &str, out: &mut Output) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            return self.end(out, true);
        }
        let chunk = json(data)?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(reported(error));
        }
        out.start();
        out.identify(chunk["id"].as_str(), chunk["model"].as_str());
        let choice = &chunk["choices"][0];
        // Most servers count in the chunk, a few in the choice.
        for usage in [&chunk["usage"], &choice["usage"]] {
            if usage.is_object() {
                out.count(tokens(usage));
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
        self.delta(&choice["delta"], out)
    }

    fn finish(&mut self, out: &mut Output) -> Result<(), Failure> {
        self.end(out, false)
    }
}

impl Reader {
    fn delta(&mut self, delta: &Value, out: &mut Output) -> Result<(), Failure> {
        let thoughts = THOUGHTS.iter().map(|name| (*name, delta[*name].as_str().unwrap_or_default()));
        if let Some((name, thought)) = thoughts.into_iter().find(|(_, thought)| !thought.is_empty()) {
            let block = self.thinking_block(name, out)?;
            out.append(block, thought);
        }
        if let Some(details) = delta["reasoning_details"].as_array() {
            for detail in details {
                join(&mut self.details, detail);
            }
        }
        for words in [delta["content"].as_str(), delta["refusal"].as_str()].into_iter().flatten() {
            if !words.is_empty() {
                let block = match self.text {
                    Some(block) => block,
                    None => *self.text.insert(out.open_text()?),
                };
                out.append(block, words);
            }
        }
        if let Some(calls) = delta["tool_calls"].as_array() {
            for call in calls {
                self.tool(call, out)?;
            }
        }
        Ok(())
    }

    /// The block of thoughts; its signature is the name of the field, so that the thoughts go back the same way.
    fn thinking_block(&mut self, name: &str, out: &mut Output) -> Result<usize, Failure> {
        if let Some(block) = self.thinking {
            return Ok(block);
        }
        let block = out.open_thinking()?;
        out.sign(block, name);
        Ok(*self.thinking.insert(block))
    }

    fn tool(&mut self, call: &Value, out: &mut Output) -> Result<(), Failure> {
        let (index, id, name) = (call["index"].as_u64(), text(call, "/id"), text(call, "/function/name"));
        let known = match (index, id) {
            (Some(_), _) => self.tools.iter().find(|tool| tool.index == index),
            (None, "") => self.tools.last().filter(|_| name.is_empty()),
            (None, id) => self.tools.iter().find(|tool| tool.id == id),
        };
        let block = match known {
            Some(tool) => tool.block,
            None => {
                let block = out.open_tool(id, name)?;
                self.tools.push(Tool { index, id: id.to_owned(), block });
                block
            }
        };
        match &call["function"]["arguments"] {
            Value::String(json) => out.append(block, json),
            // Some servers send them as an object, all at once.
            Value::Object(map) if !map.is_empty() => {
                out.append(block, &call["function"]["arguments"].to_string())
            }
            _ => {}
        }
        Ok(())
    }

    /// All blocks end here, in their order.
    fn end(&mut self, out: &mut Output, told: bool) -> Result<(), Failure> {
        let reason = match (self.finish.take(), told) {
            (Some(reason), _) => reason,
            // A server that says it is done but not why.
            (None, true) => "stop".to_owned(),
            (None, false) => return Err(Failure::broken_off()),
        };
        if !self.details.is_empty() {
            let block = match self.thinking {
                Some(block) => block,
                None => *self.thinking.insert(out.open_thinking()?),
            };
            out.sign(block, Value::from(std::mem::take(&mut self.details)).to_string());
        }
        let tools = self.tools.iter().map(|tool| tool.block);
        let mut blocks: Vec<usize> = self.text.into_iter().chain(self.thinking).chain(tools).collect();
        blocks.sort_unstable();
        for block in blocks {
            out.close(block);
        }
        match reason.as_str() {
            "stop" | "end" | "eos" if self.tools.is_empty() => out.done(DoneReason::Stop),
            "stop" | "end" | "eos" | "tool_calls" | "function_call" => out.done(DoneReason::ToolUse),
            "length" => out.done(DoneReason::Length),
            "content_filter" => {
                return Err(Failure::new(Cause::Refused, "Provider finish_reason: content_filter"));
            }
            other => return Err(Failure::new(Cause::Provider, format!("Provider finish_reason: {other}"))),
        }
        Ok(())
    }
}

/// Adds a detail of OpenRouter's; pieces of one detail have the same type and index.
fn join(details: &mut Vec<Value>, piece: &Value) {
    let same = |held: &Value| held["type"] == piece["type"] && held["index"] == piece["index"];
    let growing = ["text", "summary"].into_iter().find(|name| piece[*name].is_string());
    match (details.last_mut().filter(|held| same(held)), growing) {
        (Some(held), Some(name)) => {
            let grown =
                format!("{}{}", held[name].as_str().unwrap_or_default(), text(piece, &format!("/{name}")));
            held[name] = Value::from(grown);
            if piece["signature"].is_string() {
                held["signature"] = piece["signature"].clone();
            }
        }
        // A signature that comes after the thoughts, alone.
        (Some(held), None) if piece["signature"].is_string() => {
            held["signature"] = piece["signature"].clone()
        }
        _ => details.push(piece.clone()),
    }
}

fn tokens(usage: &Value) -> Tokens {
    let prompt = number(usage, "/prompt_tokens");
    let cache_write = number(usage, "/prompt_tokens_details/cache_write_tokens");
    let cached =
        number(usage, "/prompt_tokens_details/cached_tokens").max(number(usage, "/prompt_cache_hit_tokens"));
    let cache_read = cached.saturating_sub(cache_write);
    Tokens {
        input: prompt.saturating_sub(cache_read + cache_write),
        output: number(usage, "/completion_tokens"),
        cache_read,
        cache_write,
        cost: usage["cost"].as_f64(),
    }
}

fn reported(error: &Value) -> Failure {
    let code = match &error["code"] {
        Value::String(code) => code.clone(),
        Value::Number(code) => code.to_string(),
        _ => text(error, "/type").to_owned(),
    };
    let message = error.as_str().unwrap_or_else(|| text(error, "/message"));
    Failure::reported(&code, message)
}
