//! Boundary selection for compaction: tool calls and their results are never parted.

use protocol::ids::ConversationId;
use protocol::proc::history::MessageRole;
use protocol::proc::segment::Compact;
use store::Store;
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;

use crate::archive::Span;
use crate::world::World;

/// There is nothing to compact.
pub(crate) const NOTHING: &str = "No conversation messages selected for compaction";

/// Messages to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selected {
    pub(super) span: Span,
    pub(super) count: u64,
    pub(super) generation: u64,
    /// When the newest of them was written, in milliseconds.
    pub(super) newest_at: i64,
}

/// Messages that are looked at together.
const STEP: u64 = 32;

/// Selects from the oldest message on. Where the end would part tool calls from their results it moves back before
/// the calls, or, if nothing would be left, forward behind the results.
pub(super) async fn select(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    args: &Compact,
) -> Result<Selected, String> {
    let rows = Rows { store: &world.store, process, conversation };
    let selected = rows.select(args).await;
    let selected = selected.map_err(|error| format!("The conversation could not be read: {error}"))?;
    selected.ok_or_else(|| NOTHING.to_string())
}

/// Selects the newest messages, so many at most.
pub(super) async fn newest(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    count: u64,
) -> Result<Selected, String> {
    let rows = Rows { store: &world.store, process, conversation }.page(Page::Tail, count).await;
    let rows = rows.map_err(|error| format!("The conversation could not be read: {error}"))?;
    match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => Ok(Selected {
            span: Span { from_id: first.id, to_id: last.id },
            count: rows.len() as u64,
            generation: last.generation,
            newest_at: last.created_at,
        }),
        _ => Err(NOTHING.to_string()),
    }
}

struct Rows<'a> {
    store: &'a Store,
    process: &'a ProcessRow,
    conversation: &'a ConversationId,
}

impl Rows<'_> {
    async fn select(&self, args: &Compact) -> store::Result<Option<Selected>> {
        let Some(first) = self.page(Page::Offset(0), 1).await?.pop() else { return Ok(None) };
        let Some(wanted) = self.last_wanted(args).await? else { return Ok(None) };
        let to_id = match self.back_to_a_seam(wanted).await? {
            Some(last) => last,
            None => self.forward_to_a_seam(wanted).await?,
        };
        let through = self.store.messages().through(&self.process.pid, self.conversation, to_id);
        let (count, newest_at) = through.await?;
        let span = Span { from_id: first.id, to_id };
        Ok(Some(Selected { span, count, generation: first.generation, newest_at }))
    }

    /// The last message that was asked for.
    async fn last_wanted(&self, args: &Compact) -> store::Result<Option<i64>> {
        match (args.keep_last, args.through_message_id) {
            (Some(keep), _) => {
                self.store.messages().id_before_newest(&self.process.pid, self.conversation, keep).await
            }
            (None, Some(through)) => {
                let page = through.checked_add(1).map_or(Page::Tail, Page::Before);
                Ok(self.page(page, 1).await?.pop().map(|row| row.id))
            }
            (None, None) => Ok(None),
        }
    }

    /// The last message at or before `last` behind which nothing is parted; `None` when there is none.
    async fn back_to_a_seam(&self, last: i64) -> store::Result<Option<i64>> {
        let next = self.page(Page::After(last), 1).await?;
        if !next.first().is_some_and(is_result) {
            return Ok(Some(last));
        }
        // Back over the results to the answer that called for them, and one further.
        let mut before = last + 1;
        let mut met_calls = false;
        loop {
            let rows = self.page(Page::Before(before), STEP).await?;
            for row in rows.iter().rev() {
                if met_calls {
                    return Ok(Some(row.id));
                }
                met_calls = !is_result(row);
            }
            match rows.first() {
                Some(first) => before = first.id,
                None => return Ok(None),
            }
        }
    }

    /// The last of the results that follow `last` without anything between them.
    async fn forward_to_a_seam(&self, mut last: i64) -> store::Result<i64> {
        loop {
            let rows = self.page(Page::After(last), STEP).await?;
            for row in &rows {
                if !is_result(row) {
                    return Ok(last);
                }
                last = row.id;
            }
            if rows.is_empty() {
                return Ok(last);
            }
        }
    }

    async fn page(&self, page: Page, limit: u64) -> store::Result<Vec<MessageRow>> {
        self.store.messages().page(&self.process.pid, self.conversation, page, limit).await
    }
}

fn is_result(row: &MessageRow) -> bool {
    row.role == MessageRole::ToolResult
}
