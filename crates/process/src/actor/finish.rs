//! Begin and end of runs: the end is published to everybody, and the longest waiting of the queue begins.

use protocol::config::Key;
use protocol::ids::{ConversationId, Pid, RunId};
use protocol::literal::True;
use protocol::proc::history::MessageRole;
use protocol::signal::run::{Change as What, FinishStatus, Finished, Started};
use store::Store;
use store::change::Change;
use store::processes::{Activity, ProcessState};
use store::runs::{RunEnd, RunRow, RunStatus};

use super::draft::{Draft, MessageBody};
use super::{Actor, StoreResult};
use crate::cost;
use crate::host::Host;
use crate::results::RenderedResult;
use crate::run::step::{Begin, End, Step};
use crate::run::{Call, Phase};
use crate::starter;
use crate::turn::RunFailure;
use crate::world::World;

/// How a run ends.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) status: RunStatus,
    pub(super) reason: String,
    pub(super) text: Option<String>,
    pub(super) error: Option<String>,
    /// What a person should know of the answer.
    pub(super) notices: Vec<String>,
}

impl Ending {
    pub(super) fn answered(text: String, notices: Vec<String>) -> Ending {
        let reason = "turn.complete".to_string();
        Ending { status: RunStatus::Ok, reason, text: Some(text), error: None, notices }
    }

    pub(super) fn aborted(reason: &str) -> Ending {
        let reason = reason.to_string();
        Ending { status: RunStatus::Aborted, reason, text: None, error: None, notices: Vec::new() }
    }

    fn failed(reason: &str, error: String) -> Ending {
        let (reason, notices) = (reason.to_string(), Vec::new());
        Ending { status: RunStatus::Error, reason, text: None, error: Some(error), notices }
    }

    pub(super) fn at_limit(key: Key<u64>, most: impl std::fmt::Display, what: &str) -> Ending {
        Ending::failed("run.limit", format!("The run reached its limit of {most} {what} ({}).", key.name()))
    }
}

impl Actor {
    /// The run can not go on: that is said in the conversation, and it ends with an error.
    pub(super) async fn fail_run(&mut self, failure: RunFailure) -> StoreResult<()> {
        self.end_now(Ending::failed(failure.reason, failure.text)).await
    }

    pub(super) async fn end_at_limit(
        &mut self,
        key: Key<u64>,
        most: impl std::fmt::Display,
        what: &str,
    ) -> StoreResult<()> {
        self.end_now(Ending::at_limit(key, most, what)).await
    }

    async fn end_now(&mut self, ending: Ending) -> StoreResult<()> {
        if self.durable.run.is_none() {
            return Ok(());
        }
        let mut draft = self.draft();
        self.fail(&mut draft, &ending);
        self.end(&mut draft, ending);
        self.promote(&mut draft).await?;
        self.keep_surely(draft).await
    }

    /// What went wrong is the result of every call without one, and a message of the conversation.
    pub(super) fn fail(&mut self, draft: &mut Draft, ending: &Ending) {
        let (Some(run), Some(why)) = (&draft.durable.run, &ending.error) else { return };
        let conversation = run.conversation_id.clone();
        self.interrupt(draft, why);
        draft.say_system(&conversation, MessageBody { content: why.clone(), ..MessageBody::default() });
    }

    /// Gives every call without a result an error for one; how many there were.
    pub(super) fn interrupt(&mut self, draft: &mut Draft, why: &str) -> u64 {
        let Some(run) = &draft.durable.run else { return 0 };
        // What a block called ends with the block.
        let open = |call: &Call| call.parent.is_none() && !matches!(call.phase, Phase::Done { .. });
        let places = run.calls.iter().enumerate().filter(|(_, call)| open(call)).map(|(place, _)| place);
        let places: Vec<usize> = places.collect();
        for place in &places {
            self.conclude(draft, *place, RenderedResult::error(why), None);
        }
        places.len() as u64
    }

    /// The active run ends, and with it those it took in.
    pub(super) fn end(&self, draft: &mut Draft, ending: Ending) {
        let Some(run) = &draft.durable.run else { return };
        let (run_id, absorbed) = (run.run_id.clone(), run.absorbed.clone());
        let (conversation, turns) = (run.conversation_id.clone(), run.turns);
        draft.step(Step::End(End {
            status: ending.status.as_str().to_string(),
            reason: ending.reason.clone(),
            error: ending.error.clone(),
        }));
        let now_ms = draft.now_ms;
        let row =
            RunEnd { status: ending.status, reason: &ending.reason, error: ending.error.as_deref(), now_ms };
        draft.write(|change| change.run_end(&run_id, &row));
        draft.durable.run = None;
        self.host.world.gateway.settle_later(&self.process);
        let usage = (turns > 0).then(|| cost::usage(&self.volatile.used));
        self.tell_end(draft, run_id, &conversation, &ending, usage);
        for run_id in absorbed {
            // What was used is told once.
            self.tell_end(draft, run_id, &conversation, &ending, None);
        }
    }

    pub(super) fn tell_end(
        &self,
        draft: &mut Draft,
        run_id: RunId,
        conversation: &ConversationId,
        ending: &Ending,
        usage: Option<model::Usage>,
    ) {
        let finished = Finished {
            pid: self.pid().clone(),
            run_id: run_id.clone(),
            conversation_id: conversation.clone(),
            status: status(ending.status),
            reason: ending.reason.clone(),
            text: ending.text.clone(),
            error: ending.error.clone(),
            notices: ending.notices.clone(),
            usage,
            aborted: (ending.status == RunStatus::Aborted).then_some(True),
            queued_count: draft.durable.queued(),
            timestamp: draft.now_ms,
        };
        // The end itself may go to one connection only; the others learn that there is something to read.
        draft.tell_lifecycle(&run_id, conversation, "run.finished", None);
        draft.tell(Some(&run_id), &finished);
        draft.finished.push(finished);
    }

