//! Tests of pages of history.

use protocol::ids::Uid;
use protocol::proc::history::MessageRole;
use serde_json::{Value, json};
use store::approvals::ApprovalRow;
use store::change::Change;
use store::runs::{RunRow, Used};

use super::*;
use crate::fixture::{Fixture, NOW_MS, answer, message as said, result, user};

async fn history(fixture: &Fixture, args: Read) -> History {
    fixture.host.history(fixture.pid(), &args).await.unwrap().into_result().unwrap()
}

fn texts(history: &History) -> Vec<&str> {
    history.messages.iter().map(|message| message.content.as_str().unwrap()).collect()
}

#[tokio::test]
async fn contents_are_shown_by_role() {
    let fixture = Fixture::new().await;
    let media = r#"[{"type":"image","mimeType":"image/png","key":"var/media/1000/p/x.png","size":3}]"#;
    let rows = vec![
        user("hi"),
        MessageRow { media: Some(media.to_string()), ..user("look") },
        answer("Plain.", &[]),
        answer("Reading.", &["c1"]),
        result("c1", "content"),
        MessageRow { meta: None, tool_call_id: None, ..result("", "bare") },
        MessageRow { media: Some(media.to_string()), ..result("c2", "a picture") },
        said(MessageRole::System, "an event"),
        MessageRow { meta: None, ..answer("Old.", &[]) },
    ];
    let rows = fixture.say("default", rows).await;
    let shown = history(&fixture, Read::default()).await;
    let contents: Vec<&Value> = shown.messages.iter().map(|message| &message.content).collect();
    let media: Value = serde_json::from_str(media).unwrap();
    let expected = [
        json!("hi"),
        json!({ "text": "look", "media": media }),
        json!("Plain."),
        json!({
            "text": "Reading.",
            "thinking": [{ "type": "thinking", "thinking": "hm", "thinkingSignature": "s" }],
            "toolCalls": [{ "type": "toolCall", "id": "c1", "name": "Read", "arguments": { "path": "/x" } }],
        }),
        json!({ "toolName": "Read", "isError": true, "toolCallId": "c1", "output": "content" }),
        json!({ "toolName": "unknown", "isError": false, "toolCallId": null, "output": "bare" }),
        json!({ "toolName": "Read", "isError": true, "toolCallId": "c2", "output": "a picture", "media": media }),
        json!("an event"),
        json!("Old."),
    ];
    assert_eq!(contents, expected.iter().collect::<Vec<_>>());
    for (message, row) in shown.messages.iter().zip(&rows) {
        assert_eq!(
            (message.id, message.timestamp, message.role),
            (Some(row.id), Some(row.created_at), row.role)
        );
    }
    let full = expanded(rows[2].clone(), Form::Full);
    assert_eq!(full, json!({ "text": "Plain.", "thinking": [], "toolCalls": [] }));
}

