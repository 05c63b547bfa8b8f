//! Approval queue: tool calls that wait for a person, and what people said for good.

use protocol::ids::{ConversationId, Pid, RunId, Uid};
use protocol::proc::approval::{Decision, Scope};

use crate::change::{Change, storable};
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// A tool call that waits, or waited, for a person. It is bound to exactly that call by its digest.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRow {
    /// Names it in `proc.hil`.
    pub request_id: String,
    /// The process that asks.
    pub pid: Pid,
    /// Whose process that is.
    pub uid: Uid,
    /// The run that waits.
    pub run_id: RunId,
    /// The conversation of that run.
    pub conversation_id: ConversationId,
    /// Which answer of the model asked for the call, from 1.
    pub turn: u64,
    /// Which call of that answer, from 0.
    pub place: u64,
    /// The model's id for the call, or that of a call that a block made.
    pub call_id: String,
    /// The tool call of the block that made it.
    pub parent_call_id: Option<String>,
    pub tool_name: String,
    /// The call behind it.
    pub syscall: String,
    /// Where it would run.
    pub target: String,
    /// JSON: its arguments.
    pub args: String,
    /// Why it waits.
    pub tags: Vec<String>,
    /// What `shape` would cover.
    pub shape: Option<String>,
    /// Of target, call, arguments, working directory and script files.
    pub digest: String,
    /// JSON: what the question shows besides.
    pub details: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
    /// What a person said; `None` while nobody has, or once the run that asked is over.
    pub decision: Option<Decision>,
    /// True when the run ended before anybody answered.
    pub withdrawn: bool,
    /// When it was answered, in milliseconds.
    pub decided_at: Option<i64>,
    /// Who answered.
    pub decided_by: Option<String>,
}

/// A remembered approval.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleRow {
    /// Names it in `proc.approvals.revoke`.
    pub approval_id: String,
    pub syscall: String,
    /// What it covers.
    pub scope: Scope,
    /// `gsv`, `device` for every device, or one device.
    pub target: String,
    /// For the scopes `shape` and `hosts`.
    pub shape: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT request_id, pid, uid, run_id, conversation_id, turn, place, call_id, tool_name, syscall, target, \
             args, tags, shape, digest, details, created_at, decision, decided_at, decided_by, parent_call_id FROM approvals ",
            $rest
        )
    };
}

/// Tool calls that wait for a person, and remembered approvals. See [`Store::approvals`].
#[derive(Clone, Copy)]
pub struct Approvals<'a>(pub(crate) &'a Store);

impl Store {
    /// Tool calls that wait for a person, and remembered approvals.
    pub fn approvals(&self) -> Approvals<'_> {
        Approvals(self)
    }
}

impl Approvals<'_> {
    /// A request by its id, whoever it waits for.
    pub async fn by_id(self, request_id: &str) -> Result<Option<ApprovalRow>> {
        let statement = Statement::new(select!("WHERE request_id = $1")).bind(request_id);
        self.0.read(statement).await?.pop().map(approval_from).transpose()
    }

    /// Requests of a run, answered or not, oldest first.
    pub async fn of_run(self, run_id: &RunId) -> Result<Vec<ApprovalRow>> {
        let statement =
            Statement::new(select!("WHERE run_id = $1 ORDER BY created_at, turn, place")).bind(run_id);
        self.0.read(statement).await?.into_iter().map(approval_from).collect()
    }

    /// Requests of a user, or of everybody, that nobody has answered yet, oldest first.
    pub async fn open(self, of: Option<Uid>) -> Result<Vec<ApprovalRow>> {
        let (from, to) = of.map_or((Uid(0), Uid(u32::MAX)), |uid| (uid, uid));
        let statement = Statement::new(select!(
            "WHERE decision IS NULL AND uid >= $1 AND uid <= $2 ORDER BY created_at, turn, place"
        ));
        self.0.read(statement.bind(from).bind(to)).await?.into_iter().map(approval_from).collect()
    }

    /// What a process remembers, oldest first.
    pub async fn rules(self, pid: &Pid) -> Result<Vec<RuleRow>> {
        let statement = Statement::new(
            "SELECT approval_id, syscall, scope, target, shape, created_at FROM approval_rules \
             WHERE pid = $1 ORDER BY created_at, approval_id",
        );
        self.0.read(statement.bind(pid)).await?.into_iter().map(rule_from).collect()
    }

    /// Makes a process forget an approval. False when there was no such one.
    pub async fn remove_rule(self, pid: &Pid, approval_id: &str) -> Result<bool> {
        let statement = Statement::new(
            "DELETE FROM approval_rules WHERE pid = $1 AND approval_id = $2 RETURNING approval_id",
        );
        Ok(!self.0.change(statement.bind(pid).bind(approval_id)).await?.is_empty())
    }
}

