//! Test fixture: a gateway whose agents talk to a scripted model over a real wire format.

use serde_json::{Value, json};
use testkit::fake_model::{Server, Turn, chat_reply};
use testkit::{Gateway, Peer};

/// The gateway and its model.
pub struct Agents {
    pub gateway: Gateway,
    pub model: Server,
}

/// The model gives these answers one after the other, the last one for ever.
pub async fn saying(turns: Vec<Turn>) -> Agents {
    let model = Server::replying(turns.iter().map(chat_reply).collect()).await.unwrap();
    with_model(model).await
}

/// The model makes its answers from what it is asked: the messages as the wire has them.
pub async fn answering(answer: impl Fn(&[Value]) -> Turn + Send + Sync + 'static) -> Agents {
    let model = Server::start(move |received| {
        let messages = received.json()["messages"].as_array().cloned().unwrap_or_default();
        chat_reply(&answer(&messages))
    });
    with_model(model.await.unwrap()).await
}

async fn with_model(model: Server) -> Agents {
    configured(Gateway::set_up().await, model).await
}

/// The agents of this gateway talk to this model.
pub async fn configured(gateway: Gateway, model: Server) -> Agents {
    let mut root = gateway.root().await;
    for (key, value) in [
        ("provider", "openai-chat"),
        ("model", "scripted"),
        ("base_url", &model.base_url()),
        ("api_key", "k"),
    ] {
        let args = json!({ "key": format!("config/ai/{key}"), "value": value });
        root.call("sys.config.set", args).await.unwrap();
    }
    Agents { gateway, model }
}

/// The text of the last message.
pub fn last_text(messages: &[Value]) -> String {
    let content = messages.last().map(|message| message["content"].clone()).unwrap_or_default();
    match content {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Sends a message and waits for its run to end: the payload of `proc.run.finished`.
pub async fn chat(peer: &mut Peer, args: Value) -> Value {
    let sent = peer.call("proc.send", args).await.unwrap();
    assert_eq!(sent["ok"], true, "{sent}");
    finished(peer, sent["runId"].as_str().unwrap()).await
}

/// Waits for a run to end.
pub async fn finished(peer: &mut Peer, run_id: &str) -> Value {
    let is_it = |frame: &Value| frame["signal"] == "proc.run.finished" && frame["payload"]["runId"] == run_id;
    peer.next_where(is_it).await["payload"].take()
}

/// The messages of a process's conversation `default`, as role and text.
pub async fn said(peer: &mut Peer, pid: &str) -> Vec<(String, String)> {
    let history = peer.call("proc.history", json!({ "pid": pid })).await.unwrap();
    let one = |message: &Value| {
        let content = &message["content"];
        let text = content.as_str().or(content["text"].as_str()).or(content["output"].as_str());
        (message["role"].as_str().unwrap().to_string(), text.unwrap_or_default().to_string())
    };
    history["messages"].as_array().unwrap().iter().map(one).collect()
}
