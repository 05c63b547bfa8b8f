//! Compaction: the older part of a conversation goes into an archive, and a summary stands in its place.

pub(crate) mod select;
mod summary;
#[cfg(test)]
mod tests;

use model::Model;
use protocol::ids::{ConversationId, RunId};
use protocol::proc::conversation::ContextPolicy;
use protocol::proc::history::MessageRole;
use protocol::proc::segment::{Compact, Compacted, Segment, SegmentKind};
use protocol::signal::run::{Change as What, Changed};
use serde_json::{Map, Value};
use store::change::Change;
use store::messages::MessageRow;
use store::processes::ProcessRow;

use crate::archive::PendingArchive;
use crate::conversation::{changed, to_value};
use crate::setup::Setup;
use crate::world::World;

pub(crate) use select::NOTHING;
pub(crate) use summary::failed;

/// A compaction that is ready to be kept: the archive is written, the rows are not changed yet.
pub(crate) struct Prepared {
    /// What to write. The actor applies it.
    pub(crate) change: Change,
    /// What to answer and to tell.
    pub(crate) compacted: Compacted,
    /// Removed again unless the change is kept and this claimed.
    pub(crate) archive: PendingArchive,
    /// What led to it, told with it; empty when a person asked for it.
    pub(crate) why: Map<String, Value>,
}

impl Prepared {
    /// Says that a context too full for a model led to it.
    pub(crate) fn because(mut self, model: &Model, pressure: f64, policy: &ContextPolicy) -> Prepared {
        let provider = ("provider", model.provider.as_str().into());
        let model = ("model", model.id.as_str().into());
        let more = [provider, model, ("pressure", pressure.into()), ("policy", to_value(policy))];
        self.why.extend(more.map(|(name, value)| (name.to_string(), value)));
        self
    }
}

/// Checks the arguments, writes the archive, and generates the summary when asked to (`setup` is then needed).
/// The error is the text of `{ok: false}`.
pub(crate) async fn prepare(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    args: &Compact,
    setup: Option<&Setup>,
) -> Result<Prepared, String> {
    check(args)?;
    let selected = select::select(world, process, conversation, args).await?;
    let given = args.summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty());
    let summary = match given {
        Some(text) => text.to_string(),
        None => summary::generate(world, process, conversation, &selected, setup, None).await?,
    };
    let id = world.random.uuid();
    let archive = PendingArchive::keep(world, process, conversation, id.clone(), selected.span).await;
    let archive = archive.map_err(|why| format!("Failed to archive the messages: {why}"))?;
    let (path, messages) = (archive.path.clone(), archive.messages);
    if messages != selected.count {
        archive.discard().await;
        return Err("The conversation changed while it was being compacted: try again".to_string());
    }
    let now_ms = world.now_ms();
    let (from_id, to_id) = (selected.span.from_id, selected.span.to_id);
    let marker = MessageRow {
        id: from_id,
        conversation_id: conversation.clone(),
        generation: selected.generation,
        role: MessageRole::System,
        content: format!(
            "Conversation compacted.\n\nArchived messages: {messages}\nArchive: {path}\n\nSummary:\n{summary}"
        ),
        meta: None,
        tool_call_id: None,
        media: None,
        origin: None,
        run_id: None,
        created_at: now_ms,
    };
    let segment = Segment {
        id,
        conversation_id: conversation.clone(),
        generation: selected.generation,
        kind: SegmentKind::Compaction,
        from_message_id: from_id,
        to_message_id: to_id,
        archive_path: path.clone(),
        summary_message_id: Some(from_id),
        created_at: world.now_ms(),
    };
    let change = Change::new(&process.pid)
        .if_unchanged(conversation, (from_id, to_id), messages, selected.newest_at)
        .messages_remove(conversation, from_id, to_id)
        .message(&marker)
        .segment(&segment)
        .loose_archive_end(&path)
        .conversation_touch(conversation, now_ms);
    let compacted = Compacted {
        pid: process.pid.clone(),
        conversation_id: conversation.clone(),
        segment,
        archived_messages: messages,
        archived_to: path,
        summary_message_id: from_id,
    };
    Ok(Prepared { change, compacted, archive, why: Map::new() })
}

/// Lets the model summarize the newest messages of a conversation, on top of the summary of what came before.
pub(crate) async fn summarize_newest(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    newest: u64,
    setup: &Setup,
    before: Option<String>,
) -> Result<String, String> {
    let selected = select::newest(world, process, conversation, newest).await?;
    summary::generate(world, process, conversation, &selected, Some(setup), before).await
}

/// What is wrong with the arguments, if something is.
pub(crate) fn check(args: &Compact) -> Result<(), String> {
    const CALL: &str = "proc.conversation.compact";
    let given = args.summary.as_deref().is_some_and(|summary| !summary.trim().is_empty());
    let generated = args.generate_summary == Some(true);
    let why = match (given, generated, args.keep_last, args.through_message_id) {
        (false, false, _, _) => "requires summary or generateSummary",
        (true, true, _, _) => "accepts either summary or generateSummary, not both",
        (_, _, Some(_), Some(_)) | (_, _, None, None) => {
            "requires exactly one of keepLast or throughMessageId"
        }
        (_, _, None, Some(..=0)) => "throughMessageId must be a positive integer",
        _ => return Ok(()),
    };
    Err(format!("{CALL} {why}"))
}

/// Tells that a conversation was compacted: `event` is `conversation.compacted` or `conversation.auto_compacted`,
/// `more` what led to it.
pub(crate) fn announce(
    world: &World,
    process: &ProcessRow,
    run_id: Option<&RunId>,
    event: &str,
    compacted: &Compacted,
    queued_count: u64,
    mut more: Map<String, Value>,
) {
    more.insert("generation".to_string(), compacted.segment.generation.into());
    more.insert("segment".to_string(), to_value(&compacted.segment));
    more.insert("archivedMessages".to_string(), compacted.archived_messages.into());
    more.insert("archivedTo".to_string(), compacted.archived_to.as_str().into());
    more.insert("summaryMessageId".to_string(), compacted.summary_message_id.into());
    let changes = [What::Lifecycle, What::Conversations, What::Messages];
    let signal = Changed {
        conversation_id: Some(compacted.conversation_id.clone()),
        run_id: run_id.cloned(),
        event: Some(event.to_string()),
        more,
        ..changed(world, process, &changes, queued_count)
    };
    world.emit(process, run_id, &signal);
}
