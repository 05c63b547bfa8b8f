//! Two-phase archive: written first, referred to by a row later. Unless it is claimed it is removed again, however
//! its writer ends: by the writer itself, or by the garbage collection at the next start.

use protocol::ids::{ConversationId, Pid};
use store::change::Change;
use store::processes::ProcessRow;
use tokio::runtime::Handle;
use vfs::{Code, VPath};

use super::gzip::ArchiveWriter;
use super::{Span, file_name, ready, write};
use crate::directories::{DirectoryKind, ProcessDirectory};
use crate::world::World;

/// An archive that no row refers to yet.
pub(crate) struct PendingArchive {
    pub(crate) path: String,
    /// How many messages it has.
    pub(crate) messages: u64,
    /// Whose it is; `None` once it is claimed or removed.
    owner: Option<Box<Owner>>,
}

struct Owner {
    world: World,
    process: ProcessRow,
}

impl PendingArchive {
    /// Archives a part of a conversation under a name. The change that refers to it also ends that it is loose
    /// (`Change::loose_archive_end`).
    pub(crate) async fn keep(
        world: &World,
        process: &ProcessRow,
        conversation: &ConversationId,
        name: String,
        span: Span,
    ) -> Result<PendingArchive, String> {
        let owner = Owner { world: world.clone(), process: process.clone() };
        let conversation = conversation.clone();
        // In a task of its own: whoever waits may go away, and then it is finished first and removed after that.
        let kept = tokio::spawn(owner.keep(conversation, name, span));
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

impl Drop for PendingArchive {
    fn drop(&mut self) {
        let (Some(owner), Ok(runtime)) = (self.owner.take(), Handle::try_current()) else { return };
        let path = std::mem::take(&mut self.path);
        runtime.spawn(async move { owner.remove(&path).await });
    }
}

impl Owner {
    async fn keep(
        self,
        conversation: ConversationId,
        name: String,
        span: Span,
    ) -> Result<PendingArchive, String> {
        let Owner { world, process } = &self;
        let place = ready(world, process).await?;
        let directory = place.make(&["conversations", &file_name(&conversation)]).await?;
        let path = directory.join(&format!("{name}.jsonl.gz"));
        // Noted first, so that it is found whenever the gateway is killed.
        let noted = world.store.loose_archives().begin(&process.pid, path.as_str(), &world.life).await;
        noted.map_err(|error| format!("the archive could not be noted: {error}"))?;
        match write(world, process, &place, &path, &conversation, span).await {
            Ok(messages) => {
                Ok(PendingArchive { path: path.as_str().to_string(), messages, owner: Some(Box::new(self)) })
            }
            Err(why) => {
                self.remove(path.as_str()).await;
                Err(why)
            }
        }
    }

    /// Removes it, unless a row refers to it after all: a store that fails may have kept what it did not confirm.
    async fn remove(&self, path: &str) {
        let Owner { world, process } = self;
        let removed = match world.store.loose_archives().has(path).await {
            Ok(true) => remove(world, process, path).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = removed {
            tracing::warn!(pid = %process.pid, path, why, "an archive stays that may not be needed");
        }
    }
}

/// After a restart: removes archives that an earlier life was writing when it was killed.
pub(crate) async fn sweep(world: &World) {
    let left = match world.store.loose_archives().left(&world.life).await {
        Ok(left) => left,
        Err(error) => {
            tracing::warn!(%error, "archives that were left behind could not be looked for");
            return;
        }
    };
    for (pid, path) in left {
        let removed = async {
            let Some(process) = owned(world, &pid).await? else { return forget(world, &pid, &path).await };
            remove_partial(world, &process, &path).await;
            remove(world, &process, &path).await
        };
        match removed.await {
            Ok(()) => tracing::info!(%pid, path, "an archive that was left behind was removed"),
            Err(why) => tracing::warn!(%pid, path, why, "an archive that was left behind stays"),
        }
    }
}

/// Removes an archive, then the note of it.
async fn remove(world: &World, process: &ProcessRow, path: &str) -> Result<(), String> {
    let place = ProcessDirectory::of(world, process, DirectoryKind::Sessions).await?;
    let at = VPath::absolute(path).map_err(|fault| fault.to_string())?;
    match place.view.remove(&at, false).await {
        Err(fault) if fault.code != Code::NotFound => return Err(fault.to_string()),
        _ => {}
    }
    forget(world, &process.pid, path).await
}

async fn forget(world: &World, pid: &Pid, path: &str) -> Result<(), String> {
    let change = Change::new(pid).loose_archive_end(path);
    world.store.keep(change).await.map_err(|error| error.to_string())
}

/// A process whose owner still is a user.
async fn owned(world: &World, pid: &Pid) -> Result<Option<ProcessRow>, String> {
    let found = async {
        let Some(process) = world.store.processes().by_id(pid).await? else { return Ok(None) };
        Ok(world.store.accounts().by_uid(process.uid).await?.map(|_| process))
    };
    found.await.map_err(|error: store::Error| error.to_string())
}

/// Removes what was written of an archive that was not finished: it is in a file that only its writer can name.
async fn remove_partial(world: &World, process: &ProcessRow, path: &str) {
    let reopened = async {
        let place = ProcessDirectory::of(world, process, DirectoryKind::Sessions).await?;
        let at = VPath::absolute(path).map_err(|fault| fault.to_string())?;
        ArchiveWriter::open(&place, &at).await
    };
    match reopened.await {
        Ok(writer) => writer.give_up(),
        Err(why) => tracing::debug!(path, why, "an archive that was left behind could not be opened"),
    }
}
