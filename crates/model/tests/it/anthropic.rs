//! Tests of Anthropic's Messages API.

use model::fake::Reply;
use model::{Block, Cause, Message, ProviderKind, Reasoning, Request};
use serde_json::{Value, json};

use crate::hearing::{KEY, ask, request, sse};

fn start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 100, "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 50, "output_tokens": 1}}})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 40}}),
        json!({"type": "message_stop"}),
    ]
}

fn block(index: u64, block: Value, deltas: &[Value]) -> Vec<Value> {
    let mut out = vec![json!({"type": "content_block_start", "index": index, "content_block": block})];
    out.extend(deltas.iter().map(|d| json!({"type": "content_block_delta", "index": index, "delta": d})));
    out.push(json!({"type": "content_block_stop", "index": index}));
    out
}

fn whole() -> Vec<Value> {
    let mut events = vec![start(), json!({"type": "ping"})];
    events.extend(block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        &[
            json!({"type": "thinking_delta", "thinking": "Let me "}),
            json!({"type": "thinking_delta", "thinking": "see. 🤔"}),
            json!({"type": "signature_delta", "signature": "EqQB"}),
            json!({"type": "signature_delta", "signature": "CkYI"}),
        ],
    ));
    events.extend(block(1, json!({"type": "redacted_thinking", "data": "hidden=="}), &[]));
    events.extend(block(
        2,
        json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": "Héllo "}), json!({"type": "text_delta", "text": "there"})],
    ));
    events.extend(block(
        3,
        json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}),
        &[
            json!({"type": "input_json_delta", "partial_json": ""}),
            json!({"type": "input_json_delta", "partial_json": "{\"path\": \"/ho"}),
            json!({"type": "input_json_delta", "partial_json": "me\"}"}),
        ],
    ));
    events.extend(block(
        4,
        json!({"type": "tool_use", "id": "toolu_2", "name": "Write", "input": {"path": "b"}}),
        &[],
    ));
    events.extend(end("tool_use"));
    events
}

#[tokio::test]
async fn everything_is_heard_however_it_is_cut() {
    let mut first: Option<Vec<Value>> = None;
    for size in [1, 3, 7, 100, usize::MAX] {
        let reply = Reply::events(&sse(&whole()), size);
        let heard = ask(request(ProviderKind::Anthropic, "claude-sonnet-4-5"), vec![reply]).await;
        let message = heard.message();
        assert_eq!(
            message["content"],
            json!([
                {"type": "thinking", "thinking": "Let me see. 🤔", "thinkingSignature": "EqQBCkYI"},
                {"type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "hidden==",
                 "redacted": true},
                {"type": "text", "text": "Héllo there"},
                {"type": "toolCall", "id": "toolu_1", "name": "Read", "arguments": {"path": "/home"}},
                {"type": "toolCall", "id": "toolu_2", "name": "Write", "arguments": {"path": "b"}},
            ])
        );
        assert_eq!(message["stopReason"], "toolUse");
        assert_eq!(message["responseId"], "msg_01");
        assert_eq!(message["responseModel"], "claude-sonnet-4-5-20250929");
        assert_eq!(message["usage"]["totalTokens"], 100 + 1000 + 50 + 40);
        let cost = message["usage"]["cost"]["total"].as_f64().expect("a cost");
        assert!((cost - (100.0 * 3.0 + 1000.0 * 0.3 + 50.0 * 3.75 + 40.0 * 15.0) / 1e6).abs() < 1e-12);
        let mid = heard.full.iter().find(|event| event["delta"] == "{\"path\": \"/ho").expect("the delta");
        assert_eq!(mid["partial"]["content"][3]["arguments"], json!({"path": "/ho"}));
        match &first {
            Some(first) => assert_eq!(first, &heard.full),
            None => first = Some(heard.full),
        }
    }
}

