//! Codecs of the wire formats: how a request is written, and how an answer is read. Only this knows a provider's JSON.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod responses;

use protocol::ai::Tool;
use serde_json::Value;

use crate::draft::Output;
use crate::failure::Failure;
use crate::http::Call;
use crate::message::Request;
use crate::provider::Endpoint;
use crate::sse::Framing;

/// One provider's way of speaking.
pub(crate) trait Wire: Send + Sync {
    /// Its name in messages.
    fn api(&self) -> &'static str;

    /// How its answers are divided.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// The request as it goes out. Its messages are repaired already.
    fn call(&self, request: &Request, endpoint: &Endpoint) -> Result<Call, Failure>;

    /// What reads one answer.
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Reads one answer.
pub(crate) trait Decoder: Send {
    /// Takes one event in.
    fn decode(&mut self, data: &str, out: &mut Output) -> Result<(), Failure>;

    /// The body has ended. Without an end in `out` the answer counts as broken off.
    fn finish(&mut self, _out: &mut Output) -> Result<(), Failure> {
        Ok(())
    }
}

/// The JSON of one event.
fn json(data: &str) -> Result<Value, Failure> {
    serde_json::from_str(data).map_err(|error| {
        let start: String = data.chars().take(100).collect();
        Failure::unreadable(format_args!("{error} in {start:?}"))
    })
}

/// The text at a place; empty when there is none.
fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a place; zero when there is none.
fn number(value: &Value, place: &str) -> u64 {
    let found = value.pointer(place);
    found.and_then(|n| n.as_u64().or_else(|| n.as_f64().map(|n| n.max(0.0) as u64))).unwrap_or_default()
}

/// The body of a request: a JSON object, and the tools of the request as `write` has them.
fn body(value: &Value, request: &Request, api: &'static str, write: fn(&[Tool]) -> Value) -> String {
    let mut body = value.to_string();
    if !request.tools.is_empty() && body.pop() == Some('}') {
        body.push_str(r#","tools":"#);
        body.push_str(&request.tools.written(api, write));
        body.push('}');
    }
    body
}

#[cfg(test)]
mod tests;
