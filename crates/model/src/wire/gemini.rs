//! Decoder of Google's Gemini, `streamGenerateContent`. Writing requests is in `encode.rs`.

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
const API: &str = "google-generative-ai";

pub(crate) struct Gemini;

impl Wire for Gemini {
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
    /// The block that grows, and whether it is thoughts.
    open: Option<(usize, bool)>,
    has_tool: bool,
    finish: Option<Result<DoneReason, Failure>>,
}

impl Decoder for Reader {
    fn decode(&mut self, data: &str, out: &mut Output) -> Result<(), Failure> {
        let chunk = json(data)?;
        if chunk["error"].is_object() {
            return Err(Failure::reported(text(&chunk, "/error/status"), text(&chunk, "/error/message")));
        }
        out.start();
        out.identify(chunk["responseId"].as_str(), chunk["modelVersion"].as_str());
        if chunk["usageMetadata"].is_object() {
            out.count(tokens(&chunk["usageMetadata"]));
        }
        if let Some(reason) = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            self.finish = Some(Err(refused(reason)));
        }
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default() {
            self.part(part, out)?;
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(finish(reason, text(candidate, "/finishMessage")));
        }
        Ok(())
    }

    /// The stream has no end of its own: what follows the reason may still count tokens.
    fn finish(&mut self, out: &mut Output) -> Result<(), Failure> {
        let Some(finish) = self.finish.take() else { return Err(Failure::broken_off()) };
        self.close(out);
        match finish {
            Ok(DoneReason::Stop) if self.has_tool => out.done(DoneReason::ToolUse),
            Ok(reason) => out.done(reason),
            Err(failure) => return Err(failure),
        }
        Ok(())
    }
}

impl Reader {
    fn part(&mut self, part: &Value, out: &mut Output) -> Result<(), Failure> {
        let signature = part["thoughtSignature"].as_str().filter(|signature| !signature.is_empty());
        if part["functionCall"].is_object() {
            return self.tool(&part["functionCall"], signature, out);
        }
        let words = text(part, "/text");
        if words.is_empty() && (signature.is_none() || self.open.is_none()) {
            return Ok(());
        }
        let thought = part["thought"].as_bool().unwrap_or(false);
        let block = match self.open {
            Some((block, kind)) if kind == thought || words.is_empty() => block,
            _ => {
                self.close(out);
                let block = if thought { out.open_thinking()? } else { out.open_text()? };
                self.open = Some((block, thought));
                block
            }
        };
        out.append(block, words);
        if let Some(signature) = signature {
            out.sign(block, signature);
        }
        Ok(())
    }

    fn tool(&mut self, call: &Value, signature: Option<&str>, out: &mut Output) -> Result<(), Failure> {
        self.close(out);
        self.has_tool = true;
        let block = out.open_tool(text(call, "/id"), text(call, "/name"))?;
        if let Some(signature) = signature {
            out.sign(block, signature);
        }
        if !call["args"].is_null() {
            out.append(block, &call["args"].to_string());
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

fn finish(reason: &str, message: &str) -> Result<DoneReason, Failure> {
    match reason {
        "STOP" => Ok(DoneReason::Stop),
        "MAX_TOKENS" => Ok(DoneReason::Length),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY"
        | "LANGUAGE" => Err(refused(reason)),
        other => {
            let dash = if message.is_empty() { "" } else { ": " };
            Err(Failure::new(Cause::Provider, format!("Provider finish_reason: {other}{dash}{message}")))
        }
    }
}

fn refused(reason: &str) -> Failure {
    Failure::new(Cause::Refused, format!("Provider finish_reason: {reason}"))
}

fn tokens(usage: &Value) -> Tokens {
    let cache_read = number(usage, "/cachedContentTokenCount");
    Tokens {
        input: number(usage, "/promptTokenCount").saturating_sub(cache_read),
        output: number(usage, "/candidatesTokenCount") + number(usage, "/thoughtsTokenCount"),
        cache_read,
        cache_write: 0,
        cost: None,
    }
}
