//! Request-reply between processes: calls that wait for a reply, each with a deadline.

use protocol::ids::{Pid, RunId, Uid};

use crate::change::Change;
use crate::sql::{Row, Statement};
use crate::{Result, Store};

/// A call that waits, or waited, for a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct IpcCall {
    /// Comes back with the reply.
    pub call_id: String,
    /// Whose processes.
    pub uid: Uid,
    /// Who waits.
    pub source_pid: Pid,
    /// Who is to reply.
    pub target_pid: Pid,
    /// The run whose end is the reply.
    pub target_run_id: RunId,
    /// Until when, in milliseconds.
    pub deadline_at: i64,
    /// In milliseconds.
    pub created_at: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT call_id, uid, source_pid, target_pid, target_run_id, deadline_at, created_at FROM ipc_calls ",
            $rest
        )
    };
}

/// Calls between processes. See [`Store::ipc`].
#[derive(Clone, Copy)]
pub struct Ipc<'a>(pub(crate) &'a Store);

impl Store {
    /// Calls between processes.
    pub fn ipc(&self) -> Ipc<'_> {
        Ipc(self)
    }
}

impl Ipc<'_> {
    /// Calls that nobody has replied to and whose time is up, the most overdue first.
    pub async fn overdue(self, now_ms: i64) -> Result<Vec<IpcCall>> {
        let statement = Statement::new(select!(
            "WHERE status = 'pending' AND deadline_at <= $1 ORDER BY deadline_at LIMIT 100"
        ));
        self.0.read(statement.bind(now_ms)).await?.into_iter().map(call_from).collect()
    }

    /// Calls that nobody has replied to, in the order of their deadlines, behind one of them.
    pub async fn open_calls(self, after: Option<&IpcCall>, limit: u64) -> Result<Vec<IpcCall>> {
        let statement = Statement::new(select!(
            "WHERE status = 'pending' AND deadline_at >= $1 AND (deadline_at > $1 OR call_id > $2) \
             ORDER BY deadline_at, call_id LIMIT $3"
        ));
        let (deadline_at, call_id) =
            after.map_or((i64::MIN, ""), |call| (call.deadline_at, call.call_id.as_str()));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.0.read(statement.bind(deadline_at).bind(call_id).bind(limit)).await?;
        rows.into_iter().map(call_from).collect()
    }

    /// When the next call's time is up.
    pub async fn next_deadline(self) -> Result<Option<i64>> {
        let statement = Statement::new(
            "SELECT deadline_at FROM ipc_calls WHERE status = 'pending' ORDER BY deadline_at LIMIT 1",
        );
        self.0.read(statement).await?.pop().map(|mut row| row.int()).transpose()
    }

    /// Calls that wait for a run to end.
    pub async fn of_run(self, run_id: &RunId) -> Result<Vec<IpcCall>> {
        let statement = Statement::new(select!("WHERE target_run_id = $1 AND status = 'pending'"));
        self.0.read(statement.bind(run_id)).await?.into_iter().map(call_from).collect()
    }
}

impl Change {
    /// A call begins to wait. It belongs to the target's change, so that it exists if and only if its message does.
    pub fn ipc_open(self, call: &IpcCall) -> Change {
        let statement = Statement::new(
            "INSERT INTO ipc_calls (call_id, uid, source_pid, target_pid, target_run_id, status, deadline_at, \
             created_at) VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7)",
        )
        .bind(call.call_id.as_str())
        .bind(call.uid)
        .bind(&call.source_pid)
        .bind(&call.target_pid)
        .bind(&call.target_run_id)
        .bind(call.deadline_at)
        .bind(call.created_at);
        self.step(statement)
    }

    /// A call is over: `completed` or `timed_out`. The change, which belongs to the process that waited, is not kept
    /// when it was over before: a reply and a timeout never both arrive.
    pub fn ipc_close(self, call_id: &str, status: &'static str) -> Change {
        let statement = Statement::new(
            "UPDATE ipc_calls SET status = $2 WHERE call_id = $1 AND status = 'pending' RETURNING call_id",
        )
        .bind(call_id)
        .bind(status);
        self.guard(statement)
    }
}

fn call_from(mut row: Row) -> Result<IpcCall> {
    Ok(IpcCall {
        call_id: row.text()?,
        uid: row.uid()?,
        source_pid: Pid(row.text()?),
        target_pid: Pid(row.text()?),
        target_run_id: RunId(row.text()?),
        deadline_at: row.int()?,
        created_at: row.int()?,
    })
}
