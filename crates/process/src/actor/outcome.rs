//! Completion handling: what tasks came to (a setup, an answer of the model, the result of a call) becomes rows.

use protocol::config;
use protocol::literal::Nullable;
use protocol::proc::history::{ContextState, MessageRole};
use protocol::signal::run::{Change as What, Output, ToolFinished};
use serde_json::json;

use super::draft::{Draft, MessageBody};
use super::drive::Joined;
use super::finish::Ending;
use super::{Actor, StoreResult, TaskKind, TaskOutcome};
use crate::answer;
use crate::compaction::Prepared;
use crate::results::RenderedResult;
use crate::run::Phase;
use crate::run::step::{Named, Outcome, Refusal, Step, Turn};
use crate::tools::{self, Finished};
use crate::turn::{Answered, RunFailure, TurnEnd, compaction_failed, generation_failed};
use crate::{compaction, cost, notice};

impl Actor {
    /// A task is done, and perhaps others with it.
    pub(super) async fn done(&mut self, first: Joined) -> StoreResult<()> {
        let mut calls = Vec::new();
        let mut next = Some(first);
        while let Some(joined) = next {
            match self.take_task(joined) {
                None => {}
                Some((TaskKind::Call(place), Ok(TaskOutcome::Called(end)))) => calls.push((place, end)),
                Some((TaskKind::Call(place), Err(why))) => {
                    calls.push((place, Finished::plain(RenderedResult::error(&why))));
                }
                Some((TaskKind::Look(place), looked)) => self.looked(place, looked),
                Some((TaskKind::Checkpoint, taken)) => self.checkpointed(taken).await?,
                Some((TaskKind::Reading(number), Ok(TaskOutcome::Called(end)))) => {
                    self.was_read(number, Ok(end));
                }
                Some((TaskKind::Reading(number), Err(why))) => self.was_read(number, Err(why)),
                Some((
                    _,
                    Ok(TaskOutcome::Called(_) | TaskOutcome::Looked(_) | TaskOutcome::Checkpointed(_)),
                )) => {}
                Some((_, Ok(TaskOutcome::Prepared(prepared)))) => match prepared {
                    Ok(setup) => self.volatile.setup = Some(setup),
                    Err(why) => self.fail_run(generation_failed(&why)).await?,
                },
                Some((_, Ok(TaskOutcome::Turned(end)))) => self.turned(end).await?,
                Some((_, Err(why))) => {
                    self.fail_run(RunFailure { reason: "process.error", text: why }).await?
                }
            }
            next = self.tasks.try_join_next_with_id();
        }
        self.called(calls).await?;
        self.advance().await
    }

    /// The same for a gateway that stops: results are kept, nothing else begins.
    pub(super) async fn outcome_only(&mut self, joined: Joined) -> StoreResult<()> {
        if let Some((TaskKind::Call(place), Ok(TaskOutcome::Called(end)))) = self.take_task(joined) {
            let mut draft = self.draft();
            self.ended(&mut draft, place, end);
            self.keep_surely(draft).await?;
        }
        Ok(())
    }

    /// What a task was for and what it came to; `None` when nobody waits for it any more.
    fn take_task(&mut self, joined: Joined) -> Option<(TaskKind, Result<TaskOutcome, String>)> {
        match joined {
            Ok((id, done)) => Some((self.work.remove(&id)?, Ok(done))),
            Err(error) => {
                let work = self.work.remove(&error.id())?;
                tracing::error!(pid = %self.process.pid, ?work, %error, "a task of a process failed");
                Some((work, Err("Internal error: the gateway's log says what went wrong".to_string())))
            }
        }
    }

    async fn called(&mut self, calls: Vec<(usize, Finished)>) -> StoreResult<()> {
        if calls.is_empty() || self.durable.run.is_none() {
            return Ok(());
        }
        let mut draft = self.draft();
        for (place, end) in calls {
            self.ended(&mut draft, place, end);
        }
        self.plan(&mut draft).await?;
        self.keep_surely(draft).await
    }

