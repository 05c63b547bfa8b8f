//! Compatibility aliases: the names and payloads under which clients of the first generation know our signals.
//!
//! Shipped clients of 0.1.x listen to `chat.*` and `process.*` only. Their connections get these beside the names of
//! today. `process.exit` is the same in both and needs no row.

use serde_json::{Map, Value};

/// A signal's payload.
type Payload = Map<String, Value>;

/// One older name.
pub struct Alias {
    /// The older name.
    pub name: &'static str,
    /// The signal it is made of.
    pub of: &'static str,
    /// The older payload; `None` when this one of the signals had no counterpart.
    make: fn(&Payload) -> Option<Payload>,
}

/// Every older name. A signal of today may be told under several.
pub static ALIASES: &[Alias] = &[
    Alias { name: "chat.text", of: "proc.run.output", make: text },
    Alias { name: "chat.tool_call", of: "proc.run.tool.started", make: same },
    Alias { name: "chat.tool_result", of: "proc.run.tool.finished", make: same },
    Alias { name: "chat.hil", of: "proc.run.hil.requested", make: same },
    Alias { name: "chat.complete", of: "proc.run.finished", make: complete },
    Alias { name: "process.message", of: "proc.changed", make: message },
    Alias { name: "process.context", of: "proc.changed", make: context },
    Alias { name: "process.lifecycle", of: "proc.changed", make: lifecycle },
];

/// Whether a client that says this version of itself is of the first generation.
pub fn is_wanted_by(version: &str) -> bool {
    let version = version.trim().trim_start_matches('v');
    version == "0.1" || version.starts_with("0.1.")
}

/// What a signal is called by clients of the first generation, with the payload for each name.
pub fn told_as(name: &str, payload: &str) -> Vec<(&'static str, Value)> {
    let mut rows = ALIASES.iter().filter(|alias| alias.of == name).peekable();
    if rows.peek().is_none() {
        return Vec::new();
    }
    let Ok(payload) = serde_json::from_str::<Payload>(payload) else { return Vec::new() };
    rows.filter_map(|alias| Some((alias.name, Value::Object((alias.make)(&payload)?)))).collect()
}

fn pick(payload: &Payload, names: &[&str]) -> Payload {
    let found = names.iter().filter_map(|name| Some((name.to_string(), payload.get(*name)?.clone())));
    found.collect()
}

fn same(payload: &Payload) -> Option<Payload> {
    Some(payload.clone())
}

fn text(payload: &Payload) -> Option<Payload> {
    let said = payload.get("text").and_then(Value::as_str).unwrap_or_default();
    (!said.trim().is_empty()).then(|| pick(payload, &["text", "pid", "runId", "thinking"]))
}

fn complete(payload: &Payload) -> Option<Payload> {
    let mut made = pick(payload, &["text", "pid", "runId", "error", "usage"]);
    if payload.get("status").and_then(Value::as_str) == Some("aborted") {
        made.insert("aborted".to_string(), Value::Bool(true));
        made.insert("reason".to_string(), Value::from("user"));
    }
    Some(made)
}

fn message(payload: &Payload) -> Option<Payload> {
    let changes = payload.get("changes").and_then(Value::as_array)?;
    let role = payload.get("role").and_then(Value::as_str)?;
    if !changes.iter().any(|change| change == "messages")
        || !payload.contains_key("messageId")
        || role == "assistant"
    {
        return None;
    }
    let mut made = pick(payload, &["pid", "conversationId", "messageId", "role", "timestamp"]);
    made.insert("content".to_string(), Value::from(plain(payload.get("content").unwrap_or(&Value::Null))));
    Some(made)
}

/// A message's content as text: its text blocks, one after the other.
fn plain(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(plain).collect(),
        Value::Object(block) => match block.get("text").and_then(Value::as_str) {
            Some(text) => text.to_string(),
            None => block.get("content").map(plain).unwrap_or_default(),
        },
        other => other.to_string(),
    }
}

fn context(payload: &Payload) -> Option<Payload> {
    payload.contains_key("context").then(|| pick(payload, &["pid", "context"]))
}

fn lifecycle(payload: &Payload) -> Option<Payload> {
    payload.contains_key("event").then(|| payload.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_is_made_of_a_signal_there_is_and_hides_none() {
        for alias in ALIASES {
            let found = super::super::SIGNALS.iter().any(|spec| spec.name == alias.of);
            let hides = super::super::SIGNALS.iter().any(|spec| spec.name == alias.name);
            assert!(found && !hides, "{}", alias.name);
        }
    }

    #[test]
    fn payloads_are_those_of_the_first_generation() {
        let told = |name: &str, payload: Value| told_as(name, &payload.to_string());
        let output = json!({ "text": "hi", "thinking": [], "pid": "p", "runId": "r", "conversationId": "c" });
        let text = json!({ "text": "hi", "thinking": [], "pid": "p", "runId": "r" });
        assert_eq!(told("proc.run.output", output), [("chat.text", text)]);
        assert_eq!(told("proc.run.output", json!({ "text": " \n", "pid": "p" })), []);
        let aborted = json!({
            "text": null, "pid": "p", "runId": "r", "status": "aborted", "reason": "proc.abort", "queuedCount": 0,
        });
        let complete = json!({ "text": null, "pid": "p", "runId": "r", "aborted": true, "reason": "user" });
        assert_eq!(told("proc.run.finished", aborted), [("chat.complete", complete)]);
        let changed = json!({
            "pid": "p", "changes": ["messages"], "queuedCount": 0, "timestamp": 5, "conversationId": "c",
            "messageId": 7, "role": "user", "content": [{ "type": "text", "text": "hel" }, { "type": "text", "text": "lo" }],
        });
        let message = json!({
            "pid": "p", "conversationId": "c", "messageId": 7, "role": "user", "content": "hello", "timestamp": 5,
        });
        assert_eq!(told("proc.changed", changed), [("process.message", message)]);
        let context = json!({ "pid": "p", "changes": ["context"], "context": { "pressure": 1 } });
        assert_eq!(
            told("proc.changed", context),
            [("process.context", json!({ "pid": "p", "context": { "pressure": 1 } }))]
        );
        assert_eq!(told("proc.run.stream", json!({})), []);
    }

    #[test]
    fn versions_tell_the_generations_apart() {
        assert!(["0.1.0", "0.1.3", "v0.1.9", "0.1"].into_iter().all(is_wanted_by));
        assert!(!["", "0.10.0", "0.2.0", "0.3.0", "1.0.1"].into_iter().any(is_wanted_by));
    }
}
