//! Event-sourced run loop: does what the rows of the active run say comes next, and starts the tasks for it.

use std::future::Future;
use std::time::Duration;

use base::limits;
use futures_util::FutureExt;
use gateway::Permit;
use policy::ScriptFiles;
use protocol::config;
use protocol::signal::run::Change as What;
use store::runs::RunRow;

use super::draft::MessageBody;
use super::{Actor, CachedContext, StoreResult, TaskKind, TaskOutcome, nested};
use crate::prepare;
use crate::results;
use crate::run::step::{Drain, Step};
use crate::run::{self, Act, Next, Phase};
use crate::script_files;
use crate::starter;
use crate::tools::{self, Finished, Invocation};
use crate::turn::Turn;

/// What a task that ended leaves.
pub(super) type Joined = Result<(tokio::task::Id, TaskOutcome), tokio::task::JoinError>;

impl Actor {
    /// Does what there is to do now. Afterwards everything that can go on is going on.
    pub(super) async fn advance(&mut self) -> StoreResult<()> {
        loop {
            let Some(run) = &self.durable.run else {
                if self.durable.queue.is_empty() || self.durable.exited {
                    self.checkpoint_at_rest();
                    return Ok(());
                }
                let mut draft = self.draft();
                self.promote(&mut draft).await?;
                self.keep_surely(draft).await?;
                continue;
            };
            match run::next(run) {
                Next::Over | Next::Wait => return Ok(()),
                Next::Model if self.is_busy(TaskKind::Turn) || self.is_busy(TaskKind::Prepare) => {
                    return Ok(());
                }
                Next::Model => {
                    if self.drain().await? {
                        continue;
                    }
                    if !self.prepare() {
                        return Ok(());
                    }
                    if self.is_over_limit().await? {
                        continue;
                    }
                    return self.ask_model().await;
                }
                // A call that is refused leaves nothing to wait for: then there is more to do at once.
                Next::Calls(acts) => {
                    if !self.act(acts).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Decides on calls, and asks what became of those from before a restart. True when something was decided.
    async fn act(&mut self, mut acts: Vec<(usize, Act)>) -> StoreResult<bool> {
        if let Some(run) = &self.durable.run {
            acts.retain(|(place, _)| !self.is_orphan(run, *place));
        }
        for (place, act) in &acts {
            if *act == Act::Await && !self.is_busy(TaskKind::Call(*place)) {
                self.recall(*place);
            }
        }
        if acts.iter().all(|(_, act)| *act == Act::Await) {
            return Ok(false);
        }
        if !self.prepare() {
            return Ok(false);
        }
        let mut draft = self.draft();
        self.plan(&mut draft).await?;
        if draft.change.is_empty() {
            return Ok(false);
        }
        self.keep_surely(draft).await?;
        Ok(true)
    }

    /// A call leaves: its intent is kept.
    pub(super) fn launch(&mut self, place: usize) {
        if let Some(invocation) = self.invocation(place) {
            self.start(TaskKind::Call(place), async move { TaskOutcome::Called(invocation.run().await) });
        }
    }

    /// Finds out about a call that was under way when the gateway stopped.
    fn recall(&mut self, place: usize) {
        let Some(invocation) = self.invocation(place) else { return };
        let Some(run) = &self.durable.run else { return };
        if invocation.syscall == nested::BLOCK {
            let told = nested::interrupted(run, place);
            self.start(TaskKind::Call(place), async move {
                TaskOutcome::Called(Finished::plain(results::render(nested::BLOCK, Ok(told))))
            });
            return;
        }
        self.start(TaskKind::Call(place), async move { TaskOutcome::Called(invocation.recall().await) });
    }

    fn invocation(&self, place: usize) -> Option<Invocation> {
        let run = self.durable.run.as_ref()?;
        let call = run.calls.get(place)?;
        let Phase::Sent { syscall, target, way, hosts: remembered, widening } = &call.phase else {
            return None;
        };
        // Without its arguments a call can still be asked about.
        let args = self.volatile.calls.get(place).map(|call| protocol::frame::to_json(&call.arguments));
        let mut hosts = self.volatile.setup.as_ref().map(|setup| setup.hosts.clone()).unwrap_or_default();
        hosts.extend(remembered.iter().cloned());
        Some(Invocation {
            world: self.host.world.clone(),
            process: self.process.clone(),
            request_id: run.request_id(place),
            syscall: syscall.clone(),
            target: target.clone(),
            permit: Permit {
                way: *way,
                run: Some(run.run_id.clone()),
                hosts,
                rehearsal: call.rehearsal.clone(),
                widening: widening.clone(),
            },
            args: args.unwrap_or_else(|| "{}".to_string()),
            door: (syscall == nested::BLOCK).then(|| self.door(run, place)),
            is_nested: call.parent.is_some(),
        })
    }

    /// Looks at the script files of a call, on its target; whoever decides on the call is asked again then.
    pub(super) fn look(&mut self, place: usize, target: &str, names: ScriptFiles) {
        if self.is_busy(TaskKind::Look(place)) {
            return;
        }
        let (world, process, target) = (self.host.world.clone(), self.process.clone(), target.to_string());
        self.start(TaskKind::Look(place), async move {
            TaskOutcome::Looked(script_files::look(&world, &process, &target, names).await)
        });
    }

    /// The script files of a call were looked at. If that failed, nothing is known of them.
    pub(super) fn looked(&mut self, place: usize, looked: Result<TaskOutcome, String>) {
        let Some(call) = self.volatile.calls.get(place) else { return };
        let files = match looked {
            Ok(TaskOutcome::Looked(files)) => files,
            _ => script_files::unseen(script_files::named(tools::SHELL, &call.arguments)),
        };
        self.volatile.script_files.insert(place, files);
    }

    pub(super) fn start(&mut self, work: TaskKind, task: impl Future<Output = TaskOutcome> + Send + 'static) {
        let handle = self.tasks.spawn(task);
        self.work.insert(handle.id(), work);
    }

    /// Sees to what the run works with. True when it is there, which is at once if it was needed a moment ago.
    fn prepare(&mut self) -> bool {
        let now_ms = self.host.world.now_ms();
        self.volatile.setup.take_if(|setup| setup.good_until_ms.is_some_and(|until| until <= now_ms));
        if self.volatile.setup.is_some() || self.is_busy(TaskKind::Prepare) {
            return self.volatile.setup.is_some();
        }
        let (world, process) = (self.host.world.clone(), self.process.clone());
        let mut preparing = Box::pin(async move {
            let prepared = prepare::prepare(&world, &process);
            let prepared = world.clock.timeout(limits::process::ANSWER_TIMEOUT, prepared).await;
            prepared.unwrap_or_else(|_| Err("the run could not be prepared in time".to_string()))
        });
        match preparing.as_mut().now_or_never() {
            Some(Ok(setup)) => {
                self.volatile.setup = Some(setup);
                return true;
            }
            Some(Err(why)) => self.start(TaskKind::Prepare, async move { TaskOutcome::Prepared(Err(why)) }),
            None => self.start(TaskKind::Prepare, async move { TaskOutcome::Prepared(preparing.await) }),
        }
        false
    }

    /// Takes in what waits for this conversation, at the boundary between results and the next turn.
    async fn drain(&mut self) -> StoreResult<bool> {
        let Some(run) = self.durable.run.as_ref().filter(|run| run.turns > 0) else { return Ok(false) };
        let (by, conversation, generation) =
            (run.run_id.clone(), run.conversation_id.clone(), run.generation);
        if !self.durable.queue.iter().any(|row| row.conversation_id == conversation) {
            return Ok(false);
        }
        let mut draft = self.draft();
        let queue = std::mem::take(&mut draft.durable.queue);
        let (taken, left): (Vec<_>, Vec<_>) =
            queue.into_iter().partition(|row| row.conversation_id == conversation);
        draft.durable.queue = left.into();
        let mut message_ids = Vec::with_capacity(taken.len());
        for row in &taken {
            let absorbed = RunRow {
                run_id: row.run_id.clone(),
                reason: row.reason.clone(),
                absorbed_by: Some(by.clone()),
                ..self.run_row(&conversation, generation, draft.now_ms)
            };
            draft.write(|change| change.run_begin(&absorbed).dequeue(row.position));
            message_ids.push(draft.say(&conversation, row.role, MessageBody::queued(row)));
        }
        let run_ids = taken.iter().map(|row| row.run_id.clone()).collect();
        let by_person = taken.iter().all(|row| starter::is_person(row.role, row.origin.as_deref()));
        draft.step(Step::Drain(Drain { run_ids, message_ids, by_person }));
        draft.tell_changed(&[What::Queue, What::Messages], |changed| {
            changed.conversation_id = Some(conversation);
            changed.run_id = Some(by);
            changed.drained_queued_messages = Some(taken.len() as u64);
        });
        self.keep_surely(draft).await?;
        Ok(true)
    }

    async fn ask_model(&mut self) -> StoreResult<()> {
        let (Some(run), Some(setup)) = (&self.durable.run, self.volatile.setup.clone()) else {
            return Ok(());
        };
        let (conversation, run_id) = (run.conversation_id.clone(), run.run_id.clone());
        let used = match &self.used {
            Some((id, used)) if *id == conversation => *used,
            _ => self.host.world.store.runs().used_in(self.pid(), &conversation).await?,
        };
        self.used = Some((conversation.clone(), used));
        let images = setup.model.images;
        let fits = |known: &CachedContext| {
            known.conversation_id == conversation && known.images == images && !known.stale
        };
        let known = self.context.take().filter(fits);
        let (context, mut fresh) = known.map_or((None, Vec::new()), |known| (known.context, known.fresh));
        // Results come as they are ready, and belong in the order of their calls.
        fresh.sort_by_key(|row| row.id);
        let conversation_id = conversation.clone();
        self.context =
            Some(CachedContext { conversation_id, images, context: None, fresh: Vec::new(), stale: false });
        let turn = Turn {
            world: self.host.world.clone(),
            process: self.process.clone(),
            run_id,
            conversation_id: conversation,
            setup,
            context,
            fresh,
            cancel: self.volatile.cancel.clone(),
            seq: self.volatile.seq.clone(),
            queued_count: self.durable.queued(),
            used,
            compacted: std::mem::take(&mut self.volatile.compacted),
        };
        self.start(TaskKind::Turn, async move { TaskOutcome::Turned(turn.take().await) });
        Ok(())
    }

    /// How long the active run may still take; `None` while that is not known, or does not matter.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let (run, setup) = (self.durable.run.as_ref()?, self.volatile.setup.as_ref()?);
        let deadline = run.deadline_ms(setup.limits.run_ms)?;
        Some(Duration::from_millis(u64::try_from(deadline - self.host.world.now_ms()).unwrap_or(0)))
    }

    /// The time of the active run is up.
    pub(super) async fn out_of_time(&mut self) -> StoreResult<()> {
        let Some(setup) = self.volatile.setup.clone() else { return Ok(()) };
        if self.time_left().is_some_and(|left| left.is_zero()) {
            self.end_at_limit(config::PROCESS_MAX_RUN_MS, setup.limits.run_ms, "milliseconds").await?;
        }
        self.advance().await
    }

    /// Ends a run that has had all its turns. True when it did.
    async fn is_over_limit(&mut self) -> StoreResult<bool> {
        let (Some(run), Some(setup)) = (&self.durable.run, &self.volatile.setup) else { return Ok(false) };
        let most = setup.limits.turns;
        if run.turns < most {
            return Ok(false);
        }
        self.end_at_limit(config::PROCESS_MAX_TURNS, most, "answers of the model").await?;
        Ok(true)
    }

    /// What the gateway stops in the middle of goes on at the next start; calls that are nearly done may end now.
    pub(super) async fn stop_gracefully(&mut self) -> StoreResult<()> {
        self.volatile.cancel.cancel();
        let clock = self.host.world.clock.clone();
        let until = clock.instant() + limits::lifecycle::STOP_TIMEOUT / 10;
        self.work.retain(|_, work| matches!(work, TaskKind::Call(_)));
        while !self.work.is_empty() {
            let left = until.saturating_duration_since(clock.instant());
            match clock.timeout(left, self.tasks.join_next_with_id()).await {
                Ok(Some(done)) => self.outcome_only(done).await?,
                Ok(None) | Err(_) => break,
            }
        }
        self.tasks.abort_all();
        Ok(())
    }
}
