//! Admission of work: a message or event begins a run at once, or is queued behind the active one. Either way it is
//! durable before it is acknowledged.

use std::sync::Arc;

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, RunId};
use protocol::outcome::Outcome;
use protocol::proc::history::MessageRole;
use protocol::signal::run::Change as What;
use store::ipc::IpcCall;
use store::queue::QueueRow;

use super::Actor;
use super::draft::{Draft, MessageBody};
use crate::errors::not_found;
use crate::host::intake::why_shut;
use crate::ids::{is_init, new_run_id};
use crate::mail::{Event, Incoming};
use crate::results::without_nul;
use crate::run::step::Begin;
use crate::starter;

/// What wants a run.
struct Accept<'a> {
    run_id: RunId,
    conversation: ConversationId,
    role: MessageRole,
    reason: &'a str,
    words: MessageBody,
    /// Which life of the conversation, where that is known.
    generation: Option<u64>,
}

impl Actor {
    /// A message of a person or of another process: its run, and whether it waits.
    pub(super) async fn message(&mut self, incoming: Incoming) -> Result<Outcome<(RunId, bool)>, Error> {
        let row = self.host.world.store.conversations().by_id(self.pid(), &incoming.conversation).await;
        let row = row?;
        if let Some(why) = why_shut(&incoming.conversation, row.as_ref()) {
            return Ok(Outcome::Failed(why));
        }
        let mut draft = self.awake()?;
        let run_id = incoming.run_id.unwrap_or_else(|| new_run_id(&self.host.world.random));
        if let Some(call) = incoming.call {
            let call = IpcCall { target_run_id: run_id.clone(), ..call };
            draft.write(|change| change.ipc_open(&call));
        }
        let (content, media, origin) = (incoming.content, incoming.media, incoming.origin);
        let accept = Accept {
            run_id: run_id.clone(),
            conversation: incoming.conversation,
            role: MessageRole::User,
            reason: incoming.reason,
            words: MessageBody { content, media, origin, ..MessageBody::default() },
            generation: row.map(|row| row.generation),
        };
        let queued = self.accept(&mut draft, accept).await?;
        match self.keep(draft).await? {
            true => Ok(Outcome::Done((run_id, queued))),
            false => Err(Error::internal("a message was not kept")),
        }
    }

    /// A runtime event. One whose reason to be is gone is dropped.
    pub(super) async fn event(&mut self, event: Event) -> Result<(), Error> {
        let mut draft = self.awake()?;
        if let Some(with) = event.with {
            draft.write(|change| change.and(with));
        }
        let accept = Accept {
            run_id: new_run_id(&self.host.world.random),
            conversation: event.conversation,
            role: MessageRole::System,
            reason: &event.reason,
            words: MessageBody { content: event.content, ..MessageBody::default() },
            generation: None,
        };
        self.accept(&mut draft, accept).await?;
        self.keep(draft).await.map(drop).map_err(Error::from)
    }

    /// Starts a run without a message; `None` when one is active.
    pub(super) async fn autostart(
        &mut self,
        reason: String,
        by_person: bool,
    ) -> Result<Option<RunId>, Error> {
        let mut draft = self.awake()?;
        if draft.durable.run.is_some() {
            return Ok(None);
        }
        let run_id = new_run_id(&self.host.world.random);
        let conversation = ConversationId::from("default");
        let begin = Begin { reason, by_person };
        self.begin(&mut draft, &conversation, run_id.clone(), begin).await?;
        self.keep(draft).await?;
        Ok(Some(run_id))
    }

    /// A step of a process that can do something. One that was killed comes back if it is the `init` of its user.
    fn awake(&self) -> Result<Draft, Error> {
        let mut draft = self.draft();
        if draft.durable.exited {
            if !is_init(&self.process) {
                return Err(not_found(self.pid()));
            }
            let now_ms = draft.now_ms;
            draft.durable.exited = false;
            draft.write(|change| change.revive(now_ms));
        }
        Ok(draft)
    }

    /// Begins a run with a message, or puts it in line. True when it waits.
    async fn accept(&self, draft: &mut Draft, accept: Accept<'_>) -> Result<bool, Error> {
        if draft.durable.run.is_some() {
            return self.enqueue(draft, accept).map(|()| true);
        }
        let Accept { run_id, conversation, role, reason, words, generation } = accept;
        let by_person = starter::is_person(role, words.origin.as_deref());
        let begin = Begin { reason: reason.to_string(), by_person };
        match generation {
            Some(generation) => self.begin_in(draft, &conversation, generation, run_id, begin),
            None => self.begin(draft, &conversation, run_id, begin).await?,
        }
        match role {
            MessageRole::System => draft.say_system(&conversation, words),
            _ => drop(draft.say(&conversation, role, words)),
        }
        Ok(false)
    }

    fn enqueue(&self, draft: &mut Draft, accept: Accept<'_>) -> Result<(), Error> {
        let Accept { run_id, conversation, role, reason, words, .. } = accept;
        if draft.durable.queued() >= limits::process::QUEUE_MAX {
            return Err(Error::too_busy(&format!("too many messages wait for process {}", self.pid())));
        }
        let row = QueueRow {
            position: draft.durable.queue.back().map_or(1, |row| row.position + 1),
            run_id: run_id.clone(),
            conversation_id: conversation.clone(),
            role,
            reason: reason.to_string(),
            content: without_nul(&words.content),
            media: words.media,
            origin: words.origin,
            created_at: draft.now_ms,
        };
        draft.write(|change| change.enqueue(&row));
        draft.durable.queue.push_back(Arc::new(row));
        draft.tell_changed(&[What::Queue], |changed| {
            changed.conversation_id = Some(conversation);
            changed.enqueued_run_id = Some(run_id);
        });
        Ok(())
    }
}
