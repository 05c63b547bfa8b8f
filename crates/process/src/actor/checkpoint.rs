//! When an actor takes checkpoints in its workspace: at rest, beside its mail, and before everything is cleared.

use store::change::Change;

use super::{Actor, StoreResult, TaskKind, TaskOutcome};
use crate::checkpoint::{self, Occasion};

impl Actor {
    /// There is nothing to do: what was said since the last checkpoint goes into the next one.
    pub(super) fn checkpoint_at_rest(&mut self) {
        let is_due = self.checkpointed_at != Some(self.durable.next_message_id);
        let is_at_rest = self.durable.run.is_none() && !self.durable.exited;
        if self.process.workspace_id.is_none() || !is_due || !is_at_rest || self.is_busy(TaskKind::Checkpoint)
        {
            return;
        }
        let (world, process, since) = (self.host.world.clone(), self.process.clone(), self.checkpointed_id);
        self.start(TaskKind::Checkpoint, async move {
            TaskOutcome::Checkpointed(checkpoint::take_now(&world, &process, since, Occasion::Idle).await)
        });
    }

    /// A checkpoint was taken, or could not be; then the next one has everything.
    pub(super) async fn checkpointed(&mut self, taken: Result<TaskOutcome, String>) -> StoreResult<()> {
        self.checkpointed_at = Some(self.durable.next_message_id);
        match taken {
            Ok(TaskOutcome::Checkpointed(Some(newest))) => self.keep_checkpoint(newest).await,
            _ => Ok(()),
        }
    }

    /// Everything is about to be cleared: waits for a checkpoint, but not for long.
    pub(super) async fn checkpoint_now(&mut self, occasion: Occasion) -> StoreResult<()> {
        // Also what a checkpoint at rest has: the summary of a model is worth having before it is too late.
        match checkpoint::take_now(&self.host.world, &self.process, 0, occasion).await {
            Some(newest) => self.keep_checkpoint(newest).await,
            None => Ok(()),
        }
    }

    async fn keep_checkpoint(&mut self, newest: i64) -> StoreResult<()> {
        self.write(Change::new(self.pid()).checkpointed(newest)).await?;
        self.checkpointed_id = newest;
        Ok(())
    }
}
