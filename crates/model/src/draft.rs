//! Builder of a model's answer from a log of steps: the steps that decoders produce, and the message they add up to.

use base::limits::model::BLOCKS_MAX;
use protocol::signal::stream::{
    AssistantContent, AssistantMessage, AssistantRole, DoneReason, ErrorReason, StopReason, TextContent,
    TextType, ThinkingContent, ThinkingType, ToolCall, ToolCallType, Usage,
};
use serde_json::{Map, Value};

use crate::answer_json::{AnswerJson, BlockView, Mark};
use crate::event::EventKind;
use crate::failure::{Cause, Failure};
use crate::models::{Model, Tokens};
use crate::partial_json;

/// One step of an answer, free of any provider's spelling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Start,
    Identify {
        id: Option<String>,
        model: Option<String>,
    },
    OpenText,
    OpenThinking,
    OpenTool {
        id: String,
        name: String,
    },
    Append {
        block: usize,
        text: String,
    },
    /// Puts the provider's signature on a block.
    Sign {
        block: usize,
        signature: String,
    },
    /// Says that a block of thoughts is hidden.
    Redact {
        block: usize,
    },
    Close {
        block: usize,
    },
    Count(Tokens),
    Done(DoneReason),
    Fail(Failure),
}

/// Where decoders put their steps. It keeps the promises of the stream: `start` comes first, an answer has
/// an end, the number of blocks has a limit.
#[derive(Debug, Default)]
pub(crate) struct Output {
    steps: Vec<Step>,
    started: bool,
    ended: bool,
    blocks: usize,
}

impl Output {
    pub fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.steps.push(Step::Start);
        }
    }

    pub fn identify(&mut self, id: Option<&str>, model: Option<&str>) {
        let owned = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, model) = (owned(id), owned(model));
        if id.is_some() || model.is_some() {
            self.steps.push(Step::Identify { id, model });
        }
    }

    pub fn open_text(&mut self) -> Result<usize, Failure> {
        self.open(Step::OpenText)
    }

    pub fn open_thinking(&mut self) -> Result<usize, Failure> {
        self.open(Step::OpenThinking)
    }

    pub fn open_tool(&mut self, id: &str, name: &str) -> Result<usize, Failure> {
        // Some providers give their calls no ids.
        let id = if id.is_empty() { base::random::tagged("call_") } else { id.to_owned() };
        self.open(Step::OpenTool { id, name: name.to_owned() })
    }

    fn open(&mut self, step: Step) -> Result<usize, Failure> {
        if self.blocks >= BLOCKS_MAX {
            let text = format!("The model's answer has more than {BLOCKS_MAX} blocks");
            return Err(Failure::new(Cause::Provider, text));
        }
        self.start();
        self.steps.push(step);
        self.blocks += 1;
        Ok(self.blocks - 1)
    }

    pub fn append(&mut self, block: usize, text: &str) {
        if !text.is_empty() {
            self.steps.push(Step::Append { block, text: text.to_owned() });
        }
    }

    pub fn sign(&mut self, block: usize, signature: impl Into<String>) {
        self.steps.push(Step::Sign { block, signature: signature.into() });
    }

    pub fn redact(&mut self, block: usize) {
        self.steps.push(Step::Redact { block });
    }

    pub fn close(&mut self, block: usize) {
        self.steps.push(Step::Close { block });
    }

    pub fn count(&mut self, tokens: Tokens) {
        self.steps.push(Step::Count(tokens));
    }

    pub fn done(&mut self, reason: DoneReason) {
        self.start();
        self.ended = true;
        self.steps.push(Step::Done(reason));
    }

    pub fn is_started(&self) -> bool {
        self.started
    }

    pub fn is_ended(&self) -> bool {
        self.ended
    }

    pub fn take(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }
}

/// The answer so far.
#[derive(Debug)]
pub(crate) struct Draft {
    model: Model,
    /// Everything but the content.
    frame: AssistantMessage,
    blocks: Vec<Block>,
    /// The blocks as JSON, as far as somebody asked for it.
    written: AnswerJson,
}

#[derive(Debug)]
enum Block {
    Text(TextContent),
    Thinking(ThinkingContent),
    /// The call with its arguments once they are complete, and their JSON until then.
    Tool {
        call: ToolCall,
        json: String,
        complete: bool,
    },
}

impl Draft {
    pub fn new(model: Model, api: &str, timestamp: i64) -> Draft {
        let frame = AssistantMessage {
            role: AssistantRole::Assistant,
            content: Vec::new(),
            api: api.to_owned(),
            provider: model.provider.as_str().to_owned(),
            model: model.id.clone(),
            response_model: None,
            response_id: None,
            usage: model.usage(&Tokens::default()),
            stop_reason: StopReason::Stop,
            error_message: None,
            timestamp,
        };
        Draft { model, frame, blocks: Vec::new(), written: AnswerJson::default() }
    }

    /// How far the answer has come.
    pub fn mark(&self) -> Mark {
        Mark(self.blocks.iter().map(|block| block.raw().len()).collect())
    }

    /// Appends the answer's JSON, as it was at the mark if one is given. Costs a copy; only what is new since the
    /// last time is written anew.
    pub fn write(&mut self, mark: Option<&Mark>, out: &mut String) {
        let view: Vec<BlockView<'_>> = self.blocks.iter().map(Block::view).collect();
        self.written.write(&self.frame, &view, mark, out);
    }

    /// The whole message so far.
    pub fn message(&self) -> AssistantMessage {
        AssistantMessage { content: self.blocks.iter().map(Block::content).collect(), ..self.frame.clone() }
    }

    pub fn usage(&self) -> &Usage {
        &self.frame.usage
    }

