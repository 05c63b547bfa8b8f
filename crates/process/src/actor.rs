//! Actor, single writer of its process's rows: it takes mail one piece at a time, and what takes long (asking the
//! model, calls, preparing) runs in tasks beside it, so that it always has time for an answer or an abort.

mod accept;
mod checkpoint;
mod control;
mod draft;
mod drive;
mod files;
mod finish;
mod hil;
mod load;
mod nested;
mod order;
mod outcome;
mod plan;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::shutdown::Shutdown;
use futures_util::FutureExt;
use model::{Cancel, ToolCall};
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid, RunId, Uid};
use protocol::proc::approval::ScriptFile;
use store::Store;
use store::approvals::ApprovalRow;
use store::change::Change;
use store::messages::MessageRow;
use store::processes::ProcessRow;
use store::runs::Used;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};

use crate::context::Context;
use crate::host::Host;
use crate::known_files::KnownByConversation;
use crate::mail::{Mail, Reply};
use crate::refused_hosts::RefusedHosts;
use crate::setup::Setup;
use crate::tools::Finished as CallEnd;
use crate::turn::TurnEnd;
use draft::{Draft, DurableState};
use nested::Reading;

/// A process that is awake.
pub(crate) struct Actor {
    host: Host,
    /// What it writes with: nothing is kept any more once another actor has the process.
    store: Store,
    /// Whether another actor has it: whatever this one knows may be outdated.
    has_lost_lease: bool,
    process: Arc<ProcessRow>,
    durable: DurableState,
    volatile: VolatileState,
    /// What was converted for the model, and of which conversation.
    context: Option<CachedContext>,
    /// What a conversation has used so far.
    used: Option<(ConversationId, Used)>,
    /// The files that its conversations have seen.
    known: KnownByConversation,
    /// The hosts that its commands were kept from.
    refused: RefusedHosts,
    /// The next message id when a checkpoint was last taken, or could not be.
    checkpointed_at: Option<i64>,
    /// The newest message that the last checkpoint has.
    checkpointed_id: i64,
    tasks: JoinSet<TaskOutcome>,
    work: HashMap<Id, TaskKind>,
}

/// What is only in memory of the active run.
struct VolatileState {
    setup: Option<Arc<Setup>>,
    /// The calls of the newest answer, with their arguments.
    calls: Vec<ToolCall>,
    /// The files that calls under way are about, by their place: target and resolved path.
    touched: HashMap<usize, (String, String)>,
    /// Blocks that wait for a call of theirs, by its place.
    nested: HashMap<usize, Reply<String>>,
    /// What such calls answered, until it is kept that they did.
    raw_answers: HashMap<usize, Result<String, Error>>,
    /// Calls of blocks that only read.
    readings: HashMap<u64, Reading>,
    readings_made: u64,
    /// Those that waited or wait for a person.
    approvals: HashMap<String, ApprovalRow>,
    /// The script files of calls, by their place, as they were a moment ago. Looked at for one decision only.
    script_files: HashMap<usize, Vec<ScriptFile>>,
    cancel: Cancel,
    /// Counts the events of the run.
    seq: Arc<AtomicU64>,
    /// What the run has used.
    used: Used,
    /// True when the conversation was compacted for the next turn.
    compacted: bool,
    /// What is to be told with the end of the run.
    notices: Vec<String>,
}

