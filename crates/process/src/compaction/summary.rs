//! Incremental summarization (refine): a long conversation goes to the model piece by piece, each time with the summary so
//! far, so that every message is read by it and no request is too long.

mod transcript;

use base::limits;
use model::{AssistantContent, AssistantMessage, Cancel, Message, Reasoning, Request, StopReason};
use protocol::ids::ConversationId;
use store::change::Change;
use store::processes::ProcessRow;
use store::runs::{RunEnd, RunRow, RunStatus, Used};

use super::select::Selected;
use crate::cost;
use crate::ids::new_run_id;
use crate::setup::Setup;
use crate::world::World;

/// The longest summary, in tokens.
const TOKENS_MAX: u64 = 768;

const SYSTEM: &str = "You write the summary that takes the place of an archived part of a conversation between a \
    person and an agent. Answer with concise markdown and nothing else. Keep goals, decisions, constraints, results \
    of tools, process events, names of files, ids, and what is still to be done. Do not speak about yourself or about \
    summarizing.";

/// The text of `{ok: false}` when no summary could be made.
pub(crate) fn failed(why: &str) -> String {
    format!("Failed to generate compaction summary: {why}")
}

/// Lets the model summarize a part of a conversation, in as many passes as it takes. Each is charged at once, whatever
/// becomes of the summary. `before` is the summary of what came earlier.
pub(super) async fn generate(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    selected: &Selected,
    setup: Option<&Setup>,
    before: Option<String>,
) -> Result<String, String> {
    let setup = setup.ok_or_else(|| failed("AI config unavailable"))?;
    let chars_max = chars_per_pass(setup.model.context_window_tokens);
    let pieces = transcript::read(world, process, conversation, selected.span, chars_max).await;
    let pieces = pieces.map_err(|why| failed(&why))?;
    let author = Author { world, process, conversation, generation: selected.generation, setup };
    let mut so_far = before;
    for (index, piece) in pieces.iter().enumerate() {
        let ask = question(conversation, piece, (index + 1, pieces.len()), so_far.as_deref());
        so_far = Some(author.write(ask).await.map_err(|why| failed(&why))?);
    }
    so_far.ok_or_else(|| failed("there is nothing to summarize"))
}

/// How much of a conversation goes into one request. A character is taken for four thirds of a token, as in scripts of
/// many characters; for other languages this leaves room.
fn chars_per_pass(window_tokens: Option<u64>) -> usize {
    let (fewest, most) = limits::process::SUMMARY_RANGE_CHARS;
    match window_tokens {
        Some(tokens) => usize::try_from(tokens / 4 * 3).unwrap_or(most).clamp(fewest, most),
        None => limits::process::SUMMARY_CHARS,
    }
}

/// What the model is asked in one pass.
fn question(
    id: &ConversationId,
    piece: &str,
    (number, count): (usize, usize),
    so_far: Option<&str>,
) -> String {
    let part = if count > 1 { format!("Part {number} of {count} of the") } else { "The".to_string() };
    let before =
        so_far.map_or_else(String::new, |so_far| format!("The summary of what came before:\n\n{so_far}\n\n"));
    let covers = if so_far.is_some() { "what came before and of these messages" } else { "these messages" };
    format!(
        "{before}{part} messages of conversation `{id}` that are archived now, one JSON object a line:\n\n{piece}\n\n\
         Write the summary of {covers}, to stand in their place."
    )
}

/// A model that writes summaries of one conversation, on the account of its process.
struct Author<'a> {
    world: &'a World,
    process: &'a ProcessRow,
    conversation: &'a ConversationId,
    generation: u64,
    setup: &'a Setup,
}

impl Author<'_> {
    async fn write(&self, ask: String) -> Result<String, String> {
        let setup = self.setup;
        let request = Request {
            system: SYSTEM.into(),
            max_tokens: setup.max_tokens.min(TOKENS_MAX),
            reasoning: Reasoning::Off,
            affinity: Some(format!("{}:compaction", self.process.pid)),
            timeout: setup.timeout,
            ..Request::new(setup.model.clone(), vec![Message::user(ask)])
        };
        let started_at = self.world.now_ms();
        let answer = setup.provider.stream(request, Cancel::new()).finish().await;
        let text = text_of(&answer);
        let error = text.as_ref().err().map(String::as_str);
        let charged = self.charge(&cost::used(&answer.usage), started_at, error).await;
        charged.map_err(|error| format!("what it cost could not be kept: {error}"))?;
        text
    }

    /// A summary costs money like a run, so it is one: begun and ended at once, for whoever adds up.
    async fn charge(&self, used: &Used, started_at: i64, error: Option<&str>) -> store::Result<()> {
        if *used == Used::default() {
            return Ok(());
        }
        let (process, setup) = (self.process, self.setup);
        let run_id = new_run_id(&self.world.random);
        let run = RunRow {
            generation: self.generation,
            reason: "compaction.summary".to_string(),
            ..RunRow::begun(run_id, &process.pid, process.uid, self.conversation, started_at)
        };
        let (status, reason) = match error {
            None => (RunStatus::Ok, "turn.complete"),
            Some(_) => (RunStatus::Error, "generation.error"),
        };
        let end = RunEnd { status, reason, error, now_ms: self.world.now_ms() };
        let model = (setup.model.provider.as_str(), setup.model.id.as_str());
        let bill = Change::new(&process.pid)
            .if_there()
            .run_begin(&run)
            .run_turn(&run.run_id, model, 0, used)
            .run_end(&run.run_id, &end);
        self.world.store.keep(bill).await
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_fits_the_window() {
        assert_eq!(chars_per_pass(None), 24_000);
        assert_eq!(chars_per_pass(Some(4_096)), 3_072);
        assert_eq!(chars_per_pass(Some(200_000)), 150_000);
        assert_eq!((chars_per_pass(Some(1)), chars_per_pass(Some(u64::MAX))), (2_000, 240_000));
    }

    #[test]
    fn thoughts_stand_in_for_words() {
        let thought = serde_json::json!([{ "type": "thinking", "thinking": " a plan " }]);
        assert_eq!(thoughts(&serde_json::from_value::<Vec<AssistantContent>>(thought).unwrap()), "a plan");
        assert_eq!(thoughts(&[]), "");
    }
}
