//! Incrementally built model context: stored messages as model messages.
//!
//! [`Context`] is the converted conversation. It is loaded once and then grows with the messages that are added, so
//! that a turn does not read and convert everything again.

mod attached;
mod origin;
#[cfg(test)]
mod tests;

use base::limits;
use model::{AssistantContent, AssistantMessage, Block, Message, StopReason, ToolResult};
use protocol::ids::ConversationId;
use protocol::proc::history::MessageRole;
use protocol::signal::stream::{AssistantRole, TextContent, TextType};
use serde::Deserialize;
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;

use crate::setup::Setup;
use crate::world::World;

/// A conversation as the model sees it, as far as it has come: oldest first, with pictures, tool results in the order of
/// their calls. It holds for one setup: what a model cannot see is described in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// Complete messages, oldest first.
    ordered: Vec<Message>,
    /// The tool calls of the newest answer, until all of them have a result.
    open: Vec<Slot>,
    /// What came while results were missing; it follows them.
    held: Vec<Message>,
    /// Where the newest message of a person came from.
    label: Option<String>,
    /// The newest message that was taken in.
    last_id: Option<i64>,
    /// How many were.
    count: u64,
    /// Pictures since the newest answer that the model cannot see.
    hidden_pictures: u64,
}

/// A tool call and its result, once it is there.
#[derive(Clone, Debug)]
struct Slot {
    id: String,
    result: Option<ToolResult>,
}

impl Context {
    /// Loads a whole conversation.
    pub(crate) async fn load(
        world: &World,
        process: &ProcessRow,
        conversation: &ConversationId,
        setup: &Setup,
    ) -> Result<Context, String> {
        let mut context = Context::default();
        loop {
            let page = context.last_id.map_or(Page::Offset(0), Page::After);
            let limit = limits::process::MESSAGES_PER_READ;
            let rows = world.store.messages().page(&process.pid, conversation, page, limit).await;
            let rows = rows.map_err(|error| format!("The conversation could not be read: {error}"))?;
            let complete = (rows.len() as u64) < limit;
            context.append(world, process, setup, rows).await;
            if complete {
                return Ok(context);
            }
        }
    }

    /// Takes in messages that were added to the conversation, oldest first.
    pub(crate) async fn append(
        &mut self,
        world: &World,
        process: &ProcessRow,
        setup: &Setup,
        rows: impl IntoIterator<Item = MessageRow>,
    ) {
        for row in rows {
            let media = match &row.media {
                Some(media) => {
                    self.hidden_pictures += attached::hidden_pictures(setup.model.images, media);
                    attached::blocks(world, process, setup.model.images, media).await
                }
                None => Vec::new(),
            };
            self.take_in(row, media);
        }
    }

    /// The messages as a request wants them; results that have come stand in the order of their calls.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.clone().into_messages()
    }

    /// The same, when the context is not needed any more.
    pub(crate) fn into_messages(mut self) -> Vec<Message> {
        self.flush();
        self.ordered
    }

    /// The newest message that was taken in.
    pub(crate) fn last_message_id(&self) -> Option<i64> {
        self.last_id
    }

    /// How many pictures came since the newest answer that the model cannot see.
    pub(crate) fn hidden_pictures(&self) -> u64 {
        self.hidden_pictures
    }

    /// How many messages were taken in.
    pub(crate) fn message_count(&self) -> u64 {
        self.count
    }
}

impl Context {
    fn take_in(&mut self, row: MessageRow, media: Vec<Block>) {
        self.last_id = self.last_id.max(Some(row.id));
        self.count += 1;
        match row.role {
            MessageRole::Assistant => {
                // Whatever still misses results will not get them: the model has gone on.
                self.flush();
                self.hidden_pictures = 0;
                let answer = answer_of(&row);
                let calls = model::tool_calls(&answer);
                self.open = calls.map(|call| Slot { id: call.id.clone(), result: None }).collect();
                self.ordered.push(Message::Assistant(answer));
            }
            MessageRole::ToolResult => self.fill(result_of(row, media)),
            MessageRole::User => {
                let content = self.said(row, media);
                self.add(Message::User { content });
            }
            MessageRole::System => self.add(Message::user(format!("[Process Event]:\n{}", row.content))),
        }
    }

    /// Puts a result where its call is. One without a call is dropped: providers refuse it.
    fn fill(&mut self, result: ToolResult) {
        let fits = |slot: &&mut Slot| slot.id == result.tool_call_id && slot.result.is_none();
        let Some(slot) = self.open.iter_mut().find(fits) else {
            tracing::debug!(call = result.tool_call_id, "a tool result without its call is left out");
            return;
        };
        slot.result = Some(result);
        if self.open.iter().all(|slot| slot.result.is_some()) {
            self.flush();
        }
    }

    fn add(&mut self, message: Message) {
        if self.open.is_empty() { self.ordered.push(message) } else { self.held.push(message) }
    }

    fn flush(&mut self) {
        let results = self.open.drain(..).filter_map(|slot| slot.result).map(Message::ToolResult);
        self.ordered.extend(results);
        self.ordered.append(&mut self.held);
    }

    /// A person's message: where it came from when that is new, its words, its media.
    fn said(&mut self, row: MessageRow, media: Vec<Block>) -> Vec<Block> {
        let text = match origin::changed(&mut self.label, row.origin.as_deref()) {
            Some(label) => format!("[From: {label}]\n{}", row.content),
            None => row.content,
        };
        let words = (!text.is_empty()).then(|| Block::text(text));
        words.into_iter().chain(media).collect()
    }
}

/// A model's answer as it was kept; a text without more is an answer in words.
fn answer_of(row: &MessageRow) -> AssistantMessage {
    match row.meta.as_deref().map(serde_json::from_str) {
        Some(Ok(answer)) => return answer,
        Some(Err(error)) => {
            tracing::warn!(id = row.id, %error, "a kept answer is unreadable; its words are used");
        }
        None => {}
    }
    let words = TextContent { content_type: TextType::Text, text: row.content.clone(), text_signature: None };
    AssistantMessage {
        role: AssistantRole::Assistant,
        content: vec![AssistantContent::Text(words)],
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        response_model: None,
        response_id: None,
        usage: crate::cost::usage(&Default::default()),
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: row.created_at,
    }
}

/// What is kept of a tool result besides its text.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResultMeta {
    tool_name: Option<String>,
    is_error: bool,
}

fn result_of(row: MessageRow, media: Vec<Block>) -> ToolResult {
    let meta: ResultMeta =
        row.meta.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let mut content = vec![Block::text(row.content)];
    content.extend(media);
    ToolResult {
        tool_call_id: row.tool_call_id.unwrap_or_default(),
        tool_name: meta.tool_name.unwrap_or_else(|| "unknown".to_string()),
        content,
        is_error: meta.is_error,
    }
}
