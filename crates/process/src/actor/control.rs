//! Abort, reset and kill of a process, and optimistic changes that were prepared outside of its actor.

use protocol::error::Error;
use protocol::ids::ConversationId;
use protocol::outcome::Outcome;
use protocol::proc::conversation::{Reset, ResetDone};
use protocol::proc::{Aborted, Archived};
use protocol::signal::run::{Change as What, Exit};
use store::change::Change;

use super::Actor;
use super::draft::Draft;
use super::finish::Ending;
use crate::archive::{self, ArchivedProcess, PendingArchive};
use crate::checkpoint::Occasion;
use crate::errors::not_found;
use crate::mail::Condition;
use crate::media;

/// What a model reads of calls that a person stopped.
const INTERRUPTED: &str = "User interrupted tool execution";

impl Actor {
    /// Cancels the active run; what waits longest begins.
    pub(super) async fn abort(&mut self) -> Result<Outcome<Aborted>, Error> {
        let mut aborted = Aborted {
            pid: self.pid().clone(),
            aborted: false,
            run_id: None,
            interrupted_tool_calls: None,
            continued_queued_run_id: None,
        };
        let Some(run_id) = self.run_id().cloned() else { return Ok(Outcome::Done(aborted)) };
        let mut draft = self.draft();
        let interrupted = self.stop_run(&mut draft, "user");
        let continued = self.promote(&mut draft).await?;
        self.keep(draft).await?;
        aborted.aborted = true;
        aborted.run_id = Some(run_id);
        aborted.interrupted_tool_calls = Some(interrupted);
        aborted.continued_queued_run_id = continued;
        Ok(Outcome::Done(aborted))
    }

    /// The active run is cancelled; how many of its calls were without a result.
    fn stop_run(&mut self, draft: &mut Draft, reason: &str) -> u64 {
        let interrupted = self.interrupt(draft, INTERRUPTED);
        self.end(draft, Ending::aborted(reason));
        interrupted
    }

    /// Archives and clears everything.
    pub(super) async fn reset(&mut self) -> Result<Outcome<Archived>, Error> {
        self.clear_all(true, "process.reset", false).await
    }

    /// The same if asked to archive, and ends the process.
    pub(super) async fn kill(&mut self, archive: bool) -> Result<Outcome<Archived>, Error> {
        if self.durable.exited {
            return Err(not_found(self.pid()));
        }
        self.clear_all(archive, "process.kill", true).await
    }

    async fn clear_all(
        &mut self,
        archive: bool,
        reason: &str,
        exit: bool,
    ) -> Result<Outcome<Archived>, Error> {
        // The run ends first, so that nothing is added to what is archived.
        if self.durable.run.is_some() {
            let mut draft = self.draft();
            self.stop_run(&mut draft, reason);
            self.keep(draft).await?;
        }
        self.checkpoint_now(if exit { Occasion::Kill } else { Occasion::Reset }).await?;
        let kept = match archive {
            true => archive::archive_all(&self.host.world, &self.process).await,
            false => Ok(ArchivedProcess::default()),
        };
        let kept = match kept {
            Ok(kept) => kept,
            Err(why) => return Ok(Outcome::Failed(why)),
        };
        let conversations = self.host.world.store.conversations().of(self.pid()).await?;
        let mut draft = self.draft();
        self.drop_queue(&mut draft, reason, |_| true);
        let now_ms = draft.now_ms;
        for conversation in &conversations {
            draft.write(|change| change.conversation_reset(&conversation.id, now_ms));
        }
        draft.tell_changed(&[What::Messages, What::Conversations, What::Queue], |_| {});
        if exit {
            draft.durable.exited = true;
            let exit = Exit { pid: self.pid().clone(), reason: "proc.kill".to_string(), timestamp: now_ms };
            draft.tell(None, &exit);
        }
        self.keep(draft).await?;
        self.forget();
        media::clear(&self.host.world, &self.process).await;
        Ok(Outcome::Done(Archived {
            pid: self.pid().clone(),
            archived_messages: kept.messages,
            archived_to: kept.directory,
            archives: kept.entries,
        }))
    }

