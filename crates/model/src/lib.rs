//! Provider abstraction over language models: many wire formats behind one stream of events.
//!
//! A [`Request`] goes to a [`Provider`], which answers with an [`EventStream`]: events of twelve shapes, one of them
//! last. [`Client`] holds what all providers on the network share and makes them from an [`Endpoint`]. [`Model`] is
//! what is known about a model. `wire` is the only place that knows a provider's JSON; `repair` makes any history one
//! that a provider accepts; `fake` is for tests and measurements.

mod answer_json;
mod cancel;
mod demo;
mod discover;
mod draft;
mod event;
mod failure;
pub mod fake;
mod http;
mod message;
mod models;
mod partial_json;
mod provider;
mod reasoning;
mod repair;
mod secret;
pub mod speech;
mod sse;
mod stream;
mod tools;
pub mod transcription;
mod wire;

pub use answer_json::Mark;
pub use cancel::Cancel;
pub use demo::Demo;
pub use discover::{Choice, LocalServer, discover};
pub use draft::tool_call;
pub use event::{Event, EventKind, Partial};
pub use failure::{Cause, Failure};
pub use http::{Client, Limits};
pub use message::{Block, Message, Request, ToolResult, answer_text};
pub use models::{Model, Prices};
pub use outgoing::PrivateHosts;
pub use partial_json::{complete_arguments, partial_arguments};
pub use protocol::ai::Tool;
pub use protocol::signal::stream::{
    AssistantContent, AssistantMessage, DoneReason, ErrorReason, StopReason, StreamEvent, ToolCall, Usage,
};
pub use provider::{Endpoint, Provider, ProviderKind};
pub use reasoning::Reasoning;
pub use repair::{NO_IMAGE, NO_RESULT, repair, tool_calls};
pub use secret::Secret;
pub use stream::EventStream;
pub use tools::Tools;
