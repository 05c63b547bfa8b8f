//! Handlers of `proc.hil` and `proc.approvals.*`.

use protocol::error::Error;
use protocol::outcome::Outcome;
use protocol::proc::approval::{
    ApprovalRevoked, Approvals, ApprovalsList, ApprovalsPending, ApprovalsRevoke, Hil, PendingApprovals,
    Resolved,
};

use super::reach;
use crate::handlers::Cx;

/// Answers are the owner's: root sees what waits and can end a process, and does not decide for anybody.
pub(crate) async fn hil(cx: Cx, args: Hil) -> Result<Outcome<Resolved>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    if process.uid != cx.caller.uid() {
        let owner = cx.area.gateway.account(process.uid).await.map(|account| account.username);
        let owner = owner.unwrap_or_else(|_| format!("user {}", process.uid));
        return Err(Error::forbidden(format!(
            "Permission denied: questions of {} are answered by {owner} alone, who owns it; proc.abort stops what it does",
            process.pid
        )));
    }
    cx.area.host.hil(&process.pid, &args, &cx.caller.identity.username).await
}

pub(crate) async fn list(cx: Cx, args: ApprovalsList) -> Result<Outcome<Approvals>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.approvals_list(&process.pid).await
}

pub(crate) async fn pending(cx: Cx, args: ApprovalsPending) -> Result<PendingApprovals, Error> {
    if let Some(pid) = &args.pid {
        let process = reach(&cx, Some(pid)).await?;
        return cx.area.host.approvals_pending(Some(process.uid), Some(&process.pid)).await;
    }
    cx.area.host.approvals_pending(Some(cx.caller.uid()), None).await
}

pub(crate) async fn revoke(cx: Cx, args: ApprovalsRevoke) -> Result<Outcome<ApprovalRevoked>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.approvals_revoke(&process.pid, &args.approval_id).await
}
