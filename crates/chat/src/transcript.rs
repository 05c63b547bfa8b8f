//! Plain-text export of a conversation: every message with its number, time, tool calls and attachments.

use protocol::proc::history::{History, Message, MessageRole};
use protocol::proc::segment::Compacted;
use serde_json::Value;
use terminal::layout::Style;
use terminal::output::clean;
use terminal::{escape, times};

use crate::look::Look;
use crate::tools;

/// One line about a compacted conversation.
pub fn compacted(compacted: &Compacted) -> String {
    let messages =
        tools::count(usize::try_from(compacted.archived_messages).unwrap_or(usize::MAX), "message");
    format!(
        "{messages} archived in {}; segment {}",
        clean(&compacted.archived_to),
        clean(&compacted.segment.id)
    )
}

/// A conversation for a person, oldest first, each message with its number.
pub fn transcript(history: &History, look: Look) -> String {
    if history.messages.is_empty() {
        return "(no messages)\n".to_string();
    }
    let mut out = String::new();
    for message in &history.messages {
        let who = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::System => "system",
            MessageRole::ToolResult => "tool",
        };
        let number = message.id.map_or_else(String::new, |id| format!("#{id} "));
        let time = message.timestamp.map_or_else(String::new, |at| format!("  {}", times::show(at)));
        let heading = format!("{number}{who}");
        out.push_str(&format!("{}{}\n", look.paint(Style::BOLD, &heading), look.paint(Style::DIM, &time)));
        out.push_str(&body(message, look));
        out.push('\n');
    }
    if history.has_more_before == Some(true) {
        out.insert_str(0, &format!("{}\n\n", look.paint(Style::DIM, "(older messages are not shown)")));
    }
    out
}

fn body(message: &Message, look: Look) -> String {
    let content = &message.content;
    if message.role == MessageRole::ToolResult {
        let failed = content["isError"].as_bool() == Some(true);
        let error = content["output"].as_str();
        return tools::result(!failed, content.get("output"), error.filter(|_| failed), look);
    }
    let text = content.as_str().or_else(|| content["text"].as_str()).unwrap_or_default();
    let mut out = escape::block(text);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    for call in content["toolCalls"].as_array().into_iter().flatten() {
        let name = call["name"].as_str().unwrap_or_default();
        let args = call["arguments"].as_object().cloned().unwrap_or_default();
        let spec = protocol::spec_of_tool(name);
        out.push_str(&format!(
            "{}\n",
            tools::heading(name, spec.map_or(name, |spec| spec.name), &args, look)
        ));
    }
    for medium in content["media"].as_array().into_iter().flatten() {
        let name = medium["filename"].as_str().or_else(|| medium["key"].as_str()).unwrap_or("a medium");
        let kind = medium["mimeType"].as_str().unwrap_or_default();
        out.push_str(&format!("[{} {}]\n", escape::line(kind), escape::line(name)));
    }
    if out.is_empty() && !matches!(content, Value::String(_) | Value::Object(_) | Value::Null) {
        out = format!("{}\n", escape::line(&content.to_string()));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_conversation_reads_like_one() {
        let history: History = serde_json::from_value(json!({
            "pid": "init:1000", "messageCount": 3, "messages": [
                { "id": 1, "role": "user", "content": "list\u{1b}[2J" },
                { "id": 2, "role": "assistant", "content": { "text": "I look.", "thinking": [], "toolCalls": [
                    { "type": "toolCall", "id": "c", "name": "Shell", "arguments": { "input": "ls", "target": "desk" } } ] } },
                { "id": 3, "role": "toolResult", "content":
                    { "toolName": "Shell", "isError": true, "toolCallId": "c", "output": "Error: no" } },
            ],
        }))
        .unwrap();
        let look = Look { colour: false, columns: None };
        let expected =
            "#1 user\nlist␛[2J\n\n#2 assistant\nI look.\n● Shell on desk  ls\n\n#3 tool\n  ✗ no\n\n";
        assert_eq!(transcript(&history, look), expected);
    }
}