#[tokio::test]
async fn the_request_has_its_shape() {
    let mut asked = request(ProviderKind::Anthropic, "claude-sonnet-4-5");
    asked.reasoning = Reasoning::Medium;
    let answer = ask(asked.clone(), vec![Reply::events(&sse(&whole()), 64)]).await;
    let said = serde_json::from_value(answer.message().clone()).expect("a message");
    asked.messages = vec![
        Message::User { content: vec![Block::text("Look"), Block::image("image/png", "AAAA")] },
        Message::Assistant(said),
        Message::tool_result("toolu_1", "Read", "text of a", false),
        Message::ToolResult(model::ToolResult {
            tool_call_id: "toolu_2".into(),
            tool_name: "Write".into(),
            content: vec![Block::text("no"), Block::image("image/jpeg", "BBBB")],
            is_error: true,
        }),
        Message::user("Go on"),
    ];
    let heard = ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await;
    let received = &heard.received[0];
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(received.header("x-api-key"), KEY);
    assert_eq!(received.header("anthropic-version"), "2023-06-01");
    assert_eq!(received.header("anthropic-beta"), "interleaved-thinking-2025-05-14");
    let body = received.json();
    assert_eq!(body["stream"], true);
    assert_eq!(body["max_tokens"], 4_000 + 8_192);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 8_192}));
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    );
    assert_eq!(body["tools"][0]["name"], "Read");
    assert_eq!(body["tools"][0]["input_schema"]["required"], json!(["path"]));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Let me see. 🤔", "signature": "EqQBCkYI"},
                {"type": "redacted_thinking", "data": "hidden=="},
                {"type": "text", "text": "Héllo there"},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "/home"}},
                {"type": "tool_use", "id": "toolu_2", "name": "Write", "input": {"path": "b"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": false,
                 "content": [{"type": "text", "text": "text of a"}]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": [
                    {"type": "text", "text": "no"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "BBBB"}},
                ]},
                {"type": "text", "text": "Go on", "cache_control": {"type": "ephemeral"}},
            ]},
        ])
    );
}

async fn sent(id: &str, reasoning: Reasoning, max_tokens: u64) -> Value {
    let asked = Request { reasoning, max_tokens, ..request(ProviderKind::Anthropic, id) };
    ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await.received[0].json()
}

#[tokio::test]
async fn thinking_is_asked_for_as_the_model_wants_it() {
    let adaptive = sent("claude-opus-4-6", Reasoning::Xhigh, 4_000).await;
    assert_eq!(adaptive["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!(adaptive["output_config"], json!({"effort": "max"}));
    assert_eq!(adaptive["max_tokens"], 4_000);
    let clamped = sent("claude-sonnet-4-6", Reasoning::Xhigh, 4_000).await;
    assert_eq!(clamped["output_config"], json!({"effort": "high"}));
    assert_eq!(
        sent("claude-sonnet-4-5", Reasoning::Off, 4_000).await["thinking"],
        json!({"type": "disabled"})
    );
    assert!(sent("claude-opus-4-7", Reasoning::Off, 4_000).await.get("thinking").is_none());
    assert!(sent("claude-3-5-haiku-latest", Reasoning::High, 4_000).await.get("thinking").is_none());
    let capped = sent("claude-opus-4-1", Reasoning::High, 60_000).await;
    assert_eq!(
        (&capped["max_tokens"], &capped["thinking"]["budget_tokens"]),
        (&json!(32_000), &json!(16_384))
    );
}

#[tokio::test]
async fn stop_reasons_mean_something() {
    for (reason, expected) in [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length")] {
        let mut events = vec![start()];
        events.extend(block(
            0,
            json!({"type": "text", "text": ""}),
            &[json!({"type": "text_delta", "text": "x"})],
        ));
        events.extend(end(reason));
        let heard =
            ask(request(ProviderKind::Anthropic, "claude-sonnet-4-5"), vec![Reply::events(&sse(&events), 9)])
                .await;
        assert_eq!(heard.message()["stopReason"], expected);
        assert_eq!(heard.types(), ["start", "text_start", "text_delta", "text_end", "done"]);
    }
    let mut events = vec![start()];
    events.extend(end("refusal"));
    let heard =
        ask(request(ProviderKind::Anthropic, "claude-sonnet-4-5"), vec![Reply::events(&sse(&events), 9)])
            .await;
    assert_eq!((heard.cause, heard.types()), (Some(Cause::Refused), vec!["start".into(), "error".into()]));
    assert_eq!(heard.error(), "The model declined to answer (stop reason: refusal)");
}

#[tokio::test]
async fn an_overload_is_tried_again_only_before_the_first_event() {
    let overload = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let asked = request(ProviderKind::Anthropic, "claude-sonnet-4-5");
    let early = Reply::events(&sse(std::slice::from_ref(&overload)), 64);
    let heard = ask(asked.clone(), vec![early, Reply::events(&sse(&whole()), 64)]).await;
    assert_eq!((heard.received.len(), heard.cause), (2, None));
    let late = Reply::events(&sse(&[start(), overload]), 64);
    let heard = ask(asked, vec![late]).await;
    assert_eq!((heard.received.len(), heard.cause), (1, Some(Cause::Overloaded)));
    assert_eq!(heard.error(), "overloaded_error: Overloaded");
}
