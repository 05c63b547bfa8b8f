//! Unit of work of one process: everything one step of it writes, in one transaction.
//!
//! The process builds it up and hands it to [`Store::apply`]; either all of it is kept or nothing.

use protocol::ids::{ConversationId, Pid};

use crate::sql::{Batch, Statement};
use crate::{Error, Result, Store};

/// What one step of a process writes.
#[must_use = "a change is kept only when it is applied"]
#[derive(Clone, Debug)]
pub struct Change {
    pub(crate) pid: Pid,
    pub(crate) batch: Batch,
}

impl Change {
    /// Nothing yet.
    pub fn new(pid: &Pid) -> Change {
        Change { pid: pid.clone(), batch: Batch::new() }
    }

    /// Whose change it is.
    pub fn pid(&self) -> &Pid {
        &self.pid
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.batch.steps.is_empty()
    }

    /// Adds what another change of the same process writes, after what is there.
    pub fn and(mut self, other: Change) -> Change {
        debug_assert_eq!(self.pid, other.pid, "a change is of one process");
        self.batch.steps.extend(other.batch.steps);
        self
    }

    /// The change is not kept when the process is not there any more. What its actor writes needs no such condition: it is
    /// fenced by the process's lease.
    pub fn if_there(self) -> Change {
        let statement = Statement::new("SELECT pid FROM processes WHERE pid = $1").bind(&self.pid);
        self.guard(statement)
    }

    pub(crate) fn step(mut self, statement: Statement) -> Change {
        self.batch = self.batch.step(statement);
        self
    }

    pub(crate) fn guard(mut self, statement: Statement) -> Change {
        self.batch = self.batch.guard(statement);
        self
    }

    /// A statement whose first two values are the process and one of its conversations.
    pub(crate) fn on(&self, sql: &'static str, conversation: &ConversationId) -> Statement {
        Statement::new(sql).bind(&self.pid).bind(conversation)
    }
}

impl Store {
    /// Writes a change, all of it or nothing. False when something it depends on is no longer so.
    pub async fn apply(&self, change: Change) -> Result<bool> {
        if change.is_empty() {
            return Ok(true);
        }
        let written = self.write(change.batch).await?;
        Ok(matches!(written, crate::sql::Written::Done(_)))
    }

    /// The same for a change that depends on nothing.
    pub async fn keep(&self, change: Change) -> Result<()> {
        match self.apply(change).await? {
            true => Ok(()),
            false => Err(Error::Failed("a change without a condition was not kept".to_string())),
        }
    }
}

/// A text as both engines keep it: PostgreSQL knows no NUL character.
pub(crate) fn storable(text: &str) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_string() }
}
