//! Tests of conversations as models see them.

use std::sync::Arc;

use protocol::media::{MediaInput, MediaType};
use protocol::signal::stream::{ThinkingContent, ThinkingType, ToolCall, ToolCallType};
use serde_json::json;
use store::change::Change;

use super::*;
use crate::fixture::{Fixture, message};
use crate::prepare;

fn row(id: i64, role: MessageRole, content: &str) -> MessageRow {
    MessageRow { id, created_at: id, ..message(role, content) }
}

fn user(id: i64, text: &str) -> MessageRow {
    row(id, MessageRole::User, text)
}

fn result(id: i64, call: &str, text: &str) -> MessageRow {
    let meta = json!({ "toolName": "Read", "isError": text.starts_with("Error") }).to_string();
    let call = Some(call.to_string());
    MessageRow { meta: Some(meta), tool_call_id: call, ..row(id, MessageRole::ToolResult, text) }
}

fn answer(calls: &[&str]) -> AssistantMessage {
    let thinking = ThinkingContent {
        content_type: ThinkingType::Thinking,
        thinking: "hm".to_string(),
        thinking_signature: Some("sealed".to_string()),
        redacted: None,
    };
    let text =
        TextContent { content_type: TextType::Text, text: "I look.".to_string(), text_signature: None };
    let call = |id: &&str| ToolCall {
        content_type: ToolCallType::ToolCall,
        id: id.to_string(),
        name: "Read".to_string(),
        arguments: serde_json::Map::new(),
        thought_signature: None,
    };
    let mut content = vec![AssistantContent::Thinking(thinking), AssistantContent::Text(text)];
    content.extend(calls.iter().map(call).map(AssistantContent::ToolCall));
    AssistantMessage {
        role: AssistantRole::Assistant,
        content,
        api: "anthropic-messages".to_string(),
        provider: "anthropic".to_string(),
        model: "claude".to_string(),
        response_model: None,
        response_id: Some("r1".to_string()),
        usage: crate::cost::usage(&Default::default()),
        stop_reason: StopReason::ToolUse,
        error_message: None,
        timestamp: 5,
    }
}

fn said(id: i64, calls: &[&str]) -> MessageRow {
    let meta = serde_json::to_string(&answer(calls)).unwrap();
    MessageRow { meta: Some(meta), ..row(id, MessageRole::Assistant, "I look.") }
}

fn converted(rows: Vec<MessageRow>) -> Vec<Message> {
    let mut context = Context::default();
    rows.into_iter().for_each(|row| context.take_in(row, Vec::new()));
    context.into_messages()
}

fn words(content: &[Block]) -> Vec<&str> {
    content.iter().map(word).collect()
}

fn word(block: &Block) -> &str {
    match block {
        Block::Text { text } => text,
        Block::Image { .. } => "picture",
    }
}

/// Each message in short: `u:text`, `a:calls`, `r:id=text`.
fn short(messages: &[Message]) -> Vec<String> {
    let one = |message: &Message| match message {
        Message::User { content } => format!("u:{}", words(content).join("|")),
        Message::Assistant(answer) => {
            let ids: Vec<&str> = model::tool_calls(answer).map(|call| call.id.as_str()).collect();
            format!("a:{}", ids.join(","))
        }
        Message::ToolResult(result) => {
            format!("r:{}={}", result.tool_call_id, words(&result.content).join("|"))
        }
    };
    messages.iter().map(one).collect()
}

#[test]
fn results_follow_their_calls_in_order_and_others_wait() {
    let rows = vec![
        user(1, "go"),
        said(2, &["a", "b"]),
        result(4, "b", "2"),
        user(5, "and?"),
        row(6, MessageRole::System, "tick"),
        result(3, "a", "1"),
        user(7, "now"),
    ];
    let expected = ["u:go", "a:a,b", "r:a=1", "r:b=2", "u:and?", "u:[Process Event]:\ntick", "u:now"];
    assert_eq!(short(&converted(rows)), expected);
}

#[test]
fn results_without_calls_are_dropped_and_missing_ones_hold_nothing_up() {
    let rows = vec![
        result(1, "lost", "orphan"),
        user(2, "go"),
        said(3, &["a", "b"]),
        result(4, "a", "1"),
        result(5, "a", "again"),
        user(6, "stop"),
        said(7, &["a"]),
        result(8, "a", "new"),
        result(9, "b", "late"),
    ];
    assert_eq!(short(&converted(rows)), ["u:go", "a:a,b", "r:a=1", "u:stop", "a:a", "r:a=new"]);
    let open = vec![said(1, &["a", "b"]), user(2, "wait"), result(3, "b", "2")];
    assert_eq!(short(&converted(open)), ["a:a,b", "r:b=2", "u:wait"], "what is there can be sent");
}

#[test]
fn calls_with_one_id_have_a_result_each() {
    let rows = vec![said(1, &["x", "x"]), result(2, "x", "1"), result(3, "x", "2"), user(4, "ok")];
    assert_eq!(short(&converted(rows)), ["a:x,x", "r:x=1", "r:x=2", "u:ok"]);
}

