//! Process table: one row for each process, also after it has exited.

use protocol::ids::{ConversationId, Pid, RunId, Uid};

use crate::change::{Change, storable};
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// Nothing.
    Idle,
    /// Messages wait, and no run has begun yet.
    Queued,
    /// A run is active, and the model is at work.
    Running,
    /// Tools are at work.
    WaitingTool,
    /// It waits for a person.
    WaitingHil,
    /// It was killed.
    Exited,
}

impl ProcessState {
    /// Its name on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            ProcessState::Idle => "idle",
            ProcessState::Queued => "queued",
            ProcessState::Running => "running",
            ProcessState::WaitingTool => "waiting_tool",
            ProcessState::WaitingHil => "waiting_hil",
            ProcessState::Exited => "exited",
        }
    }

    fn parse(text: &str) -> Result<ProcessState> {
        const ALL: [ProcessState; 6] = [
            ProcessState::Idle,
            ProcessState::Queued,
            ProcessState::Running,
            ProcessState::WaitingTool,
            ProcessState::WaitingHil,
            ProcessState::Exited,
        ];
        ALL.into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| unexpected("a state of a process", text))
    }
}

/// An agent: whose it is, what it was started for, and what it is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessRow {
    /// Its id.
    pub pid: Pid,
    /// Whose it is.
    pub uid: Uid,
    pub profile: String,
    /// The process it was started under.
    pub parent_pid: Option<Pid>,
    /// A note for people.
    pub label: Option<String>,
    /// What it is doing.
    pub state: ProcessState,
    /// The run it is busy with.
    pub active_run_id: Option<RunId>,
    /// The conversation of that run.
    pub active_conversation_id: Option<ConversationId>,
    /// Where its relative paths start.
    pub cwd: String,
    pub workspace_id: Option<String>,
    /// JSON: what it was told when it started.
    pub context_files: String,
    pub next_message_id: i64,
    /// The newest message of `default` that is in the transcript of its workspace; 0 for none.
    pub checkpointed_id: i64,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds.
    pub last_active_at: i64,
    /// In milliseconds.
    pub exited_at: Option<i64>,
}

impl ProcessRow {
    /// A process that has done nothing yet.
    pub fn idle(pid: Pid, uid: Uid, profile: &str, cwd: &str, now_ms: i64) -> ProcessRow {
        ProcessRow {
            pid,
            uid,
            profile: profile.to_string(),
            parent_pid: None,
            label: None,
            state: ProcessState::Idle,
            active_run_id: None,
            active_conversation_id: None,
            cwd: cwd.to_string(),
            workspace_id: None,
            context_files: "[]".to_string(),
            next_message_id: 1,
            checkpointed_id: 0,
            created_at: now_ms,
            last_active_at: now_ms,
            exited_at: None,
        }
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT pid, uid, profile, parent_pid, label, state, active_run_id, active_conversation_id, cwd, \
             workspace_id, context_files, next_message_id, checkpointed_id, created_at, last_active_at, exited_at \
             FROM processes ",
            $rest
        )
    };
}

/// Processes. See [`Store::processes`].
#[derive(Clone, Copy)]
pub struct Processes<'a>(pub(crate) &'a Store);

impl Store {
    /// Statements about processes.
    pub fn processes(&self) -> Processes<'_> {
        Processes(self)
    }
}