#[tokio::test]
async fn pages_say_what_is_around_them() {
    let fixture = Fixture::new().await;
    let names: Vec<String> = (1..=6).map(|number| number.to_string()).collect();
    fixture.say("default", names.iter().map(|name| user(name)).collect()).await;
    fixture.say("other", vec![user("7")]).await;
    let base = || Read { limit: Some(2), ..Read::default() };
    let cases: Vec<(Read, &[&str], bool, bool)> = vec![
        (base(), &["1", "2"], false, true),
        (Read { offset: Some(2), ..base() }, &["3", "4"], true, true),
        (Read { offset: Some(4), ..base() }, &["5", "6"], true, false),
        (Read { offset: Some(9), ..base() }, &[], true, false),
        (Read { tail: Some(true), ..base() }, &["5", "6"], true, false),
        (Read { tail: Some(true), limit: Some(6), ..base() }, &["1", "2", "3", "4", "5", "6"], false, false),
        (Read { tail: Some(false), ..base() }, &["1", "2"], false, true),
        (Read { before_message_id: Some(5), tail: Some(true), ..base() }, &["3", "4"], true, true),
        (Read { before_message_id: Some(3), ..base() }, &["1", "2"], false, true),
        (Read { before_message_id: Some(1), ..base() }, &[], false, true),
        (Read { before_message_id: Some(99), ..base() }, &["5", "6"], true, false),
        (Read { after_message_id: Some(2), ..base() }, &["3", "4"], true, true),
        (Read { after_message_id: Some(4), ..base() }, &["5", "6"], true, false),
        (Read { after_message_id: Some(0), ..base() }, &["1", "2"], false, true),
        (Read { after_message_id: Some(i64::MAX), ..base() }, &[], true, false),
        (Read { limit: Some(0), ..base() }, &[], false, true),
    ];
    for (args, expected, before, after) in cases {
        let shown = history(&fixture, args.clone()).await;
        assert_eq!(texts(&shown), expected, "{args:?}");
        assert_eq!((shown.has_more_before, shown.has_more_after), (Some(before), Some(after)), "{args:?}");
        let paged = args.tail == Some(true) || args.before_message_id.or(args.after_message_id).is_some();
        let truncated = if paged { before || after } else { after };
        assert_eq!(shown.truncated, truncated.then_some(true), "{args:?}");
        assert_eq!((shown.message_count, shown.conversation_id), (6, Some("default".into())), "{args:?}");
    }
}

#[tokio::test]
async fn limits_hold() {
    let fixture = Fixture::new().await;
    let many = limits::process::HISTORY_MAX as usize + 1;
    fixture.say("default", vec![user("x"); many]).await;
    let length = async |limit| history(&fixture, Read { limit, ..Read::default() }).await.messages.len();
    assert_eq!(length(None).await, 200);
    assert_eq!(length(Some(u64::MAX)).await, many - 1);
}

#[tokio::test]
async fn a_page_is_not_larger_than_can_be_sent() {
    let fixture = Fixture::new().await;
    let third = "x".repeat(limits::process::HISTORY_MAX_BYTES / 3);
    let huge = "x".repeat(limits::process::HISTORY_MAX_BYTES + 1);
    let mut rows = vec![user(&third); 5];
    rows.push(user(&huge));
    fixture.say("default", rows).await;
    let ids =
        |history: &History| history.messages.iter().filter_map(|message| message.id).collect::<Vec<_>>();
    let first = history(&fixture, Read::default()).await;
    assert_eq!((ids(&first), first.has_more_after, first.truncated), (vec![1, 2, 3], Some(true), Some(true)));
    let tail = history(&fixture, Read { tail: Some(true), ..Read::default() }).await;
    assert_eq!((ids(&tail), tail.has_more_before), (vec![6], Some(true)), "one comes, however large");
    let before = history(&fixture, Read { before_message_id: Some(6), ..Read::default() }).await;
    assert_eq!((ids(&before), before.has_more_before), (vec![3, 4, 5], Some(true)));
    let after = history(&fixture, Read { after_message_id: Some(3), ..Read::default() }).await;
    assert_eq!((ids(&after), after.has_more_after), (vec![4, 5], Some(true)));
}

#[tokio::test]
async fn an_unknown_conversation_is_empty() {
    let fixture = Fixture::new().await;
    for id in ["none", "  "] {
        let args = Read { conversation_id: Some(id.into()), ..Read::default() };
        let shown = history(&fixture, args).await;
        assert_eq!((shown.messages.len(), shown.message_count, shown.truncated), (0, 0, None));
        assert_eq!((&shown.pending_hil, &shown.context), (&Nullable::Null, &Nullable::Null));
        let id = if id == "none" { id } else { "default" };
        assert_eq!(shown.conversation_id, Some(id.into()));
    }
    assert_eq!(fixture.store.conversations().count(fixture.pid()).await.unwrap(), 1, "reading makes none");
    let unknown = fixture.host.history(&"none".into(), &Read::default()).await.unwrap_err();
    assert_eq!((unknown.code, unknown.message.as_str()), (404, "Process not found: none"));
    let long = Read { conversation_id: Some("x".repeat(1000).into()), ..Read::default() };
    assert_eq!(fixture.host.history(fixture.pid(), &long).await.unwrap_err().code, 400);
}

