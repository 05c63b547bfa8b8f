//! Request types: what a model is asked, and the messages in it.

use std::sync::Arc;
use std::time::Duration;

use base::limits;
use protocol::signal::stream::{AssistantContent, AssistantMessage};

use crate::models::Model;
use crate::reasoning::Reasoning;
use crate::tools::Tools;

/// What a model is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model, and what is known about it.
    pub model: Model,
    /// The system prompt; empty for none.
    pub system: Arc<str>,
    /// The conversation, oldest first. It is repaired before it is sent.
    pub messages: Vec<Message>,
    /// What the model may call.
    pub tools: Arc<Tools>,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// How much to think; moved to a level the model has.
    pub reasoning: Reasoning,
    /// Requests with the same key share the provider's prompt cache; the process id is a good one.
    pub affinity: Option<String>,
    /// How long the whole answer may take.
    pub timeout: Duration,
}

impl Request {
    /// A request without a system prompt, tools or thinking.
    pub fn new(model: Model, messages: Vec<Message>) -> Request {
        Request {
            model,
            system: Arc::from(""),
            messages,
            tools: Arc::default(),
            max_tokens: 8_192,
            reasoning: Reasoning::Off,
            affinity: None,
            timeout: limits::model::GENERATION_TIMEOUT,
        }
    }

    /// The level of thinking that the model has and that is nearest to what was asked for.
    pub(crate) fn level(&self) -> Reasoning {
        self.reasoning.clamp_to(&self.model.reasoning)
    }

    /// The longest answer the model can give, at most what was asked for.
    pub(crate) fn output_tokens(&self) -> u64 {
        self.max_tokens.clamp(1, self.model.max_output_tokens.unwrap_or(u64::MAX).max(1))
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What a person said.
    User { content: Vec<Block> },
    /// What a model said, as its stream ended.
    Assistant(AssistantMessage),
    /// What a tool call came to.
    ToolResult(ToolResult),
}

/// What a tool call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub tool_call_id: String,
    pub tool_name: String,
    /// What it said.
    pub content: Vec<Block>,
    /// True when it failed.
    pub is_error: bool,
}

/// A piece of what a person or a tool said.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// Such as `image/png`.
        mime_type: String,
        /// Its bytes in base 64.
        data: String,
    },
}

impl Message {
    /// A person's words.
    pub fn user(text: impl Into<String>) -> Message {
        Message::User { content: vec![Block::text(text)] }
    }

    /// A tool's words.
    pub fn tool_result(
        id: impl Into<String>,
        name: impl Into<String>,
        text: impl Into<String>,
        is_error: bool,
    ) -> Message {
        Message::ToolResult(ToolResult {
            tool_call_id: id.into(),
            tool_name: name.into(),
            content: vec![Block::text(text)],
            is_error,
        })
    }
}

impl Block {
    /// Words.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }

    /// A picture, its bytes in base 64.
    pub fn image(mime_type: impl Into<String>, data: impl Into<String>) -> Block {
        Block::Image { mime_type: mime_type.into(), data: data.into() }
    }
}

/// What an answer says aloud: its texts, without blanks around them.
pub fn answer_text(answer: &AssistantMessage) -> String {
    let texts = answer.content.iter().filter_map(|content| match content {
        AssistantContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<String>().trim().to_owned()
}

/// The words among `blocks`, a line break between two of them.
pub(crate) fn words(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The pictures among `blocks`, as media type and base 64.
pub(crate) fn images(blocks: &[Block]) -> impl Iterator<Item = (&str, &str)> {
    blocks.iter().filter_map(|block| match block {
        Block::Image { mime_type, data } => Some((mime_type.as_str(), data.as_str())),
        Block::Text { .. } => None,
    })
}
