//! Transcript of a conversation as JSON lines, for those who read a workspace without us.

use std::collections::VecDeque;

use base::limits;
use protocol::ids::ConversationId;
use store::messages::Page;
use store::processes::ProcessRow;

use crate::archive::line;
use crate::world::World;

/// The messages of a conversation, one a line; the oldest are left out where there are too many. `None` when there are
/// none at all.
pub(super) async fn read(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationId,
) -> Result<Option<String>, String> {
    let (mut lines, mut bytes, mut last) = (VecDeque::new(), 0, 0);
    loop {
        let messages = world.store.messages();
        let page =
            messages.page(&process.pid, conversation, Page::After(last), limits::process::MESSAGES_PER_READ);
        let rows = page.await.map_err(|error| error.to_string())?;
        let Some(newest) = rows.last().map(|row| row.id) else { break };
        last = newest;
        for row in &rows {
            let line = line::plain(row);
            bytes += line.len() + 1;
            lines.push_back(line);
            while bytes > limits::process::TRANSCRIPT_MAX_BYTES
                && let Some(oldest) = lines.pop_front()
            {
                bytes -= oldest.len() + 1;
            }
        }
    }
    let text = lines.iter().fold(String::with_capacity(bytes), |text, line| text + line + "\n");
    Ok((!text.is_empty()).then_some(text))
}
