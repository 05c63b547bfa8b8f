//! Tests of questions about devices, over real sockets: what a driver refuses without approval, what is opened in its
//! sandbox, and text for commands that go on.

use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::Turn;
use testkit::gateway::DEVICE;

use crate::agents::{self, Agents, finished};

/// A driver with a whole sandbox.
async fn driver(agents: &Agents) -> Peer {
    let mut peer = agents.gateway.peer().await;
    let mut args = agents.gateway.driver_args("driver-1");
    let about = json!({
        "confine": ["fs", "secrets", "network", "processes"], "workspace": "/home/me/work", "home": "/home/me",
        "shell": "/bin/bash",
    });
    let driver = args["driver"].as_object_mut().unwrap();
    driver.extend(about.as_object().cloned().unwrap());
    peer.connect("driver", DEVICE, args).await.unwrap();
    peer
}

fn shell(id: &str, args: Value) -> Turn {
    let mut args = args;
    args["target"] = DEVICE.into();
    Turn::tool(id, "Shell", args)
}

fn done(output: &str) -> Value {
    json!({ "ok": true, "status": "completed", "output": output, "exitCode": 0 })
}

#[tokio::test]
async fn what_a_driver_refuses_without_approval_becomes_a_question() {
    let make = shell("t1", json!({ "input": "make" }));
    let agents = agents::saying(vec![make, Turn::text("built")]).await;
    let (mut driver, mut user) = (driver(&agents).await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "build" })).await.unwrap();
    let first = driver.request().await;
    assert_eq!(first["args"]["confine"]["way"], "confined", "{first}");
    let refused = json!({
        "code": 403, "message": "Not allowed without approval: no checkpoint could be taken: too large",
        "details": { "reason": "approval_required" },
    });
    driver.send(json!({ "type": "res", "id": first["id"], "ok": false, "error": refused })).await;
    let asked = user.signal("proc.run.hil.requested").await;
    let why = "It was refused by the device without approval: no checkpoint could be taken: too large.";
    assert_eq!(asked["reasons"][0], why, "{asked}");
    let answer = json!({ "requestId": asked["requestId"], "decision": "approve" });
    let of_alice = json!({ "pid": "init:1000", "requestId": asked["requestId"], "decision": "approve" });
    let by_root = agents.gateway.root().await.call("proc.hil", of_alice).await.unwrap_err();
    assert!(by_root.code == 403 && by_root.pair().1.contains("answered by alice alone"), "{by_root:?}");
    assert_eq!(user.call("proc.hil", answer).await.unwrap()["ok"], true);
    let second = driver.request().await;
    assert_eq!(second["args"]["confine"]["way"], "approved", "{second}");
    assert_ne!(second["id"], first["id"]);
    driver.reply(&second, done("ok")).await;
    assert_eq!(finished(&mut user, sent["runId"].as_str().unwrap()).await["text"], "built");
}

#[tokio::test]
async fn exactly_what_was_shown_is_opened_and_a_host_is_remembered() {
    let curl = |id: &str| shell(id, json!({ "input": "curl https://example.org" }));
    let agents = agents::saying(vec![curl("t1"), curl("t2"), Turn::text("fetched")]).await;
    let (mut driver, mut user) = (driver(&agents).await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "fetch" })).await.unwrap();
    let asked = user.signal("proc.run.hil.requested").await;
    assert_eq!(asked["wideningText"], "reach example.org", "{asked}");
    let answer = json!({
        "requestId": asked["requestId"], "decision": "approve", "remember": true, "rememberScope": "hosts",
    });
    assert_eq!(user.call("proc.hil", answer).await.unwrap()["remembered"], true);
    for _ in 0..2 {
        let request = driver.request().await;
        let confine = &request["args"]["confine"];
        assert_eq!(confine["way"], "confined", "{request}");
        assert!(confine["hosts"].as_array().unwrap().contains(&json!("example.org")), "{request}");
        driver.reply(&request, done("<html>")).await;
    }
    assert_eq!(finished(&mut user, sent["runId"].as_str().unwrap()).await["text"], "fetched");
    let rules = user.call("proc.approvals.list", json!({})).await.unwrap();
    let words = format!("reaching example.org from confined commands in /home/me/work on {DEVICE}");
    assert_eq!(rules["approvals"][0]["shapeText"], words, "{rules}");
}

#[tokio::test]
async fn an_agent_types_into_its_own_confined_command_unasked() {
    let agents = agents::answering(|messages| {
        let text = json!(messages).to_string();
        let session = text.split("sh_").nth(1).map(|rest| {
            let id: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            format!("sh_{id}")
        });
        match (text.contains("typed it"), session) {
            (true, _) => Turn::text("done"),
            (false, Some(id)) => Turn::tool("t2", "Shell", json!({ "input": "yes\n", "sessionId": id })),
            (false, None) => shell("t1", json!({ "input": "make install" })),
        }
    })
    .await;
    let (mut driver, mut user) = (driver(&agents).await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "build" })).await.unwrap();
    let started = driver.request().await;
    driver
        .reply(&started, json!({ "ok": true, "status": "running", "output": "sure?", "sessionId": "7" }))
        .await;
    let typed = driver.request().await;
    assert_eq!((&typed["args"]["sessionId"], &typed["args"]["input"]), (&json!("7"), &json!("yes\n")));
    assert_eq!(typed["args"]["confine"]["way"], "confined", "{typed}");
    driver.reply(&typed, done("typed it")).await;
    assert_eq!(finished(&mut user, sent["runId"].as_str().unwrap()).await["text"], "done");
}
