//! Approvals: the requests that wait for a person, their answers, and what is remembered.

use protocol::error::Error;
use protocol::ids::{Pid, Uid};
use protocol::outcome::Outcome;
use protocol::proc::approval::{
    Approval, ApprovalRevoked, Approvals, HilRequest, PendingApproval, PendingApprovals, Scope,
};
use store::approvals::{ApprovalRow, RuleRow};

use crate::host::{Host, store_error};

impl Host {
    /// What a process remembers, oldest first.
    pub async fn approvals_list(&self, pid: &Pid) -> Result<Outcome<Approvals>, Error> {
        self.known(pid).await?;
        let rules = self.world.store.approval_rules(pid).await.map_err(store_error)?;
        let approvals = rules.into_iter().map(shown).collect();
        Ok(Outcome::Done(Approvals { pid: pid.clone(), approvals }))
    }

    /// Makes a process forget an approval. It counts from the next judgement on.
    pub async fn approvals_revoke(
        &self,
        pid: &Pid,
        approval_id: &str,
    ) -> Result<Outcome<ApprovalRevoked>, Error> {
        self.known(pid).await?;
        let removed = self.world.store.approval_rule_remove(pid, approval_id).await;
        let revoked = removed.map_err(store_error)?;
        Ok(Outcome::Done(ApprovalRevoked { pid: pid.clone(), revoked }))
    }

    /// Tool calls that wait for a person, oldest first: of a user or of everybody, and of one process if it is named.
    pub async fn approvals_pending(
        &self,
        uid: Option<Uid>,
        pid: Option<&Pid>,
    ) -> Result<PendingApprovals, Error> {
        let rows = self.world.store.approvals_open(uid).await.map_err(store_error)?;
        let rows = rows.into_iter().filter(|row| pid.is_none_or(|pid| row.pid == *pid));
        let pending = rows.map(|row| PendingApproval { pid: row.pid.clone(), request: request(&row) });
        Ok(PendingApprovals { pending: pending.collect() })
    }
}

/// A request as the wire shows it.
pub(crate) fn request(row: &ApprovalRow) -> HilRequest {
    HilRequest {
        request_id: row.request_id.clone(),
        run_id: row.run_id.clone(),
        conversation_id: Some(row.conversation_id.clone()),
        call_id: row.call_id.clone(),
        tool_name: row.tool_name.clone(),
        syscall: row.syscall.clone(),
        args: serde_json::from_str(&row.args).unwrap_or_default(),
        created_at: row.created_at,
        target: Some(row.target.clone()),
        tags: Some(row.tags.clone()).filter(|tags| !tags.is_empty()),
        shape: row.shape.clone(),
    }
}

fn shown(rule: RuleRow) -> Approval {
    let RuleRow { approval_id, syscall, scope, target, shape, created_at } = rule;
    Approval { approval_id, syscall, scope, target, shape, created_at }
}

/// What is remembered of an approval.
pub(crate) fn rule(row: &ApprovalRow, scope: Scope, now_ms: i64) -> Result<RuleRow, Error> {
    let (target, shape) = match scope {
        Scope::Class if row.target == "gsv" => ("gsv", None),
        Scope::Class => ("device", None),
        Scope::Target => (row.target.as_str(), None),
        Scope::Shape if row.shape.is_none() => {
            let why = "this call has no shape to remember; use target or class";
            return Err(Error::bad_argument("proc.hil", "rememberScope", why));
        }
        Scope::Shape => (row.target.as_str(), row.shape.clone()),
    };
    Ok(RuleRow {
        approval_id: base::random::uuid(),
        syscall: row.syscall.clone(),
        scope,
        target: target.to_string(),
        shape,
        created_at: now_ms,
    })
}

/// Whether two rules say the same.
pub(crate) fn is_same(a: &RuleRow, b: &RuleRow) -> bool {
    (&a.syscall, a.scope, &a.target, &a.shape) == (&b.syscall, b.scope, &b.target, &b.shape)
}

/// Whether a rule is about what a request asks for: remembering that request would make the same rule.
pub(crate) fn covers(rule: &RuleRow, row: &ApprovalRow) -> bool {
    self::rule(row, rule.scope, rule.created_at).is_ok_and(|own| is_same(rule, &own))
}