    /// A call came back: with its result, or because a person has to be asked first.
    fn ended(&mut self, draft: &mut Draft, place: usize, end: Finished) {
        let Finished { result, media, refusal, raw } = end;
        if let Some(why) = refusal {
            return self.send_back(draft, place, why);
        }
        if !result.is_error {
            self.saw_file(draft, place);
        }
        if let (Some(call), Some(output)) = (self.volatile.calls.get(place), &result.output) {
            self.refused.note(&call.arguments, output);
        }
        if let Some(raw) = raw {
            self.volatile.raw_answers.insert(place, raw);
        }
        self.conclude(draft, place, result, media);
    }

    /// The device did nothing of a call, so that it can be decided on again. The row of its route goes in the same step:
    /// what is made after an answer is another call, and is never taken for this one.
    fn send_back(&mut self, draft: &mut Draft, place: usize, why: String) {
        let Some(run) = &draft.durable.run else { return };
        let is_sent = |call: &&crate::run::Call| matches!(call.phase, Phase::Sent { .. });
        if run.calls.get(place).filter(is_sent).is_none() {
            return;
        }
        let request_id = run.request_id(place);
        self.volatile.touched.remove(&place);
        self.volatile.script_files.remove(&place);
        draft.write(|change| change.route_done(&request_id));
        draft.step(Step::Refusal(Refusal { place, why }));
    }

    /// A call has its result.
    pub(super) fn conclude(
        &mut self,
        draft: &mut Draft,
        place: usize,
        result: RenderedResult,
        media: Option<String>,
    ) {
        let Some(run) = &draft.durable.run else { return };
        let Some(call) = run.calls.get(place).filter(|call| !matches!(call.phase, Phase::Done { .. })) else {
            return;
        };
        if call.parent.is_some() {
            return self.conclude_nested(draft, place, result);
        }
        self.end_block(draft, place);
        let Some(run) = &draft.durable.run else { return };
        let Some(call) = run.calls.get(place) else { return };
        let (run_id, conversation, request_id) =
            (run.run_id.clone(), run.conversation_id.clone(), run.request_id(place));
        let (message_id, call_id, name) = (call.message_id, call.id.clone(), call.name.clone());
        let syscall = tools::syscall(&name).map_or_else(|| name.clone(), |spec| spec.name.to_string());
        let (turn, ok) = (run.turns, !result.is_error);
        let finished = ToolFinished {
            name: name.clone(),
            syscall,
            call_id: call_id.clone(),
            parent_call_id: None,
            ok,
            error: result.why().map(str::to_string),
            output: result.output.clone().filter(|_| ok),
            pid: self.process.pid.clone(),
            run_id: run_id.clone(),
            conversation_id: conversation.clone(),
        };
        let words = MessageBody {
            content: result.text,
            meta: Some(json!({ "toolName": name, "isError": !ok }).to_string()),
            tool_call_id: Some(call_id),
            media,
            origin: None,
        };
        draft.say_as(message_id, &conversation, MessageRole::ToolResult, words);
        draft.step(Step::Outcome(Outcome { turn, place, message_id, ok }));
        draft.write(|change| change.route_done(&request_id));
        draft.tell(Some(&run_id), &finished);
    }

    async fn turned(&mut self, end: TurnEnd) -> StoreResult<()> {
        match end {
            TurnEnd::Answer(answered) => self.answered(*answered).await,
            TurnEnd::Failed(failure) => {
                self.context = None;
                self.used = None;
                self.fail_run(failure).await
            }
            TurnEnd::Compact(prepared) => self.compacted(*prepared).await,
        }
    }

    /// The conversation was compacted for the next turn, unless it changed meanwhile.
    async fn compacted(&mut self, prepared: Prepared) -> StoreResult<()> {
        let Prepared { change, compacted, archive, why } = prepared;
        self.context = None;
        // The summary was charged where it was made.
        self.used = None;
        let mut draft = self.draft();
        draft.write(|all| all.and(change));
        if !self.keep_patiently(draft).await? {
            archive.discard().await;
            return self.fail_run(compaction_failed("the conversation changed meanwhile")).await;
        }
        archive.claim();
        self.volatile.compacted = true;
        compaction::announce(
            &self.host.world,
            &self.process,
            self.run_id(),
            "conversation.auto_compacted",
            &compacted,
            self.durable.queued(),
            why,
        );
        Ok(())
    }

