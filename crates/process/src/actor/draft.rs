//! Unit of work: the next step of an actor, built up in memory, committed in one transaction, and only then
//! believed.

use std::collections::VecDeque;
use std::sync::Arc;

use protocol::error::Error;
use protocol::ids::{ConversationId, RunId};
use protocol::proc::history::MessageRole;
use protocol::signal::Signal;
use protocol::signal::run::{Change as What, Changed, Finished};
use serde_json::Value;
use store::change::Change;
use store::messages::MessageRow;
use store::processes::{Activity, ProcessRow, ProcessState};
use store::queue::QueueRow;
use store::runs::RunRow;

use crate::results::without_nul;
use crate::run::RunState;
use crate::run::step::Step;
use crate::signals;
use gateway::OutgoingSignal;

/// What the rows of a process say, as far as its actor needs it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct DurableState {
    /// The active run.
    pub(crate) run: Option<RunState>,
    /// What waits for it to end.
    pub(crate) queue: VecDeque<Arc<QueueRow>>,
    pub(crate) next_message_id: i64,
    /// True once the process was killed.
    pub(crate) exited: bool,
}

impl DurableState {
    /// How much waits.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.len() as u64
    }

    fn state(&self) -> ProcessState {
        match &self.run {
            Some(run) => run.state(),
            None if self.queue.is_empty() => ProcessState::Idle,
            None => ProcessState::Queued,
        }
    }
}

/// A step that is not kept yet.
pub(crate) struct Draft {
    pub(crate) process: Arc<ProcessRow>,
    /// The process as it will be.
    pub(crate) durable: DurableState,
    pub(crate) change: Change,
    /// Messages it adds.
    pub(crate) rows: Vec<MessageRow>,
    /// What is told once it is kept, in order.
    pub(crate) signals: Vec<OutgoingSignal>,
    /// Runs that end with it.
    pub(crate) finished: Vec<Finished>,
    /// What blocks are answered once it is kept, by the places of their calls.
    pub(crate) answers: Vec<(usize, Result<String, Error>)>,
    /// Calls that leave once it is kept.
    pub(crate) launches: Vec<usize>,
    pub(crate) now_ms: i64,
}

/// A message to be added.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageBody {
    pub(crate) content: String,
    pub(crate) meta: Option<String>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) media: Option<String>,
    pub(crate) origin: Option<String>,
}

impl MessageBody {
    /// What a queued message says.
    pub(crate) fn queued(row: &QueueRow) -> MessageBody {
        let (content, media, origin) = (row.content.clone(), row.media.clone(), row.origin.clone());
        MessageBody { content, media, origin, ..MessageBody::default() }
    }
}

impl Draft {
    pub(crate) fn new(process: &Arc<ProcessRow>, durable: &DurableState, now_ms: i64) -> Draft {
        Draft {
            process: process.clone(),
            durable: durable.clone(),
            change: Change::new(&process.pid),
            rows: Vec::new(),
            signals: Vec::new(),
            finished: Vec::new(),
            answers: Vec::new(),
            launches: Vec::new(),
            now_ms,
        }
    }

    /// Adds to what is written.
    pub(crate) fn write(&mut self, add: impl FnOnce(Change) -> Change) {
        let change = std::mem::replace(&mut self.change, Change::new(&self.process.pid));
        self.change = add(change);
    }

    /// Adds a run with its first step.
    pub(crate) fn begin(&mut self, row: &RunRow, begin: Step) {
        self.write(|change| change.run_begin(row));
        self.durable.run = Some(RunState::new(row));
        self.step(begin);
    }

    /// Adds a step to the active run's journal. Nothing happens without one.
    pub(crate) fn step(&mut self, step: Step) {
        let now_ms = self.now_ms;
        let Some(run) = &mut self.durable.run else { return };
        let (run_id, row) = (run.run_id.clone(), step.row(run.steps + 1, now_ms));
        if let Err(why) = run.fold(&row) {
            // Ends the run by way of the actor's supervisor; the journal stays readable.
            panic!("a step that does not fit was drafted: {why}");
        }
        self.write(|change| change.journal(&run_id, &row));
    }

    /// Adds a message with the next id; that id.
    pub(crate) fn say(
        &mut self,
        conversation: &ConversationId,
        role: MessageRole,
        words: MessageBody,
    ) -> i64 {
        let id = self.durable.next_message_id;
        self.durable.next_message_id += 1;
        self.say_as(id, conversation, role, words);
        id
    }

    /// Adds a message with an id that was set aside.
    pub(crate) fn say_as(
        &mut self,
        id: i64,
        conversation: &ConversationId,
        role: MessageRole,
        words: MessageBody,
    ) {
        let row = MessageRow {
            id,
            conversation_id: conversation.clone(),
            generation: self.durable.run.as_ref().map_or(1, |run| run.generation),
            role,
            content: without_nul(&words.content),
            meta: words.meta,
            tool_call_id: words.tool_call_id.as_deref().map(without_nul),
            media: words.media,
            origin: words.origin,
            run_id: self.durable.run.as_ref().map(|run| run.run_id.clone()),
            created_at: self.now_ms,
        };
        self.write(|change| change.message(&row));
        self.rows.push(row);
    }

    /// Adds a system message and tells it.
    pub(crate) fn say_system(&mut self, conversation: &ConversationId, words: MessageBody) {
        let content = Value::from(words.content.as_str());
        let message_id = self.say(conversation, MessageRole::System, words);
        let run_id = self.durable.run.as_ref().map(|run| run.run_id.clone());
        self.tell_changed(&[What::Messages], |changed| {
            changed.conversation_id = Some(conversation.clone());
            changed.run_id = run_id;
            changed.message_id = Some(message_id);
            changed.role = Some(MessageRole::System);
            changed.content = Some(content);
        });
    }

    /// Something to tell once the step is kept.
    pub(crate) fn tell<S: Signal>(&mut self, run_id: Option<&RunId>, payload: &S) {
        self.signals.push(signals::outgoing(&self.process, run_id, payload));
    }

    /// A `proc.changed` to tell, filled in by `fill`.
    pub(crate) fn tell_changed(&mut self, changes: &[What], fill: impl FnOnce(&mut Changed)) {
        let mut changed = signals::changed(&self.process.pid, changes, self.durable.queued(), self.now_ms);
        fill(&mut changed);
        self.tell(None, &changed);
    }

    /// Tells every connection of the owner that something happened to a run.
    pub(crate) fn tell_lifecycle(
        &mut self,
        run_id: &RunId,
        conversation: &ConversationId,
        event: &str,
        request_id: Option<&str>,
    ) {
        self.tell_changed(&[What::Lifecycle], |changed| {
            changed.conversation_id = Some(conversation.clone());
            changed.run_id = Some(run_id.clone());
            changed.event = Some(event.to_string());
            let request = request_id.map(|id| ("requestId".to_string(), id.into()));
            changed.more.extend(request);
        });
    }

    /// What is written, with what the process does from then on.
    pub(crate) fn close(&mut self) -> Change {
        let change = std::mem::replace(&mut self.change, Change::new(&self.process.pid));
        if self.durable.exited {
            return change.exit(self.now_ms);
        }
        change.activity(Activity {
            state: self.durable.state(),
            run: self.durable.run.as_ref().map(|run| (&run.run_id, &run.conversation_id)),
            next_message_id: self.durable.next_message_id,
            now_ms: self.now_ms,
        })
    }
}
