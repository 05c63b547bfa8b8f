//! Calls that a block of code makes: decided on, journaled and made as the model's own are, and answered to the block.
//!
//! A nested call is a call of the current turn with a parent. What is judged to only read, by its row, is made at once
//! and leaves no trace in the journal: after a crash nothing of it needs to be known. The block itself does not outlive
//! the gateway, so that what it called is never made again.

use base::limits;
use model::ToolCall;
use protocol::calls::Calls;
use protocol::codemode::{Exec, ExecResult};
use protocol::error::Error;
use protocol::signal::run::{ToolFinished, ToolStarted};
use protocol::spec::Syscall;
use serde_json::{Map, Value};

use super::draft::Draft;
use super::{Actor, StoreResult, TaskKind, TaskOutcome};
use crate::mail::{NestedCall, Reply};
use crate::results::RenderedResult;
use crate::run::step::{Nested, Outcome, Step};
use crate::run::{Call, Phase, RunState};
use crate::signals;
use crate::tools::{self, Finished, Invocation, Verdict};

/// The call that runs a block.
pub(super) const BLOCK: &str = Exec::SPEC.name;

/// What a block calls that only reads, while it is under way.
pub(super) struct Reading {
    call: ToolCall,
    syscall: &'static str,
    parent_id: String,
    reply: Reply<String>,
}

impl Actor {
    /// The way in for the calls of a block.
    pub(super) fn door(&self, run: &RunState, block: usize) -> Calls {
        let (host, pid) = (self.host.clone(), self.process.pid.clone());
        let (run_id, turn) = (run.run_id.clone(), run.turns);
        Calls::new(move |name, args| {
            let (host, pid) = (host.clone(), pid.clone());
            let (syscall, args) = (name.to_string(), args.to_string());
            let call = NestedCall { run_id: run_id.clone(), turn, block, syscall, args };
            Box::pin(async move { host.call_nested(&pid, call).await })
        })
    }

    /// A block makes a call.
    pub(super) async fn nested(&mut self, call: NestedCall, reply: Reply<String>) -> StoreResult<()> {
        let (tool, parent_id) = match self.admit(&call) {
            Ok(admitted) => admitted,
            Err(error) => {
                // The block may have gone meanwhile.
                drop(reply.send(Err(error)));
                return Ok(());
            }
        };
        if tools::only_reads(&call.syscall)
            && let Some(checked) = self.judge_reading(&tool).await?
        {
            self.read_for_block(tool, checked, parent_id, reply);
            return Ok(());
        }
        let mut draft = self.draft();
        let Some(run) = &draft.durable.run else { return Ok(()) };
        let place = run.calls.len();
        let args = protocol::frame::to_json(&tool.arguments);
        let shown = args[..args.floor_char_boundary(limits::guest::NOTED_MAX_BYTES)].to_string();
        let (id, name) = (tool.id.clone(), tool.name.clone());
        self.volatile.calls.truncate(place);
        self.volatile.calls.push(tool);
        self.volatile.nested.insert(place, reply);
        draft.step(Step::Nested(Nested { place, parent: call.block, id, name, args: shown }));
        self.plan(&mut draft).await?;
        self.keep_surely(draft).await
    }

    /// The call as a tool call of its own, if there is such a block and it may make it.
    fn admit(&self, call: &NestedCall) -> Result<(ToolCall, String), Error> {
        let over = || Error::conflict("the run of the block is over");
        let run = self.durable.run.as_ref().filter(|run| run.run_id == call.run_id && run.turns == call.turn);
        let run = run.filter(|_| self.volatile.setup.is_some()).ok_or_else(over)?;
        let block = run.calls.get(call.block).filter(|block| is_block(block)).ok_or_else(over)?;
        let spec = protocol::spec(&call.syscall).filter(|spec| spec.name != BLOCK);
        let tool = spec.and_then(|spec| spec.tool);
        let tool = tool.ok_or_else(|| Error::forbidden(format!("{} is not for blocks", call.syscall)))?;
        let most = limits::process::NESTED_MAX;
        if run.nested_of(call.block).count() >= most {
            return Err(Error::forbidden(format!("A block may make {most} calls that change something")));
        }
        let arguments: Map<String, Value> = serde_json::from_str(&call.args)
            .map_err(|_| Error::bad_argument(&call.syscall, "args", "must be a JSON object"))?;
        let id = format!("codemode-{}", self.host.world.random.uuid());
        Ok((model::tool_call(id, tool.name, arguments), block.id.clone()))
    }

