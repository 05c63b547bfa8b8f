//! Messages of conversations.

use protocol::ids::{ConversationId, Pid, RunId};
use protocol::proc::history::MessageRole;

use crate::change::{Change, storable};
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// Unique within the process.
    pub id: i64,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Which life of the conversation.
    pub generation: u64,
    /// Who said it.
    pub role: MessageRole,
    /// Its text.
    pub content: String,
    /// JSON: for the agent's its whole answer (`AssistantMessage`), for a tool's `{toolName, isError}`.
    pub meta: Option<String>,
    /// The tool call it answers.
    pub tool_call_id: Option<String>,
    /// JSON: `StoredMedia[]`.
    pub media: Option<String>,
    /// JSON: where it came from.
    pub origin: Option<String>,
    /// The run it belongs to.
    pub run_id: Option<RunId>,
    /// In milliseconds.
    pub created_at: i64,
}

/// Which messages of a conversation to read. All come oldest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Page {
    /// After skipping some of the oldest.
    Offset(u64),
    /// The newest.
    Tail,
    /// The newest before a message.
    Before(i64),
    /// The oldest after a message.
    After(i64),
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, conversation_id, generation, role, content, meta, tool_call_id, media, origin, run_id, \
             created_at FROM messages WHERE pid = $1 AND conversation_id = $2 ",
            $rest
        )
    };
}

impl Store {
    /// Messages of a conversation, oldest first, at most `limit`.
    pub async fn messages(
        &self,
        pid: &Pid,
        conversation: &ConversationId,
        page: Page,
        limit: u64,
    ) -> Result<Vec<MessageRow>> {
        let on = |sql| Statement::new(sql).bind(pid).bind(conversation);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (statement, newest_first) = match page {
            Page::Offset(offset) => {
                let statement = on(select!("ORDER BY id LIMIT $3 OFFSET $4"));
                (statement.bind(limit).bind(i64::try_from(offset).unwrap_or(i64::MAX)), false)
            }
            Page::Tail => (on(select!("ORDER BY id DESC LIMIT $3")).bind(limit), true),
            Page::Before(id) => {
                (on(select!("AND id < $4 ORDER BY id DESC LIMIT $3")).bind(limit).bind(id), true)
            }
            Page::After(id) => (on(select!("AND id > $4 ORDER BY id LIMIT $3")).bind(limit).bind(id), false),
        };
        let rows = self.read(statement).await?.into_iter().map(message_from);
        let mut rows = rows.collect::<Result<Vec<_>>>()?;
        if newest_first {
            rows.reverse();
        }
        Ok(rows)
    }

    /// One message of a conversation.
    pub async fn message(
        &self,
        pid: &Pid,
        conversation: &ConversationId,
        id: i64,
    ) -> Result<Option<MessageRow>> {
        let statement = Statement::new(select!("AND id = $3")).bind(pid).bind(conversation).bind(id);
        self.read(statement).await?.pop().map(message_from).transpose()
    }
}

impl Change {
    /// Adds a message.
    pub fn message(self, message: &MessageRow) -> Change {
        let keep = Statement::new(
            "INSERT INTO messages (pid, id, conversation_id, generation, role, content, meta, tool_call_id, media, \
             origin, run_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(&self.pid)
        .bind(message.id)
        .bind(&message.conversation_id)
        .bind(message.generation as i64)
        .bind(role_name(message.role))
        .bind(storable(&message.content))
        .bind(message.meta.as_deref())
        .bind(message.tool_call_id.as_deref().map(storable))
        .bind(message.media.as_deref())
        .bind(message.origin.as_deref())
        .bind(message.run_id.as_ref().map(RunId::as_str))
        .bind(message.created_at);
        let count = self.on(
            "UPDATE conversations SET message_count = message_count + 1 WHERE pid = $1 AND id = $2",
            &message.conversation_id,
        );
        self.step(keep).step(count)
    }

    /// Removes the messages of a conversation from one id to another, both included.
    pub fn messages_remove(self, conversation: &ConversationId, from_id: i64, to_id: i64) -> Change {
        let count = self
            .on(
                "UPDATE conversations SET message_count = message_count - (SELECT count(*) FROM messages \
                 WHERE pid = $1 AND conversation_id = $2 AND id >= $3 AND id <= $4) WHERE pid = $1 AND id = $2",
                conversation,
            )
            .bind(from_id)
            .bind(to_id);
        let remove = self
            .on(
                "DELETE FROM messages WHERE pid = $1 AND conversation_id = $2 AND id >= $3 AND id <= $4",
                conversation,
            )
            .bind(from_id)
            .bind(to_id);
        self.step(count).step(remove)
    }
}

pub(crate) fn role_name(role: MessageRole) -> &'static str {
    match role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::System => "system",
        MessageRole::ToolResult => "toolResult",
    }
}

pub(crate) fn role_from(text: &str) -> Result<MessageRole> {
    [MessageRole::User, MessageRole::Assistant, MessageRole::System, MessageRole::ToolResult]
        .into_iter()
        .find(|role| role_name(*role) == text)
        .ok_or_else(|| unexpected("a role", text))
}

fn message_from(mut row: Row) -> Result<MessageRow> {
    Ok(MessageRow {
        id: row.int()?,
        conversation_id: ConversationId(row.text()?),
        generation: row.int()?.max(0) as u64,
        role: role_from(&row.text()?)?,
        content: row.text()?,
        meta: row.text_or_null()?,
        tool_call_id: row.text_or_null()?,
        media: row.text_or_null()?,
        origin: row.text_or_null()?,
        run_id: row.text_or_null()?.map(RunId),
        created_at: row.int()?,
    })
}
