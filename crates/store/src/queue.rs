//! Durable queue: messages that wait for the active run of their process to end.

use protocol::ids::{ConversationId, Pid, RunId};
use protocol::proc::history::MessageRole;

use crate::change::{Change, storable};
use crate::messages::{role_from, role_name};
use crate::processes::count;
use crate::sql::{Row, Statement};
use crate::{Result, Store};

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    /// Its place in line.
    pub position: i64,
    /// The run it starts, unless the active one takes it in.
    pub run_id: RunId,
    pub conversation_id: ConversationId,
    /// A person's or another process's, or a runtime event.
    pub role: MessageRole,
    /// Why, as `proc.run.started` tells it.
    pub reason: String,
    /// Its text.
    pub content: String,
    /// JSON: `StoredMedia[]`.
    pub media: Option<String>,
    /// JSON: where it came from.
    pub origin: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
}

/// Messages that wait for a run to end. See [`Store::queue`].
#[derive(Clone, Copy)]
pub struct Queue<'a>(pub(crate) &'a Store);

impl Store {
    /// Messages that wait for a run to end.
    pub fn queue(&self) -> Queue<'_> {
        Queue(self)
    }
}

impl Queue<'_> {
    /// What waits, in order.
    pub async fn of(self, pid: &Pid) -> Result<Vec<QueueRow>> {
        let statement = Statement::new(
            "SELECT position, run_id, conversation_id, role, reason, content, media, origin, created_at \
             FROM queue WHERE pid = $1 ORDER BY position",
        );
        self.0.read(statement.bind(pid)).await?.into_iter().map(queue_from).collect()
    }

    /// How much waits.
    pub async fn length(self, pid: &Pid) -> Result<u64> {
        let statement = Statement::new("SELECT count(*) FROM queue WHERE pid = $1").bind(pid);
        count(self.0.read(statement).await?)
    }
}

impl Change {
    /// Puts a message in line.
    pub fn enqueue(self, row: &QueueRow) -> Change {
        let statement = Statement::new(
            "INSERT INTO queue (pid, position, run_id, conversation_id, role, reason, content, media, origin, \
             created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(&self.pid)
        .bind(row.position)
        .bind(&row.run_id)
        .bind(&row.conversation_id)
        .bind(role_name(row.role))
        .bind(row.reason.as_str())
        .bind(storable(&row.content))
        .bind(row.media.as_deref())
        .bind(row.origin.as_deref())
        .bind(row.created_at);
        self.step(statement)
    }

    /// Takes one message out of the line.
    pub fn dequeue(self, position: i64) -> Change {
        let statement = Statement::new("DELETE FROM queue WHERE pid = $1 AND position = $2")
            .bind(&self.pid)
            .bind(position);
        self.step(statement)
    }
}

fn queue_from(mut row: Row) -> Result<QueueRow> {
    Ok(QueueRow {
        position: row.int()?,
        run_id: RunId(row.text()?),
        conversation_id: ConversationId(row.text()?),
        role: role_from(&row.text()?)?,
        reason: row.text()?,
        content: row.text()?,
        media: row.text_or_null()?,
        origin: row.text_or_null()?,
        created_at: row.int()?,
    })
}
