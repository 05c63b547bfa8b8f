//! Tests of the normaliser on broken conversations.

use protocol::signal::stream::{ThinkingContent, ThinkingType};
use serde_json::Map;

use super::*;
use crate::draft::{Draft, Step, tool_call};
use crate::provider::ProviderKind;

fn model(kind: ProviderKind, id: &str) -> Model {
    Model::find(kind, id)
}

fn answer(model: &Model, content: Vec<AssistantContent>) -> AssistantMessage {
    AssistantMessage { content, ..Draft::new(model.clone(), "test", 0).message() }
}

fn text(text: &str) -> AssistantContent {
    AssistantContent::Text(plain_text(text.to_owned()))
}

fn call(id: &str) -> AssistantContent {
    AssistantContent::ToolCall(tool_call(id, "Read", Map::new()))
}

fn ids(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message {
            Message::User { .. } => "user".to_owned(),
            Message::Assistant(answer) => {
                tool_calls(answer).fold("assistant".to_owned(), |out, call| out + " " + &call.id)
            }
            Message::ToolResult(result) => {
                format!("{}{}", result.tool_call_id, if result.is_error { "!" } else { "" })
            }
        })
        .collect()
}

#[test]
fn calls_and_results_are_paired() {
    let model = model(ProviderKind::Openai, "gpt-5");
    let messages = vec![
        Message::tool_result("lost", "Read", "nobody asked", false),
        Message::Assistant(answer(&model, vec![call("a"), call("b"), call("c")])),
        Message::user("in between"),
        Message::tool_result("c", "Read", "C", false),
        Message::tool_result("a", "Read", "A", false),
        Message::tool_result("a", "Read", "A again", false),
    ];
    let repaired = repair(messages, &model);
    assert_eq!(ids(&repaired), ["assistant a b c", "a", "b!", "c", "user"]);
    let Message::ToolResult(made_up) = &repaired[2] else { panic!("{repaired:?}") };
    assert_eq!(made_up.content, [Block::text(NO_RESULT)]);
}

#[test]
fn an_id_used_twice_belongs_to_the_nearest_call() {
    let model = model(ProviderKind::Openai, "gpt-5");
    let messages = vec![
        Message::Assistant(answer(&model, vec![call("a")])),
        Message::tool_result("a", "Read", "first", false),
        Message::Assistant(answer(&model, vec![call("a"), call("a")])),
        Message::tool_result("a", "Read", "second", false),
    ];
    let repaired = repair(messages, &model);
    assert_eq!(ids(&repaired), ["assistant a", "a", "assistant a", "a"]);
    assert!(matches!(&repaired[3], Message::ToolResult(r) if r.content == [Block::text("second")]));
}

#[test]
fn broken_answers_go_with_their_results() {
    let model = model(ProviderKind::Openai, "gpt-5");
    let mut draft = Draft::new(model.clone(), "test", 0);
    draft.apply(Step::OpenTool { id: "a".into(), name: "Read".into() });
    draft.apply(Step::Fail(crate::Failure::aborted()));
    let messages = vec![
        Message::user("hello"),
        Message::Assistant(draft.message()),
        Message::tool_result("a", "Read", "A", false),
        Message::Assistant(answer(&model, vec![])),
        Message::user("  "),
        Message::user("again"),
    ];
    assert_eq!(ids(&repair(messages, &model)), ["user", "user"]);
}

#[test]
fn another_models_thoughts_become_text() {
    let (one, two) =
        (model(ProviderKind::Anthropic, "claude-sonnet-4-5"), model(ProviderKind::Openai, "gpt-5"));
    let thought = |redacted| {
        AssistantContent::Thinking(ThinkingContent {
            content_type: ThinkingType::Thinking,
            thinking: "hm".into(),
            thinking_signature: Some("sealed".into()),
            redacted,
        })
    };
    let said = Message::Assistant(answer(&one, vec![thought(None), thought(Some(true)), text("yes")]));
    let same = repair(vec![said.clone()], &one);
    assert_eq!(same, vec![said.clone()]);
    let Message::Assistant(other) = &repair(vec![said], &two)[0] else { panic!("no answer") };
    assert_eq!(other.content, [text("hm"), text("yes")]);
}

#[test]
fn ids_are_made_fit_for_anthropic_and_stay_different() {
    let model = model(ProviderKind::Anthropic, "claude-sonnet-4-5");
    let long = "x".repeat(80);
    let names = ["call|1", "call:1", long.as_str()];
    let mut messages = vec![Message::Assistant(answer(&model, names.iter().map(|id| call(id)).collect()))];
    messages.extend(names.iter().map(|id| Message::tool_result(*id, "Read", *id, false)));
    let fit = "x".repeat(64);
    let expected = [format!("assistant call_1 call_1_2 {fit}"), "call_1".into(), "call_1_2".into(), fit];
    assert_eq!(ids(&repair(messages, &model)), expected);
}

#[test]
fn pictures_are_named_for_models_that_are_blind() {
    let blind = model(ProviderKind::OpenaiChat, "deepseek-chat");
    let content =
        vec![Block::text("look"), Block::image("image/png", "AA=="), Block::image("image/png", "BB==")];
    let repaired = repair(vec![Message::User { content: content.clone() }], &blind);
    assert_eq!(repaired, [Message::User { content: vec![Block::text("look"), Block::text(NO_IMAGE)] }]);
    let seeing = model(ProviderKind::Anthropic, "claude-sonnet-4-5");
    assert_eq!(
        repair(vec![Message::User { content: content.clone() }], &seeing),
        [Message::User { content }]
    );
}
