//! Tests of the twelve event shapes, key by key.

use model::fake::{Script, Turn};
use model::{EventKind, Model, ProviderKind, Request};
use serde_json::{Value, json};

use crate::hearing::hear;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[tokio::test]
async fn all_twelve_are_exact() {
    let turn = Turn::new().think("hm").say("hi you").call("c1", "Read", json!({"path": "/a"})).tokens(10, 20);
    let script =
        Script::new([turn, Turn::text("x").fail("broken")]).with_clock(base::clock::Clock::manual(5));
    let model = Model::find(ProviderKind::Anthropic, "claude-sonnet-4-5");
    let heard = hear(&script, Request::new(model.clone(), Vec::new())).await;
    let types: Vec<&str> = heard.full.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        types,
        [
            "start",
            "thinking_start",
            "thinking_delta",
            "thinking_end",
            "text_start",
            "text_delta",
            "text_delta",
            "text_end",
            "toolcall_start",
            "toolcall_delta",
            "toolcall_end",
            "done"
        ]
    );
    for event in &heard.full {
        let expected: &[&str] = match event["type"].as_str() {
            Some("start") => &["partial", "type"],
            Some("text_start" | "thinking_start" | "toolcall_start") => &["contentIndex", "partial", "type"],
            Some("text_delta" | "thinking_delta" | "toolcall_delta") => {
                &["contentIndex", "delta", "partial", "type"]
            }
            Some("text_end" | "thinking_end") => &["content", "contentIndex", "partial", "type"],
            Some("toolcall_end") => &["contentIndex", "partial", "toolCall", "type"],
            _ => &["message", "reason", "type"],
        };
        let mut found = keys(event);
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    let usage = json!({
        "input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30,
        "cost": {"input": 0.00003, "output": 0.0003, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.00033},
    });
    assert_eq!(
        heard.full[11],
        json!({"type": "done", "reason": "toolUse", "message": {
            "role": "assistant", "api": "script", "provider": "anthropic", "model": "claude-sonnet-4-5",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "hi you"},
                {"type": "toolCall", "id": "c1", "name": "Read", "arguments": {"path": "/a"}},
            ],
            "usage": usage, "stopReason": "toolUse", "timestamp": 5,
        }})
    );
    let broken = hear(&script, Request::new(model, Vec::new())).await;
    let last = broken.full.last().expect("an end");
    assert_eq!(keys(last).len(), 3);
    assert_eq!((&last["type"], &last["reason"]), (&json!("error"), &json!("error")));
    assert_eq!(last["error"]["errorMessage"], "broken");
    assert_eq!(last["error"]["stopReason"], "error");
    assert_eq!(last["error"]["content"], json!([{"type": "text", "text": "x"}]));
}

#[test]
fn deltas_of_one_block_can_be_merged() {
    let delta = |content_index, delta: &str| EventKind::TextDelta { content_index, delta: delta.to_owned() };
    let mut first = delta(0, "a");
    assert_eq!(first.merge(delta(0, "b")), Ok(()));
    assert_eq!(first, delta(0, "ab"));
    assert_eq!(first.merge(delta(1, "c")), Err(delta(1, "c")));
    let other = EventKind::ThinkingDelta { content_index: 0, delta: "d".to_owned() };
    assert_eq!(first.merge(other.clone()), Err(other));
}