/// A conversation as the model sees it, and what came since it was converted.
struct CachedContext {
    conversation_id: ConversationId,
    /// Whether pictures were converted as such.
    images: bool,
    /// `None` while a turn has it.
    context: Option<Context>,
    fresh: Vec<MessageRow>,
    /// True when the conversation changed in another way than by growing.
    stale: bool,
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskKind {
    Prepare,
    Turn,
    Call(usize),
    /// A call of a block that only reads.
    Reading(u64),
    /// Looks at the script files of a call.
    Look(usize),
    /// Takes a checkpoint in the workspace; a new run ends it, and its end begins it again.
    Checkpoint,
}

/// What a task came to.
enum TaskOutcome {
    Prepared(Result<Arc<Setup>, String>),
    Turned(TurnEnd),
    Called(CallEnd),
    Looked(Vec<ScriptFile>),
    /// The newest message that a checkpoint has.
    Checkpointed(Option<i64>),
}

/// Why an actor goes.
enum Exit {
    /// There is nothing to do, and its mailbox is closed.
    Asleep,
    /// The gateway stops.
    Stopped,
    /// There is no such process.
    Unknown,
    /// Another gateway has the lease of the process.
    Elsewhere,
    /// The process was removed.
    Forgotten,
}

/// What an actor can not get over by itself: the store failed.
type StoreResult<T> = Result<T, store::Error>;

impl VolatileState {
    fn new(seq: u64) -> VolatileState {
        VolatileState {
            setup: None,
            calls: Vec::new(),
            touched: HashMap::new(),
            nested: HashMap::new(),
            raw_answers: HashMap::new(),
            readings: HashMap::new(),
            readings_made: 0,
            approvals: HashMap::new(),
            script_files: HashMap::new(),
            cancel: Cancel::new(),
            seq: Arc::new(AtomicU64::new(seq)),
            used: Used::default(),
            compacted: false,
            notices: Vec::new(),
        }
    }
}

/// Supervisor of an actor: runs it until there is nothing to do. Whatever goes wrong inside ends a run, never the gateway.
pub(crate) async fn supervise(host: Host, pid: Pid, mut mailbox: mpsc::Receiver<Mail>, stopping: Shutdown) {
    let mut first = None;
    loop {
        let life = Actor::run_until_idle(&host, &pid, first.take(), &mut mailbox, stopping.clone());
        let rest = match AssertUnwindSafe(life).catch_unwind().await {
            Ok(Ok(Exit::Asleep)) => break,
            Ok(Ok(Exit::Stopped | Exit::Forgotten)) => return host.close(&pid, &mut mailbox),
            Ok(Ok(Exit::Unknown)) => limits::process::IDLE,
            Ok(Ok(Exit::Elsewhere)) => {
                tracing::warn!(%pid, "another gateway runs this process; its mail here gets lost");
                limits::process::IDLE
            }
            // Whether it goes on here is decided when the lease is asked for again.
            Ok(Err(error @ store::Error::LeaseLost(_))) => {
                tracing::warn!(%pid, %error, "a process lost its lease");
                Duration::ZERO
            }
            Ok(Err(error)) => {
                tracing::error!(%pid, %error, "the store failed; the process goes on where it was in a while");
                limits::process::STORE_PAUSE
            }
            Err(panic) => {
                let why = panic_text(panic.as_ref());
                tracing::error!(%pid, why, "a process failed");
                if finish::bury(&host, &pid, &why).await { Duration::ZERO } else { limits::process::IDLE }
            }
        };
        first = pause(&host.world.clock, &mut mailbox, stopping.clone(), rest).await;
        if stopping.is_requested() {
            return host.close(&pid, &mut mailbox);
        }
        if first.is_none() && rest == limits::process::IDLE && host.retire(&pid, &mut mailbox) {
            break;
        }
    }
    // Somebody may have had a place in the mailbox while it was closed.
    while let Some(mail) = mailbox.recv().await {
        host.post_again(&pid, mail);
    }
}

async fn pause(
    clock: &Clock,
    mailbox: &mut mpsc::Receiver<Mail>,
    mut stopping: Shutdown,
    most: Duration,
) -> Option<Mail> {
    tokio::select! {
        mail = mailbox.recv() => mail,
        () = stopping.requested() => None,
        () = clock.sleep(most) => None,
    }
}

/// What a panic said.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".to_string())
}

