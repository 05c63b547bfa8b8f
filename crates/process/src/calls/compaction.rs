//! Service of `proc.conversation.compact`.

use protocol::error::Error;
use protocol::ids::Pid;
use protocol::outcome::Outcome;
use protocol::proc::segment::{Compact, Compacted};
use serde_json::Map;

use crate::compaction::Prepared;
use crate::conversation::{condition, named};
use crate::host::Host;
use crate::{compaction, prepare};

impl Host {
    /// Compacts a conversation that has no active run.
    pub async fn compact(&self, pid: &Pid, args: &Compact) -> Result<Outcome<Compacted>, Error> {
        let process = self.known(pid).await?;
        let id = named("proc.conversation.compact", args.conversation_id.as_ref())?;
        if let Err(why) = compaction::check(args) {
            return Ok(Outcome::Failed(why));
        }
        if process.active_conversation_id.as_ref() == Some(&id) {
            return Ok(Outcome::Failed(format!("Conversation is active: {id}")));
        }
        let row = self.conversation(pid, &id).await?;
        if row.as_ref().is_none_or(|row| row.message_count == 0) {
            return Ok(Outcome::Failed(compaction::NOTHING.to_string()));
        }
        let setup = match args.generate_summary {
            Some(true) => match prepare::prepare(&self.world, &process).await {
                Ok(setup) => Some(setup),
                Err(why) => return Ok(Outcome::Failed(compaction::failed(&why))),
            },
            _ => None,
        };
        let Prepared { change, compacted, archive, .. } =
            match compaction::prepare(&self.world, &process, &id, args, setup.as_deref()).await {
                Ok(prepared) => prepared,
                Err(why) => return Ok(Outcome::Failed(why)),
            };
        let condition = condition(&id, row.as_ref(), true);
        if let Err(why) = self.apply_with(pid, condition, change, Some(archive)).await? {
            return Ok(Outcome::Failed(why));
        }
        let queued = self.world.store.queue().length(pid).await.unwrap_or_default();
        compaction::announce(
            &self.world,
            &process,
            None,
            "conversation.compacted",
            &compacted,
            queued,
            Map::new(),
        );
        Ok(Outcome::Done(compacted))
    }
}
