//! Cursor pagination over a conversation's messages, with what waits for a person and how full the context is.

mod content;
#[cfg(test)]
mod tests;

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid};
use protocol::literal::Nullable;
use protocol::outcome::Outcome;
use protocol::proc::history::{ContextState, History, Message, Read};
use store::Store;
use store::conversations::ConversationRow;
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;

use crate::host::Host;
use crate::world::World;
use crate::{approval, conversation, cost};

pub(crate) use content::{Form, expanded};

/// Messages of a page when nobody says how many.
const PAGE: u64 = 200;

impl Host {
    /// Reads a conversation. One that is not there is empty.
    pub async fn history(&self, pid: &Pid, args: &Read) -> Result<Outcome<History>, Error> {
        let process = self.known(pid).await?;
        let id = conversation::named("proc.history", args.conversation_id.as_ref())?;
        read(&self.world, &process, &id, args).await.map(Outcome::Done).map_err(Error::from)
    }
}

async fn read(
    world: &World,
    process: &ProcessRow,
    id: &ConversationId,
    args: &Read,
) -> Result<History, store::Error> {
    let row = world.store.conversations().by_id(&process.pid, id).await?;
    let message_count = row.as_ref().map_or(0, |row| row.message_count);
    let page = page(world, process, id, args, message_count).await?;
    let context = match &row {
        Some(row) => context(world, process, row).await?,
        None => None,
    };
    let open = world.store.approvals().open(Some(process.uid)).await?;
    let waiting: Vec<_> = open.iter().filter(|row| row.pid == process.pid).map(approval::request).collect();
    Ok(History {
        pid: process.pid.clone(),
        conversation_id: Some(id.clone()),
        messages: page.rows.into_iter().map(|row| message(row, Form::Brief)).collect(),
        message_count,
        truncated: page.truncated.then_some(true),
        has_more_before: Some(page.more_before),
        has_more_after: Some(page.more_after),
        pending_hil: Nullable::from(waiting.first().cloned()),
        pending_hils: (waiting.len() > 1).then_some(waiting),
        context: Nullable::from(context),
    })
}

/// A message as the wire shows it.
pub(crate) fn message(row: MessageRow, form: Form) -> Message {
    let (id, role, timestamp) = (Some(row.id), row.role, Some(row.created_at));
    Message { id, role, content: expanded(row, form), timestamp }
}

/// A page, and what there is around it.
struct PageOfRows {
    rows: Vec<MessageRow>,
    more_before: bool,
    more_after: bool,
    truncated: bool,
}

async fn page(
    world: &World,
    process: &ProcessRow,
    id: &ConversationId,
    args: &Read,
    count: u64,
) -> Result<PageOfRows, store::Error> {
    let limit = args.limit.unwrap_or(PAGE).min(limits::process::HISTORY_MAX);
    let (store, pid) = (&world.store, &process.pid);
    let page = match args {
        Read { before_message_id: Some(before), .. } => Page::Before(*before),
        Read { after_message_id: Some(after), .. } => Page::After(*after),
        Read { tail: Some(true), .. } => Page::Tail,
        Read { offset, .. } => Page::Offset(offset.unwrap_or(0)),
    };
    let (rows, more) = collect(store, pid, id, page, limit).await?;
    let (more_before, more_after) = match page {
        Page::Offset(offset) => (offset > 0 && count > 0, more),
        Page::Tail => (more, false),
        Page::Before(before) => {
            (more, store.messages().newest_id(pid, id).await?.is_some_and(|newest| newest >= before))
        }
        Page::After(after) => {
            let before = after.checked_add(1).map_or(Page::Tail, Page::Before);
            (!store.messages().page(pid, id, before, 1).await?.is_empty(), more)
        }
    };
    let truncated = if matches!(page, Page::Offset(_)) { more_after } else { more_before || more_after };
    Ok(PageOfRows { rows, more_before, more_after, truncated })
}

/// Messages from a place on, a few at a time, until there are enough of them or they take too much room. True when
/// there are more in that direction.
async fn collect(
    store: &Store,
    pid: &Pid,
    id: &ConversationId,
    mut page: Page,
    limit: u64,
) -> Result<(Vec<MessageRow>, bool), store::Error> {
    let backwards = matches!(page, Page::Tail | Page::Before(_));
    let (mut rows, mut bytes) = (Vec::new(), 0);
    loop {
        // One more than asked for tells whether there are more.
        let step = limits::process::ARCHIVE_PAGE.min(limit + 1 - rows.len() as u64);
        let mut found = store.messages().page(pid, id, page, step).await?;
        let last_step = (found.len() as u64) < step;
        if backwards {
            found.reverse();
        }
        for row in found {
            bytes += size(&row);
            let full = rows.len() as u64 == limit
                || (bytes > limits::process::HISTORY_MAX_BYTES && !rows.is_empty());
            if full {
                return Ok((in_order(rows, backwards), true));
            }
            page = if backwards { Page::Before(row.id) } else { Page::After(row.id) };
            rows.push(row);
        }
        if last_step {
            return Ok((in_order(rows, backwards), false));
        }
    }
}

fn in_order(mut rows: Vec<MessageRow>, backwards: bool) -> Vec<MessageRow> {
    if backwards {
        rows.reverse();
    }
    rows
}

fn size(row: &MessageRow) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    row.content.len() + length(&row.meta) + length(&row.media)
}

/// How full the context was when it was last measured, with what is known better by now.
async fn context(
    world: &World,
    process: &ProcessRow,
    row: &ConversationRow,
) -> Result<Option<ContextState>, store::Error> {
    let Some(json) = &row.context else { return Ok(None) };
    let mut state: ContextState = match serde_json::from_str(json) {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(pid = %process.pid, %error, "the state of a context is unreadable and left out");
            return Ok(None);
        }
    };
    state.message_count = Some(row.message_count);
    state.last_message_id = world.store.messages().newest_id(&process.pid, &row.id).await?.into();
    state.usage = Some(cost::usage(&world.store.runs().used_in(&process.pid, &row.id).await?));
    Ok(Some(state))
}
