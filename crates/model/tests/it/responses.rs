//! Tests of OpenAI's Responses API.

use model::fake::Reply;
use model::{Block, Cause, Message, ProviderKind, Reasoning};
use serde_json::{Value, json};

use crate::hearing::{KEY, ask, request, sse};

fn reasoning() -> Value {
    json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": [
        {"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}]})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": format!("call_{id}"), "name": name,
        "arguments": arguments})
}

fn whole() -> Vec<Value> {
    let usage = json!({"input_tokens": 50, "input_tokens_details": {"cached_tokens": 30}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 70});
    let text = json!({"id": "msg_1", "type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello"}]});
    vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5-2025-08-07"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "rs_1", "type": "reasoning",
            "summary": []}}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "One"}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Two"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning()}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"id": "msg_1", "type": "message",
            "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Hel"}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "lo"}),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "Hello"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": text}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": call("a", "Read", "")}),
        json!({"type": "response.output_item.added", "output_index": 3, "item": call("b", "Write", "")}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{\"path\":"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"path\":\"a\"}"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "\"b\"}"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": call("a", "Read", "{\"path\":\"a\"}")}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": call("b", "Write", "{\"path\":\"b\"}")}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage}}),
    ]
}

#[tokio::test]
async fn everything_is_heard() {
    for size in [1, 13, usize::MAX] {
        let heard =
            ask(request(ProviderKind::Openai, "gpt-5"), vec![Reply::events(&sse(&whole()), size)]).await;
        let message = heard.message();
        assert_eq!(
            message["content"],
            json!([
                {"type": "thinking", "thinking": "One\n\nTwo", "thinkingSignature": reasoning().to_string()},
                {"type": "text", "text": "Hello", "textSignature": "msg_1"},
                {"type": "toolCall", "id": "call_a", "name": "Read", "arguments": {"path": "a"},
                 "thoughtSignature": "fc_a"},
                {"type": "toolCall", "id": "call_b", "name": "Write", "arguments": {"path": "b"},
                 "thoughtSignature": "fc_b"},
            ])
        );
        assert_eq!((&message["stopReason"], &message["responseId"]), (&json!("toolUse"), &json!("resp_1")));
        assert_eq!(message["responseModel"], "gpt-5-2025-08-07");
        let usage = &message["usage"];
        assert_eq!(
            (&usage["input"], &usage["cacheRead"], &usage["output"]),
            (&json!(20), &json!(30), &json!(20))
        );
        let cost = usage["cost"]["total"].as_f64().expect("a cost");
        assert!((cost - (20.0 * 1.25 + 30.0 * 0.125 + 20.0 * 10.0) / 1e6).abs() < 1e-12);
    }
}

#[tokio::test]
async fn the_request_has_its_shape() {
    let mut asked = request(ProviderKind::Openai, "gpt-5");
    asked.reasoning = Reasoning::Low;
    let answer = ask(asked.clone(), vec![Reply::events(&sse(&whole()), 64)]).await;
    let said = serde_json::from_value(answer.message().clone()).expect("a message");
    asked.messages = vec![
        Message::User { content: vec![Block::text("Look"), Block::image("image/png", "AAAA")] },
        Message::Assistant(said),
        Message::tool_result("call_a", "Read", "A", false),
    ];
    let heard = ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await;
    let received = &heard.received[0];
    assert_eq!(received.path, "/v1/responses");
    assert_eq!(received.header("authorization"), format!("Bearer {KEY}"));
    let body = received.json();
    assert_eq!((&body["store"], &body["stream"]), (&json!(false), &json!(true)));
    assert_eq!(body["instructions"], "Be brief.");
    assert_eq!(body["prompt_cache_key"], "pid-1");
    assert_eq!(body["reasoning"], json!({"effort": "low", "summary": "auto"}));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(
        body["input"],
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "Look"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}]},
            reasoning(),
            {"type": "message", "role": "assistant", "status": "completed", "id": "msg_1",
             "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
            {"type": "function_call", "id": "fc_a", "call_id": "call_a", "name": "Read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call", "id": "fc_b", "call_id": "call_b", "name": "Write", "arguments": "{\"path\":\"b\"}"},
            {"type": "function_call_output", "call_id": "call_a", "output": "A"},
            {"type": "function_call_output", "call_id": "call_b", "output": "No result provided"},
        ])
    );
}

#[tokio::test]
async fn efforts_are_those_of_the_model() {
    for (id, level, expected) in [
        ("gpt-5", Reasoning::Off, json!("minimal")),
        ("gpt-5.1", Reasoning::Off, json!("none")),
        ("gpt-5.1", Reasoning::Minimal, json!("low")),
        ("gpt-5.2", Reasoning::Xhigh, json!("xhigh")),
        ("gpt-5", Reasoning::Xhigh, json!("high")),
        ("gpt-4o", Reasoning::High, Value::Null),
        ("gpt-9-unknown", Reasoning::Off, Value::Null),
    ] {
        let mut asked = request(ProviderKind::Openai, id);
        asked.reasoning = level;
        let heard = ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await;
        assert_eq!(heard.received[0].json()["reasoning"]["effort"], expected, "{id} {level:?}");
    }
}

#[tokio::test]
async fn ends_mean_something() {
    let end = |kind: &str, response: Value| json!({"type": kind, "response": response});
    let incomplete = |reason: &str| {
        end("response.incomplete", json!({"status": "incomplete", "incomplete_details": {"reason": reason}}))
    };
    let failed = end(
        "response.failed",
        json!({"status": "failed", "error": {"code": "server_error", "message": "Oops"}}),
    );
    for (event, stop, cause, text) in [
        (incomplete("max_output_tokens"), "length", None, ""),
        (
            incomplete("content_filter"),
            "error",
            Some(Cause::Refused),
            "Provider finish_reason: content_filter",
        ),
        (failed, "error", Some(Cause::Provider), "server_error: Oops"),
        (
            json!({"type": "error", "code": "context_length_exceeded", "message": "too long"}),
            "error",
            Some(Cause::ContextOverflow),
            "context_length_exceeded: too long",
        ),
    ] {
        let refusal = [
            whole().swap_remove(0),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}),
            json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I cannot."}),
            event,
        ];
        let heard =
            ask(request(ProviderKind::Openai, "gpt-5"), vec![Reply::events(&sse(&refusal), 21)]).await;
        assert_eq!(heard.message()["content"][0]["text"], "I cannot.");
        assert_eq!((heard.message()["stopReason"].as_str(), heard.cause), (Some(stop), cause));
        assert_eq!(heard.error(), text);
    }
}

#[tokio::test]
async fn an_item_without_deltas_is_heard_too() {
    let item = json!({"id": "m", "type": "message", "content": [{"type": "output_text", "text": "whole"}]});
    let events = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": call("x", "Read", "{}")}),
        json!({"type": "response.completed", "response": {"status": "completed"}}),
    ];
    let heard = ask(request(ProviderKind::Openai, "gpt-5"), vec![Reply::events(&sse(&events), 64)]).await;
    assert_eq!(heard.message()["content"][0]["text"], "whole");
    assert_eq!(heard.message()["content"][1]["id"], "call_x");
}