    async fn answered(&mut self, answered: Answered) -> StoreResult<()> {
        let Answered { mut message, context, state } = answered;
        let Some(run) = &self.durable.run else { return Ok(()) };
        let (run_id, conversation, turn) = (run.run_id.clone(), run.conversation_id.clone(), run.turns + 1);
        let calls_so_far = run.tool_calls;
        if let Some(setup) = &self.volatile.setup {
            for notice in notice::of_answer(setup, self.process.uid, &context, &message) {
                if !self.volatile.notices.contains(&notice) {
                    self.volatile.notices.push(notice);
                }
            }
        }
        if let Some(known) = self.context.as_mut().filter(|known| known.conversation_id == conversation) {
            known.context = Some(context);
        }
        answer::assign_call_ids(&mut message, turn, &self.host.world.random);
        self.volatile.calls = super::load::calls_of(&message);
        self.volatile.script_files.clear();
        let spent = cost::used(&message.usage);
        self.volatile.used = cost::sum(&self.volatile.used, &spent);
        if let Some((_, used)) = &mut self.used {
            *used = cost::sum(used, &spent);
        }
        let text = answer::text(&message);
        let mut draft = self.draft();
        let meta = Some(protocol::frame::to_json(&message));
        let words = MessageBody { content: text.clone(), meta, ..MessageBody::default() };
        let message_id = draft.say(&conversation, MessageRole::Assistant, words);
        draft.durable.next_message_id += self.volatile.calls.len() as i64;
        let calls = self.volatile.calls.iter();
        let calls = calls.map(|call| Named { id: call.id.clone(), name: call.name.clone() }).collect();
        draft.step(Step::Turn(Turn { turn, message_id, calls }));
        let model = (message.provider.as_str(), message.model.as_str());
        draft.write(|change| change.run_turn(&run_id, model, self.volatile.calls.len() as u64, &spent));
        let thinking = answer::thinking(&message);
        if !text.trim().is_empty() || !thinking.is_empty() {
            let (pid, conversation_id) = (self.process.pid.clone(), conversation.clone());
            let output =
                Output { text: text.clone(), thinking, pid, run_id: run_id.clone(), conversation_id };
            draft.tell(Some(&run_id), &output);
        }
        tell_context(&mut draft, state, message_id);
        match self.ending(calls_so_far, text) {
            Some(ending) => {
                self.fail(&mut draft, &ending);
                for notice in &ending.notices {
                    let words = MessageBody { content: notice.clone(), ..MessageBody::default() };
                    draft.say_system(&conversation, words);
                }
                self.end(&mut draft, ending);
                self.promote(&mut draft).await?;
            }
            None => self.plan(&mut draft).await?,
        }
        self.keep_surely(draft).await
    }

    /// How the run ends with this answer; `None` when there are calls to be made.
    fn ending(&self, calls_so_far: u64, text: String) -> Option<Ending> {
        if self.volatile.calls.is_empty() {
            return Some(Ending::answered(text, self.volatile.notices.clone()));
        }
        let most = self.volatile.setup.as_ref()?.limits.tool_calls;
        let all = calls_so_far + self.volatile.calls.len() as u64;
        (all > most).then(|| Ending::at_limit(config::PROCESS_MAX_TOOL_CALLS, most, "tool calls"))
    }
}

/// How full the context is with the answer in it.
fn tell_context(draft: &mut Draft, mut state: ContextState, message_id: i64) {
    state.message_count = state.message_count.map(|count| count + 1);
    state.last_message_id = Nullable::Value(message_id);
    let json = protocol::frame::to_json(&state);
    let conversation = state.conversation_id.clone();
    draft.write(|change| change.context(&conversation, &json));
    let run_id = draft.durable.run.as_ref().map(|run| run.run_id.clone());
    draft.tell_changed(&[What::Context], |changed| {
        changed.conversation_id = Some(conversation);
        changed.run_id = run_id;
        changed.context = Some(state);
    });
}
