//! `proc send`, `proc call` and `proc history`: messages to a process and from it.

use protocol::ids::Pid;
use protocol::proc::Send;
use protocol::proc::history::{Message, MessageRole, Read};
use protocol::proc::ipc;
use serde_json::{Map, Value};

use super::super::devices::pretty;
use super::super::options::Options;
use super::super::{Cx, Done, times};
use super::{conversation, done};

/// How many messages `proc history` shows when nobody says.
const SHOWN: u64 = 20;

/// An agent's message says who sent it; a person's stands for itself.
pub(super) async fn send(cx: &Cx<'_>, options: &Options, pid: &str, words: &[&str]) -> Result<Done, Done> {
    let (pid, message) = (Pid::from(pid), message(cx, words)?);
    let (conversation_id, metadata) = (conversation(options), metadata(cx, options)?);
    let (run_id, queued) = if cx.settings.pid.is_some() {
        let args = ipc::Send { pid, conversation_id, message, metadata };
        let sent = done(cx, cx.call(&args).await?)?;
        (sent.run_id, sent.queued)
    } else {
        if metadata.is_some() {
            return Err(cx.misused("--metadata-json is for messages between processes"));
        }
        let args = Send { pid: Some(pid), conversation_id, message, media: None };
        let sent = done(cx, cx.call(&args).await?)?;
        (sent.run_id, sent.queued)
    };
    Ok(Done::printed(format!("accepted run_id={run_id} queued={}\n", queued == Some(true))))
}

pub(super) async fn call(cx: &Cx<'_>, options: &Options, pid: &str, words: &[&str]) -> Result<Done, Done> {
    let timeout_ms = match options.value("timeout") {
        None => None,
        Some(text) => Some(duration_ms(text).ok_or_else(|| {
            cx.misused(format!("--timeout: '{text}' is no length of time such as 30s, 5m or 500ms"))
        })?),
    };
    let args = ipc::Call {
        pid: Pid::from(pid),
        conversation_id: conversation(options),
        message: message(cx, words)?,
        metadata: metadata(cx, options)?,
        timeout_ms,
    };
    let called = done(cx, cx.call(&args).await?)?;
    Ok(Done::printed(format!(
        "call_id={} run_id={} queued={} deadline={}\n",
        called.call_id,
        called.run_id,
        called.queued == Some(true),
        times::iso(called.deadline_at)
    )))
}

fn message(cx: &Cx<'_>, words: &[&str]) -> Result<String, Done> {
    let text = match words {
        [] => String::from_utf8_lossy(cx.stdin).into_owned(),
        words => words.join(" "),
    };
    if text.trim().is_empty() { Err(cx.misused("a message is required")) } else { Ok(text) }
}

fn metadata(cx: &Cx<'_>, options: &Options) -> Result<Option<Map<String, Value>>, Done> {
    let given = options.value("metadata-json").map(serde_json::from_str).transpose();
    given.map_err(|error| cx.misused(format!("--metadata-json must be an object: {error}")))
}

/// `30` and `30s` are seconds.
fn duration_ms(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

pub(super) async fn history(cx: &Cx<'_>, options: &Options, pid: Option<Pid>) -> Result<Done, Done> {
    let limit = options.number("limit").map_err(|why| cx.misused(why))?.unwrap_or(SHOWN);
    let args = Read {
        pid,
        conversation_id: conversation(options),
        limit: Some(limit),
        tail: Some(true),
        ..Read::default()
    };
    let history = done(cx, cx.call(&args).await?)?;
    if options.has("json") {
        return Ok(Done::printed(pretty(&serde_json::to_value(&history).unwrap_or_default())));
    }
    let mut printed = Done::default();
    if history.has_more_before == Some(true) {
        let hidden = history.message_count.saturating_sub(history.messages.len() as u64);
        printed.complain(cx.name, format!("{hidden} more before: --limit N shows more"), 0);
    }
    history.messages.iter().for_each(|message| printed.print(text_of(message)));
    Ok(printed)
}

fn text_of(message: &Message) -> String {
    let role = match message.role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::System => "system",
        MessageRole::ToolResult => "tool",
    };
    let number = message.id.map_or_else(|| "-".to_string(), |id| id.to_string());
    let when = message.timestamp.map_or_else(|| "-".to_string(), times::iso);
    format!("[{number}] {role} {when}\n{}\n\n", said(&message.content))
}

/// The words of a message; for tools what was called and what came back.
fn said(content: &Value) -> String {
    let text = |key: &str| content.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(plain) = content.as_str() {
        return plain.to_string();
    }
    let mut lines: Vec<String> =
        [text("text"), text("output")].into_iter().flatten().map(str::to_string).collect();
    for call in content.get("toolCalls").and_then(Value::as_array).into_iter().flatten() {
        let name = call.get("name").and_then(Value::as_str).unwrap_or("?");
        lines.push(format!("-> {name} {}", call.get("arguments").unwrap_or(&Value::Null)));
    }
    for medium in content.get("media").and_then(Value::as_array).into_iter().flatten() {
        let name = ["filename", "key", "url"].iter().find_map(|key| medium.get(key).and_then(Value::as_str));
        lines.push(format!("+ {}", name.unwrap_or("a medium")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        let cases = [("30", 30_000), ("30s", 30_000), ("5m", 300_000), ("500ms", 500), ("1h", 3_600_000)];
        for (text, ms) in cases {
            assert_eq!(duration_ms(text), Some(ms), "{text}");
        }
        for text in ["", "s", "-1s", "5x", "1.5m", "99999999999999999999"] {
            assert_eq!(duration_ms(text), None, "{text}");
        }
    }
}
