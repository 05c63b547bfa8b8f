//! A person answers: the first answer counts, for exactly the call that was shown.

use protocol::error::Error;
use protocol::outcome::Outcome;
use protocol::proc::approval::{Decision, Hil, HilRequest, Resolved, Scope};
use store::approvals::ApprovalRow;

use super::Actor;
use crate::approval;
use crate::host::store_error;
use crate::run::step::{Answer, Step};
use crate::run::{Phase, RunState};

impl Actor {
    /// A person answers a request for approval; `by` says who.
    pub(super) async fn hil(&mut self, args: &Hil, by: &str) -> Result<Outcome<Resolved>, Error> {
        let id = &args.request_id;
        let row = self.host.world.store.approval(id).await.map_err(store_error)?;
        let Some(row) = row.filter(|row| row.pid == *self.pid()) else {
            return Ok(Outcome::Failed(format!("Pending tool confirmation not found: {id}")));
        };
        if let Some(why) = self.late(&row) {
            return Ok(Outcome::Failed(why));
        }
        let rule = match args.remember == Some(true) && args.decision == Decision::Approve {
            true => {
                let scope = args.remember_scope.unwrap_or(Scope::Class);
                Some(approval::rule(&row, scope, self.host.world.now_ms())?)
            }
            false => None,
        };
        let mut draft = self.draft();
        let now_ms = draft.now_ms;
        draft.step(Step::Answer(Answer {
            request_id: id.clone(),
            decision: args.decision,
            by: by.to_string(),
        }));
        draft.write(|change| {
            let change = change.answer(id, args.decision, by, now_ms);
            rule.iter().fold(change, |change, rule| change.remember(rule))
        });
        if self.live.setup.is_some() {
            self.plan(&mut draft).await.map_err(store_error)?;
        }
        if !self.keep(draft).await.map_err(store_error)? {
            return Ok(Outcome::Failed(already(id, None)));
        }
        Ok(Outcome::Done(Resolved {
            pid: self.pid().clone(),
            request_id: id.clone(),
            decision: args.decision,
            resumed: self.facts.run.is_some(),
            remembered: rule.map(|_| true),
            pending_hil: self.next_asked().into(),
        }))
    }

    /// Why an answer comes too late.
    fn late(&self, row: &ApprovalRow) -> Option<String> {
        let id = &row.request_id;
        if let Some(decision) = row.decision {
            let by = row.decided_by.as_deref().unwrap_or("somebody");
            return Some(already(id, Some((decision, by))));
        }
        let asked = Phase::Asked { request_id: id.clone() };
        let waits =
            |run: &RunState| run.run_id == row.run_id && run.calls.iter().any(|call| call.phase == asked);
        let active = !row.withdrawn && self.facts.run.as_ref().is_some_and(waits);
        (!active).then(|| format!("Run is no longer active for confirmation: {id}"))
    }

    /// The next call that waits for a person.
    fn next_asked(&self) -> Option<HilRequest> {
        let calls = &self.facts.run.as_ref()?.calls;
        let mut asked = calls.iter().filter_map(|call| match &call.phase {
            Phase::Asked { request_id } => self.live.approvals.get(request_id),
            _ => None,
        });
        asked.next().map(approval::request)
    }
}

fn already(id: &str, answer: Option<(Decision, &str)>) -> String {
    let how = match answer {
        Some((Decision::Approve, by)) => format!(" (approved by {by})"),
        Some((Decision::Deny, by)) => format!(" (denied by {by})"),
        None => String::new(),
    };
    format!("Tool confirmation was already answered{how}: {id}")
}