    /// Archives one conversation unless told not to, and begins a new life of it.
    pub(super) async fn reset_conversation(&mut self, args: &Reset) -> Result<Outcome<ResetDone>, Error> {
        let id = args.conversation_id.clone().map(|id| ConversationId::from(id.as_str().trim()));
        let id = id.filter(|id| !id.as_str().is_empty()).unwrap_or_else(|| "default".into());
        let reason = "conversation.reset";
        if self.durable.run.as_ref().is_some_and(|run| run.conversation_id == id) {
            let mut draft = self.draft();
            self.stop_run(&mut draft, reason);
            self.keep(draft).await?;
        }
        let row = self.host.world.store.conversations().by_id(self.pid(), &id).await?;
        let Some(row) = row else { return Ok(Outcome::Failed(format!("Conversation not found: {id}"))) };
        let archived = match args.archive.unwrap_or(true) {
            true => archive::archive_conversation(&self.host.world, &self.process, &row).await,
            false => Ok(None),
        };
        let archive = match archived {
            Ok(archive) => archive,
            Err(why) => return Ok(Outcome::Failed(why)),
        };
        let archived_to = archive.as_ref().map(|archive| archive.path.clone());
        let mut draft = self.draft();
        self.drop_queue(&mut draft, reason, |conversation| *conversation == id);
        let now_ms = draft.now_ms;
        draft.write(|change| change.conversation_reset(&id, now_ms));
        if let Some(path) = &archived_to {
            draft.write(|change| change.loose_archive_end(path));
        }
        draft.tell_changed(&[What::Messages, What::Conversations], |changed| {
            changed.conversation_id = Some(id.clone());
        });
        self.keep(draft).await?;
        if let Some(archive) = archive {
            archive.claim();
        }
        self.forget();
        Ok(Outcome::Done(ResetDone {
            pid: self.pid().clone(),
            conversation_id: id,
            generation: row.generation + 1,
            archived_messages: row.message_count,
            archived_to,
        }))
    }

    /// What waits is dropped, and whoever waits for it is told.
    fn drop_queue(&self, draft: &mut Draft, reason: &str, which: impl Fn(&ConversationId) -> bool) {
        let queue = std::mem::take(&mut draft.durable.queue);
        let (dropped, left): (Vec<_>, Vec<_>) =
            queue.into_iter().partition(|row| which(&row.conversation_id));
        draft.durable.queue = left.into();
        for row in dropped {
            draft.write(|change| change.dequeue(row.position));
            let ending = Ending::aborted(reason);
            self.tell_end(draft, row.run_id.clone(), &row.conversation_id, &ending, None);
        }
    }

    /// Sets message ids aside; the first of them. They are used, if at all, by a change that is applied later.
    pub(super) fn reserve_ids(&mut self, count: u64) -> i64 {
        let first = self.durable.next_message_id;
        self.durable.next_message_id += i64::try_from(count).unwrap_or(0);
        first
    }

    /// Applies a change that was prepared elsewhere, if `condition` still holds; its archive goes if it does not.
    pub(super) async fn apply(
        &mut self,
        condition: Condition,
        change: Change,
        archive: Option<PendingArchive>,
    ) -> Result<Result<(), String>, Error> {
        let applied = self.apply_if(condition, change).await;
        match (&applied, archive) {
            (Ok(Ok(())), Some(archive)) => archive.claim(),
            (_, Some(archive)) => archive.discard().await,
            (_, None) => {}
        }
        applied
    }

    async fn apply_if(&mut self, condition: Condition, change: Change) -> Result<Result<(), String>, Error> {
        let Condition { conversation, generation, idle } = condition;
        let row = self.host.world.store.conversations().by_id(self.pid(), &conversation).await?;
        if row.is_some_and(|row| row.generation != generation) {
            return Ok(Err(format!("Conversation was reset: {conversation}")));
        }
        if idle && self.durable.run.as_ref().is_some_and(|run| run.conversation_id == conversation) {
            return Ok(Err(format!("Conversation is active: {conversation}")));
        }
        let mut draft = self.draft();
        draft.write(|all| all.and(change));
        let kept = self.keep(draft).await;
        self.forget();
        Ok(match kept? {
            true => Ok(()),
            false => Err(format!("Conversation changed meanwhile: {conversation}")),
        })
    }
}
