//! Tests of Chat Completions, with OpenRouter's additions.

use model::fake::{Reply, Turn, chat_reply};
use model::{Block, Cause, Message, ProviderKind, Reasoning};
use serde_json::{Value, json};

use crate::hearing::{KEY, ask, request, sse};

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m-2024",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn body(chunks: &[Value]) -> String {
    sse(chunks) + "data: [DONE]\n\n"
}

fn whole() -> Vec<Value> {
    vec![
        chunk(json!({"role": "assistant", "content": "", "reasoning_content": null}), None),
        chunk(json!({"reasoning_content": "First"}), None),
        chunk(json!({"reasoning_content": " this."}), None),
        chunk(json!({"content": "On "}), None),
        chunk(
            json!({"tool_calls": [
                {"index": 0, "id": "call_a", "type": "function", "function": {"name": "Read", "arguments": ""}},
                {"index": 1, "id": "call_b", "type": "function", "function": {"name": "Write", "arguments": "{\"pa"}},
            ]}),
            None,
        ),
        chunk(json!({"content": "it."}), None),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\":\"/a\"}"}}]}), None),
        chunk(json!({"tool_calls": [{"index": 1, "function": {"arguments": "th\":\"/b\"}"}}]}), None),
        chunk(json!({}), Some("tool_calls")),
        json!({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 60}}}),
    ]
}

#[tokio::test]
async fn blocks_that_grow_side_by_side_end_in_their_order() {
    for size in [1, 5, usize::MAX] {
        let heard =
            ask(request(ProviderKind::OpenaiChat, "own-model"), vec![Reply::events(&body(&whole()), size)])
                .await;
        assert_eq!(
            heard.types(),
            [
                "start",
                "thinking_start",
                "thinking_delta",
                "text_start",
                "text_delta",
                "toolcall_start",
                "toolcall_delta",
                "text_delta",
                "toolcall_delta",
                "thinking_end",
                "text_end",
                "toolcall_end",
                "done"
            ]
        );
        let message = heard.message();
        assert_eq!(
            message["content"],
            json!([
                {"type": "thinking", "thinking": "First this.", "thinkingSignature": "reasoning_content"},
                {"type": "text", "text": "On it."},
                {"type": "toolCall", "id": "call_a", "name": "Read", "arguments": {"path": "/a"}},
                {"type": "toolCall", "id": "call_b", "name": "Write", "arguments": {"path": "/b"}},
            ])
        );
        assert_eq!(
            (&message["stopReason"], &message["responseId"]),
            (&json!("toolUse"), &json!("chatcmpl-1"))
        );
        assert_eq!(message["responseModel"], "m-2024");
        let usage = &message["usage"];
        assert_eq!(
            (&usage["input"], &usage["cacheRead"], &usage["output"]),
            (&json!(40), &json!(60), &json!(20))
        );
    }
}

#[tokio::test]
async fn the_request_has_its_shape() {
    let mut asked = request(ProviderKind::OpenaiChat, "gpt-4o");
    let answer = ask(asked.clone(), vec![Reply::events(&body(&whole()), 64)]).await;
    let said = serde_json::from_value(answer.message().clone()).expect("a message");
    asked.messages = vec![
        Message::User { content: vec![Block::text("Look"), Block::image("image/png", "AAAA")] },
        Message::Assistant(said),
        Message::ToolResult(model::ToolResult {
            tool_call_id: "call_a".into(),
            tool_name: "Read".into(),
            content: vec![Block::image("image/png", "BBBB")],
            is_error: false,
        }),
        Message::user("Go on"),
    ];
    let heard = ask(asked, vec![Reply::events(&body(&whole()), 64)]).await;
    let received = &heard.received[0];
    assert_eq!(received.path, "/v1/chat/completions");
    assert_eq!(received.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(received.header("x-session-affinity"), "pid-1");
    let body = received.json();
    assert_eq!(body["max_tokens"], 4_000);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!(body["tools"][1]["function"]["name"], "Write");
    let image = |data: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look"}, image("AAAA")]},
            {"role": "assistant", "content": "On it.", "reasoning_content": "First this.", "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "Read", "arguments": "{\"path\":\"/a\"}"}},
                {"id": "call_b", "type": "function", "function": {"name": "Write", "arguments": "{\"path\":\"/b\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_a", "content": "(see the image below)"},
            {"role": "tool", "tool_call_id": "call_b", "content": "No result provided"},
            {"role": "user", "content": [{"type": "text", "text": "Images from the tool results above:"}, image("BBBB")]},
            {"role": "user", "content": "Go on"},
        ])
    );
}