    /// Whether a call that only reads may be made unasked. `None` sends it the long way, where it is asked about.
    async fn judge_reading(&mut self, call: &ToolCall) -> StoreResult<Option<tools::Checked>> {
        let draft = self.draft();
        let Some(setup) = self.volatile.setup.clone() else { return Ok(None) };
        let gateway = self.host.world.gateway.clone();
        let refused = std::mem::take(&mut self.refused);
        let known =
            draft.durable.run.as_ref().map(|run| self.known.of(&run.conversation_id)).unwrap_or_default();
        let in_force = self.in_force(&draft, &setup, &gateway, (&known, &refused)).await;
        let verdict =
            in_force.map(|in_force| tools::judge(&setup, &self.process, call, (0, None), &in_force));
        self.refused = refused;
        Ok(match verdict? {
            Verdict::Go(checked) => Some(checked),
            Verdict::Ask(_) | Verdict::Refuse(_) | Verdict::Unknown(_) => None,
        })
    }

    /// Makes a call that only reads.
    fn read_for_block(
        &mut self,
        call: ToolCall,
        checked: tools::Checked,
        parent_id: String,
        reply: Reply<String>,
    ) {
        let Some(run) = &self.durable.run else { return };
        self.volatile.readings_made += 1;
        let number = self.volatile.readings_made;
        let hosts = self.volatile.setup.as_ref().map(|setup| setup.hosts.clone()).unwrap_or_default();
        let invocation = Invocation {
            world: self.host.world.clone(),
            process: self.process.clone(),
            request_id: format!("{}/{}/read/{number}", run.run_id, run.turns),
            syscall: checked.syscall.to_string(),
            target: checked.judgement.target,
            permit: gateway::Permit {
                way: checked.way,
                run: Some(run.run_id.clone()),
                hosts,
                rehearsal: None,
                widening: checked.widening,
            },
            args: protocol::frame::to_json(&call.arguments),
            door: None,
            is_nested: true,
        };
        let started = ToolStarted {
            name: call.name.clone(),
            syscall: checked.syscall.to_string(),
            args: call.arguments.clone(),
            call_id: call.id.clone(),
            parent_call_id: Some(parent_id.clone()),
            pid: self.process.pid.clone(),
            run_id: run.run_id.clone(),
            conversation_id: run.conversation_id.clone(),
        };
        self.host.world.gateway.emit(signals::outgoing(&self.process, Some(&run.run_id), &started));
        let reading = Reading { call, syscall: checked.syscall, parent_id, reply };
        self.volatile.readings.insert(number, reading);
        self.start(TaskKind::Reading(number), async move { TaskOutcome::Called(invocation.run().await) });
    }

    /// Such a call came back.
    pub(super) fn was_read(&mut self, number: u64, end: Result<Finished, String>) {
        let Some(reading) = self.volatile.readings.remove(&number) else { return };
        let Reading { call, syscall, parent_id, reply } = reading;
        let end = end.unwrap_or_else(|why| Finished::plain(RenderedResult::error(&why)));
        if let Some(run) = &self.durable.run {
            let ok = !end.result.is_error;
            let finished = ToolFinished {
                name: call.name,
                syscall: syscall.to_string(),
                call_id: call.id,
                parent_call_id: Some(parent_id),
                ok,
                error: end.result.why().map(str::to_string),
                output: end.result.output.clone().filter(|_| ok),
                pid: self.process.pid.clone(),
                run_id: run.run_id.clone(),
                conversation_id: run.conversation_id.clone(),
            };
            self.host.world.gateway.emit(signals::outgoing(&self.process, Some(&run.run_id), &finished));
        }
        drop(reply.send(answer_to_block(end.result, end.raw)));
    }

