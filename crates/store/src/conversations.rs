//! Repository of conversations: their records, policies and the state of their context.

use protocol::ids::{ConversationId, Pid};
use protocol::proc::conversation::{Overflow, Status};

use crate::change::{Change, storable};
use crate::processes::count;
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// A thread of messages of a process; its messages are rows of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRow {
    pub id: ConversationId,
    /// How often it was reset, from 1.
    pub generation: u64,
    /// Whether it takes messages.
    pub status: Status,
    /// Its name for people.
    pub title: Option<String>,
    /// How many messages it has.
    pub message_count: u64,
    /// What happens when it outgrows the context; `None` when nobody said.
    pub policy: Option<PolicyRow>,
    /// JSON of `ContextState`.
    pub context: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds.
    pub updated_at: i64,
}

/// What happens when a conversation outgrows the context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyRow {
    /// What happens.
    pub overflow: Overflow,
    /// From which pressure on: more than 0, at most 1, which is a full context.
    pub compact_at: f64,
    /// How many messages stay.
    pub keep_last: u64,
    /// In milliseconds.
    pub updated_at: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, generation, status, title, message_count, overflow, compact_at, keep_last, \
             policy_updated_at, context, created_at, updated_at FROM conversations ",
            $rest
        )
    };
}

/// Conversations of processes. See [`Store::conversations`].
#[derive(Clone, Copy)]
pub struct Conversations<'a>(pub(crate) &'a Store);

impl Store {
    /// Conversations of processes.
    pub fn conversations(&self) -> Conversations<'_> {
        Conversations(self)
    }
}

impl Conversations<'_> {
    /// A conversation by its id, open or closed.
    pub async fn by_id(self, pid: &Pid, id: &ConversationId) -> Result<Option<ConversationRow>> {
        let statement = Statement::new(select!("WHERE pid = $1 AND id = $2")).bind(pid).bind(id);
        self.0.read(statement).await?.pop().map(conversation_from).transpose()
    }

    /// All of a process, last changed first.
    pub async fn of(self, pid: &Pid) -> Result<Vec<ConversationRow>> {
        let statement = Statement::new(select!("WHERE pid = $1 ORDER BY updated_at DESC, id")).bind(pid);
        self.0.read(statement).await?.into_iter().map(conversation_from).collect()
    }

    /// How many a process has.
    pub async fn count(self, pid: &Pid) -> Result<u64> {
        let statement = Statement::new("SELECT count(*) FROM conversations WHERE pid = $1").bind(pid);
        count(self.0.read(statement).await?)
    }
}

impl Change {
    /// Makes a conversation that is not there yet.
    pub fn conversation_ensure(self, id: &ConversationId, now_ms: i64) -> Change {
        let statement = self.on(
            "INSERT INTO conversations (pid, id, generation, status, message_count, created_at, updated_at) \
             VALUES ($1, $2, 1, 'open', 0, $3, $3) ON CONFLICT (pid, id) DO NOTHING",
            id,
        );
        self.step(statement.bind(now_ms))
    }

    /// Makes a conversation, or opens it again. It keeps its title unless there is a new one.
    pub fn conversation_open(self, id: &ConversationId, title: Option<&str>, now_ms: i64) -> Change {
        let statement = self.on(
            "INSERT INTO conversations (pid, id, generation, status, title, message_count, created_at, updated_at) \
             VALUES ($1, $2, 1, 'open', $3, 0, $4, $4) ON CONFLICT (pid, id) DO UPDATE SET \
             status = 'open', title = COALESCE(excluded.title, conversations.title), updated_at = excluded.updated_at",
            id,
        );
        self.step(statement.bind(title.map(storable)).bind(now_ms))
    }

    /// Closes a conversation. The change is not kept when it is unknown or closed already.
    pub fn conversation_close(self, id: &ConversationId, now_ms: i64) -> Change {
        let statement = self.on(
            "UPDATE conversations SET status = 'closed', updated_at = $3 \
             WHERE pid = $1 AND id = $2 AND status = 'open' RETURNING id",
            id,
        );
        self.guard(statement.bind(now_ms))
    }

    /// Begins a new life of a conversation: no messages, open.
    pub fn conversation_reset(self, id: &ConversationId, now_ms: i64) -> Change {
        let clear = self.on("DELETE FROM messages WHERE pid = $1 AND conversation_id = $2", id);
        let renew = self
            .on(
                "UPDATE conversations SET generation = generation + 1, status = 'open', message_count = 0, \
                 context = NULL, updated_at = $3 WHERE pid = $1 AND id = $2",
                id,
            )
            .bind(now_ms);
        self.step(clear).step(renew)
    }

    /// Notes when a conversation was compacted.
    pub fn conversation_touch(self, id: &ConversationId, now_ms: i64) -> Change {
        let statement = self.on("UPDATE conversations SET updated_at = $3 WHERE pid = $1 AND id = $2", id);
        self.step(statement.bind(now_ms))
    }

    /// What happens when the conversation outgrows the context.
    pub fn policy(self, id: &ConversationId, policy: PolicyRow) -> Change {
        let statement = self.on(
            "UPDATE conversations SET overflow = $3, compact_at = $4, keep_last = $5, \
             policy_updated_at = $6 WHERE pid = $1 AND id = $2",
            id,
        );
        let statement = statement
            .bind(overflow_name(policy.overflow))
            .bind(policy.compact_at.to_string())
            .bind(policy.keep_last as i64)
            .bind(policy.updated_at);
        self.step(statement)
    }

    /// How full the conversation's context is, as JSON.
    pub fn context(self, id: &ConversationId, json: &str) -> Change {
        let statement = self.on("UPDATE conversations SET context = $3 WHERE pid = $1 AND id = $2", id);
        self.step(statement.bind(json))
    }
}

fn overflow_name(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::Manual => "manual",
        Overflow::AutoCompact => "auto-compact",
        Overflow::Fail => "fail",
    }
}

fn policy_from(row: &mut Row) -> Result<Option<PolicyRow>> {
    let overflow = row.text_or_null()?;
    let (compact_at, keep_last, updated_at) = (row.text_or_null()?, row.int_or_null()?, row.int_or_null()?);
    let (Some(overflow), Some(compact_at), Some(keep_last), Some(updated_at)) =
        (overflow, compact_at, keep_last, updated_at)
    else {
        return Ok(None);
    };
    let overflow = [Overflow::Manual, Overflow::AutoCompact, Overflow::Fail]
        .into_iter()
        .find(|known| overflow_name(*known) == overflow)
        .ok_or_else(|| unexpected("an overflow policy", &overflow))?;
    let compact_at = compact_at.parse().map_err(|_| unexpected("a pressure", &compact_at))?;
    let keep_last = keep_last.max(0) as u64;
    Ok(Some(PolicyRow { overflow, compact_at, keep_last, updated_at }))
}

fn conversation_from(mut row: Row) -> Result<ConversationRow> {
    Ok(ConversationRow {
        id: ConversationId(row.text()?),
        generation: row.int()?.max(0) as u64,
        status: match row.text()?.as_str() {
            "open" => Status::Open,
            "closed" => Status::Closed,
            other => return Err(unexpected("a status of a conversation", other)),
        },
        title: row.text_or_null()?,
        message_count: row.int()?.max(0) as u64,
        policy: policy_from(&mut row)?,
        context: row.text_or_null()?,
        created_at: row.int()?,
        updated_at: row.int()?,
    })
}