#[tokio::test]
async fn finish_reasons_mean_something() {
    for (reason, stop, cause) in [
        ("stop", "stop", None),
        ("length", "length", None),
        ("content_filter", "error", Some(Cause::Refused)),
        ("network_error", "error", Some(Cause::Provider)),
    ] {
        let chunks = [chunk(json!({"content": "x"}), None), chunk(json!({}), Some(reason))];
        let heard =
            ask(request(ProviderKind::OpenaiChat, "m"), vec![Reply::events(&body(&chunks), 11)]).await;
        assert_eq!((heard.message()["stopReason"].as_str(), heard.cause), (Some(stop), cause));
        if cause.is_some() {
            assert_eq!(heard.error(), format!("Provider finish_reason: {reason}"));
        }
    }
}

#[tokio::test]
async fn servers_that_do_it_their_own_way_are_understood() {
    // A refusal, thoughts under another name, a call without an index or an id whose arguments are an object.
    let chunks = [
        chunk(json!({"reasoning": "Hm"}), None),
        chunk(json!({"refusal": "I will not"}), None),
        chunk(
            json!({"tool_calls": [{"function": {"name": "Read", "arguments": {"path": "x"}}}]}),
            Some("stop"),
        ),
    ];
    let heard = ask(request(ProviderKind::OpenaiChat, "m"), vec![Reply::events(&body(&chunks), 64)]).await;
    let content = &heard.message()["content"];
    assert_eq!(content[0], json!({"type": "thinking", "thinking": "Hm", "thinkingSignature": "reasoning"}));
    assert_eq!(content[1]["text"], "I will not");
    assert_eq!(content[2]["arguments"], json!({"path": "x"}));
    assert!(content[2]["id"].as_str().is_some_and(|id| id.starts_with("call_")));
    assert_eq!(heard.message()["stopReason"], "toolUse");
}

#[tokio::test]
async fn broken_tool_arguments_are_passed_on_as_they_are() {
    for (json, expected) in [
        ("{\"path\": ", json!({"value": "{\"path\": "})),
        ("[1, 2]", json!({"value": [1, 2]})),
        ("", json!({})),
    ] {
        let reply = chat_reply(&Turn::new().call_raw("c", "Read", json));
        let heard = ask(request(ProviderKind::OpenaiChat, "m"), vec![reply]).await;
        assert_eq!(heard.message()["content"][0]["arguments"], expected);
    }
}

#[tokio::test]
async fn openrouter_has_its_additions() {
    let detail = |text: Option<&str>, signature: Option<&str>| {
        let mut detail = json!({"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"});
        if let Some(text) = text {
            detail["text"] = json!(text);
        }
        if let Some(signature) = signature {
            detail["signature"] = json!(signature);
        }
        detail
    };
    let chunks = [
        chunk(json!({"reasoning": "Let ", "reasoning_details": [detail(Some("Let "), None)]}), None),
        chunk(json!({"reasoning": "me", "reasoning_details": [detail(Some("me"), None)]}), None),
        chunk(json!({"reasoning_details": [detail(None, Some("sealed"))]}), None),
        chunk(json!({"content": "Hi"}), Some("stop")),
        json!({"id": "gen-1", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.0123}}),
    ];
    let mut asked = request(ProviderKind::Openrouter, "anthropic/claude-sonnet-4.6");
    asked.reasoning = Reasoning::High;
    let heard = ask(asked.clone(), vec![Reply::events(&body(&chunks), 64)]).await;
    let message = heard.message().clone();
    assert_eq!(message["usage"]["cost"]["total"], 0.0123);
    let signature = message["content"][0]["thinkingSignature"].as_str().expect("a signature");
    let details = json!([detail(Some("Let me"), Some("sealed"))]);
    assert_eq!(serde_json::from_str::<Value>(signature).expect("JSON"), details);
    let sent = heard.received[0].json();
    assert_eq!(sent["reasoning"], json!({"effort": "high"}));
    assert_eq!(sent["usage"], json!({"include": true}));
    assert_eq!(sent["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(sent["messages"][1]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    asked.messages.push(Message::Assistant(serde_json::from_value(message).expect("a message")));
    asked.messages.push(Message::user("More"));
    let heard = ask(asked, vec![Reply::events(&body(&chunks), 64)]).await;
    assert_eq!(heard.received[0].json()["messages"][2]["reasoning_details"], details);
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key() {
    let server =
        model::fake::Server::replying(vec![chat_reply(&Turn::text("hi"))]).await.expect("a free port");
    let endpoint = model::Endpoint {
        base_url: Some(server.base_url() + "/"),
        ..model::Endpoint::new(ProviderKind::OpenaiChat)
    };
    let provider = crate::hearing::client(crate::hearing::limits()).provider(endpoint);
    let heard = crate::hearing::hear(provider.as_ref(), request(ProviderKind::OpenaiChat, "m")).await;
    assert_eq!(heard.message()["content"][0]["text"], "hi");
    assert_eq!(server.received()[0].header("authorization"), "");
    assert_eq!(server.received()[0].path, "/v1/chat/completions");
}