    /// A call of a block has its result: no message, but an answer to the block once the step is kept.
    pub(super) fn conclude_nested(&mut self, draft: &mut Draft, place: usize, result: RenderedResult) {
        let Some(run) = &draft.durable.run else { return };
        let Some(call) = run.calls.get(place).filter(|call| !matches!(call.phase, Phase::Done { .. })) else {
            return;
        };
        let (run_id, request_id, turn) = (run.run_id.clone(), run.request_id(place), run.turns);
        let ok = !result.is_error;
        let parent_call_id = call.parent.and_then(|block| Some(run.calls.get(block)?.id.clone()));
        let finished = ToolFinished {
            name: call.name.clone(),
            syscall: tools::syscall(&call.name)
                .map_or_else(|| call.name.clone(), |spec| spec.name.to_string()),
            call_id: call.id.clone(),
            parent_call_id,
            ok,
            error: result.why().map(str::to_string),
            output: result.output.clone().filter(|_| ok),
            pid: self.process.pid.clone(),
            run_id: run_id.clone(),
            conversation_id: run.conversation_id.clone(),
        };
        let raw = self.volatile.raw_answers.remove(&place);
        draft.step(Step::Outcome(Outcome { turn, place, message_id: 0, ok }));
        draft.write(|change| change.route_done(&request_id));
        draft.tell(Some(&run_id), &finished);
        draft.answers.push((place, answer_to_block(result, raw)));
        if let Some(call) = self.volatile.calls.get_mut(place) {
            // What a block writes may be large, and nobody asks for it any more.
            call.arguments = Map::new();
        }
    }

    /// A block ended: questions that it asked are withdrawn. What is under way of it comes to nothing.
    pub(super) fn end_block(&self, draft: &mut Draft, block: usize) {
        let Some(run) = &draft.durable.run else { return };
        let asked: Vec<String> = run
            .nested_of(block)
            .filter_map(|call| match &call.phase {
                Phase::Asked { request_id } => Some(request_id.clone()),
                _ => None,
            })
            .collect();
        let (run_id, conversation, now_ms) = (run.run_id.clone(), run.conversation_id.clone(), draft.now_ms);
        for request_id in asked {
            draft.write(|change| change.withdraw(&request_id, now_ms));
            draft.tell_lifecycle(&run_id, &conversation, "hil.withdrawn", Some(&request_id));
        }
    }

    /// Whether anybody waits for a nested call: after a restart nobody does.
    pub(super) fn is_orphan(&self, run: &RunState, place: usize) -> bool {
        let is_nested = run.calls.get(place).is_some_and(|call| call.parent.is_some());
        is_nested && !self.volatile.nested.contains_key(&place)
    }
}

/// Whether a call is a block that is under way.
fn is_block(call: &Call) -> bool {
    call.parent.is_none() && matches!(&call.phase, Phase::Sent { syscall, .. } if syscall == BLOCK)
}

fn answer_to_block(result: RenderedResult, raw: Option<Result<String, Error>>) -> Result<String, Error> {
    match raw {
        Some(raw) => raw,
        None => Err(Error::forbidden(result.why().unwrap_or("the call came to nothing").to_string())),
    }
}

/// What a model is told of a block that the gateway's end cut short, with what it had called.
pub(super) fn interrupted(run: &RunState, block: usize) -> String {
    let mut error =
        "The gateway stopped while the block ran, and the block ended with it. Nothing of it is repeated."
            .to_string();
    let mut called = run.nested_of(block).peekable();
    if called.peek().is_some() {
        error += "\nWhat it had called that changes something:";
    }
    for call in called.by_ref().take(limits::codemode::DONE_LISTED_MAX) {
        let how = match call.phase {
            Phase::Done { ok: true } => "done",
            Phase::Done { ok: false } => "failed",
            Phase::Sent { .. } => "its outcome is not known: check before you repeat it",
            _ => "not made",
        };
        error += &format!("\n- {} {} ({how})", call.name, call.shown);
    }
    let more = called.count();
    if more > 0 {
        error += &format!("\n- and {more} more");
    }
    protocol::frame::to_json(&ExecResult::Failed { error, logs: None })
}
