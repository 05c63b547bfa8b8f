//! Append-only messages of conversations, read in pages.

use protocol::ids::{ConversationId, Pid, RunId};
use protocol::proc::history::MessageRole;

use crate::change::{Change, storable};
use crate::processes::count;
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// What was said in a conversation, by whomever: a person, the agent, or a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// Unique within the process.
    pub id: i64,
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

/// Where copied messages go.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    pub conversation: &'a ConversationId,
    /// Which life of it.
    pub generation: u64,
    /// The id of the first; the others follow.
    pub first_id: i64,
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

/// Messages of conversations. See [`Store::messages`].
#[derive(Clone, Copy)]
pub struct Messages<'a>(pub(crate) &'a Store);

impl Store {
    /// Messages of conversations.
    pub fn messages(&self) -> Messages<'_> {
        Messages(self)
    }
}

impl Messages<'_> {
    /// Messages of a conversation, oldest first, at most `limit`.
    pub async fn page(
        self,
        pid: &Pid,
        conversation: &ConversationId,
        page: Page,
        limit: u64,
    ) -> Result<Vec<MessageRow>> {
        let on = |sql| Statement::new(sql).bind(pid).bind(conversation);
        let limit = small(limit);
        let (statement, newest_first) = match page {
            Page::Offset(offset) if self.is_past_the_middle(pid, conversation, offset).await? => {
                let statement = on(select!(
                    "ORDER BY id DESC LIMIT (SELECT CASE WHEN message_count <= $4 THEN 0 \
                     WHEN message_count - $4 < $3 THEN message_count - $4 ELSE $3 END \
                     FROM conversations WHERE pid = $1 AND id = $2) \
                     OFFSET (SELECT CASE WHEN message_count - $4 > $3 THEN message_count - $4 - $3 ELSE 0 END \
                     FROM conversations WHERE pid = $1 AND id = $2)"
                ));
                (statement.bind(limit).bind(small(offset)), true)
            }
            Page::Offset(offset) => {
                (on(select!("ORDER BY id LIMIT $3 OFFSET $4")).bind(limit).bind(small(offset)), false)
            }
            Page::Tail => (on(select!("ORDER BY id DESC LIMIT $3")).bind(limit), true),
            Page::Before(id) => {
                (on(select!("AND id < $4 ORDER BY id DESC LIMIT $3")).bind(limit).bind(id), true)
            }
            Page::After(id) => (on(select!("AND id > $4 ORDER BY id LIMIT $3")).bind(limit).bind(id), false),
        };
        let rows = self.0.read(statement).await?.into_iter().map(message_from);
        let mut rows = rows.collect::<Result<Vec<_>>>()?;
        if newest_first {
            rows.reverse();
        }
        Ok(rows)
    }

    /// Whether the end is the nearer way to a place. Which way is taken changes nothing but the time.
    async fn is_past_the_middle(self, pid: &Pid, conversation: &ConversationId, offset: u64) -> Result<bool> {
        if offset == 0 {
            return Ok(false);
        }
        let statement = Statement::new("SELECT message_count FROM conversations WHERE pid = $1 AND id = $2");
        let count = count(self.0.read(statement.bind(pid).bind(conversation)).await?)?;
        Ok(count > 0 && offset >= count / 2)
    }

    /// The newest message's id.
    pub async fn newest_id(self, pid: &Pid, conversation: &ConversationId) -> Result<Option<i64>> {
        let statement = Statement::new(
            "SELECT id FROM messages WHERE pid = $1 AND conversation_id = $2 ORDER BY id DESC LIMIT 1",
        );
        let mut rows = self.0.read(statement.bind(pid).bind(conversation)).await?;
        rows.pop().map(|mut row| row.int()).transpose()
    }

    /// The id of the message that has so many newer ones.
    pub async fn id_before_newest(
        self,
        pid: &Pid,
        conversation: &ConversationId,
        newest: u64,
    ) -> Result<Option<i64>> {
        let statement = Statement::new(
            "SELECT id FROM messages WHERE pid = $1 AND conversation_id = $2 ORDER BY id DESC LIMIT 1 OFFSET $3",
        );
        let mut rows = self.0.read(statement.bind(pid).bind(conversation).bind(small(newest))).await?;
        rows.pop().map(|mut row| row.int()).transpose()
    }

    /// How many messages a conversation has up to and with one, and when the newest of them was written.
    pub async fn through(
        self,
        pid: &Pid,
        conversation: &ConversationId,
        through_id: i64,
    ) -> Result<(u64, i64)> {
        let statement = Statement::new(
            "SELECT count(*), COALESCE(max(created_at), 0) FROM messages \
             WHERE pid = $1 AND conversation_id = $2 AND id <= $3",
        );
        let mut rows = self.0.read(statement.bind(pid).bind(conversation).bind(through_id)).await?;
        let Some(mut row) = rows.pop() else { return Ok((0, 0)) };
        Ok((row.int()?.max(0) as u64, row.int()?))
    }

    /// One message of a conversation.
    pub async fn by_id(
        self,
        pid: &Pid,
        conversation: &ConversationId,
        id: i64,
    ) -> Result<Option<MessageRow>> {
        let statement = Statement::new(select!("AND id = $3")).bind(pid).bind(conversation).bind(id);
        self.0.read(statement).await?.pop().map(message_from).transpose()
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

    /// Copies the messages of a conversation up to and with one into another, with new ids that follow each other.
    pub fn messages_copy(self, from: &ConversationId, through_id: i64, to: Copied<'_>) -> Change {
        let copy = self
            .on(
                "INSERT INTO messages (pid, id, conversation_id, generation, role, content, meta, tool_call_id, \
                 media, origin, run_id, created_at) SELECT pid, $4 - 1 + row_number() OVER (ORDER BY id), $5, $6, \
                 role, content, meta, tool_call_id, media, origin, run_id, created_at FROM messages \
                 WHERE pid = $1 AND conversation_id = $2 AND id <= $3",
                from,
            )
            .bind(through_id)
            .bind(to.first_id)
            .bind(to.conversation)
            .bind(to.generation as i64);
        let count = self
            .on(
                "UPDATE conversations SET message_count = message_count + (SELECT count(*) FROM messages \
                 WHERE pid = $1 AND conversation_id = $2 AND id <= $3) WHERE pid = $1 AND id = $4",
                from,
            )
            .bind(through_id)
            .bind(to.conversation);
        self.step(copy).step(count)
    }

    /// The change is not kept unless the conversation is there, in that life of it, and has no messages.
    pub fn if_empty(self, conversation: &ConversationId, generation: u64) -> Change {
        let statement = self.on(
            "SELECT id FROM conversations WHERE pid = $1 AND id = $2 AND generation = $3 AND message_count = 0",
            conversation,
        );
        self.guard(statement.bind(generation as i64))
    }

    /// The change is not kept unless these are still the messages from one id to another: so many of them, the
    /// newest from that time.
    pub fn if_unchanged(
        self,
        conversation: &ConversationId,
        ids: (i64, i64),
        count: u64,
        newest_at: i64,
    ) -> Change {
        let statement = self
            .on(
                "SELECT id FROM conversations WHERE pid = $1 AND id = $2 AND $5 = (SELECT count(*) FROM messages \
                 WHERE pid = $1 AND conversation_id = $2 AND id >= $3 AND id <= $4) AND $6 = (SELECT max(created_at) \
                 FROM messages WHERE pid = $1 AND conversation_id = $2 AND id >= $3 AND id <= $4)",
                conversation,
            )
            .bind(ids.0)
            .bind(ids.1)
            .bind(small(count))
            .bind(newest_at);
        self.guard(statement)
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

/// A number that both engines can still add to others.
fn small(number: u64) -> i64 {
    number.min(1 << 52) as i64
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
