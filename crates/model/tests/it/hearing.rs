//! Test helper that asks a provider and collects its stream; every stream is checked for what all streams promise.

use std::time::Duration;

use base::clock::Clock;
use futures_util::StreamExt;
use model::fake::{Received, Reply, Server};
use model::{
    Cancel, Cause, Client, Endpoint, Event, EventKind, Limits, Message, Model, PrivateHosts, Provider,
    ProviderKind, Request, Secret, StreamEvent, Tool,
};
use serde_json::{Value, json};

pub const KEY: &str = "sk-test-0123456789";

/// What was heard.
pub struct Heard {
    /// The events without their partials.
    pub events: Vec<Value>,
    /// The events with their partials.
    pub full: Vec<Value>,
    /// The cause of a failure.
    pub cause: Option<Cause>,
    /// What the server was asked.
    pub received: Vec<Received>,
}

impl Heard {
    /// Types of the events, runs of one delta as one.
    pub fn types(&self) -> Vec<String> {
        let mut types: Vec<String> = self.events.iter().map(type_of).collect();
        types.dedup();
        types
    }

    /// The message that the last event carries.
    pub fn message(&self) -> &Value {
        let last = self.events.last().expect("a stream has an end");
        if last["type"] == "done" { &last["message"] } else { &last["error"] }
    }

    /// The error's text, if the last event is one.
    pub fn error(&self) -> &str {
        self.message()["errorMessage"].as_str().unwrap_or_default()
    }
}

fn type_of(event: &Value) -> String {
    event["type"].as_str().unwrap_or_default().to_owned()
}

pub fn limits() -> Limits {
    Limits { retry_pause_first: Duration::from_millis(1), ..Limits::default() }
}

pub fn client(limits: Limits) -> Client {
    Client::with_limits(Clock::manual(1_700_000_000_000), PrivateHosts::Allow, limits)
}

pub fn tool(name: &str) -> Tool {
    let schema =
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let Value::Object(input_schema) = schema else { unreachable!() };
    Tool { name: name.to_owned(), description: format!("{name} things"), input_schema }
}

pub fn request(kind: ProviderKind, id: &str) -> Request {
    Request {
        system: "Be brief.".into(),
        tools: std::sync::Arc::new(vec![tool("Read"), tool("Write")].into()),
        max_tokens: 4_000,
        affinity: Some("pid-1".to_owned()),
        ..Request::new(Model::find(kind, id), vec![Message::user("Hello")])
    }
}

pub fn provider(kind: ProviderKind, server: &Server, limits: Limits) -> std::sync::Arc<dyn Provider> {
    let endpoint =
        Endpoint { base_url: Some(server.base_url()), key: Some(Secret::new(KEY)), ..Endpoint::new(kind) };
    client(limits).provider(endpoint)
}

/// Asks a server with these replies.
pub async fn ask(request: Request, replies: Vec<Reply>) -> Heard {
    ask_within(request, replies, limits()).await
}

pub async fn ask_within(request: Request, replies: Vec<Reply>, limits: Limits) -> Heard {
    let server = Server::replying(replies).await.expect("a free port");
    let provider = provider(request.model.provider, &server, limits);
    let mut heard = hear(provider.as_ref(), request).await;
    heard.received = server.received();
    heard
}

/// Listens to the end.
pub async fn hear(provider: &dyn Provider, request: Request) -> Heard {
    let mut stream = provider.stream(request, Cancel::new());
    let mut heard = Heard { events: Vec::new(), full: Vec::new(), cause: None, received: Vec::new() };
    while let Some(event) = stream.next().await {
        note(&mut heard, &event);
    }
    assert!(stream.next().await.is_none());
    check(&heard);
    heard
}

fn note(heard: &mut Heard, event: &Event) {
    if let EventKind::Error { cause, .. } = &event.kind {
        heard.cause = Some(*cause);
    }
    heard.events.push(event.to_compact_value());
    heard.full.push(event.to_value_with_partial());
}

/// What every stream promises.
fn check(heard: &Heard) {
    let types: Vec<String> = heard.events.iter().map(type_of).collect();
    let last = types.last().expect("a stream has an end").as_str();
    assert!(last == "done" || last == "error", "{types:?}");
    let ends = types.iter().filter(|kind| *kind == "done" || *kind == "error").count();
    assert_eq!(ends, 1, "{types:?}");
    assert!(types[0] == "start" || types == ["error"], "{types:?}");
    assert_eq!(types.iter().filter(|kind| *kind == "start").count(), usize::from(types[0] == "start"));
    let mut built: Vec<String> = Vec::new();
    for (compact, full) in heard.events.iter().zip(&heard.full) {
        let typed: StreamEvent = serde_json::from_value(full.clone()).expect("one of the twelve shapes");
        assert_eq!(&serde_json::to_value(typed).expect("JSON"), full);
        let mut bare = full.clone();
        let partial = bare.as_object_mut().expect("an object").remove("partial");
        assert_eq!(&bare, compact);
        let Some(partial) = partial else { continue };
        follow(compact, &partial, &mut built);
    }
}

/// The partial of an event is what the deltas up to it add up to.
fn follow(event: &Value, partial: &Value, built: &mut Vec<String>) {
    let Some(index) = event["contentIndex"].as_u64().map(|index| index as usize) else { return };
    let kind = type_of(event);
    if kind.ends_with("_start") {
        assert_eq!(index, built.len(), "blocks open in their order");
        built.push(String::new());
    }
    built[index].push_str(event["delta"].as_str().unwrap_or_default());
    let block = &partial["content"][index];
    assert_eq!(partial["content"].as_array().map(Vec::len), Some(built.len()));
    match block["type"].as_str() {
        Some("text") => assert_eq!(block["text"], built[index].as_str()),
        Some("thinking") => assert_eq!(block["thinking"], built[index].as_str()),
        _ => assert!(block["arguments"].is_object(), "{block}"),
    }
    if kind == "text_end" || kind == "thinking_end" {
        assert_eq!(event["content"], built[index].as_str());
    }
    if kind == "toolcall_end" {
        assert_eq!(&event["toolCall"], block);
    }
}

/// Events as a body, with odd line ends and comments among them.
pub fn sse(events: &[Value]) -> String {
    let mut out = ": welcome\r\n\r\n".to_owned();
    for (number, event) in events.iter().enumerate() {
        let name = event["type"].as_str().unwrap_or("message");
        out.push_str(&match number % 3 {
            0 => format!("event: {name}\ndata: {event}\n\n"),
            1 => format!("event: {name}\r\ndata:{event}\r\n\r\n: keep alive\r\n\r\n"),
            // One JSON text over several lines of data.
            _ => {
                let pretty = serde_json::to_string_pretty(event).expect("JSON");
                let lines: Vec<String> = pretty.lines().map(|line| format!("data: {line}")).collect();
                format!("id: {number}\n{}\n\n", lines.join("\n"))
            }
        });
    }
    out
}
