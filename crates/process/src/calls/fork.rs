//! Fork: a conversation up to a message, or an archived part of it, copied into another conversation.

#[cfg(test)]
mod tests;

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid};
use protocol::outcome::Outcome;
use protocol::proc::segment::{Fork, Forked, Segment};
use protocol::signal::run::Change as What;
use store::change::Change;
use store::messages::{Copied, MessageRow, Page};
use store::processes::ProcessRow;

use crate::archive;
use crate::conversation::{condition, full, named, non_blank, record, tell, to_value};
use crate::host::Host;
use crate::world::World;

const CALL: &str = "proc.conversation.fork";

/// What is copied.
enum Source {
    /// So many messages up to one.
    Live { through_id: i64, count: u64 },
    /// An archived part and what followed it.
    Archived { segment: Box<Segment>, rows: Vec<MessageRow>, with_suffix: bool },
}

impl Host {
    /// Copies messages into a conversation that has none.
    pub async fn fork(&self, pid: &Pid, args: &Fork) -> Result<Outcome<Forked>, Error> {
        let process = self.known(pid).await?;
        let id = named(CALL, args.conversation_id.as_ref())?;
        let target = match non_blank(args.target_conversation_id.as_ref()) {
            Some(_) => named(CALL, args.target_conversation_id.as_ref())?,
            None => ConversationId(self.world.random.uuid()),
        };
        self.fork_into(&process, &id, &target, args).await.map(Outcome::from)
    }

    async fn fork_into(
        &self,
        process: &ProcessRow,
        id: &ConversationId,
        target: &ConversationId,
        args: &Fork,
    ) -> Result<Result<Forked, String>, Error> {
        let pid = &process.pid;
        if let Err(why) = check(args) {
            return Ok(Err(why));
        }
        let before = self.conversation(pid, target).await?;
        let taken = || format!("Target conversation already has messages: {target}");
        if before.as_ref().is_some_and(|row| row.message_count > 0) {
            return Ok(Err(taken()));
        }
        if before.is_none()
            && let Some(why) = full(&self.world, pid).await?
        {
            return Ok(Err(why));
        }
        let source = match source(&self.world, process, id, args).await? {
            Ok(source) => source,
            Err(why) => return Ok(Err(why)),
        };
        let generation = before.as_ref().map_or(1, |row| row.generation);
        let first_id = self.reserve_ids(pid, source.count().max(1)).await?;
        let title = title(id, args);
        let change = Change::new(pid)
            .conversation_open(target, Some(&title), self.world.now_ms())
            .if_empty(target, generation);
        let change = source.copied(change, id, Copied { conversation: target, generation, first_id });
        if let Err(why) = self.apply(pid, condition(target, before.as_ref(), true), change).await? {
            let filled = self.conversation(pid, target).await?.is_some_and(|row| row.message_count > 0);
            return Ok(Err(if filled { taken() } else { why }));
        }
        let Some(row) = self.conversation(pid, target).await? else {
            return Ok(Err(format!("Conversation not found: {target}")));
        };
        let forked = source.forked(process, id, record(row));
        let more = [
            ("sourceConversationId", to_value(&forked.source_conversation_id)),
            ("targetConversation", to_value(&forked.target_conversation)),
            ("segment", to_value(&forked.segment)),
            ("throughMessageId", to_value(&forked.through_message_id)),
            ("restoredMessages", forked.restored_messages.into()),
            ("includedLiveSuffix", forked.included_live_suffix.into()),
        ];
        let changes = [What::Lifecycle, What::Conversations, What::Messages];
        tell(&self.world, process, &changes, target, "conversation.forked", more).await;
        Ok(Ok(forked))
    }
}

/// What is wrong with the arguments, if something is.
fn check(args: &Fork) -> Result<(), String> {
    let why = match (segment_id(args), args.through_message_id) {
        (Some(_), Some(_)) | (None, None) => "requires exactly one of segmentId or throughMessageId",
        (None, Some(..=0)) => "throughMessageId must be a positive integer",
        _ => return Ok(()),
    };
    Err(format!("{CALL} {why}"))
}

