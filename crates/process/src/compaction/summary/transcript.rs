//! Chunking: a conversation as its summarizer reads it, one JSON object a line, in pieces of a bounded length.
//!
//! Each message is there once, and only what it says: no ids, no usage, no signatures, no thinking. What it has beside
//! its text are the names and arguments of tool calls, the tool behind a result, and what was attached.

use base::limits;
use protocol::ids::ConversationId;
use protocol::media::StoredMedia;
use protocol::proc::history::MessageRole;
use protocol::signal::stream::{AssistantContent, AssistantMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;

use crate::archive::Span;
use crate::world::World;

/// The messages of a span, in pieces of at most `chars_max` characters.
pub(super) async fn read(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    span: Span,
    chars_max: usize,
) -> Result<Vec<String>, String> {
    let mut pieces = Pieces::new(chars_max);
    let mut page = Page::After(span.from_id - 1);
    loop {
        let rows = world
            .store
            .messages()
            .page(&process.pid, conversation, page, limits::process::ARCHIVE_PAGE)
            .await;
        let rows = rows.map_err(|error| format!("the conversation could not be read: {error}"))?;
        let Some(last) = rows.last().map(|row| row.id) else { break };
        for row in rows.iter().take_while(|row| row.id <= span.to_id) {
            pieces.add(&line(row));
        }
        let most = limits::process::SUMMARY_PASSES_MAX;
        if pieces.all.len() > most {
            return Err(format!(
                "it is too long for {most} passes of {chars_max} characters. Compact an older part of it first \
                 (throughMessageId), or give the summary"
            ));
        }
        if last >= span.to_id {
            break;
        }
        page = Page::After(last);
    }
    Ok(pieces.all)
}

/// Lines, put together into pieces.
struct Pieces {
    all: Vec<String>,
    /// Characters that the last piece still takes.
    room: usize,
    chars_max: usize,
}

/// What stands before the rest of a line that is longer than a piece.
const CONTINUED: &str = "[the rest of the message] ";

impl Pieces {
    fn new(chars_max: usize) -> Pieces {
        Pieces { all: Vec::new(), room: 0, chars_max }
    }

    /// Adds a line: to the last piece if it fits there, else to a new one, else to as many as it takes.
    fn add(&mut self, line: &str) {
        let chars = line.chars().count();
        if let Some(last) = self.all.last_mut().filter(|_| chars < self.room) {
            last.push('\n');
            last.push_str(line);
            self.room -= chars + 1;
            return;
        }
        let mut rest = line;
        let mut before = "";
        loop {
            let room = self.chars_max - before.len();
            let cut = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
            self.all.push(format!("{before}{}", &rest[..cut]));
            self.room = room - rest[..cut].chars().count();
            rest = &rest[cut..];
            before = CONTINUED;
            if rest.is_empty() {
                return;
            }
        }
    }
}

/// A message as its summarizer reads it.
#[derive(Serialize)]
struct Line<'a> {
    role: MessageRole,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attached: Vec<String>,
}

/// A tool call of an answer.
#[derive(Serialize)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

/// What is kept beside a tool's result.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResultMeta {
    tool_name: Option<String>,
    is_error: bool,
}

fn line(row: &MessageRow) -> String {
    let result: ResultMeta = match row.role {
        MessageRole::ToolResult => parsed(row.meta.as_deref()).unwrap_or_default(),
        _ => ResultMeta::default(),
    };
    protocol::frame::to_json(&Line {
        role: row.role,
        content: &row.content,
        calls: calls(row),
        tool: result.tool_name,
        failed: result.is_error,
        attached: attached(row.media.as_deref()),
    })
}

fn calls(row: &MessageRow) -> Vec<Call> {
    let answer: Option<AssistantMessage> =
        (row.role == MessageRole::Assistant).then(|| parsed(row.meta.as_deref())).flatten();
    let content = answer.map(|answer| answer.content).unwrap_or_default();
    let calls = content.into_iter().filter_map(|content| match content {
        AssistantContent::ToolCall(call) => Some(Call { name: call.name, arguments: call.arguments }),
        AssistantContent::Text(_) | AssistantContent::Thinking(_) => None,
    });
    calls.collect()
}

fn attached(media: Option<&str>) -> Vec<String> {
    let media: Vec<StoredMedia> = parsed(media).unwrap_or_default();
    let told = media.into_iter().map(|medium| {
        let name = medium.filename.as_deref().unwrap_or("without a name");
        let words = medium.transcription.map_or_else(String::new, |words| format!(": {words}"));
        format!("{name} [{}]{words}", medium.mime_type)
    });
    told.collect()
}

/// What JSON says; `None` for what is not there or was changed by hand.
fn parsed<T: serde::de::DeserializeOwned>(json: Option<&str>) -> Option<T> {
    json.and_then(|json| serde_json::from_str(json).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{answer, result, user};

    fn pieces(chars_max: usize, lines: &[&str]) -> Vec<String> {
        let mut pieces = Pieces::new(chars_max);
        lines.iter().for_each(|line| pieces.add(line));
        pieces.all
    }

    #[test]
    fn lines_fill_pieces_and_nothing_is_lost() {
        assert_eq!(pieces(50, &[]), Vec::<String>::new());
        assert_eq!(pieces(50, &["a", "b"]), ["a\nb"]);
        let (x, y) = ("ü".repeat(24), "y".repeat(25));
        assert_eq!(pieces(50, &[&x, &y]), [format!("{x}\n{y}")], "exactly as much as fits");
        assert_eq!(pieces(50, &[&y, &y]), [y.clone(), y.clone()]);
        let long: String = ('a'..='z').cycle().take(110).collect();
        let split = pieces(50, &[&x, &long, "end"]);
        assert!(split.iter().all(|piece| piece.chars().count() <= 50), "{split:?}");
        let (rest, end) = (CONTINUED, "\nend");
        let joined: String = split[1..].iter().map(|piece| piece.trim_start_matches(rest)).collect();
        assert_eq!((&split[0], joined), (&x, format!("{long}{end}")));
    }

    #[test]
    fn a_message_says_what_was_said_and_no_more() {
        assert_eq!(line(&user("hi")), r#"{"role":"user","content":"hi"}"#);
        let called =
            r#"{"role":"assistant","content":"I look.","calls":[{"name":"Read","arguments":{"path":"/x"}}]}"#;
        assert_eq!(line(&answer("I look.", &["a"])), called);
        let told = r#"{"role":"toolResult","content":"gone","tool":"Read","failed":true}"#;
        assert_eq!(line(&result("a", "gone")), told);
        let media = r#"[{"type":"audio","mimeType":"audio/ogg","key":"k","transcription":"hello"}]"#;
        let heard = MessageRow { media: Some(media.to_string()), ..user("") };
        assert_eq!(
            line(&heard),
            r#"{"role":"user","content":"","attached":["without a name [audio/ogg]: hello"]}"#
        );
    }
}