#[test]
fn an_answer_comes_back_whole_and_a_bare_one_as_words() {
    assert_eq!(converted(vec![said(1, &["a"])]), [Message::Assistant(answer(&["a"]))]);
    for meta in [None, Some("{broken".to_string())] {
        let bare = MessageRow { meta, ..row(1, MessageRole::Assistant, "only words") };
        let [Message::Assistant(answer)] = &converted(vec![bare])[..] else { panic!("one answer") };
        assert_eq!(model::answer_text(answer), "only words");
    }
    let failed = converted(vec![said(1, &["a"]), result(2, "a", "Error: no")]);
    let [_, Message::ToolResult(failed)] = &failed[..] else { panic!("an answer and a result") };
    assert!(failed.is_error && failed.tool_name == "Read");
}

#[test]
fn a_message_from_elsewhere_says_so() {
    let telegram =
        r#"{"kind":"adapter","adapter":"telegram","surface":{"kind":"dm","id":"1"},"actorId":"7"}"#;
    let from = |id, text: &str| MessageRow { origin: Some(telegram.to_string()), ..user(id, text) };
    let rows = vec![from(1, "hi"), from(2, "again")];
    assert_eq!(short(&converted(rows)), ["u:[From: Telegram dm from 7]\nhi", "u:again"]);
}

async fn fixture() -> (Fixture, Arc<Setup>) {
    let fixture = Fixture::with("task", json!({ "tools": [], "devices": [] })).await;
    fixture.set("config/ai/provider", "demo").await;
    let setup = prepare::prepare(&fixture.host.world, &fixture.process).await.unwrap();
    (fixture, setup)
}

#[tokio::test]
async fn a_long_conversation_is_loaded_whole_and_grows_without_reading_it_again() {
    let (fixture, setup) = fixture().await;
    let (world, process) = (&fixture.host.world, &fixture.process);
    let count = limits::process::MESSAGES_PER_READ as i64 * 2 + 5;
    let mut change = Change::new(&process.pid);
    for id in 1..=count {
        change = change.message(&user(id, &id.to_string()));
    }
    world.store.keep(change).await.unwrap();
    let conversation = "default".into();
    let mut context = Context::load(world, process, &conversation, &setup).await.unwrap();
    assert_eq!((context.message_count(), context.last_message_id()), (count as u64, Some(count)));
    let new = user(count + 1, "newest");
    world.store.keep(Change::new(&process.pid).message(&new)).await.unwrap();
    context.append(world, process, &setup, [new]).await;
    let again = Context::load(world, process, &conversation, &setup).await.unwrap().into_messages();
    assert_eq!(context.messages(), again);
    assert_eq!((short(&again)[0].as_str(), short(&again).last().unwrap().as_str()), ("u:1", "u:newest"));
}

#[tokio::test]
async fn media_that_cannot_be_shown_are_told() {
    let (fixture, setup) = fixture().await;
    let media = json!([
        { "type": "audio", "mimeType": "audio/ogg", "transcription": "hello" },
        { "type": "image", "mimeType": "image/png", "key": "var/media/gone.png" },
    ]);
    let message = MessageRow { media: Some(media.to_string()), ..user(1, "listen") };
    let mut context = Context::default();
    context.append(&fixture.host.world, &fixture.process, &setup, [message]).await;
    let told = "u:listen|Attached audio [audio/ogg]\nTranscript: hello|Attached image [image/png]\nIt could not be shown \
        to you: this model is not known to take pictures.";
    assert_eq!(short(&context.messages()), [told]);
}

#[tokio::test]
async fn pictures_are_shown_to_models_that_see_and_told_to_others() {
    let (fixture, mut setup) = fixture().await;
    let picture = MediaInput {
        media_type: MediaType::Image,
        mime_type: "image/png".to_string(),
        data: Some("iVBORw0KGgo=".to_string()),
        url: None,
        filename: Some("a.png".to_string()),
        size: None,
        duration: None,
        transcription: None,
    };
    let kept = crate::media::keep(&fixture.host.world, &fixture.process, vec![picture]).await.unwrap();
    let media = Some(serde_json::to_string(&kept).unwrap());
    let rows = [
        MessageRow { media: media.clone(), ..user(1, "look") },
        said(2, &["a"]),
        MessageRow { media, ..result(3, "a", "seen") },
    ];
    let told = "Attached image \"a.png\" [image/png] 8 B\nIt could not be shown to you: this model is not known to take pictures.";
    for (sees, expected) in [(true, "picture"), (false, told)] {
        Arc::make_mut(&mut setup).model.images = sees;
        let mut context = Context::default();
        context.append(&fixture.host.world, &fixture.process, &setup, rows.clone()).await;
        let messages = short(&context.messages());
        // Of the two pictures one came after the newest answer.
        assert_eq!(context.hidden_pictures(), u64::from(!sees));
        assert_eq!(
            (&messages[0], &messages[2]),
            (&format!("u:look|{expected}"), &format!("r:a=seen|{expected}"))
        );
        if sees {
            let Message::User { content } = &context.messages()[0] else { panic!("a person's message") };
            assert_eq!(content[1], Block::image("image/png", "iVBORw0KGgo="));
        }
    }
}
