//! Archives: messages as gzip JSONL under `/var/sessions/<username>/<pid>/`, read back without loss.

use protocol::proc::ArchiveEntry;
use store::conversations::ConversationRow;
use store::messages::MessageRow;
use store::processes::ProcessRow;

use crate::world::World;

/// What was archived of a whole process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// How many messages.
    pub(crate) messages: u64,
    /// The directory, with a slash at its end; `None` when there was nothing.
    pub(crate) directory: Option<String>,
    /// One per conversation that was not empty, by id.
    pub(crate) entries: Vec<ArchiveEntry>,
}

/// Archives every conversation of a process that is not empty.
pub(crate) async fn keep_all(world: &World, process: &ProcessRow) -> Result<Kept, String> {
    let _ = (world, process);
    Err("scaffold".to_string())
}

/// Archives one conversation; the path, or `None` when it has no messages.
pub(crate) async fn keep_conversation(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationRow,
) -> Result<Option<String>, String> {
    let _ = (world, process, conversation);
    Err("scaffold".to_string())
}

/// Reads an archive.
pub(crate) async fn read(world: &World, process: &ProcessRow, path: &str) -> Result<Vec<MessageRow>, String> {
    let _ = (world, process, path);
    Err("scaffold".to_string())
}