impl Change {
    /// A tool call begins to wait for a person.
    pub fn ask(self, row: &ApprovalRow) -> Change {
        let statement = Statement::new(
            "INSERT INTO approvals (request_id, pid, uid, run_id, conversation_id, turn, place, call_id, tool_name, \
             syscall, target, args, tags, shape, digest, details, created_at, parent_call_id) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        )
        .bind(row.request_id.as_str())
        .bind(&self.pid)
        .bind(row.uid)
        .bind(&row.run_id)
        .bind(&row.conversation_id)
        .bind(row.turn as i64)
        .bind(row.place as i64)
        .bind(storable(&row.call_id))
        .bind(storable(&row.tool_name))
        .bind(row.syscall.as_str())
        .bind(storable(&row.target))
        .bind(row.args.as_str())
        .bind(row.tags.join(" "))
        .bind(row.shape.as_deref().map(storable))
        .bind(row.digest.as_str())
        .bind(row.details.as_deref().map(storable))
        .bind(row.created_at)
        .bind(row.parent_call_id.as_deref().map(storable));
        self.step(statement)
    }

    /// Nobody needs to answer any more.
    pub fn withdraw(self, request_id: &str, now_ms: i64) -> Change {
        let statement = Statement::new(
            "UPDATE approvals SET decision = 'withdrawn', decided_at = $2 \
             WHERE request_id = $1 AND decision IS NULL",
        )
        .bind(request_id)
        .bind(now_ms);
        self.step(statement)
    }

    /// A person answers. The change is not kept when somebody answered before, or the run is over.
    pub fn answer(self, request_id: &str, decision: Decision, by: &str, now_ms: i64) -> Change {
        let statement = Statement::new(
            "UPDATE approvals SET decision = $2, decided_at = $3, decided_by = $4 \
             WHERE request_id = $1 AND decision IS NULL RETURNING request_id",
        )
        .bind(request_id)
        .bind(decision_name(decision))
        .bind(now_ms)
        .bind(storable(by));
        self.guard(statement)
    }

    /// The process remembers an approval.
    pub fn remember(self, rule: &RuleRow) -> Change {
        let statement = Statement::new(
            "INSERT INTO approval_rules (approval_id, pid, syscall, scope, target, shape, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (pid, syscall, scope, target, shape) DO NOTHING",
        )
        .bind(rule.approval_id.as_str())
        .bind(&self.pid)
        .bind(rule.syscall.as_str())
        .bind(scope_name(rule.scope))
        .bind(storable(&rule.target))
        .bind(rule.shape.as_deref().map(storable).unwrap_or_default())
        .bind(rule.created_at);
        self.step(statement)
    }
}

fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "approve",
        Decision::Deny => "deny",
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Class => "class",
        Scope::Target => "target",
        Scope::Shape => "shape",
        Scope::Hosts => "hosts",
    }
}

fn approval_from(mut row: Row) -> Result<ApprovalRow> {
    let mut approval = ApprovalRow {
        request_id: row.text()?,
        pid: Pid(row.text()?),
        uid: row.uid()?,
        run_id: RunId(row.text()?),
        conversation_id: ConversationId(row.text()?),
        turn: row.int()?.max(0) as u64,
        place: row.int()?.max(0) as u64,
        call_id: row.text()?,
        parent_call_id: None,
        tool_name: row.text()?,
        syscall: row.text()?,
        target: row.text()?,
        args: row.text()?,
        tags: row.text()?.split_whitespace().map(str::to_string).collect(),
        shape: row.text_or_null()?,
        digest: row.text()?,
        details: row.text_or_null()?,
        created_at: row.int()?,
        decision: None,
        withdrawn: false,
        decided_at: None,
        decided_by: None,
    };
    match row.text_or_null()?.as_deref() {
        None => {}
        Some("approve") => approval.decision = Some(Decision::Approve),
        Some("deny") => approval.decision = Some(Decision::Deny),
        Some("withdrawn") => approval.withdrawn = true,
        Some(other) => return Err(unexpected("a decision", other)),
    }
    approval.decided_at = row.int_or_null()?;
    approval.decided_by = row.text_or_null()?;
    approval.parent_call_id = row.text_or_null()?;
    Ok(approval)
}

fn rule_from(mut row: Row) -> Result<RuleRow> {
    Ok(RuleRow {
        approval_id: row.text()?,
        syscall: row.text()?,
        scope: match row.text()?.as_str() {
            "class" => Scope::Class,
            "target" => Scope::Target,
            "shape" => Scope::Shape,
            "hosts" => Scope::Hosts,
            other => return Err(unexpected("a scope", other)),
        },
        target: row.text()?,
        shape: Some(row.text()?).filter(|shape| !shape.is_empty()),
        created_at: row.int()?,
    })
}
