//! Summaries that the model writes of what is compacted.

use base::limits;
use model::{AssistantContent, Cancel, Message, Reasoning, Request, StopReason};
use protocol::ids::ConversationId;
use store::messages::Page;
use store::processes::ProcessRow;
use store::runs::Used;

use crate::archive::{self, Span};
use crate::cost;
use crate::setup::Setup;
use crate::world::World;

/// A summary, and what it cost.
pub(super) struct Summary {
    pub(super) text: String,
    pub(super) used: Used,
}

/// The longest summary, in tokens.
const TOKENS_MAX: u64 = 768;

const SYSTEM: &str = "You write the summary that takes the place of an archived part of a conversation between a \
    person and an agent. Answer with concise markdown and nothing else. Keep goals, decisions, constraints, results \
    of tools, process events, names of files, ids, and what is still to be done. Do not speak about yourself or about \
    summarizing.";

/// The text of `{ok: false}` when no summary could be made.
pub(super) fn failed(why: &str) -> String {
    format!("Failed to generate compaction summary: {why}")
}

/// Lets the model summarize a part of a conversation.
pub(super) async fn generate(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    span: Span,
    setup: Option<&Setup>,
) -> Result<Summary, String> {
    let setup = setup.ok_or_else(|| failed("AI config unavailable"))?;
    let transcript = transcript(world, process, conversation, span).await.map_err(|why| failed(&why))?;
    let ask = format!(
        "The messages of conversation `{conversation}` that are archived now, one JSON object a line:\n\n\
         {transcript}\n\nWrite the summary that stands in their place."
    );
    let request = Request {
        system: SYSTEM.into(),
        max_tokens: setup.max_tokens.min(TOKENS_MAX),
        reasoning: Reasoning::Off,
        affinity: Some(format!("{}:compaction", process.pid)),
        timeout: setup.timeout,
        ..Request::new(setup.model.clone(), vec![Message::user(ask)])
    };
    let answer = setup.provider.stream(request, Cancel::new()).finish().await;
    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        let why = answer.error_message.as_deref().unwrap_or("the model broke off");
        return Err(failed(why));
    }
    let mut text = model::answer_text(&answer);
    if text.is_empty() {
        text = thoughts(&answer.content);
    }
    if text.is_empty() {
        return Err(failed("summary generation returned empty text"));
    }
    Ok(Summary { text, used: cost::used(&answer.usage) })
}

/// Some models only think; that is better than nothing.
fn thoughts(content: &[AssistantContent]) -> String {
    let thoughts = content.iter().filter_map(|content| match content {
        AssistantContent::Thinking(thought) => Some(thought.thinking.as_str()),
        _ => None,
    });
    thoughts.collect::<String>().trim().to_string()
}

async fn transcript(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    span: Span,
) -> Result<String, String> {
    let mut window = Window::default();
    let mut page = Page::After(span.from_id - 1);
    loop {
        let rows = world.store.messages(&process.pid, conversation, page, limits::PROCESS_ARCHIVE_PAGE).await;
        let rows = rows.map_err(|error| format!("the conversation could not be read: {error}"))?;
        let Some(last) = rows.last().map(|row| row.id) else { break };
        for row in rows.iter().take_while(|row| row.id <= span.to_id) {
            window.add(&archive::line_text(row));
        }
        if last >= span.to_id {
            break;
        }
        page = Page::After(last);
    }
    Ok(window.text())
}

/// The beginning and the end of a long text; what is between them is left out.
#[derive(Default)]
struct Window {
    head: String,
    /// How many characters that are.
    head_chars: usize,
    tail: String,
    lines: u64,
}

/// The longest transcript, in characters, and how much of it is the beginning.
const CHARS_MAX: usize = 24_000;
const HEAD_CHARS: usize = CHARS_MAX / 100 * 35;

impl Window {
    fn add(&mut self, line: &str) {
        if self.lines > 0 {
            self.push("\n");
        }
        self.lines += 1;
        self.push(line);
    }

    fn push(&mut self, text: &str) {
        let room = HEAD_CHARS - self.head_chars;
        let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        self.head.push_str(&text[..cut]);
        self.head_chars += text[..cut].chars().count();
        self.tail.push_str(&text[cut..]);
        // A character has at most four bytes; the end is cut exactly when it is read.
        if self.tail.len() > CHARS_MAX * 16 {
            let mut from = self.tail.len() - CHARS_MAX * 8;
            while !self.tail.is_char_boundary(from) {
                from += 1;
            }
            self.tail.drain(..from);
        }
    }

    fn text(self) -> String {
        const TAIL_CHARS: usize = CHARS_MAX - HEAD_CHARS;
        let from = self.tail.char_indices().rev().nth(TAIL_CHARS - 1).map_or(0, |(at, _)| at);
        let gap = if from > 0 { "\n[…]\n" } else { "" };
        format!("{}{gap}{}", self.head, &self.tail[from..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(lines: &[&str]) -> String {
        let mut window = Window::default();
        lines.iter().for_each(|line| window.add(line));
        window.text()
    }

    #[test]
    fn a_short_transcript_is_whole() {
        assert_eq!(window(&["a", "b"]), "a\nb");
        let whole = "ü".repeat(CHARS_MAX - 2);
        assert_eq!(window(&[&whole, "x"]), format!("{whole}\nx"));
        assert_eq!(window(&[]), "");
    }

    #[test]
    fn a_long_one_keeps_its_beginning_and_its_end() {
        let lines: Vec<String> = (0..200_000).map(|number| format!("é{number}")).collect();
        let text = window(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let (head, tail) = text.split_once("\n[…]\n").unwrap();
        assert_eq!((head.chars().count(), tail.chars().count()), (HEAD_CHARS, CHARS_MAX - HEAD_CHARS));
        assert!(head.starts_with("é0\né1\n") && tail.ends_with("\né199999"));
    }

    #[test]
    fn thoughts_stand_in_for_words() {
        let thought = serde_json::json!([{ "type": "thinking", "thinking": " a plan " }]);
        assert_eq!(thoughts(&serde_json::from_value::<Vec<AssistantContent>>(thought).unwrap()), "a plan");
        assert_eq!(thoughts(&[]), "");
    }
}
