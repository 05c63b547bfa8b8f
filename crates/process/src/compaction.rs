//! Compacting: the older part of a conversation goes into an archive, and a summary stands in its place.

use protocol::ids::{ConversationId, RunId};
use protocol::proc::segment::{Compact, Compacted};
use store::change::Change;
use store::processes::ProcessRow;

use crate::setup::Setup;
use crate::world::World;

/// A compaction that is ready to be kept: the archive is written, the rows are not changed yet.
pub(crate) struct Prepared {
    /// What to write. The actor applies it.
    pub(crate) change: Change,
    /// What to answer and to tell.
    pub(crate) compacted: Compacted,
}

/// Checks the arguments, writes the archive, and generates the summary when asked to (`setup` is then needed).
/// The error is the text of `{ok: false}`.
pub(crate) async fn prepare(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    args: &Compact,
    setup: Option<&Setup>,
) -> Result<Prepared, String> {
    let _ = (world, process, conversation, args, setup);
    Err("scaffold".to_string())
}

/// Tells that a conversation was compacted: `event` is `conversation.compacted` or `conversation.auto_compacted`.
pub(crate) fn announce(
    world: &World,
    process: &ProcessRow,
    run_id: Option<&RunId>,
    event: &str,
    compacted: &Compacted,
    queued_count: u64,
) {
    let _ = (world, process, run_id, event, compacted, queued_count);
}
