//! Stream event of a model's answer: one of twelve shapes, and a shared handle on the answer so far.

use std::sync::{Arc, Mutex};

use base::sync::lock;
use protocol::signal::stream::{AssistantMessage, DoneReason, ErrorReason, StreamEvent, ToolCall, Usage};
use serde::Serialize;
use serde_json::Value;

use crate::answer_json::Mark;
use crate::draft::{Draft, Step};
use crate::failure::Cause;

/// One event: what is new, and a handle on the answer so far.
#[derive(Clone, Debug)]
pub struct Event {
    /// What is new.
    pub kind: EventKind,
    /// The answer so far.
    pub partial: Partial,
}

/// What is new in an answer. Serialised, it is the event of the wire without its `partial`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The answer begins.
    Start,
    /// A block of text begins.
    TextStart { content_index: u64 },
    /// More text.
    TextDelta { content_index: u64, delta: String },
    /// The text is complete.
    TextEnd { content_index: u64, content: String },
    /// A block of thinking begins.
    ThinkingStart { content_index: u64 },
    /// More thinking.
    ThinkingDelta { content_index: u64, delta: String },
    /// The thinking is complete.
    ThinkingEnd { content_index: u64, content: String },
    /// A tool call begins.
    ToolcallStart { content_index: u64 },
    /// More of its arguments, as a piece of JSON.
    ToolcallDelta { content_index: u64, delta: String },
    /// The tool call is complete.
    ToolcallEnd { content_index: u64, tool_call: ToolCall },
    /// The answer is complete.
    Done {
        reason: DoneReason,
        #[serde(serialize_with = "whole")]
        message: Arc<AssistantMessage>,
    },
    /// The answer broke off.
    Error {
        reason: ErrorReason,
        #[serde(serialize_with = "whole")]
        error: Arc<AssistantMessage>,
        /// What kind of trouble it was; not part of the wire.
        #[serde(skip)]
        cause: Cause,
    },
}

/// The answer so far, kept once and shared by all events of a stream. It is as it was when an event came
/// until the next event is asked for.
#[derive(Clone, Debug)]
pub struct Partial(Arc<Mutex<Draft>>);

impl Partial {
    pub(crate) fn new(draft: Draft) -> Partial {
        Partial(Arc::new(Mutex::new(draft)))
    }

    /// The whole message so far.
    pub fn message(&self) -> AssistantMessage {
        self.with(|draft| draft.message())
    }

    /// What it has used so far.
    pub fn usage(&self) -> Usage {
        self.with(|draft| draft.usage().clone())
    }

    /// How far it has come, to write it as it is now later on.
    pub fn mark(&self) -> Mark {
        self.with(|draft| draft.mark())
    }

    /// Appends it as JSON: its content as it was at the mark, or as it is. Cheaper than [`Partial::message`].
    pub fn write(&self, mark: Option<&Mark>, out: &mut String) {
        self.with(|draft| draft.write(mark, out));
    }

    pub(crate) fn apply(&self, step: Step) -> Option<EventKind> {
        self.with(|draft| draft.apply(step))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Draft) -> T) -> T {
        act(&mut lock(&self.0))
    }
}

impl Event {
    /// True for `done` and `error`.
    pub fn is_last(&self) -> bool {
        matches!(self.kind, EventKind::Done { .. } | EventKind::Error { .. })
    }

    /// The event as seed and protocol have it, with a copy of the answer so far.
    pub fn to_stream_event(&self) -> StreamEvent {
        let partial = || self.partial.message();
        match self.kind.clone() {
            EventKind::Start => StreamEvent::Start { partial: partial() },
            EventKind::TextStart { content_index } => {
                StreamEvent::TextStart { content_index, partial: partial() }
            }
            EventKind::TextDelta { content_index, delta } => {
                StreamEvent::TextDelta { content_index, delta, partial: partial() }
            }
            EventKind::TextEnd { content_index, content } => {
                StreamEvent::TextEnd { content_index, content, partial: partial() }
            }
            EventKind::ThinkingStart { content_index } => {
                StreamEvent::ThinkingStart { content_index, partial: partial() }
            }
            EventKind::ThinkingDelta { content_index, delta } => {
                StreamEvent::ThinkingDelta { content_index, delta, partial: partial() }
            }
            EventKind::ThinkingEnd { content_index, content } => {
                StreamEvent::ThinkingEnd { content_index, content, partial: partial() }
            }
            EventKind::ToolcallStart { content_index } => {
                StreamEvent::ToolcallStart { content_index, partial: partial() }
            }
            EventKind::ToolcallDelta { content_index, delta } => {
                StreamEvent::ToolcallDelta { content_index, delta, partial: partial() }
            }
            EventKind::ToolcallEnd { content_index, tool_call } => {
                StreamEvent::ToolcallEnd { content_index, tool_call, partial: partial() }
            }
            EventKind::Done { reason, message } => StreamEvent::Done { reason, message: unshare(message) },
            EventKind::Error { reason, error, .. } => StreamEvent::Error { reason, error: unshare(error) },
        }
    }

    /// The event as JSON with its `partial`. It costs as much as the answer is long.
    pub fn to_value_with_partial(&self) -> Value {
        serde_json::to_value(self.to_stream_event()).unwrap_or_default()
    }

    /// The event as JSON without its `partial`.
    pub fn to_compact_value(&self) -> Value {
        serde_json::to_value(&self.kind).unwrap_or_default()
    }
}

impl EventKind {
    /// Takes `next` in when it goes on where this one ends; otherwise gives it back.
    pub fn merge(&mut self, next: EventKind) -> Result<(), EventKind> {
        use EventKind::{TextDelta, ThinkingDelta, ToolcallDelta};
        match (self, next) {
            (TextDelta { content_index, delta }, TextDelta { content_index: same, delta: more })
            | (ThinkingDelta { content_index, delta }, ThinkingDelta { content_index: same, delta: more })
            | (ToolcallDelta { content_index, delta }, ToolcallDelta { content_index: same, delta: more })
                if *content_index == same =>
            {
                delta.push_str(&more);
                Ok(())
            }
            (_, next) => Err(next),
        }
    }
}

fn unshare(message: Arc<AssistantMessage>) -> AssistantMessage {
    Arc::unwrap_or_clone(message)
}

fn whole<S: serde::Serializer>(message: &Arc<AssistantMessage>, to: S) -> Result<S::Ok, S::Error> {
    message.as_ref().serialize(to)
}
