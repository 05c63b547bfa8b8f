//! Tests of the scripted provider that other crates test with.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use model::fake::{Piece, Script, Server, Turn, anthropic_reply, chat_reply};
use model::{Cancel, EventKind, Message, Model, Provider, ProviderKind, Request};
use serde_json::json;
use tokio::sync::Notify;

use crate::hearing::{hear, limits, provider, request};

fn ask(text: &str) -> Request {
    Request::new(Model::find(ProviderKind::OpenaiChat, "m"), vec![Message::user(text)])
}

#[tokio::test]
async fn turns_are_played_in_order_and_requests_remembered() {
    let script = Script::new([Turn::text("one"), Turn::tool("c", "Read", json!({"path": "x"}))]);
    assert_eq!(hear(&script, ask("a")).await.message()["content"][0]["text"], "one");
    assert_eq!(hear(&script, ask("b")).await.message()["stopReason"], "toolUse");
    assert_eq!(hear(&script, ask("c")).await.error(), "The script has ended");
    let asked: Vec<Message> = script.requests().into_iter().flat_map(|request| request.messages).collect();
    assert_eq!(asked, ["a", "b", "c"].map(Message::user));
}

#[tokio::test]
async fn a_gate_holds_and_a_wish_ends() {
    let gate = Arc::new(Notify::new());
    let turn = Turn::text("before ").piece(Piece::Gate(gate.clone())).say("after").piece(Piece::Hang);
    let script = Script::answering(move |_| turn.clone());
    let cancel = Cancel::new();
    let mut stream = script.stream(ask("x"), cancel.clone());
    let mut types = Vec::new();
    while types.len() < 4 {
        types.push(stream.next().await.expect("an event").kind);
    }
    assert!(matches!(types[3], EventKind::TextEnd { .. }));
    gate.notify_one();
    let next = stream.next().await.expect("an event");
    assert!(matches!(next.kind, EventKind::TextStart { content_index: 1 }));
    cancel.cancel();
    let message = stream.finish().await;
    assert_eq!(message.error_message.as_deref(), Some("Request was aborted"));
}

#[tokio::test]
async fn a_turn_is_the_same_over_the_wire() {
    let turn =
        Turn::new().think("hm hm").say("so it is").call("c1", "Read", json!({"path": "a"})).tokens(7, 9);
    let script = Script::new([turn.clone()]);
    let direct = hear(&script, request(ProviderKind::Anthropic, "claude-sonnet-4-5")).await;
    for (kind, reply) in
        [(ProviderKind::Anthropic, anthropic_reply(&turn)), (ProviderKind::OpenaiChat, chat_reply(&turn))]
    {
        let server = Server::replying(vec![reply]).await.expect("a free port");
        let heard =
            hear(provider(kind, &server, limits()).as_ref(), request(kind, "claude-sonnet-4-5")).await;
        let (a, b) = (direct.message(), heard.message());
        assert_eq!(a["usage"]["totalTokens"], b["usage"]["totalTokens"]);
        assert_eq!(a["content"][1], b["content"][1]);
        assert_eq!(a["content"][2], b["content"][2]);
        assert_eq!(a["content"][0]["thinking"], b["content"][0]["thinking"]);
    }
}

#[tokio::test]
async fn a_failing_turn_fails_over_the_wire_too() {
    let turn = Turn::text("x").piece(Piece::Pause(Duration::from_millis(1))).fail("broken");
    for (kind, reply) in
        [(ProviderKind::Anthropic, anthropic_reply(&turn)), (ProviderKind::OpenaiChat, chat_reply(&turn))]
    {
        let server = Server::replying(vec![reply]).await.expect("a free port");
        let heard = hear(provider(kind, &server, limits()).as_ref(), request(kind, "m")).await;
        assert!(heard.error().ends_with("broken"), "{}", heard.error());
    }
}
