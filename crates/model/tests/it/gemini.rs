//! Tests of Google's Gemini.

use model::fake::Reply;
use model::{Block, Cause, Message, ProviderKind, Reasoning};
use serde_json::{Value, json};

use crate::hearing::{KEY, ask, request, sse};

fn chunk(parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({"candidates": [candidate], "modelVersion": "gemini-2.5-pro-001", "responseId": "r1"})
}

fn whole() -> Vec<Value> {
    let mut last = chunk(json!([]), Some("STOP"));
    last["usageMetadata"] = json!({"promptTokenCount": 100, "cachedContentTokenCount": 40,
        "candidatesTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 115});
    vec![
        chunk(json!([{"text": "Think", "thought": true}]), None),
        chunk(json!([{"text": "ing", "thought": true}]), None),
        chunk(json!([{"text": "Hel"}]), None),
        chunk(json!([{"text": "lo"}]), None),
        chunk(json!([{"text": "", "thoughtSignature": "s1"}]), None),
        chunk(
            json!([
                {"functionCall": {"id": "f1", "name": "Read", "args": {"path": "a"}}, "thoughtSignature": "s2"},
                {"functionCall": {"name": "Write", "args": {}}},
            ]),
            None,
        ),
        last,
    ]
}

#[tokio::test]
async fn everything_is_heard() {
    for size in [1, 17, usize::MAX] {
        let heard =
            ask(request(ProviderKind::Gemini, "gemini-2.5-pro"), vec![Reply::events(&sse(&whole()), size)])
                .await;
        let message = heard.message();
        let content = &message["content"];
        assert_eq!(content[0], json!({"type": "thinking", "thinking": "Thinking"}));
        assert_eq!(content[1], json!({"type": "text", "text": "Hello", "textSignature": "s1"}));
        assert_eq!(
            content[2],
            json!({"type": "toolCall", "id": "f1", "name": "Read", "arguments": {"path": "a"}, "thoughtSignature": "s2"})
        );
        assert_eq!((&content[3]["name"], &content[3]["arguments"]), (&json!("Write"), &json!({})));
        assert!(content[3]["id"].as_str().is_some_and(|id| id.starts_with("call_")));
        assert_eq!((&message["stopReason"], &message["responseId"]), (&json!("toolUse"), &json!("r1")));
        assert_eq!(message["responseModel"], "gemini-2.5-pro-001");
        let usage = &message["usage"];
        assert_eq!(
            (&usage["input"], &usage["cacheRead"], &usage["output"]),
            (&json!(60), &json!(40), &json!(15))
        );
        assert_eq!(
            heard.types(),
            [
                "start",
                "thinking_start",
                "thinking_delta",
                "thinking_end",
                "text_start",
                "text_delta",
                "text_end",
                "toolcall_start",
                "toolcall_delta",
                "toolcall_end",
                "toolcall_start",
                "toolcall_delta",
                "toolcall_end",
                "done"
            ]
        );
    }
}

#[tokio::test]
async fn the_request_has_its_shape() {
    let mut asked = request(ProviderKind::Gemini, "gemini-2.5-pro");
    asked.reasoning = Reasoning::Medium;
    let answer = ask(asked.clone(), vec![Reply::events(&sse(&whole()[..6]), 64)]).await;
    // The stream broke off, so the answer counts as one that failed and is not sent again.
    assert_eq!(answer.cause, Some(Cause::Network));
    let answer = ask(asked.clone(), vec![Reply::events(&sse(&whole()), 64)]).await;
    let said: model::AssistantMessage = serde_json::from_value(answer.message().clone()).expect("a message");
    let second = model::tool_calls(&said).nth(1).expect("two calls").id.clone();
    asked.messages = vec![
        Message::User { content: vec![Block::text("Look"), Block::image("image/png", "AAAA")] },
        Message::Assistant(said),
        Message::ToolResult(model::ToolResult {
            tool_call_id: "f1".into(),
            tool_name: "Read".into(),
            content: vec![Block::text("A"), Block::image("image/png", "BBBB")],
            is_error: false,
        }),
        Message::tool_result(&second, "Write", "no", true),
    ];
    let heard = ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await;
    let received = &heard.received[0];
    assert_eq!(received.path, "/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_eq!(received.header("x-goog-api-key"), KEY);
    let body = received.json();
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
    assert_eq!(
        body["generationConfig"],
        json!({"maxOutputTokens": 4_000, "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 8_192}})
    );
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["type"], "object");
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            {"role": "model", "parts": [
                {"thought": true, "text": "Thinking"},
                {"text": "Hello", "thoughtSignature": "s1"},
                {"functionCall": {"id": "f1", "name": "Read", "args": {"path": "a"}}, "thoughtSignature": "s2"},
                {"functionCall": {"id": second, "name": "Write", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "f1", "name": "Read", "response": {"output": "A"}}},
                {"functionResponse": {"id": second, "name": "Write", "response": {"error": "no"}}},
            ]},
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "BBBB"}}]},
        ])
    );
}

