//! Tests of messages between processes: only processes send them, replies come back, and time runs out.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::fake_model::{Piece, Turn};
use testkit::{Gateway, Peer};
use tokio::sync::Notify;

use crate::agents::{self, last_text, said};

/// Waits until a conversation has a message with these words; all of it then.
async fn heard(peer: &mut Peer, pid: &str, words: &str) -> Vec<(String, String)> {
    loop {
        let messages = said(peer, pid).await;
        if messages.iter().any(|(_, text)| text.contains(words)) {
            return messages;
        }
        peer.signal("proc.run.finished").await;
    }
}

/// A coordinator that calls the process it is told about, and a worker that answers or hangs.
fn play(messages: &[Value], worker: impl Fn() -> Turn) -> Turn {
    let text = last_text(messages);
    if let Some(command) = text.strip_prefix("run: ") {
        return Turn::tool("t1", "Shell", json!({ "input": command }));
    }
    if text.contains("Message from process") {
        return worker();
    }
    Turn::text("noted")
}

#[tokio::test]
async fn people_cannot_speak_as_processes() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    for call in ["proc.ipc.send", "proc.ipc.call"] {
        let failed = user.call(call, json!({ "pid": "init:1000", "message": "x" })).await.unwrap();
        assert_eq!(failed, json!({ "ok": false, "error": format!("{call} requires a process caller") }));
        let error = user.call(call, json!({ "message": "x" })).await.unwrap_err();
        assert_eq!(error.pair(), (400, format!("{call} requires pid").as_str()));
    }
    let refused = user.call("proc.ipc.deliver", json!({})).await.unwrap_err();
    assert_eq!(refused.code, 403);
}

#[tokio::test]
async fn a_reply_reaches_the_process_that_called() {
    let agents = agents::answering(|messages| play(messages, || Turn::text("forty-two"))).await;
    let mut user = agents.gateway.user().await;
    let worker = user.call("proc.spawn", json!({ "label": "worker" })).await.unwrap();
    let pid = worker["pid"].as_str().unwrap().to_string();
    let message = format!("run: proc call {pid} what is it");
    user.call("proc.send", json!({ "message": message })).await.unwrap();
    let talk = heard(&mut user, "init:1000", "completed from process").await;
    let (_, reply) = talk.iter().find(|(role, _)| role == "system").unwrap();
    assert!(
        reply.contains(&format!("completed from process `{pid}`.")) && reply.contains("forty-two"),
        "{reply}"
    );
    let message = &said(&mut user, &pid).await[0].1;
    assert!(message.starts_with("Message from process `init:1000` (alice uid=1000)."), "{message}");
    assert!(message.contains("what is it") && message.contains("IPC call:"), "{message}");
}

#[tokio::test]
async fn a_call_that_nobody_answers_times_out_once() {
    let gate = Arc::new(Notify::new());
    let held = gate.clone();
    let worker = move || Turn::new().piece(Piece::Gate(held.clone())).say("too late");
    let agents = agents::answering(move |messages| play(messages, &worker)).await;
    let mut user = agents.gateway.user().await;
    let spawned = user.call("proc.spawn", json!({})).await.unwrap();
    let pid = spawned["pid"].as_str().unwrap().to_string();
    let message = format!("run: proc call {pid} --timeout 1s hurry");
    user.call("proc.send", json!({ "message": message })).await.unwrap();
    let talk = heard(&mut user, "init:1000", "timed out").await;
    let (_, event) = talk.iter().find(|(role, _)| role == "system").unwrap();
    assert!(event.contains(&format!("to process `{pid}` timed out.")), "{event}");
    assert!(event.contains("IPC call timed out after deadline "), "{event}");
    gate.notify_one();
    heard(&mut user, &pid, "too late").await;
    let events = said(&mut user, "init:1000").await.into_iter().filter(|(role, _)| role == "system").count();
    assert_eq!(events, 1, "a reply and a timeout never both");
}

#[tokio::test]
async fn an_open_call_outlives_the_gateway() {
    let worker = || Turn::tool("t2", "Delete", json!({ "path": "/home/alice/x" }));
    let agents = agents::answering(move |messages| {
        if last_text(messages).contains("denied") { Turn::text("could not") } else { play(messages, worker) }
    })
    .await;
    let mut user = agents.gateway.user().await;
    let spawned = user.call("proc.spawn", json!({})).await.unwrap();
    let pid = spawned["pid"].as_str().unwrap().to_string();
    let message = format!("run: proc call {pid} --timeout 10m remove it");
    user.call("proc.send", json!({ "message": message })).await.unwrap();
    let asked = user.signal("proc.run.hil.requested").await;
    assert_eq!(asked["pid"], pid.as_str());
    let gateway = agents.gateway.restart().await;
    let mut user = gateway.user().await;
    let answer = json!({ "pid": pid, "requestId": asked["requestId"], "decision": "deny" });
    assert_eq!(user.call("proc.hil", answer).await.unwrap()["ok"], true);
    let talk = heard(&mut user, "init:1000", "completed from process").await;
    assert!(talk.iter().any(|(role, text)| role == "system" && text.contains("could not")), "{talk:?}");
}

#[tokio::test]
async fn a_process_reaches_only_those_of_its_user() {
    let agents = agents::answering(|messages| play(messages, || Turn::text("never"))).await;
    let (mut user, _bob) = (agents.gateway.user().await, agents.gateway.add_user("bob").await);
    // What the policy thinks of it is not the question here.
    let auto = json!({ "key": "users/1000/ai/tools/approval", "value": r#"{"rules":[{"match":"shell.exec","action":"auto"}]}"# });
    user.call("sys.config.set", auto).await.unwrap();
    for (pid, words) in [
        ("init:1001", "Permission denied: target process belongs to another user"),
        ("no-such", "Process not found: no-such"),
    ] {
        user.call("proc.send", json!({ "message": format!("run: proc send {pid} hello") })).await.unwrap();
        let tool = user.signal("proc.run.tool.finished").await;
        assert!(tool.to_string().contains(words), "{tool}");
        user.signal("proc.run.finished").await;
    }
    let hil = "run: gsv call proc.hil --request-id r --decision approve";
    user.call("proc.send", json!({ "message": hil })).await.unwrap();
    let tool = user.signal("proc.run.tool.finished").await;
    assert!(tool.to_string().contains("proc.hil is for people, an agent can never do it"), "{tool}");
}