impl Processes<'_> {
    /// A process by its pid, also an exited one.
    pub async fn by_id(self, pid: &Pid) -> Result<Option<ProcessRow>> {
        let statement = Statement::new(select!("WHERE pid = $1")).bind(pid);
        self.0.read(statement).await?.pop().map(process_from).transpose()
    }

    /// Those of a user, or of everybody, newest first.
    pub async fn of(self, of: Option<Uid>) -> Result<Vec<ProcessRow>> {
        let (from, to) = of.map_or((Uid(0), Uid(u32::MAX)), |uid| (uid, uid));
        let statement =
            Statement::new(select!("WHERE uid >= $1 AND uid <= $2 ORDER BY created_at DESC, pid")).bind(from);
        self.0.read(statement.bind(to)).await?.into_iter().map(process_from).collect()
    }

    /// How many processes of a user have not exited.
    pub async fn alive(self, uid: Uid) -> Result<u64> {
        let statement =
            Statement::new("SELECT count(*) FROM processes WHERE uid = $1 AND exited_at IS NULL").bind(uid);
        count(self.0.read(statement).await?)
    }

    /// Keeps a new process with its conversation `default`. False when there is one of that id already, or when its
    /// user was just removed.
    pub async fn create(self, row: &ProcessRow) -> Result<bool> {
        let change = Change::new(&row.pid).guard(
            Statement::new(
                "INSERT INTO processes (pid, uid, profile, parent_pid, label, state, cwd, workspace_id, \
                 context_files, next_message_id, created_at, last_active_at) \
                 SELECT $1, uid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11 FROM accounts WHERE uid = $2 \
                 ON CONFLICT (pid) DO NOTHING RETURNING pid",
            )
            .bind(&row.pid)
            .bind(row.uid)
            .bind(row.profile.as_str())
            .bind(row.parent_pid.as_ref().map(Pid::as_str))
            .bind(row.label.as_deref().map(storable))
            .bind(row.state.as_str())
            .bind(storable(&row.cwd))
            .bind(row.workspace_id.as_deref())
            .bind(row.context_files.as_str())
            .bind(row.next_message_id)
            .bind(row.created_at),
        );
        self.0.apply(change.conversation_ensure(&"default".into(), row.created_at)).await
    }

    /// Processes that have something to do after a restart: a run, or a message that waits for one.
    pub async fn unfinished(self) -> Result<Vec<Pid>> {
        let statement = Statement::new(
            "SELECT pid FROM runs WHERE status = 'active' UNION SELECT pid FROM queue ORDER BY pid",
        );
        self.0.read(statement).await?.into_iter().map(|mut row| Ok(Pid(row.text()?))).collect()
    }
}

/// What a process is busy with.
#[derive(Clone, Copy, Debug)]
pub struct Activity<'a> {
    /// What it is doing.
    pub state: ProcessState,
    pub run: Option<(&'a RunId, &'a ConversationId)>,
    pub next_message_id: i64,
    /// In milliseconds.
    pub now_ms: i64,
}

impl Change {
    /// What the process does now. One that has exited stays so.
    pub fn activity(self, activity: Activity<'_>) -> Change {
        let statement = Statement::new(
            "UPDATE processes SET state = $2, active_run_id = $3, active_conversation_id = $4, \
             next_message_id = $5, last_active_at = $6 WHERE pid = $1 AND exited_at IS NULL",
        )
        .bind(&self.pid)
        .bind(activity.state.as_str())
        .bind(activity.run.map(|(run_id, _)| run_id.as_str()))
        .bind(activity.run.map(|(_, conversation)| conversation.as_str()))
        .bind(activity.next_message_id)
        .bind(activity.now_ms);
        self.step(statement)
    }

    /// The process ends for good.
    pub fn exit(self, now_ms: i64) -> Change {
        let statement = Statement::new(
            "UPDATE processes SET state = 'exited', active_run_id = NULL, active_conversation_id = NULL, \
             last_active_at = $2, exited_at = $2 WHERE pid = $1",
        )
        .bind(&self.pid)
        .bind(now_ms);
        self.step(statement)
    }

    /// The process comes back after it has exited.
    pub fn revive(self, now_ms: i64) -> Change {
        let statement = Statement::new(
            "UPDATE processes SET state = 'idle', last_active_at = $2, exited_at = NULL WHERE pid = $1",
        )
        .bind(&self.pid)
        .bind(now_ms);
        self.step(statement)
    }
}

/// The number a counting statement returned.
pub(crate) fn count(mut rows: Vec<Row>) -> Result<u64> {
    let number = rows.pop().map(|mut row| row.int()).transpose()?.unwrap_or(0);
    u64::try_from(number).map_err(|_| unexpected("a count", &number.to_string()))
}

fn process_from(mut row: Row) -> Result<ProcessRow> {
    Ok(ProcessRow {
        pid: Pid(row.text()?),
        uid: row.uid()?,
        profile: row.text()?,
        parent_pid: row.text_or_null()?.map(Pid),
        label: row.text_or_null()?,
        state: ProcessState::parse(&row.text()?)?,
        active_run_id: row.text_or_null()?.map(RunId),
        active_conversation_id: row.text_or_null()?.map(ConversationId),
        cwd: row.text()?,
        workspace_id: row.text_or_null()?,
        context_files: row.text()?,
        next_message_id: row.int()?,
        checkpointed_id: row.int()?,
        created_at: row.int()?,
        last_active_at: row.int()?,
        exited_at: row.int_or_null()?,
    })
}
