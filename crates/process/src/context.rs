//! What the model gets to see of a conversation: stored messages as model messages.

use protocol::ids::ConversationId;
use store::processes::ProcessRow;

use crate::setup::Setup;
use crate::world::World;

/// The conversation as the model sees it, oldest first, with pictures, tool results in the order of their calls.
pub(crate) async fn messages(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
    setup: &Setup,
) -> Result<Vec<model::Message>, String> {
    let _ = (world, process, conversation, setup);
    Err("scaffold".to_string())
}
