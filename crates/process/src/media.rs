//! Media that go with messages: plain files under `/var/media/<uid>/<pid>/` of the file tree.

use protocol::media::{MediaInput, StoredMedia};
use store::processes::ProcessRow;

use crate::world::World;

/// Keeps the bytes of what came with a message, and transcribes sound where a transcriber is configured.
/// The error names what is wrong with the input.
pub(crate) async fn keep(
    world: &World,
    process: &ProcessRow,
    media: Vec<MediaInput>,
) -> Result<Vec<StoredMedia>, String> {
    let _ = (world, process, media);
    Err("scaffold".to_string())
}

/// The bytes of a kept medium, in base 64; `None` when they are gone.
pub(crate) async fn load(world: &World, process: &ProcessRow, medium: &StoredMedia) -> Option<String> {
    let _ = (world, process, medium);
    None
}

/// Removes all media of a process.
pub(crate) async fn clear(world: &World, process: &ProcessRow) {
    let _ = (world, process);
}
