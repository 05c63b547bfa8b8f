//! Tests of Ollama's own API.

use model::fake::{Reply, Server};
use model::{Block, Cause, Message, ProviderKind, Reasoning};
use serde_json::{Value, json};

use crate::hearing::{ask, client, limits, request};

fn line(message: Value) -> Value {
    json!({"model": "qwen3:8b", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false})
}

fn end(reason: &str) -> Value {
    json!({"model": "qwen3:8b", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 26, "eval_count": 9})
}

fn body(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn whole() -> Vec<Value> {
    vec![
        line(json!({"role": "assistant", "content": "", "thinking": "So "})),
        line(json!({"role": "assistant", "content": "", "thinking": "then"})),
        line(json!({"role": "assistant", "content": "Here "})),
        line(json!({"role": "assistant", "content": "you go"})),
        line(json!({"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "Read", "arguments": {"path": "a"}}},
            {"id": "own", "function": {"name": "Write", "arguments": {"path": "b"}}},
        ]})),
        end("stop"),
    ]
}

fn reply(lines: &[Value], size: usize) -> Reply {
    Reply::cut("application/x-ndjson", &body(lines), size)
}

#[tokio::test]
async fn everything_is_heard() {
    for size in [1, 19, usize::MAX] {
        let heard = ask(request(ProviderKind::Ollama, "qwen3:8b"), vec![reply(&whole(), size)]).await;
        let message = heard.message();
        let content = &message["content"];
        assert_eq!(content[0], json!({"type": "thinking", "thinking": "So then"}));
        assert_eq!(content[1], json!({"type": "text", "text": "Here you go"}));
        assert_eq!((&content[2]["arguments"], &content[3]["id"]), (&json!({"path": "a"}), &json!("own")));
        assert_eq!(message["stopReason"], "toolUse");
        assert_eq!((&message["usage"]["input"], &message["usage"]["output"]), (&json!(26), &json!(9)));
        assert_eq!(message["usage"]["cost"]["total"], 0.0);
    }
}

#[tokio::test]
async fn the_request_has_its_shape() {
    let mut asked = request(ProviderKind::Ollama, "qwen3-vl:8b");
    asked.reasoning = Reasoning::High;
    let answer = ask(asked.clone(), vec![reply(&whole(), 64)]).await;
    let said: model::AssistantMessage = serde_json::from_value(answer.message().clone()).expect("a message");
    let first = model::tool_calls(&said).next().expect("a call").id.clone();
    asked.messages = vec![
        Message::User { content: vec![Block::text("Look"), Block::image("image/png", "AAAA")] },
        Message::Assistant(said),
        Message::tool_result(&first, "Read", "A", false),
    ];
    let heard = ask(asked, vec![reply(&whole(), 64)]).await;
    let received = &heard.received[0];
    assert_eq!(received.path, "/api/chat");
    let body = received.json();
    assert_eq!((&body["stream"], &body["think"]), (&json!(true), &json!(true)));
    assert_eq!(body["options"], json!({"num_ctx": 32_768, "num_predict": 4_000}));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look", "images": ["AAAA"]},
            {"role": "assistant", "content": "Here you go", "thinking": "So then", "tool_calls": [
                {"id": first, "function": {"name": "Read", "arguments": {"path": "a"}}},
                {"id": "own", "function": {"name": "Write", "arguments": {"path": "b"}}},
            ]},
            {"role": "tool", "content": "A", "tool_name": "Read", "tool_call_id": first},
            {"role": "tool", "content": "No result provided", "tool_name": "Write", "tool_call_id": "own"},
        ])
    );
}

#[tokio::test]
async fn thinking_is_yes_no_or_a_level() {
    for (id, level, expected) in [
        ("gpt-oss:20b", Reasoning::Medium, json!("medium")),
        ("gpt-oss:20b", Reasoning::Off, json!("low")),
        ("qwen3:8b", Reasoning::Off, json!(false)),
        ("llama3.2", Reasoning::High, Value::Null),
    ] {
        let mut asked = request(ProviderKind::Ollama, id);
        asked.reasoning = level;
        let heard = ask(asked, vec![reply(&whole(), 64)]).await;
        assert_eq!(heard.received[0].json()["think"], expected, "{id}");
    }
}

#[tokio::test]
async fn ends_mean_something() {
    let heard = ask(request(ProviderKind::Ollama, "m"), vec![reply(&[end("length")], 64)]).await;
    assert_eq!(heard.message()["stopReason"], "length");
    let broken = [line(json!({"content": "x"})), json!({"error": "out of memory"})];
    let heard = ask(request(ProviderKind::Ollama, "m"), vec![reply(&broken, 64)]).await;
    assert_eq!((heard.error(), heard.cause), ("out of memory", Some(Cause::Provider)));
    let missing = Reply::json(404, json!({"error": "model 'm' not found"}));
    let heard = ask(request(ProviderKind::Ollama, "m"), vec![missing]).await;
    assert_eq!(heard.error(), "404 model 'm' not found");
}

#[tokio::test]
async fn a_server_is_found_by_asking_it() {
    let tags = json!({"models": [
        {"name": "old:1b", "modified_at": "2026-01-01T00:00:00Z"},
        {"name": "nomic-embed-text", "modified_at": "2026-09-01T00:00:00Z"},
        {"name": "new:8b", "modified_at": "2026-05-01T00:00:00Z"},
    ]});
    let server = Server::start(move |received| match received.path.as_str() {
        "/api/tags" => Reply::json(200, tags.clone()),
        "/api/show" if received.json()["model"] == "old:1b" => {
            Reply::json(200, json!({"capabilities": ["completion", "tools"]}))
        }
        _ => Reply::json(200, json!({"capabilities": ["completion"]})),
    })
    .await
    .expect("a free port");
    let found = client(limits()).probe_ollama(server.base_url()).await.expect("a server");
    // The older one can use tools.
    assert_eq!(found.models, ["old:1b", "new:8b"]);
    let other = Server::replying(vec![Reply::json(404, json!({}))]).await.expect("a free port");
    assert_eq!(client(limits()).probe_ollama(other.base_url()).await, None);
}
