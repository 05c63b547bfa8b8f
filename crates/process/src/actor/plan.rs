//! Write-ahead intent for tool calls: each call of an answer is decided on (it runs, a person is asked, it is
//! refused), and the decision is durable before anything leaves.

use base::limits;
use protocol::proc::approval::Decision;
use protocol::signal::run::{HilRequested, ToolStarted};
use store::approvals::ApprovalRow;

use super::draft::Draft;
use super::{Actor, StoreResult};
use crate::approval;
use crate::prepare;
use crate::results::RenderedResult;
use crate::run::step::{Ask, Intent, Step};
use crate::run::{self, Act, Next, Phase, RunState};
use crate::setup::Setup;
use crate::tools::{self, Checked, PolicyInForce, Verdict};

impl Actor {
    /// Decides on the calls that nobody decided on yet, as far as there is room for them.
    pub(super) async fn plan(&mut self, draft: &mut Draft) -> StoreResult<()> {
        let Some(Next::Calls(acts)) = draft.facts.run.as_ref().map(run::next) else { return Ok(()) };
        let Some(setup) = self.live.setup.clone() else { return Ok(()) };
        // Read each time, so that what was revoked or changed meanwhile counts. What a person approved for good serves
        // what a person started: another agent's message does not borrow it.
        let rules = match draft.facts.run.as_ref().is_some_and(|run| run.by_person) {
            true => self.host.world.store.approvals().rules(self.pid()).await?,
            false => Vec::new(),
        };
        let policy = prepare::policy_now(&self.host.world, &self.process).await;
        let policy = policy.unwrap_or_else(|_| setup.policy.clone());
        let known = self.look_for_files(draft, &setup).await;
        let gateway = self.host.world.outside.clone();
        let in_force = PolicyInForce { policy, rules, gateway: &gateway, known: &known };
        for (place, act) in acts {
            self.plan_one(draft, place, act, &setup, &in_force);
        }
        Ok(())
    }

    fn plan_one(
        &mut self,
        draft: &mut Draft,
        place: usize,
        act: Act,
        setup: &Setup,
        in_force: &PolicyInForce<'_>,
    ) {
        let Some(run) = &draft.facts.run else { return };
        let full = run.under_way() >= limits::process::TOOLS_AT_ONCE;
        if act == Act::Await {
            return;
        }
        let Some(call) = self.live.calls.get(place) else {
            let lost = "The arguments of this call are lost. Make it again.";
            return self.conclude(draft, place, RenderedResult::error(lost), None);
        };
        let judged = || tools::judge(setup, &self.process, call, place, in_force);
        let verdict = match act {
            Act::Make => tools::confirm(judged(), &self.digest(run, place)),
            Act::Refuse => Verdict::Refuse("Tool execution denied by user".to_string()),
            Act::Judge | Act::Await => judged(),
        };
        match verdict {
            Verdict::Refuse(why) => self.conclude(draft, place, RenderedResult::error(&why), None),
            Verdict::Unknown(why) => {
                self.tell_started(draft, place, &call.name);
                self.conclude(draft, place, RenderedResult::error(&why), None);
            }
            Verdict::Ask(checked) => self.ask_person(draft, place, checked),
            Verdict::Go(_) if full => {}
            Verdict::Go(checked) => self.intend(draft, place, checked),
        }
    }

    /// What a person allowed when they allowed a call.
    fn digest(&self, run: &RunState, place: usize) -> String {
        let request_id = match run.calls.get(place).map(|call| &call.phase) {
            Some(Phase::Answered { request_id, decision: Decision::Approve }) => request_id,
            _ => return String::new(),
        };
        self.live.approvals.get(request_id).map(|row| row.digest.clone()).unwrap_or_default()
    }

    fn intend(&mut self, draft: &mut Draft, place: usize, checked: Checked) {
        let Some(run) = &draft.facts.run else { return };
        if let Some(path) = &checked.judgement.path {
            self.live.touched.insert(place, (checked.judgement.target.clone(), path.clone()));
        }
        draft.step(Step::Intent(Intent {
            turn: run.turns,
            place,
            request_id: run.request_id(place),
            call: checked.syscall.to_string(),
            target: checked.judgement.target,
            way: checked.way,
        }));
        self.tell_started(draft, place, checked.syscall);
        draft.launches.push(place);
    }

    /// Tells clients of a call, so that they know whose result follows.
    fn tell_started(&self, draft: &mut Draft, place: usize, syscall: &str) {
        let Some(run) = &draft.facts.run else { return };
        let (run_id, call) = (run.run_id.clone(), &self.live.calls[place]);
        let started = ToolStarted {
            name: call.name.clone(),
            syscall: syscall.to_string(),
            args: call.arguments.clone(),
            call_id: call.id.clone(),
            pid: self.pid().clone(),
            run_id: run_id.clone(),
            conversation_id: run.conversation_id.clone(),
        };
        draft.tell(Some(&run_id), &started);
    }

    fn ask_person(&mut self, draft: &mut Draft, place: usize, checked: Checked) {
        let Some(run) = &draft.facts.run else { return };
        let (call, judgement) = (&self.live.calls[place], checked.judgement);
        let row = ApprovalRow {
            request_id: self.host.world.random.uuid(),
            pid: self.process.pid.clone(),
            uid: self.process.uid,
            run_id: run.run_id.clone(),
            conversation_id: run.conversation_id.clone(),
            turn: run.turns,
            place: place as u64,
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            syscall: checked.syscall.to_string(),
            target: judgement.target,
            args: protocol::frame::to_json(&call.arguments),
            tags: judgement.tags,
            shape: judgement.shape,
            digest: judgement.digest,
            created_at: draft.now_ms,
            decision: None,
            withdrawn: false,
            decided_at: None,
            decided_by: None,
        };
        draft.step(Step::Ask(Ask { place, request_id: row.request_id.clone() }));
        draft.write(|change| change.ask(&row));
        let request = HilRequested { pid: row.pid.clone(), request: approval::request(&row) };
        draft.tell(Some(&row.run_id), &request);
        // The request itself may go to one connection only; the others learn that there is something to answer.
        draft.tell_lifecycle(&row.run_id, &row.conversation_id, "hil.requested", Some(&row.request_id));
        // A step that is not kept leaves a row here that nobody can name.
        self.live.approvals.insert(row.request_id.clone(), row);
    }
}
