//! Event-sourced runs: the journal of their steps, from which they are rebuilt, and what they used.

use protocol::ids::{ConversationId, Pid, RunId, Uid};

use crate::change::{Change, storable};
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// It goes on.
    Active,
    /// It ended with an answer.
    Ok,
    /// It ended with an error.
    Error,
    /// Somebody cancelled it.
    Aborted,
}

impl RunStatus {
    /// Its name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            RunStatus::Active => "active",
            RunStatus::Ok => "ok",
            RunStatus::Error => "error",
            RunStatus::Aborted => "aborted",
        }
    }

    fn parse(text: &str) -> Result<RunStatus> {
        [RunStatus::Active, RunStatus::Ok, RunStatus::Error, RunStatus::Aborted]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| unexpected("a status of a run", text))
    }
}

/// Tokens and money; money in billionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Read.
    pub input_tokens: i64,
    /// Written.
    pub output_tokens: i64,
    /// Read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Written to the provider's cache.
    pub cache_write_tokens: i64,
    /// For what was read.
    pub input_nano: i64,
    /// For what was written.
    pub output_nano: i64,
    pub cache_read_nano: i64,
    /// For writing the cache.
    pub cache_write_nano: i64,
}

/// What a process does about one message: how far it is, and what it has cost.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub run_id: RunId,
    pub pid: Pid,
    /// Whose.
    pub uid: Uid,
    pub conversation_id: ConversationId,
    /// Which life of it.
    pub generation: u64,
    /// Why it started.
    pub reason: String,
    /// How it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub finish_reason: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// The run that took its message in, so that both ended together.
    pub absorbed_by: Option<RunId>,
    pub provider: Option<String>,
    /// As the provider knows it.
    pub model: Option<String>,
    /// How often the model answered.
    pub turns: u64,
    /// How many tools it called.
    pub tool_calls: u64,
    pub used: Used,
    /// In milliseconds.
    pub started_at: i64,
    /// In milliseconds.
    pub finished_at: Option<i64>,
}

impl RunRow {
    /// A run that has just begun, in the first life of its conversation and for no reason yet.
    pub fn begun(
        run_id: RunId,
        pid: &Pid,
        uid: Uid,
        conversation: &ConversationId,
        started_at: i64,
    ) -> RunRow {
        RunRow {
            run_id,
            pid: pid.clone(),
            uid,
            conversation_id: conversation.clone(),
            generation: 1,
            reason: String::new(),
            status: RunStatus::Active,
            finish_reason: None,
            error: None,
            absorbed_by: None,
            provider: None,
            model: None,
            turns: 0,
            tool_calls: 0,
            used: Used::default(),
            started_at,
            finished_at: None,
        }
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRow {
    /// Counts up within the run, from 1.
    pub number: i64,
    /// Such as `turn`, `intent` or `outcome`.
    pub kind: String,
    /// JSON.
    pub body: String,
    /// In milliseconds.
    pub created_at: i64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunEnd<'a> {
    /// `Ok`, `Error` or `Aborted`.
    pub status: RunStatus,
    /// Such as `turn.complete`.
    pub reason: &'a str,
    /// What went wrong.
    pub error: Option<&'a str>,
    /// In milliseconds.
    pub now_ms: i64,
}

/// The sums of what runs used. PostgreSQL adds whole numbers up to a type of its own, so they are cast back.
macro_rules! sums {
    () => {
        "CAST(COALESCE(sum(input_tokens), 0) AS BIGINT), CAST(COALESCE(sum(output_tokens), 0) AS BIGINT), \
         CAST(COALESCE(sum(cache_read_tokens), 0) AS BIGINT), CAST(COALESCE(sum(cache_write_tokens), 0) AS BIGINT), \
         CAST(COALESCE(sum(input_nano), 0) AS BIGINT), CAST(COALESCE(sum(output_nano), 0) AS BIGINT), \
         CAST(COALESCE(sum(cache_read_nano), 0) AS BIGINT), CAST(COALESCE(sum(cache_write_nano), 0) AS BIGINT)"
    };
}

/// Adds `$2` to `$9`.
macro_rules! add_used {
    () => {
        "input_tokens = input_tokens + $2, output_tokens = output_tokens + $3, \
         cache_read_tokens = cache_read_tokens + $4, cache_write_tokens = cache_write_tokens + $5, \
         input_nano = input_nano + $6, output_nano = output_nano + $7, \
         cache_read_nano = cache_read_nano + $8, cache_write_nano = cache_write_nano + $9"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT run_id, pid, uid, conversation_id, generation, reason, status, finish_reason, error, absorbed_by, \
             provider, model, turns, tool_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, \
             input_nano, output_nano, cache_read_nano, cache_write_nano, started_at, finished_at FROM runs ",
            $rest
        )
    };
}

/// Runs, their journals and what they used. See [`Store::runs`].
#[derive(Clone, Copy)]
pub struct Runs<'a>(pub(crate) &'a Store);

