//! An archive that no row refers to yet. Unless it is claimed it is removed again, however its writer ends.

use protocol::ids::ConversationId;
use store::processes::ProcessRow;
use tokio::runtime::Handle;

use super::{Span, discard, keep_span};
use crate::world::World;

/// An archive that no row refers to yet.
pub(crate) struct Loose {
    /// Where it is.
    pub(crate) path: String,
    /// How many messages it has.
    pub(crate) messages: u64,
    /// Whose it is; `None` once it is claimed or removed.
    owner: Option<Box<Owner>>,
}

struct Owner {
    world: World,
    process: ProcessRow,
    conversation: ConversationId,
}

impl Loose {
    /// Archives a part of a conversation under a name.
    pub(crate) async fn keep(
        world: &World,
        process: &ProcessRow,
        conversation: &ConversationId,
        name: String,
        span: Span,
    ) -> Result<Loose, String> {
        let owner =
            Owner { world: world.clone(), process: process.clone(), conversation: conversation.clone() };
        // In a task of its own: whoever waits may go away, and then it is finished first and removed after that.
        let kept = tokio::spawn(async move {
            let Owner { world, process, conversation } = &owner;
            let (path, messages) = keep_span(world, process, conversation, &name, span).await?;
            Ok(Loose { path, messages, owner: Some(Box::new(owner)) })
        });
        kept.await.unwrap_or_else(|error| {
            tracing::error!(%error, "an archive broke off");
            Err("work on the archive broke off".to_string())
        })
    }

    /// A row refers to it now.
    pub(crate) fn claim(mut self) {
        self.owner = None;
    }

    /// Removes it.
    pub(crate) async fn discard(mut self) {
        if let Some(owner) = self.owner.take() {
            owner.remove(&self.path).await;
        }
    }
}

impl Drop for Loose {
    fn drop(&mut self) {
        let (Some(owner), Ok(runtime)) = (self.owner.take(), Handle::try_current()) else { return };
        let path = std::mem::take(&mut self.path);
        runtime.spawn(async move { owner.remove(&path).await });
    }
}

impl Owner {
    /// Removes it, unless a row refers to it after all: a store that fails may have kept what it did not confirm.
    async fn remove(&self, path: &str) {
        let Owner { world, process, conversation } = self;
        match world.store.segments(&process.pid, conversation).await {
            Ok(segments) if segments.iter().any(|segment| segment.archive_path == path) => {}
            Ok(_) => discard(world, process, path).await,
            Err(error) => {
                tracing::warn!(pid = %process.pid, path, %error, "an archive stays that may not be needed");
            }
        }
    }
}