    /// Takes a step in; `None` when nobody needs to hear of it.
    pub fn apply(&mut self, step: Step) -> Option<EventKind> {
        match step {
            Step::Start => return Some(EventKind::Start),
            Step::Identify { id, model } => {
                self.frame.response_id = id.or(self.frame.response_id.take());
                let other = model.filter(|name| *name != self.model.id);
                self.frame.response_model = other.or(self.frame.response_model.take());
            }
            Step::OpenText => return Some(self.open(Block::text())),
            Step::OpenThinking => return Some(self.open(Block::thinking())),
            Step::OpenTool { id, name } => return Some(self.open(Block::tool(id, name))),
            Step::Append { block, text } => return self.append(block, text),
            Step::Sign { block, signature } => self.sign(block, signature),
            Step::Redact { block } => {
                if let Some(Block::Thinking(thinking)) = self.blocks.get_mut(block) {
                    thinking.redacted = Some(true);
                }
            }
            Step::Close { block } => return self.close(block),
            Step::Count(tokens) => self.frame.usage = self.model.usage(&tokens),
            Step::Done(reason) => return Some(self.done(reason)),
            Step::Fail(failure) => return Some(self.fail(failure)),
        }
        None
    }

    fn open(&mut self, block: Block) -> EventKind {
        let content_index = self.blocks.len() as u64;
        let kind = match block {
            Block::Text(_) => EventKind::TextStart { content_index },
            Block::Thinking(_) => EventKind::ThinkingStart { content_index },
            Block::Tool { .. } => EventKind::ToolcallStart { content_index },
        };
        self.blocks.push(block);
        kind
    }

    fn append(&mut self, block: usize, delta: String) -> Option<EventKind> {
        let content_index = block as u64;
        Some(match self.blocks.get_mut(block)? {
            Block::Text(text) => {
                text.text.push_str(&delta);
                EventKind::TextDelta { content_index, delta }
            }
            Block::Thinking(thinking) => {
                thinking.thinking.push_str(&delta);
                EventKind::ThinkingDelta { content_index, delta }
            }
            Block::Tool { json, .. } => {
                json.push_str(&delta);
                EventKind::ToolcallDelta { content_index, delta }
            }
        })
    }

    fn sign(&mut self, block: usize, signature: String) {
        match self.blocks.get_mut(block) {
            Some(Block::Text(text)) => text.text_signature = Some(signature),
            Some(Block::Thinking(thinking)) => thinking.thinking_signature = Some(signature),
            Some(Block::Tool { call, .. }) => call.thought_signature = Some(signature),
            None => {}
        }
    }

    fn close(&mut self, block: usize) -> Option<EventKind> {
        let content_index = block as u64;
        Some(match self.blocks.get_mut(block)? {
            Block::Text(text) => EventKind::TextEnd { content_index, content: text.text.clone() },
            Block::Thinking(thinking) => {
                EventKind::ThinkingEnd { content_index, content: thinking.thinking.clone() }
            }
            Block::Tool { call, json, complete } => {
                call.arguments = partial_json::complete_arguments(json);
                *complete = true;
                EventKind::ToolcallEnd { content_index, tool_call: call.clone() }
            }
        })
    }

    fn done(&mut self, reason: DoneReason) -> EventKind {
        self.frame.stop_reason = match reason {
            DoneReason::Stop => StopReason::Stop,
            DoneReason::Length => StopReason::Length,
            DoneReason::ToolUse => StopReason::ToolUse,
        };
        EventKind::Done { reason, message: self.message().into() }
    }

    fn fail(&mut self, failure: Failure) -> EventKind {
        let aborted = failure.cause == Cause::Aborted;
        let (reason, stop_reason) = match aborted {
            true => (ErrorReason::Aborted, StopReason::Aborted),
            false => (ErrorReason::Error, StopReason::Error),
        };
        self.frame.stop_reason = stop_reason;
        self.frame.error_message = Some(failure.message);
        EventKind::Error { reason, error: self.message().into(), cause: failure.cause }
    }
}

impl Block {
    fn text() -> Block {
        let content_type = TextType::Text;
        Block::Text(TextContent { content_type, text: String::new(), text_signature: None })
    }

    fn thinking() -> Block {
        Block::Thinking(ThinkingContent {
            content_type: ThinkingType::Thinking,
            thinking: String::new(),
            thinking_signature: None,
            redacted: None,
        })
    }

    fn tool(id: String, name: String) -> Block {
        let call = tool_call(id, name, Map::new());
        Block::Tool { call, json: String::new(), complete: false }
    }

    /// What grows as deltas come.
    fn raw(&self) -> &str {
        match self {
            Block::Text(text) => &text.text,
            Block::Thinking(thinking) => &thinking.thinking,
            Block::Tool { json, .. } => json,
        }
    }

    fn view(&self) -> BlockView<'_> {
        match self {
            Block::Text(text) => BlockView::Text(text),
            Block::Thinking(thinking) => BlockView::Thinking(thinking),
            Block::Tool { call, json, complete } => BlockView::Tool { call, json, complete: *complete },
        }
    }

    fn content(&self) -> AssistantContent {
        match self {
            Block::Text(text) => AssistantContent::Text(text.clone()),
            Block::Thinking(thinking) => AssistantContent::Thinking(thinking.clone()),
            Block::Tool { call, json, complete } => {
                let mut call = call.clone();
                if !complete {
                    call.arguments = partial_json::partial_arguments(json);
                }
                AssistantContent::ToolCall(call)
            }
        }
    }
}

/// A tool call without a signature.
pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: Map<String, Value>) -> ToolCall {
    ToolCall {
        content_type: ToolCallType::ToolCall,
        id: id.into(),
        name: name.into(),
        arguments,
        thought_signature: None,
    }
}
