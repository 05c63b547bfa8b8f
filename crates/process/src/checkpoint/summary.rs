//! Summary of the work in a workspace: written by the model before a process goes, else made of what was said.
//!
//! A text that a person or a model has written is never replaced by one that was merely made of what was said.

use base::limits;
use protocol::ids::ConversationId;
use protocol::proc::history::MessageRole;
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;

use super::Occasion;
use crate::world::World;
use crate::{compaction, prepare};

/// The first line of a summary that nobody has written.
const MARK: &str = "<!-- gsv: made of what was said last; replace it with a text of your own -->";
/// Characters of a message that such a summary shows.
const SHOWN_CHARS: usize = 600;

/// The summary that is to be kept; `None` when the one that is there stays.
pub(super) async fn after(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    before: &str,
    occasion: Occasion,
) -> Option<String> {
    let is_own = before.trim().is_empty() || before.starts_with(MARK);
    if occasion != Occasion::Idle {
        let known = (!is_own).then(|| before.trim().to_string());
        match by_model(world, process, conversation, known).await {
            Ok(text) => return Some(format!("{}\n", text.trim())),
            Err(why) => tracing::debug!(pid = %process.pid, why, "no model wrote the summary of a workspace"),
        }
    }
    if !is_own {
        return None;
    }
    let page = world.store.messages().page(
        &process.pid,
        conversation,
        Page::Tail,
        limits::process::CHECKPOINT_MESSAGES,
    );
    match page.await {
        Ok(rows) => extract(process.label.as_deref(), &rows),
        Err(error) => {
            tracing::warn!(pid = %process.pid, %error, "the summary of a workspace could not be made");
            None
        }
    }
}

/// Lets the model write it, if there is one.
async fn by_model(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    before: Option<String>,
) -> Result<String, String> {
    let writing = async {
        let setup = prepare::prepare(world, process).await?;
        if setup.model.provider.as_str() == "demo" {
            return Err("no model is configured".to_string());
        }
        let newest = limits::process::CHECKPOINT_MESSAGES;
        compaction::summarize_newest(world, process, conversation, newest, &setup, before).await
    };
    let written = world.clock.timeout(limits::process::CHECKPOINT_SUMMARY_WAIT, writing).await;
    written.unwrap_or_else(|_| Err("the model took too long".to_string()))
}

/// What was asked for last, and what was answered.
fn extract(label: Option<&str>, rows: &[MessageRow]) -> Option<String> {
    let newest = |role| rows.iter().rev().find(|row| row.role == role && !row.content.trim().is_empty());
    let parts =
        [("Asked last", newest(MessageRole::User)), ("Answered last", newest(MessageRole::Assistant))];
    let mut text = format!("{MARK}\n");
    if let Some(label) = label {
        text += &format!("\n# {label}\n");
    }
    for (title, row) in parts {
        let Some(row) = row else { continue };
        text += &format!("\n## {title}\n\n{}\n", cut(row.content.trim()));
    }
    parts.iter().any(|(_, row)| row.is_some()).then_some(text)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(role: MessageRole, content: &str) -> MessageRow {
        MessageRow {
            id: 1,
            conversation_id: "default".into(),
            generation: 1,
            role,
            content: content.to_string(),
            meta: None,
            tool_call_id: None,
            media: None,
            origin: None,
            run_id: None,
            created_at: 0,
        }
    }

    #[test]
    fn an_extract_has_the_last_question_and_answer() {
        let rows = [
            row(MessageRole::User, "old"),
            row(MessageRole::User, "fix it"),
            row(MessageRole::Assistant, &"ü".repeat(SHOWN_CHARS + 1)),
            row(MessageRole::ToolResult, "noise"),
        ];
        let text = extract(Some("mend"), &rows).expect("a text");
        assert!(text.starts_with(MARK) && text.contains("# mend") && text.contains("fix it"), "{text}");
        assert!(!text.contains("old") && !text.contains("noise"), "{text}");
        assert!(text.ends_with(&format!("{}…\n", "ü".repeat(SHOWN_CHARS))), "{text}");
        assert_eq!(extract(None, &rows[3..]), None);
    }
}
