//! Queries of approvals: those that a process remembers, and those that wait for a person.

use protocol::error::Error;
use protocol::ids::{Pid, Uid};
use protocol::outcome::Outcome;
use protocol::proc::approval::{Approval, ApprovalRevoked, Approvals, PendingApproval, PendingApprovals};
use store::approvals::RuleRow;

use crate::approval::{request, shape_text};
use crate::host::Host;

impl Host {
    /// What a process remembers, oldest first.
    pub async fn approvals_list(&self, pid: &Pid) -> Result<Outcome<Approvals>, Error> {
        self.known(pid).await?;
        let rules = self.world.store.approvals().rules(pid).await?;
        let approvals = rules.into_iter().map(to_wire).collect();
        Ok(Outcome::Done(Approvals { pid: pid.clone(), approvals }))
    }

    /// Makes a process forget an approval. It counts from the next judgement on.
    pub async fn approvals_revoke(
        &self,
        pid: &Pid,
        approval_id: &str,
    ) -> Result<Outcome<ApprovalRevoked>, Error> {
        self.known(pid).await?;
        let removed = self.world.store.approvals().remove_rule(pid, approval_id).await;
        let revoked = removed?;
        Ok(Outcome::Done(ApprovalRevoked { pid: pid.clone(), revoked }))
    }

    /// Tool calls that wait for a person, oldest first: of a user or of everybody, and of one process if it is named.
    pub async fn approvals_pending(
        &self,
        uid: Option<Uid>,
        pid: Option<&Pid>,
    ) -> Result<PendingApprovals, Error> {
        let rows = self.world.store.approvals().open(uid).await?;
        let rows = rows.into_iter().filter(|row| pid.is_none_or(|pid| row.pid == *pid));
        let pending = rows.map(|row| PendingApproval { pid: row.pid.clone(), request: request(&row) });
        Ok(PendingApprovals { pending: pending.collect() })
    }
}

fn to_wire(rule: RuleRow) -> Approval {
    let RuleRow { approval_id, syscall, scope, target, shape, created_at } = rule;
    let shape_text = shape.as_deref().map(|shape| shape_text(shape, &target));
    Approval { approval_id, syscall, scope, target, shape, shape_text, created_at }
}