    /// Begins the run of what waits longest, if anything does; its id.
    pub(super) async fn promote(&self, draft: &mut Draft) -> StoreResult<Option<RunId>> {
        let Some(row) = draft.durable.queue.pop_front() else { return Ok(None) };
        draft.write(|change| change.dequeue(row.position));
        let conversation = row.conversation_id.clone();
        draft.tell_changed(&[What::Queue], |changed| changed.conversation_id = Some(conversation));
        let by_person = starter::is_person(row.role, row.origin.as_deref());
        let begin = Begin { reason: "queue.promote".to_string(), by_person };
        self.begin(draft, &row.conversation_id, row.run_id.clone(), begin).await?;
        if row.role == MessageRole::System {
            draft.say_system(&row.conversation_id, MessageBody::queued(&row));
        } else {
            draft.say(&row.conversation_id, row.role, MessageBody::queued(&row));
        }
        Ok(Some(row.run_id.clone()))
    }

    /// Begins a run.
    pub(super) async fn begin(
        &self,
        draft: &mut Draft,
        conversation: &ConversationId,
        run_id: RunId,
        begin: Begin,
    ) -> StoreResult<()> {
        let row = self.host.world.store.conversations().by_id(self.pid(), conversation).await?;
        let now_ms = draft.now_ms;
        if row.is_none() {
            draft.write(|change| change.conversation_ensure(conversation, now_ms));
        }
        self.begin_in(draft, conversation, row.map_or(1, |row| row.generation), run_id, begin);
        Ok(())
    }

    /// Begins a run in a conversation that is there.
    pub(super) fn begin_in(
        &self,
        draft: &mut Draft,
        conversation: &ConversationId,
        generation: u64,
        run_id: RunId,
        begin: Begin,
    ) {
        let (now_ms, reason) = (draft.now_ms, begin.reason.clone());
        let row = RunRow {
            run_id: run_id.clone(),
            reason: reason.clone(),
            ..self.run_row(conversation, generation, now_ms)
        };
        draft.begin(&row, Step::Begin(begin));
        let started = Started {
            pid: self.pid().clone(),
            run_id: run_id.clone(),
            conversation_id: conversation.clone(),
            reason,
            queued_count: draft.durable.queued(),
            timestamp: now_ms,
        };
        draft.tell(Some(&run_id), &started);
    }

    pub(super) fn run_row(&self, conversation: &ConversationId, generation: u64, now_ms: i64) -> RunRow {
        let unnamed = RunId(String::new());
        let begun = RunRow::begun(unnamed, self.pid(), self.process.uid, conversation, now_ms);
        RunRow { generation, ..begun }
    }
}

fn status(status: RunStatus) -> FinishStatus {
    match status {
        RunStatus::Ok => FinishStatus::Ok,
        RunStatus::Aborted => FinishStatus::Aborted,
        RunStatus::Error | RunStatus::Active => FinishStatus::Error,
    }
}

/// Ends the active run of a process whose actor failed. False when there is none, or it could not be ended.
pub(super) async fn bury(host: &Host, pid: &Pid, why: &str) -> bool {
    match try_bury(&host.world, pid, why).await {
        Ok(finished) => {
            finished.iter().for_each(|finished| crate::host::ipc::run_ended(host, finished));
            !finished.is_empty()
        }
        Err(error) => {
            tracing::error!(%pid, %error, "the run of a failed process could not be ended");
            false
        }
    }
}

async fn try_bury(world: &World, pid: &Pid, why: &str) -> Result<Vec<Finished>, store::Error> {
    let Some(lease) = world.lease(pid).await? else { return Ok(Vec::new()) };
    let finished = try_bury_with(world, &world.store.fenced_by(&lease), pid, why).await;
    world.store.leases().release(lease).await?;
    finished
}

async fn try_bury_with(
    world: &World,
    store: &Store,
    pid: &Pid,
    why: &str,
) -> Result<Vec<Finished>, store::Error> {
    let (Some(process), Some(run)) = (store.processes().by_id(pid).await?, store.runs().active(pid).await?)
    else {
        return Ok(Vec::new());
    };
    let absorbed = store.runs().absorbed(pid, &run.run_id).await?;
    let number = store.runs().steps(&run.run_id).await?.last().map_or(1, |step| step.number + 1);
    let (error, reason, now_ms) = (format!("The process failed: {why}"), "process.error", world.now_ms());
    let end = End { status: "error".to_string(), reason: reason.to_string(), error: Some(error.clone()) };
    let row = RunEnd { status: RunStatus::Error, reason, error: Some(&error), now_ms };
    let idle =
        Activity { state: ProcessState::Idle, run: None, next_message_id: process.next_message_id, now_ms };
    let change = Change::new(pid).run_end(&run.run_id, &row);
    let change = change.journal(&run.run_id, &Step::End(end).row(number, now_ms)).activity(idle);
    store.keep(change).await?;
    let queued_count = store.queue().length(pid).await?;
    let ids = std::iter::once(run.run_id).chain(absorbed.into_iter().map(|run| run.run_id));
    let finished = ids.map(|run_id| Finished {
        pid: pid.clone(),
        run_id,
        conversation_id: run.conversation_id.clone(),
        status: FinishStatus::Error,
        reason: reason.to_string(),
        text: None,
        error: Some(error.clone()),
        notices: Vec::new(),
        usage: None,
        aborted: None,
        queued_count,
        timestamp: now_ms,
    });
    let finished: Vec<_> = finished.collect();
    finished.iter().for_each(|finished| world.emit(&process, Some(&finished.run_id), finished));
    Ok(finished)
}