impl Store {
    /// Runs, their journals and what they used.
    pub fn runs(&self) -> Runs<'_> {
        Runs(self)
    }
}

impl Runs<'_> {
    /// A run by its id.
    pub async fn by_id(self, run_id: &RunId) -> Result<Option<RunRow>> {
        let statement = Statement::new(select!("WHERE run_id = $1")).bind(run_id);
        self.0.read(statement).await?.pop().map(run_from).transpose()
    }

    /// The active run of a process, without those it absorbed.
    pub async fn active(self, pid: &Pid) -> Result<Option<RunRow>> {
        let statement =
            Statement::new(select!("WHERE pid = $1 AND status = 'active' AND absorbed_by IS NULL")).bind(pid);
        self.0.read(statement).await?.pop().map(run_from).transpose()
    }

    /// Runs whose messages an active run took in and that end with it.
    pub async fn absorbed(self, pid: &Pid, by: &RunId) -> Result<Vec<RunRow>> {
        // Asked to sort them, SQLite would walk through all runs of the process.
        let statement =
            Statement::new(select!("WHERE pid = $1 AND status = 'active' AND absorbed_by = $2")).bind(pid);
        let rows = self.0.read(statement.bind(by)).await?.into_iter().map(run_from);
        let mut rows = rows.collect::<Result<Vec<_>>>()?;
        rows.sort_by(|a, b| (a.started_at, &a.run_id).cmp(&(b.started_at, &b.run_id)));
        Ok(rows)
    }

    /// The newest runs of a user, or of one process of his, newest first.
    pub async fn newest(self, uid: Uid, pid: Option<&Pid>, since_ms: i64, limit: u64) -> Result<Vec<RunRow>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let statement = match pid {
            None => Statement::new(select!(
                "WHERE uid = $1 AND started_at >= $2 ORDER BY started_at DESC, run_id LIMIT $3"
            )),
            Some(_) => Statement::new(select!(
                "WHERE uid = $1 AND started_at >= $2 AND pid = $4 ORDER BY started_at DESC, run_id LIMIT $3"
            )),
        };
        let statement = statement.bind(uid).bind(since_ms).bind(limit);
        let statement = match pid {
            None => statement,
            Some(pid) => statement.bind(pid),
        };
        self.0.read(statement).await?.into_iter().map(run_from).collect()
    }

    /// What the runs of a user used since a time, by process and conversation, with how many runs that were.
    pub async fn used_by_conversation(
        self,
        uid: Uid,
        since_ms: i64,
    ) -> Result<Vec<(Pid, ConversationId, u64, Used)>> {
        let statement = Statement::new(concat!(
            "SELECT pid, conversation_id, count(*), ",
            sums!(),
            " FROM runs WHERE uid = $1 AND started_at >= $2 GROUP BY pid, conversation_id ORDER BY pid, conversation_id"
        ));
        let rows = self.0.read(statement.bind(uid).bind(since_ms)).await?;
        let one = |mut row: Row| {
            let (pid, conversation) = (Pid(row.text()?), ConversationId(row.text()?));
            let runs = row.int()?.max(0) as u64;
            Ok((pid, conversation, runs, used_from(&mut row)?))
        };
        rows.into_iter().map(one).collect()
    }

    /// What all runs of one conversation used. It is added up when it is written: a long history costs nothing here.
    pub async fn used_in(self, pid: &Pid, conversation: &ConversationId) -> Result<Used> {
        let statement = Statement::new(
            "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, input_nano, output_nano, \
             cache_read_nano, cache_write_nano FROM conversations WHERE pid = $1 AND id = $2",
        );
        let mut rows = self.0.read(statement.bind(pid).bind(conversation)).await?;
        rows.pop().map_or(Ok(Used::default()), |mut row| used_from(&mut row))
    }

    /// The journal of a run, in order.
    pub async fn steps(self, run_id: &RunId) -> Result<Vec<StepRow>> {
        let statement = Statement::new(
            "SELECT number, kind, body, created_at FROM steps WHERE run_id = $1 ORDER BY number",
        );
        let rows = self.0.read(statement.bind(run_id)).await?;
        let one = |mut row: Row| {
            Ok(StepRow { number: row.int()?, kind: row.text()?, body: row.text()?, created_at: row.int()? })
        };
        rows.into_iter().map(one).collect()
    }
}

