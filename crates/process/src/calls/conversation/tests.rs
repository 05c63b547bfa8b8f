//! Tests of opening, closing and listing conversations and of their policies.

use protocol::proc::conversation::{ContextPolicy, Conversation, Overflow};
use serde_json::json;

use super::*;
use crate::fixture::{Fixture, NOW_MS, user};

fn open(id: Option<&str>, title: Option<&str>) -> Open {
    Open { pid: None, conversation_id: id.map(Into::into), title: title.map(str::to_string) }
}

async fn opened(fixture: &Fixture, args: Open) -> Opened {
    fixture.host.conversation_open(fixture.pid(), &args).await.unwrap().into_result().unwrap()
}

async fn closed(fixture: &Fixture, id: &str) -> bool {
    let args = Close { pid: None, conversation_id: id.into() };
    fixture.host.conversation_close(fixture.pid(), &args).await.unwrap().into_result().unwrap().closed
}

#[tokio::test]
async fn a_conversation_is_opened_closed_and_opened_again() {
    let fixture = Fixture::new().await;
    let first = opened(&fixture, open(Some(" talk "), Some(" A title "))).await;
    let expected = Conversation {
        id: "talk".into(),
        generation: 1,
        status: Status::Open,
        title: Some("A title".to_string()),
        message_count: 0,
        created_at: NOW_MS,
        updated_at: NOW_MS,
    };
    assert_eq!((first.created, &first.conversation), (true, &expected));
    fixture.clock.advance(5);
    assert!(closed(&fixture, "talk").await);
    assert!(!closed(&fixture, "talk").await && !closed(&fixture, "none").await);
    fixture.clock.advance(5);
    let again = opened(&fixture, open(Some("talk"), Some("  "))).await;
    let expected = Conversation { updated_at: NOW_MS + 10, ..expected };
    assert_eq!((again.created, &again.conversation), (false, &expected));
    let new = opened(&fixture, open(None, None)).await;
    assert!(new.created && new.conversation.id.as_str().len() == 36, "{new:?}");
    assert!(closed(&fixture, "default").await, "the default conversation can be closed too");
}

#[tokio::test]
async fn conversations_are_listed_and_read() {
    let fixture = Fixture::new().await;
    for id in ["b", "a"] {
        opened(&fixture, open(Some(id), None)).await;
    }
    fixture.say("b", vec![user("x")]).await;
    fixture.clock.advance(1);
    closed(&fixture, "a").await;
    let listed = async |include_closed| -> Vec<String> {
        let args = List { pid: None, include_closed };
        let listed =
            fixture.host.conversation_list(fixture.pid(), &args).await.unwrap().into_result().unwrap();
        listed.conversations.into_iter().map(|conversation| conversation.id.0).collect()
    };
    assert_eq!(listed(None).await, ["b", "default"]);
    assert_eq!(listed(Some(true)).await, ["a", "b", "default"]);
    let got = async |id: Option<&str>| {
        let args = Get { pid: None, conversation_id: id.map(Into::into) };
        fixture.host.conversation_get(fixture.pid(), &args).await.unwrap().into_result().unwrap().conversation
    };
    assert_eq!(got(Some("b")).await.unwrap().message_count, 1);
    assert_eq!(got(None).await.unwrap().id.as_str(), "default");
    assert_eq!(got(Some("none")).await, None);
}

#[tokio::test]
async fn changes_are_told() {
    let fixture = Fixture::new().await;
    let conversation = opened(&fixture, open(Some("talk"), None)).await.conversation;
    closed(&fixture, "talk").await;
    closed(&fixture, "talk").await;
    let changed = |event: &str| {
        json!({
            "pid": "init:1000", "changes": ["lifecycle", "conversations"], "queuedCount": 0, "timestamp": NOW_MS,
            "conversationId": "talk", "event": event,
        })
    };
    let mut first = changed("conversation.opened");
    first["conversation"] = to_value(&conversation);
    let name = || "proc.changed".to_string();
    assert_eq!(fixture.signals(), [(name(), first), (name(), changed("conversation.closed"))]);
}

#[tokio::test]
async fn policies_are_merged_and_checked() {
    let fixture = Fixture::new().await;
    let get = async |id: &str| {
        let args = PolicyGet { pid: None, conversation_id: Some(id.into()) };
        fixture.host.policy_get(fixture.pid(), &args).await.unwrap().into_result().unwrap().policy
    };
    let set = async |args: PolicySet| {
        let args = PolicySet { conversation_id: Some("new".into()), ..args };
        fixture.host.policy_set(fixture.pid(), &args).await.unwrap().into_result().map(|result| result.policy)
    };
    let unset = ContextPolicy {
        conversation_id: "new".into(),
        overflow: Overflow::Manual,
        compact_at_pressure: 0.9,
        keep_last: 80,
        updated_at: 0,
    };
    assert_eq!(get("new").await, unset);
    let expected = ContextPolicy { overflow: Overflow::AutoCompact, updated_at: NOW_MS, ..unset };
    let args = PolicySet { overflow: Some(Overflow::AutoCompact), ..PolicySet::default() };
    assert_eq!(set(args).await.unwrap(), expected);
    fixture.clock.advance(1);
    let args = PolicySet { compact_at_pressure: Some(0.5), keep_last: Some(0), ..PolicySet::default() };
    let expected =
        ContextPolicy { compact_at_pressure: 0.5, keep_last: 0, updated_at: NOW_MS + 1, ..expected };
    assert_eq!(set(args).await.unwrap(), expected);
    assert_eq!(get("new").await, expected);
    for pressure in [0.0, -1.0, 1.01, f64::NAN, f64::INFINITY] {
        let args = PolicySet { compact_at_pressure: Some(pressure), ..PolicySet::default() };
        let why = "proc.conversation.policy.set compactAtPressure must be > 0 and <= 1";
        assert_eq!(set(args).await.unwrap_err(), why);
    }
    for pressure in [0.000_1, 0.876_54, 1.0 / 3.0, f64::MIN_POSITIVE, 1.0] {
        let args = PolicySet { compact_at_pressure: Some(pressure), ..PolicySet::default() };
        assert_eq!(set(args).await.unwrap().compact_at_pressure, pressure);
        assert_eq!(get("new").await.compact_at_pressure, pressure);
    }
    let signals = fixture.signals();
    assert_eq!(signals.len(), 7, "what was refused is not told");
    assert_eq!(signals[1].1["event"], "conversation.policy");
    assert_eq!(signals[1].1["policy"], to_value(&expected));
}

#[tokio::test]
async fn odd_names_are_refused() {
    let fixture = Fixture::new().await;
    for id in ["a\u{0}b", "line\nbreak", &"x".repeat(300)] {
        let refused = fixture.host.conversation_open(fixture.pid(), &open(Some(id), None)).await.unwrap_err();
        assert_eq!(refused.code, 400, "{refused}");
        assert!(refused.message.starts_with("proc.conversation.open: conversationId: "), "{refused}");
    }
    let unknown = fixture.host.conversation_open(&"none".into(), &open(None, None)).await.unwrap_err();
    assert_eq!(unknown.code, 404);
}