impl Actor {
    async fn run_until_idle(
        host: &Host,
        pid: &Pid,
        first: Option<Mail>,
        mailbox: &mut mpsc::Receiver<Mail>,
        stopping: Shutdown,
    ) -> StoreResult<Exit> {
        // Before anything is read: what an earlier holder still writes is either seen or refused.
        let Some(lease) = host.world.lease(pid).await? else { return Ok(Exit::Elsewhere) };
        let store = host.world.store.fenced_by(&lease);
        let gone = Actor::run_with_store(host, store, pid, first, mailbox, stopping).await;
        if let Err(error) = host.world.store.leases().release(lease).await {
            tracing::warn!(%pid, %error, "the lease of a process could not be given back; it will expire");
        }
        gone
    }

    async fn run_with_store(
        host: &Host,
        store: Store,
        pid: &Pid,
        first: Option<Mail>,
        mailbox: &mut mpsc::Receiver<Mail>,
        mut stopping: Shutdown,
    ) -> StoreResult<Exit> {
        let Some(mut actor) = Actor::load(host, store, pid).await? else { return Ok(Exit::Unknown) };
        actor.advance().await?;
        match first {
            Some(Mail::Forget(uid, reply)) => {
                if let Some(exit) = actor.be_forgotten(uid, reply) {
                    return Ok(exit);
                }
            }
            Some(mail) => actor.take(mail).await?,
            None => {}
        }
        loop {
            let idle = actor.durable.run.is_none();
            let left = actor.time_left();
            // Made only when there is nothing to do at once.
            let wait = |time| async move { host.world.clock.sleep(time).await };
            tokio::select! {
                biased;
                () = stopping.requested() => return actor.stop_gracefully().await.map(|()| Exit::Stopped),
                Some(done) = actor.tasks.join_next_with_id(), if !actor.tasks.is_empty() => actor.done(done).await?,
                Some(mail) = mailbox.recv() => match mail {
                    Mail::Forget(uid, reply) => {
                        if let Some(exit) = actor.be_forgotten(uid, reply) {
                            return Ok(exit);
                        }
                    }
                    mail => actor.take(mail).await?,
                },
                () = wait(left.unwrap_or_default()), if left.is_some() => actor.out_of_time().await?,
                () = wait(limits::process::IDLE), if idle => {
                    if host.retire(pid, mailbox) {
                        return Ok(Exit::Asleep);
                    }
                }
            }
        }
    }

    /// Takes one piece of mail. Nobody may wait for the answer any more; that is no fault.
    async fn take(&mut self, mail: Mail) -> StoreResult<()> {
        match mail {
            Mail::Wake => {}
            Mail::Forget(uid, reply) => drop(self.be_forgotten(uid, reply)),
            Mail::Message(incoming, reply) => drop(reply.send(self.message(*incoming).await)),
            Mail::Event(event, reply) => drop(reply.send(self.event(*event).await)),
            Mail::Autostart(reason, by_person, reply) => {
                drop(reply.send(self.autostart(reason, by_person).await))
            }
            Mail::Abort(reply) => drop(reply.send(self.abort().await)),
            Mail::Kill(archive, reply) => drop(reply.send(self.kill(archive).await)),
            Mail::Reset(reply) => drop(reply.send(self.reset().await)),
            Mail::ResetConversation(args, reply) => drop(reply.send(self.reset_conversation(&args).await)),
            Mail::Hil(args, by, reply) => drop(reply.send(self.hil(&args, &by).await)),
            Mail::Nested(call, reply) => self.nested(*call, reply).await?,
            Mail::ReserveIds(count, reply) => drop(reply.send(Ok(self.reserve_ids(count)))),
            Mail::Apply(condition, change, archive, reply) => {
                drop(reply.send(self.apply(condition, change, archive).await))
            }
        }
        if self.has_lost_lease {
            return Err(store::Error::LeaseLost(store::leases::of_process(self.pid())));
        }
        self.advance().await
    }

    /// Drops all work if its user is the one that is gone: there is nothing left to keep, and nobody left to tell.
    fn be_forgotten(&mut self, uid: Uid, reply: Reply<()>) -> Option<Exit> {
        let is_gone = self.process.uid == uid;
        if is_gone {
            self.drop_work();
        }
        drop(reply.send(Ok(())));
        is_gone.then_some(Exit::Forgotten)
    }

