//! Decoder of Ollama's own API, `/api/chat`: unlike its imitation of OpenAI's it takes the size of the context, without
//! which a long conversation is cut silently, and it says when a model thinks.

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
use crate::sse::Framing;

/// Its name in messages.
const API: &str = "ollama-chat";

pub(crate) struct Ollama;

impl Wire for Ollama {
    fn api(&self) -> &'static str {
        API
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn call(&self, request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
        encode::call(request, endpoint)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reader>::default()
    }
}

/// The address of the server: config names it with the version path that its other API has.
pub(crate) fn root(base: &str) -> &str {
    let base = base.trim_end_matches('/');
    base.strip_suffix("/v1").or_else(|| base.strip_suffix("/api")).unwrap_or(base)
}

#[derive(Default)]
struct Reader {
    /// The block that grows, and whether it is thoughts.
    open: Option<(usize, bool)>,
    has_tool: bool,
}

impl Decoder for Reader {
    fn decode(&mut self, data: &str, out: &mut Output) -> Result<(), Failure> {
        let line = json(data)?;
        if !line["error"].is_null() {
            let message = line["error"].as_str().unwrap_or_else(|| text(&line, "/error/message"));
            return Err(Failure::reported("", message));
        }
        out.start();
        out.identify(None, line["model"].as_str());
        let message = &line["message"];
        self.say(text(message, "/thinking"), true, out)?;
        self.say(text(message, "/content"), false, out)?;
        for call in message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
            self.tool(call, out)?;
        }
        if line["done"].as_bool() == Some(true) {
            self.close(out);
            out.count(Tokens {
                input: number(&line, "/prompt_eval_count"),
                output: number(&line, "/eval_count"),
                ..Tokens::default()
            });
            match text(&line, "/done_reason") {
                "length" => out.done(DoneReason::Length),
                "stop" | "" if self.has_tool => out.done(DoneReason::ToolUse),
                "stop" | "" => out.done(DoneReason::Stop),
                other => {
                    return Err(Failure::new(Cause::Provider, format!("Provider finish_reason: {other}")));
                }
            }
        }
        Ok(())
    }
}

impl Reader {
    fn say(&mut self, words: &str, thought: bool, out: &mut Output) -> Result<(), Failure> {
        if words.is_empty() {
            return Ok(());
        }
        let block = match self.open {
            Some((block, kind)) if kind == thought => block,
            _ => {
                self.close(out);
                let block = if thought { out.open_thinking()? } else { out.open_text()? };
                self.open = Some((block, thought));
                block
            }
        };
        out.append(block, words);
        Ok(())
    }

    /// Calls come whole.
    fn tool(&mut self, call: &Value, out: &mut Output) -> Result<(), Failure> {
        self.close(out);
        self.has_tool = true;
        let block = out.open_tool(text(call, "/id"), text(call, "/function/name"))?;
        match &call["function"]["arguments"] {
            Value::Null => {}
            Value::String(json) => out.append(block, json),
            other => out.append(block, &other.to_string()),
        }
        out.close(block);
        Ok(())
    }

    fn close(&mut self, out: &mut Output) {
        if let Some((block, _)) = self.open.take() {
            out.close(block);
        }
    }
}
