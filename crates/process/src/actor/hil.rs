//! Human-in-the-loop decisions: the first answer counts, for exactly the call that was shown.

use protocol::error::Error;
use protocol::outcome::Outcome;
use protocol::proc::approval::{Decision, Hil, HilRequest, Resolved, Scope};
use store::approvals::{ApprovalRow, RuleRow};

use super::Actor;
use super::draft::Draft;
use crate::approval;
use crate::run::step::{Answer, Step};
use crate::run::{Phase, RunState};
use crate::tools;

impl Actor {
    /// A person answers a request for approval; `by` says who.
    pub(super) async fn hil(&mut self, args: &Hil, by: &str) -> Result<Outcome<Resolved>, Error> {
        let id = &args.request_id;
        let row = self.host.world.store.approvals().by_id(id).await?;
        let Some(row) = row.filter(|row| row.pid == *self.pid()) else {
            return Ok(Outcome::Failed(format!("Pending tool confirmation not found: {id}")));
        };
        if let Some(why) = self.late(&row) {
            return Ok(Outcome::Failed(why));
        }
        if let Some(why) = args.rehearsal.as_ref().and_then(|_| not_rehearsed(args, &row)) {
            return Err(Error::bad_argument("proc.hil", "rehearsal", why));
        }
        let scope = (args.remember == Some(true) && args.decision == Decision::Approve)
            .then(|| args.remember_scope.unwrap_or(Scope::Class));
        // A rehearsal is of the command outside of the sandbox.
        let outside = args.rehearsal.is_some() || approval::is_outside(&row, args.outside, scope);
        let rules = match scope {
            Some(scope) => self.rules(&row, scope, outside).await?,
            None => Vec::new(),
        };
        // What was seen before the answer is no longer known to be so.
        self.volatile.script_files.clear();
        let mut draft = self.draft();
        let given = Given { decision: args.decision, outside, rehearsal: args.rehearsal.clone() };
        answer(&mut draft, &row, given, by);
        for rule in &rules {
            draft.write(|change| change.remember(rule));
        }
        if !rules.is_empty() && draft.durable.run.as_ref().is_some_and(|run| run.by_person) {
            self.apply_rules(&mut draft, &rules);
        }
        if self.volatile.setup.is_some() {
            self.plan(&mut draft).await?;
        }
        if !self.keep(draft).await? {
            return Ok(Outcome::Failed(already(id, None)));
        }
        Ok(Outcome::Done(Resolved {
            pid: self.pid().clone(),
            request_id: id.clone(),
            decision: args.decision,
            resumed: self.durable.run.is_some(),
            remembered: scope.map(|_| true),
            pending_hil: self.next_asked().into(),
        }))
    }

    /// What is remembered with an answer: new rules, or the same ones from before.
    async fn rules(&self, row: &ApprovalRow, scope: Scope, outside: bool) -> Result<Vec<RuleRow>, Error> {
        let world = &self.host.world;
        let rules = approval::rules(row, scope, outside, || world.random.uuid(), world.now_ms())?;
        let known = world.store.approvals().rules(self.pid()).await?;
        let kept = |rule: RuleRow| {
            known.iter().find(|known| approval::is_same(known, &rule)).cloned().unwrap_or(rule)
        };
        Ok(rules.into_iter().map(kept).collect())
    }

    /// Answers what else waits and is covered by new rules. Whether each is still the very call that was shown, and
    /// whether the policy now forbids it, is seen when it is made.
    fn apply_rules(&self, draft: &mut Draft, rules: &[RuleRow]) {
        let ids: Vec<&str> = rules.iter().map(|rule| rule.approval_id.as_str()).collect();
        let by = format!("the remembered approval {}", ids.join(", "));
        let asked =
            draft.durable.run.iter().flat_map(|run| &run.calls).filter_map(|call| match &call.phase {
                Phase::Asked { request_id } => self.volatile.approvals.get(request_id),
                _ => None,
            });
        let covered: Vec<_> =
            asked.filter_map(|row| approval::covers(rules, row).map(|outside| (row, outside))).collect();
        for (row, outside) in covered {
            answer(draft, row, Given { decision: Decision::Approve, outside, rehearsal: None }, &by);
        }
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
        let active = !row.withdrawn && self.durable.run.as_ref().is_some_and(waits);
        (!active).then(|| format!("Run is no longer active for confirmation: {id}"))
    }

    /// The next call that waits for a person.
    fn next_asked(&self) -> Option<HilRequest> {
        let calls = &self.durable.run.as_ref()?.calls;
        let mut asked = calls.iter().filter_map(|call| match &call.phase {
            Phase::Asked { request_id } => self.volatile.approvals.get(request_id),
            _ => None,
        });
        asked.next().map(approval::request)
    }
}

/// What a person, or a rule of theirs, said to a question.
struct Given {
    decision: Decision,
    /// Whether the call may run outside of the sandbox.
    outside: bool,
    /// The rehearsal that is put in place of running it.
    rehearsal: Option<String>,
}

/// Writes an answer down, and tells everybody that nobody is asked any more.
fn answer(draft: &mut Draft, row: &ApprovalRow, given: Given, by: &str) {
    let (id, now_ms) = (&row.request_id, draft.now_ms);
    let Given { decision, outside, rehearsal } = given;
    let outside = outside && decision == Decision::Approve;
    let (request_id, by_whom) = (id.clone(), by.to_string());
    draft.step(Step::Answer(Answer { request_id, decision, outside, by: by_whom, rehearsal }));
    draft.write(|change| change.answer(id, decision, by, now_ms));
    draft.tell_lifecycle(&row.run_id, &row.conversation_id, "hil.answered", Some(id));
}

/// Why an answer can not have what a rehearsal did put in place.
fn not_rehearsed(args: &Hil, row: &ApprovalRow) -> Option<&'static str> {
    if args.decision != Decision::Approve || args.remember == Some(true) {
        return Some("is for an approval of this one call");
    }
    let is_command = row.syscall == tools::SHELL && row.target != "gsv";
    (!is_command).then_some("only commands on a device are rehearsed")
}

fn already(id: &str, answer: Option<(Decision, &str)>) -> String {
    let how = match answer {
        Some((Decision::Approve, by)) => format!(" (approved by {by})"),
        Some((Decision::Deny, by)) => format!(" (denied by {by})"),
        None => String::new(),
    };
    format!("Tool confirmation was already answered{how}: {id}")
}
