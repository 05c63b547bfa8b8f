//! Write-ahead intent for tool calls: each call of an answer is decided on (it runs, a person is asked, it is
//! refused), and the decision is durable before anything leaves.

use std::collections::HashMap;

use base::limits;
use model::ToolCall;
use protocol::confine::Way;
use protocol::ids::SessionId;
use protocol::proc::approval::{Decision, ScriptFile};
use protocol::signal::run::{HilRequested, ToolStarted};
use store::approvals::ApprovalRow;
use store::sessions::ShellSession;

use super::draft::Draft;
use super::nested::BLOCK;
use super::order::Order;
use super::{Actor, StoreResult};
use crate::approval;
use crate::known_files::KnownFiles;
use crate::prepare;
use crate::process_gateway::ProcessGateway;
use crate::refused_hosts::RefusedHosts;
use crate::results::RenderedResult;
use crate::run::step::{Ask, Intent, Step};
use crate::run::{self, Act, Next, Phase, RunState};
use crate::script_files;
use crate::setup::Setup;
use crate::tools::{self, Checked, PolicyInForce, Verdict};

/// Where a block may write: its calls say so, and nobody knows them beforehand.
const ANYWHERE: &str = "device";

/// The target that a call may write to.
fn touched_by(checked: &Checked) -> &str {
    if checked.syscall == BLOCK { ANYWHERE } else { &checked.judgement.target }
}

impl Actor {
    /// Decides on the calls that nobody decided on yet, as far as there is room for them.
    pub(super) async fn plan(&mut self, draft: &mut Draft) -> StoreResult<()> {
        let Some(Next::Calls(acts)) = draft.durable.run.as_ref().map(run::next) else { return Ok(()) };
        let Some(setup) = self.volatile.setup.clone() else { return Ok(()) };
        let known = self.look_for_files(draft, &setup).await;
        let gateway = self.host.world.gateway.clone();
        let refused = std::mem::take(&mut self.refused);
        let in_force = match self.in_force(draft, &setup, &gateway, (&known, &refused)).await {
            Ok(in_force) => in_force,
            Err(error) => {
                self.refused = refused;
                return Err(error);
            }
        };
        let mut order = Order::default();
        for place in 0..draft.durable.run.as_ref().map_or(0, |run| run.calls.len()) {
            let act = acts.iter().find(|(at, _)| *at == place).map(|(_, act)| *act);
            let run = draft.durable.run.as_ref();
            if run.is_some_and(|run| self.is_orphan(run, place)) {
                continue;
            }
            // The code of a block says itself what comes after what, and the block is what the calls after it wait for.
            let is_nested = run.and_then(|run| run.calls.get(place)?.parent).is_some();
            let mut alone = Order::default();
            let order = if is_nested { &mut alone } else { &mut order };
            if let Some(act) = act.filter(|act| *act != Act::Await) {
                self.plan_one(draft, (place, act), &setup, &in_force, order);
            }
            self.note(draft, place, order);
        }
        self.refused = refused;
        Ok(())
    }