    fn pid(&self) -> &Pid {
        &self.process.pid
    }

    fn run_id(&self) -> Option<&RunId> {
        self.durable.run.as_ref().map(|run| &run.run_id)
    }

    fn draft(&self) -> Draft {
        Draft::new(&self.process, &self.durable, self.host.world.now_ms())
    }

    /// Keeps a step, then believes and tells it. False, and nothing changed, when something in it no longer holds.
    async fn keep(&mut self, mut draft: Draft) -> StoreResult<bool> {
        let change = draft.close();
        if !self.write(change).await? {
            return Ok(false);
        }
        self.believe(draft);
        Ok(true)
    }

    async fn write(&mut self, change: Change) -> StoreResult<bool> {
        let written = self.store.apply(change).await;
        self.has_lost_lease |= matches!(written, Err(store::Error::LeaseLost(_)));
        written
    }

    /// The same for a step that must not get lost: a store that fails for a moment is asked again.
    async fn keep_surely(&mut self, draft: Draft) -> StoreResult<()> {
        match self.keep_patiently(draft).await? {
            true => Ok(()),
            false => Err(store::Error::Failed("a step without a condition was not kept".to_string())),
        }
    }

    /// The same for a step with a condition: false when that no longer holds.
    async fn keep_patiently(&mut self, mut draft: Draft) -> StoreResult<bool> {
        let change = draft.close();
        let mut pause = limits::process::STORE_RETRY_PAUSE;
        let mut attempts = 1;
        let kept = loop {
            match self.write(change.clone()).await {
                Err(lost @ store::Error::LeaseLost(_)) => return Err(lost),
                Err(error) if attempts < limits::process::STORE_ATTEMPTS => {
                    tracing::warn!(pid = %self.pid(), %error, "a step could not be kept; once more");
                }
                kept => break kept?,
            }
            self.host.world.clock.sleep(pause).await;
            pause *= 2;
            attempts += 1;
        };
        if kept {
            self.believe(draft);
        }
        Ok(kept)
    }

    fn believe(&mut self, draft: Draft) {
        let before = self.run_id().cloned();
        self.durable = draft.durable;
        if before.as_ref() != self.run_id() {
            self.drop_work();
        }
        self.remember_rows(draft.rows);
        for signal in draft.signals {
            self.host.world.gateway.emit(signal);
        }
        for (place, answer) in draft.answers {
            if let Some(reply) = self.volatile.nested.remove(&place) {
                // The block may have gone meanwhile.
                drop(reply.send(answer));
            }
        }
        for finished in &draft.finished {
            crate::host::ipc::run_ended(&self.host, finished);
        }
        for place in draft.launches {
            self.launch(place);
        }
    }

    /// Ends whatever is done for the run that was active, the provider's answer included.
    fn drop_work(&mut self) {
        self.volatile.cancel.cancel();
        self.tasks.abort_all();
        // A long conversation is read again for its next run, rather than kept for a while.
        let long = |context: &Context| context.message_count() > limits::process::MESSAGES_PER_READ;
        let too_long = self.context.as_ref().and_then(|known| known.context.as_ref()).is_some_and(long);
        if self.is_busy(TaskKind::Turn) || too_long {
            self.context = None;
        }
        self.work.clear();
        self.volatile = VolatileState::new(0);
    }

    /// New messages belong to the context of their conversation.
    fn remember_rows(&mut self, rows: Vec<MessageRow>) {
        let Some(known) = &mut self.context else { return };
        known.fresh.extend(rows.into_iter().filter(|row| row.conversation_id == known.conversation_id));
    }

    /// A conversation changed in another way than by growing.
    fn forget(&mut self) {
        if let Some(known) = &mut self.context {
            known.stale = true;
        }
    }

    fn is_busy(&self, what: TaskKind) -> bool {
        self.work.values().any(|work| *work == what)
    }
}