fn segment_id(args: &Fork) -> Option<&str> {
    args.segment_id.as_deref().map(str::trim).filter(|id| !id.is_empty())
}

/// The new conversation's name.
fn title(id: &ConversationId, args: &Fork) -> String {
    let given = args.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    match (given, segment_id(args), args.through_message_id) {
        (Some(title), ..) => title.to_string(),
        (None, Some(segment), _) => {
            format!("Fork of {id} at {}", segment.chars().take(8).collect::<String>())
        }
        (None, None, through) => format!("Fork of {id} at message {}", through.unwrap_or_default()),
    }
}

/// Finds what is to be copied. The inner error is the text of `{ok: false}`.
async fn source(
    world: &World,
    process: &ProcessRow,
    id: &ConversationId,
    args: &Fork,
) -> Result<Result<Source, String>, Error> {
    let (store, pid) = (&world.store, &process.pid);
    let Some(wanted) = segment_id(args) else {
        let through_id = args.through_message_id.unwrap_or_default();
        if store.messages().by_id(pid, id, through_id).await?.is_none() {
            return Ok(Err(format!("Message not found in conversation: {through_id}")));
        }
        let (count, _) = store.messages().through(pid, id, through_id).await?;
        return Ok(Ok(Source::Live { through_id, count }));
    };
    let Some(segment) = store.segments().by_id(pid, id, wanted).await? else {
        return Ok(Err(format!("Conversation segment not found: {wanted}")));
    };
    let mut rows = match archive::read(world, process, &segment.archive_path).await {
        Ok(rows) => rows,
        Err(why) => return Ok(Err(format!("Failed to read segment archive: {why}"))),
    };
    let with_suffix = args.include_live_suffix != Some(false);
    if with_suffix {
        rows.extend(suffix(world, process, &segment).await?);
    }
    Ok(Ok(Source::Archived { segment: Box::new(segment), rows, with_suffix }))
}

/// What followed a segment when it was archived, and still is in the conversation.
async fn suffix(
    world: &World,
    process: &ProcessRow,
    segment: &Segment,
) -> Result<Vec<MessageRow>, store::Error> {
    let mut suffix = Vec::new();
    let mut page = Page::After(segment.to_message_id);
    loop {
        let limit = limits::process::ARCHIVE_PAGE;
        let rows = world.store.messages().page(&process.pid, &segment.conversation_id, page, limit).await?;
        let Some(last) = rows.last().map(|row| row.id) else { return Ok(suffix) };
        let then =
            |row: &MessageRow| row.generation == segment.generation && row.created_at <= segment.created_at;
        suffix.extend(rows.into_iter().filter(then));
        page = Page::After(last);
    }
}

impl Source {
    fn count(&self) -> u64 {
        match self {
            Source::Live { count, .. } => *count,
            Source::Archived { rows, .. } => rows.len() as u64,
        }
    }

    /// Adds the copies to a change.
    fn copied(&self, change: Change, from: &ConversationId, to: Copied<'_>) -> Change {
        match self {
            Source::Live { through_id, .. } => change.messages_copy(from, *through_id, to),
            Source::Archived { rows, .. } => {
                let ids = to.first_id..;
                ids.zip(rows).fold(change, |change, (id, row)| {
                    change.message(&MessageRow {
                        id,
                        conversation_id: to.conversation.clone(),
                        generation: to.generation,
                        ..row.clone()
                    })
                })
            }
        }
    }

    fn forked(
        self,
        process: &ProcessRow,
        id: &ConversationId,
        target_conversation: protocol::proc::conversation::Conversation,
    ) -> Forked {
        let restored_messages = target_conversation.message_count;
        let (segment, through_message_id, included_live_suffix) = match self {
            Source::Live { through_id, .. } => (None, Some(through_id), false),
            Source::Archived { segment, with_suffix, .. } => (Some(*segment), None, with_suffix),
        };
        Forked {
            pid: process.pid.clone(),
            source_conversation_id: id.clone(),
            target_conversation,
            segment,
            through_message_id,
            restored_messages,
            included_live_suffix,
        }
    }
}