impl Change {
    /// Adds the row of a run that begins.
    pub fn run_begin(self, run: &RunRow) -> Change {
        let statement = Statement::new(
            "INSERT INTO runs (run_id, pid, uid, conversation_id, generation, reason, status, absorbed_by, turns, \
             tool_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, input_nano, output_nano, \
             cache_read_nano, cache_write_nano, started_at) \
             VALUES ($1, $2, $3, $4, $5, $6, 'active', $7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $8)",
        )
        .bind(&run.run_id)
        .bind(&self.pid)
        .bind(run.uid)
        .bind(&run.conversation_id)
        .bind(run.generation as i64)
        .bind(run.reason.as_str())
        .bind(run.absorbed_by.as_ref().map(RunId::as_str))
        .bind(run.started_at);
        self.step(statement)
    }

    /// The model answered once more: what it used is added, to its conversation too, and how many tools it called.
    pub fn run_turn(self, run_id: &RunId, model: (&str, &str), tool_calls: u64, used: &Used) -> Change {
        let run = Statement::new(concat!(
            "UPDATE runs SET ",
            add_used!(),
            ", provider = $10, model = $11, turns = turns + 1, tool_calls = tool_calls + $12 WHERE run_id = $1"
        ));
        let conversation = Statement::new(concat!(
            "UPDATE conversations SET ",
            add_used!(),
            " WHERE pid = $10 AND id = (SELECT conversation_id FROM runs WHERE run_id = $1)"
        ));
        let run = bind_used(run.bind(run_id), used)
            .bind(storable(model.0))
            .bind(storable(model.1))
            .bind(tool_calls as i64);
        let conversation = bind_used(conversation.bind(run_id), used).bind(&self.pid);
        self.step(run).step(conversation)
    }

    /// A run ends, and with it those whose messages it took in. What it asked for is withdrawn.
    pub fn run_end(self, run_id: &RunId, end: &RunEnd<'_>) -> Change {
        let finish = |sql| {
            Statement::new(sql)
                .bind(run_id)
                .bind(end.status.as_str())
                .bind(end.reason)
                .bind(end.error.map(storable))
                .bind(end.now_ms)
        };
        let own = finish(
            "UPDATE runs SET status = $2, finish_reason = $3, error = $4, finished_at = $5 \
             WHERE run_id = $1 AND status = 'active'",
        );
        let absorbed = finish(
            "UPDATE runs SET status = $2, finish_reason = $3, error = $4, finished_at = $5 \
             WHERE pid = $6 AND absorbed_by = $1 AND status = 'active'",
        )
        .bind(&self.pid);
        let withdraw = Statement::new(
            "UPDATE approvals SET decision = 'withdrawn', decided_at = $2 \
             WHERE run_id = $1 AND decision IS NULL",
        )
        .bind(run_id)
        .bind(end.now_ms);
        self.step(own).step(absorbed).step(withdraw)
    }

    /// Adds a step to a run's journal.
    pub fn journal(self, run_id: &RunId, step: &StepRow) -> Change {
        let statement = Statement::new(
            "INSERT INTO steps (run_id, number, pid, kind, body, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(run_id)
        .bind(step.number)
        .bind(&self.pid)
        .bind(step.kind.as_str())
        .bind(step.body.as_str())
        .bind(step.created_at);
        self.step(statement)
    }

    /// A call's outcome is kept, so its route need not be.
    pub fn route_done(self, request_id: &str) -> Change {
        let statement = Statement::new("DELETE FROM routes WHERE pid = $1 AND request_id = $2")
            .bind(&self.pid)
            .bind(request_id);
        self.step(statement)
    }
}

fn bind_used(statement: Statement, used: &Used) -> Statement {
    statement
        .bind(used.input_tokens)
        .bind(used.output_tokens)
        .bind(used.cache_read_tokens)
        .bind(used.cache_write_tokens)
        .bind(used.input_nano)
        .bind(used.output_nano)
        .bind(used.cache_read_nano)
        .bind(used.cache_write_nano)
}

fn used_from(row: &mut Row) -> Result<Used> {
    Ok(Used {
        input_tokens: row.int()?,
        output_tokens: row.int()?,
        cache_read_tokens: row.int()?,
        cache_write_tokens: row.int()?,
        input_nano: row.int()?,
        output_nano: row.int()?,
        cache_read_nano: row.int()?,
        cache_write_nano: row.int()?,
    })
}

fn run_from(mut row: Row) -> Result<RunRow> {
    Ok(RunRow {
        run_id: RunId(row.text()?),
        pid: Pid(row.text()?),
        uid: row.uid()?,
        conversation_id: ConversationId(row.text()?),
        generation: row.int()?.max(0) as u64,
        reason: row.text()?,
        status: RunStatus::parse(&row.text()?)?,
        finish_reason: row.text_or_null()?,
        error: row.text_or_null()?,
        absorbed_by: row.text_or_null()?.map(RunId),
        provider: row.text_or_null()?,
        model: row.text_or_null()?,
        turns: row.int()?.max(0) as u64,
        tool_calls: row.int()?.max(0) as u64,
        used: used_from(&mut row)?,
        started_at: row.int()?,
        finished_at: row.int_or_null()?,
    })
}