fn approval(id: &str, pid: &Pid, created_at: i64) -> ApprovalRow {
    ApprovalRow {
        request_id: id.to_string(),
        pid: pid.clone(),
        uid: Uid(1000),
        run_id: "r".into(),
        conversation_id: "other".into(),
        turn: 1,
        place: 0,
        call_id: "c".to_string(),
        parent_call_id: None,
        tool_name: "Shell".to_string(),
        syscall: "shell.exec".to_string(),
        target: "gsv".to_string(),
        args: r#"{"input":"rm x"}"#.to_string(),
        tags: vec![],
        shape: None,
        digest: String::new(),
        details: None,
        created_at,
        decision: None,
        withdrawn: false,
        decided_at: None,
        decided_by: None,
    }
}

#[tokio::test]
async fn what_waits_for_a_person_is_shown_oldest_first() {
    let fixture = Fixture::new().await;
    let other = ProcessRow { pid: "other".into(), ..fixture.process.clone() };
    assert!(fixture.store.processes().create(&other).await.unwrap());
    fixture.store.keep(Change::new(&other.pid).ask(&approval("foreign", &other.pid, 1))).await.unwrap();
    let pid = fixture.pid().clone();
    fixture.store.keep(Change::new(&pid).ask(&approval("newer", &pid, 9))).await.unwrap();
    let shown = history(&fixture, Read::default()).await;
    assert_eq!(shown.pending_hil.value().unwrap().request_id, "newer");
    assert_eq!(shown.pending_hils, None, "one is told once");
    fixture.store.keep(Change::new(&pid).ask(&approval("older", &pid, 5))).await.unwrap();
    let shown = history(&fixture, Read::default()).await;
    assert_eq!(shown.pending_hil.value().unwrap().request_id, "older");
    let ids: Vec<String> = shown.pending_hils.unwrap().into_iter().map(|hil| hil.request_id).collect();
    assert_eq!(ids, ["older", "newer"]);
}

#[tokio::test]
async fn the_context_is_the_stored_one_with_what_is_known_better() {
    let fixture = Fixture::new().await;
    let pid = fixture.pid().clone();
    fixture.say("default", vec![user("a"), user("b")]).await;
    let state = json!({
        "conversationId": "default", "messageCount": 1, "lastMessageId": 1, "provider": "p", "model": "m",
        "contextWindowTokens": 100, "maxOutputTokens": 10, "estimatedInputTokens": 5, "inputTokens": 5,
        "availableInputTokens": 90, "pressure": 0.05, "level": "ok", "source": "estimate", "updatedAt": 3,
    });
    let run = RunRow::begun("r".into(), &pid, Uid(1000), &"default".into(), NOW_MS);
    let used = Used { input_tokens: 7, output_tokens: 8, output_nano: 2_000_000_000, ..Used::default() };
    let change = Change::new(&pid).context(&"default".into(), &state.to_string());
    let change = change.run_begin(&run).run_turn(&run.run_id, ("p", "m"), 0, &used);
    fixture.store.keep(change).await.unwrap();
    let context = history(&fixture, Read::default()).await.context.value().unwrap();
    assert_eq!((context.message_count, context.last_message_id.clone()), (Some(2), Nullable::Value(2)));
    assert_eq!((context.input_tokens, context.updated_at), (5, 3));
    let usage = context.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cost.total), (7, 8, 2.0));
    fixture.store.keep(Change::new(&pid).context(&"default".into(), "{broken")).await.unwrap();
    assert_eq!(history(&fixture, Read::default()).await.context, Nullable::Null);
}