#[tokio::test]
async fn thinking_is_asked_for_as_the_model_wants_it() {
    for (id, level, expected) in [
        ("gemini-2.5-flash", Reasoning::Off, json!({"thinkingBudget": 0})),
        ("gemini-2.5-pro", Reasoning::Off, json!({"thinkingBudget": 128})),
        (
            "gemini-3-pro-preview",
            Reasoning::Medium,
            json!({"includeThoughts": true, "thinkingLevel": "high"}),
        ),
        ("gemini-3-flash-preview", Reasoning::Off, json!({"thinkingLevel": "minimal"})),
        ("gemini-2.0-flash", Reasoning::High, Value::Null),
    ] {
        let mut asked = request(ProviderKind::Gemini, id);
        asked.reasoning = level;
        let heard = ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await;
        assert_eq!(heard.received[0].json()["generationConfig"]["thinkingConfig"], expected, "{id}");
    }
}

#[tokio::test]
async fn ends_mean_something() {
    for (events, stop, cause) in [
        (vec![chunk(json!([{"text": "x"}]), Some("MAX_TOKENS"))], "length", None),
        (vec![chunk(json!([{"text": "x"}]), Some("SAFETY"))], "error", Some(Cause::Refused)),
        (vec![chunk(json!([]), Some("MALFORMED_FUNCTION_CALL"))], "error", Some(Cause::Provider)),
        (
            vec![json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})],
            "error",
            Some(Cause::Refused),
        ),
        (
            vec![json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "bad"}})],
            "error",
            Some(Cause::Request),
        ),
    ] {
        let heard =
            ask(request(ProviderKind::Gemini, "gemini-2.5-pro"), vec![Reply::events(&sse(&events), 5)]).await;
        assert_eq!((heard.message()["stopReason"].as_str(), heard.cause), (Some(stop), cause), "{events:?}");
    }
    let heard = ask(request(ProviderKind::Gemini, "../x?key"), vec![Reply::events("", 1)]).await;
    assert_eq!((heard.error(), heard.received.len()), ("Model not found: gemini/../x?key", 0));
}

#[tokio::test]
async fn calls_of_other_models_get_the_fixed_signature() {
    let mut asked = request(ProviderKind::Gemini, "gemini-3-pro-preview");
    let other = model::fake::Script::new([model::fake::Turn::tool("t1", "Read", json!({"path": "a"}))]);
    let foreign = crate::hearing::hear(&other, request(ProviderKind::Anthropic, "claude-sonnet-4-5")).await;
    let said = serde_json::from_value(foreign.message().clone()).expect("a message");
    asked.messages =
        vec![Message::user("x"), Message::Assistant(said), Message::tool_result("t1", "Read", "A", false)];
    let heard = ask(asked, vec![Reply::events(&sse(&whole()), 64)]).await;
    let part = &heard.received[0].json()["contents"][1]["parts"][0];
    assert_eq!(part["thoughtSignature"], "skip_thought_signature_validator");
}