    /// What is allowed, read each time, so that what was revoked or changed meanwhile counts. What a person approved for
    /// good serves what a person started: another agent's message does not borrow it.
    pub(super) async fn in_force<'a>(
        &self,
        draft: &Draft,
        setup: &Setup,
        gateway: &'a ProcessGateway,
        (known, refused): (&'a KnownFiles, &'a RefusedHosts),
    ) -> StoreResult<PolicyInForce<'a>> {
        let rules = match draft.durable.run.as_ref().is_some_and(|run| run.by_person) {
            true => self.host.world.store.approvals().rules(self.pid()).await?,
            false => Vec::new(),
        };
        let policy = prepare::policy_now(&self.host.world, &self.process).await;
        let policy = policy.unwrap_or_else(|_| setup.policy.clone());
        let sessions = self.look_for_sessions().await?;
        Ok(PolicyInForce { policy, rules, gateway, known, refused, sessions })
    }

    /// The commands that the calls go on with, as far as this process started them.
    async fn look_for_sessions(&self) -> StoreResult<HashMap<String, ShellSession>> {
        let world = &self.host.world;
        let mut found = HashMap::new();
        for id in self.volatile.calls.iter().filter_map(|call| tools::session_id(&call.arguments)) {
            let row = world.store.sessions().by_id(&SessionId::from(id), world.now_ms()).await?;
            if let Some(row) = row.filter(|row| row.pid.as_ref() == Some(self.pid())) {
                found.insert(id.to_string(), row);
            }
        }
        Ok(found)
    }

    fn plan_one(
        &mut self,
        draft: &mut Draft,
        (place, act): (usize, Act),
        setup: &Setup,
        in_force: &PolicyInForce<'_>,
        order: &mut Order,
    ) {
        let Some(run) = &draft.durable.run else { return };
        let is_nested = run.calls.get(place).is_some_and(|call| call.parent.is_some());
        let full = !is_nested && run.under_way() >= limits::process::TOOLS_AT_ONCE;
        let Some(call) = self.volatile.calls.get(place).cloned() else {
            let lost = "The arguments of this call are lost. Make it again.";
            return self.conclude(draft, place, RenderedResult::error(lost), None);
        };
        let approved = self.approved(run, place);
        let refusal = match run.calls.get(place).map(|call| &call.phase) {
            Some(Phase::Refused { why }) => Some(why.as_str()),
            _ => None,
        };
        let verdict = match act {
            Act::Refuse => Verdict::Refuse("Tool execution denied by user".to_string()),
            Act::Make | Act::Judge | Act::Await => {
                let counted = if is_nested { 0 } else { place };
                tools::judge(setup, &self.process, &call, (counted, refusal), in_force)
            }
        };
        match verdict {
            Verdict::Refuse(why) => self.conclude(draft, place, RenderedResult::error(&why), None),
            Verdict::Unknown(why) => {
                self.tell_started(draft, place, &call.name);
                self.conclude(draft, place, RenderedResult::error(&why), None);
            }
            Verdict::Go(checked) | Verdict::Ask(checked) if act == Act::Make => {
                let Some(files) = self.script_files(place, &call, &checked) else {
                    return order.asks(&checked.judgement.target);
                };
                let confirmed = approved.map(|approved| tools::confirm(checked, &approved, &files));
                match confirmed {
                    Some(Verdict::Go(checked)) if full => order.asks(&checked.judgement.target),
                    Some(Verdict::Go(checked)) => self.intend(draft, place, checked),
                    Some(Verdict::Refuse(why)) => {
                        self.conclude(draft, place, RenderedResult::error(&why), None)
                    }
                    _ => self.conclude(draft, place, RenderedResult::error(tools::NOT_APPROVED), None),
                }
            }
            Verdict::Ask(checked) => {
                let target = checked.judgement.target.clone();
                if !order.is_being_written(&target)
                    && let Some(files) = self.script_files(place, &call, &checked)
                {
                    return self.ask_person(draft, place, checked, setup, files);
                }
                order.asks(&target);
            }
            Verdict::Go(checked) if checked.only_reads() => {
                if !full {
                    self.intend(draft, place, checked);
                }
            }
            Verdict::Go(checked) if full || order.must_wait(touched_by(&checked)) => {
                order.writes(touched_by(&checked));
            }
            Verdict::Go(checked) => self.intend(draft, place, checked),
        }
    }

    /// Notes what the calls after this one have to wait for.
    fn note(&self, draft: &Draft, place: usize, order: &mut Order) {
        let call = draft.durable.run.as_ref().and_then(|run| run.calls.get(place));
        match call.map(|call| &call.phase) {
            Some(Phase::Asked { request_id }) => {
                if let Some(row) = self.volatile.approvals.get(request_id) {
                    order.asks(&row.target);
                }
            }
            Some(Phase::Sent { syscall, target, way, .. })
                if *way != Way::Proved && !tools::only_reads(syscall) =>
            {
                order.writes(if syscall == BLOCK { ANYWHERE } else { target })
            }
            _ => {}
        }
    }

    /// The script files of a call as they are now; `None` while they are looked at. Each look serves one decision.
    fn script_files(&mut self, place: usize, call: &ToolCall, checked: &Checked) -> Option<Vec<ScriptFile>> {
        let names = script_files::named(checked.syscall, &call.arguments);
        if names.is_empty() {
            return Some(Vec::new());
        }
        let seen = self.volatile.script_files.remove(&place);
        if seen.is_none() {
            self.look(place, &checked.judgement.target, names);
        }
        seen
    }

    /// What a person allowed when they allowed a call, and whether for outside of the sandbox.
    fn approved(&self, run: &RunState, place: usize) -> Option<(ApprovalRow, bool)> {
        match &run.calls.get(place)?.phase {
            Phase::Answered { request_id, decision: Decision::Approve, outside } => {
                Some((self.volatile.approvals.get(request_id)?.clone(), *outside))
            }
            _ => None,
        }
    }

    fn intend(&mut self, draft: &mut Draft, place: usize, checked: Checked) {
        let Some(run) = &draft.durable.run else { return };
        if let Some(path) = &checked.judgement.path {
            self.volatile.touched.insert(place, (checked.judgement.target.clone(), path.clone()));
        }
        draft.step(Step::Intent(Intent {
            turn: run.turns,
            place,
            request_id: run.request_id(place),
            call: checked.syscall.to_string(),
            target: checked.judgement.target,
            way: checked.way,
            hosts: checked.judgement.open_hosts,
            widening: checked.widening,
        }));
        self.tell_started(draft, place, checked.syscall);
        draft.launches.push(place);
    }

    /// Tells clients of a call, so that they know whose result follows.
    fn tell_started(&self, draft: &mut Draft, place: usize, syscall: &str) {
        let Some(run) = &draft.durable.run else { return };
        let (run_id, call) = (run.run_id.clone(), &self.volatile.calls[place]);
        let started = ToolStarted {
            name: call.name.clone(),
            syscall: syscall.to_string(),
            args: call.arguments.clone(),
            call_id: call.id.clone(),
            parent_call_id: run
                .calls
                .get(place)
                .and_then(|call| Some(run.calls.get(call.parent?)?.id.clone())),
            pid: self.pid().clone(),
            run_id: run_id.clone(),
            conversation_id: run.conversation_id.clone(),
        };
        draft.tell(Some(&run_id), &started);
    }

    fn ask_person(
        &mut self,
        draft: &mut Draft,
        place: usize,
        checked: Checked,
        setup: &Setup,
        files: Vec<ScriptFile>,
    ) {
        let Some(run) = &draft.durable.run else { return };
        let (call, judgement) = (&self.volatile.calls[place], checked.judgement);
        let digest = tools::digest(&judgement, judgement.widening.as_ref(), &files);
        let mut details = tools::details(setup, checked.syscall, call, &judgement, files);
        let block = run.calls.get(place).and_then(|call| run.calls.get(call.parent?));
        if block.is_some() {
            details.reasons.push("A CodeMode block makes this call.".to_string());
        }
        let row = ApprovalRow {
            request_id: self.host.world.random.uuid(),
            pid: self.process.pid.clone(),
            uid: self.process.uid,
            run_id: run.run_id.clone(),
            conversation_id: run.conversation_id.clone(),
            turn: run.turns,
            place: place as u64,
            call_id: call.id.clone(),
            parent_call_id: block.map(|block| block.id.clone()),
            tool_name: call.name.clone(),
            syscall: checked.syscall.to_string(),
            target: judgement.target,
            args: protocol::frame::to_json(&call.arguments),
            tags: judgement.tags,
            shape: judgement.shape,
            digest,
            details: Some(protocol::frame::to_json(&details)),
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
        self.volatile.approvals.insert(row.request_id.clone(), row);
    }
}
