//! Summaries that the model writes of what is compacted.

use base::limits;
use model::{AssistantContent, AssistantMessage, Cancel, Message, Reasoning, Request, StopReason};
use protocol::ids::ConversationId;
use store::change::Change;
use store::messages::Page;
use store::processes::ProcessRow;
use store::runs::{RunEnd, RunRow, RunStatus, Used};

use super::select::Selected;
use crate::archive::{self, Span};
use crate::cost;
use crate::host::new_run_id;
use crate::setup::Setup;
use crate::world::World;

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

/// Lets the model summarize a part of a conversation. It is charged at once, whatever becomes of the summary.
pub(super) async fn generate(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    selected: &Selected,
    setup: Option<&Setup>,
) -> Result<String, String> {
    let setup = setup.ok_or_else(|| failed("AI config unavailable"))?;
    let transcript = transcript(world, process, conversation, selected.span).await;
    let transcript = transcript.map_err(|why| failed(&why))?;
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
    let started_at = world.now_ms();
    let answer = setup.provider.stream(request, Cancel::new()).finish().await;
    let text = text_of(&answer);
    let used = cost::used(&answer.usage);
    if used != Used::default() {
        // A summary costs money like a run, so it is one: begun and ended at once, for whoever adds up.
        let run = RunRow {
            generation: selected.generation,
            reason: "compaction.summary".to_string(),
            ..RunRow::begun(new_run_id(), &process.pid, process.uid, conversation, started_at)
        };
        let error = text.as_ref().err().map(String::as_str);
        let (status, reason) = match error {
            None => (RunStatus::Ok, "turn.complete"),
            Some(_) => (RunStatus::Error, "generation.error"),
        };
        let end = RunEnd { status, reason, error, now_ms: world.now_ms() };
        let model = (setup.model.provider.as_str(), setup.model.id.as_str());
        let bill = Change::new(&process.pid)
            .run_begin(&run)
            .run_turn(&run.run_id, model, 0, &used)
            .run_end(&run.run_id, &end);
        let kept = world.store.keep(bill).await;
        kept.map_err(|error| failed(&format!("what it cost could not be kept: {error}")))?;
    }
    text.map_err(|why| failed(&why))
}

/// The summary in an answer, or why there is none.
fn text_of(answer: &AssistantMessage) -> Result<String, String> {
    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        let why = answer.error_message.as_deref().unwrap_or("the model broke off");
        return Err(why.to_string());
    }
    let mut text = model::answer_text(answer);
    if text.is_empty() {
        text = thoughts(&answer.content);
    }
    if text.is_empty() {
        return Err("summary generation returned empty text".to_string());
    }
    Ok(text)
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
