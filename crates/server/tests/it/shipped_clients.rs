//! The frames that shipped clients put on the wire, as recorded, and what they need back.

use serde_json::{Value, json};
use testkit::gateway::{DEVICE, PASSWORD, USER};
use testkit::{Gateway, Peer};

fn client(role: &str, id: &str) -> Value {
    json!({ "id": id, "platform": "linux", "role": role, "version": "0.1.3" })
}

/// The unauthenticated connect that every command makes first, on a socket it leaves open.
async fn probe(gateway: &Gateway) -> (Peer, testkit::peer::Refused) {
    let mut peer = gateway.peer().await;
    let args = json!({ "client": client("user", "gsv-setup-probe-ee75"), "protocol": 1 });
    let refused = peer.call("sys.connect", args).await.unwrap_err();
    (peer, refused)
}

#[tokio::test]
async fn the_probe_is_answered_at_once_and_tells_setup_mode() {
    let mut gateway = Gateway::fresh().await;
    let (_open, refused) = probe(&gateway).await;
    assert_eq!((refused.code, &refused.details["setupMode"]), (425, &json!(true)));
    let done = gateway.setup().await;
    for field in ["tokenId", "token", "tokenPrefix"] {
        assert!(done["nodeToken"][field].is_string(), "{field}");
    }
    assert!(
        done["user"]["uid"].is_u64() && done["user"]["home"].is_string() && done["rootLocked"].is_boolean()
    );
    let mut probes = Vec::new();
    for _ in 0..25 {
        let (peer, refused) = probe(&gateway).await;
        assert_eq!(refused.code, 401);
        probes.push(peer);
    }
    gateway.user().await;
}

#[tokio::test]
async fn a_command_with_a_password_mints_a_token_and_uses_it_on_a_third_socket() {
    let gateway = Gateway::set_up().await;
    let mut first = gateway.peer().await;
    let auth = json!({ "password": PASSWORD, "username": USER });
    let args = json!({ "auth": auth, "client": client("user", "client-83ec"), "protocol": 1 });
    first.call("sys.connect", args).await.unwrap();
    let far = 4_102_444_800_000_i64;
    let args = json!({ "allowedRole": "user", "expiresAt": far, "kind": "user", "label": "gsv-cli@linux" });
    let token = first.call("sys.token.create", args).await.unwrap()["token"].clone();
    assert_eq!(token["expiresAt"], far);
    assert!(token["createdAt"].is_i64() && token["uid"].is_u64() && token["kind"] == "user");
    let mut second = gateway.peer().await;
    let auth = json!({ "token": token["token"], "username": USER });
    let args = json!({ "auth": auth, "client": client("user", "client-99aa"), "protocol": 1 });
    let connected = second.call("sys.connect", args).await.unwrap();
    assert!(connected["protocol"] == 1 && connected["server"]["version"].is_string());
    let entries = second.call("sys.config.get", json!({})).await.unwrap();
    for entry in entries["entries"].as_array().unwrap() {
        assert!(entry["value"].is_string(), "values are always text: {entry}");
    }
}

#[tokio::test]
async fn a_shipped_driver_is_routed_to_and_its_answers_are_understood() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let mut driver = gateway.peer().await;
    let args = json!({
        "auth": { "token": gateway.node_token, "username": USER }, "client": client("driver", DEVICE),
        "driver": { "implements": ["fs.*", "shell.exec"] }, "protocol": 1,
    });
    driver.call("sys.connect", args).await.unwrap();

    let id = user.send_call("shell.exec", json!({ "target": DEVICE, "input": "echo hi; exit 3" })).await;
    let request = driver.request().await;
    let ended = json!({
        "ok": true, "status": "failed", "exitCode": 3, "error": "Command exited with code 3", "output": "hi\n",
        "stdout": "hi\n", "stderr": "", "tail": "hi\n", "sessionId": "ed07", "pid": 27346, "cwd": "/w",
        "startedAt": 1, "endedAt": 10, "durationMs": 9, "signal": null, "timedOut": false, "truncated": false,
    });
    driver.reply(&request, ended).await;
    let result = user.answer(&id).await.unwrap();
    assert_eq!((&result["stdout"], &result["exitCode"]), (&json!("hi\n"), &json!(3)));

    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "nope.txt" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!({ "ok": false, "error": "Failed to read '/w/nope.txt'" })).await;
    assert_eq!(user.answer(&id).await.unwrap()["ok"], false, "a failed operation is not a failed call");

    let id = user.send_call("fs.copy", json!({ "target": DEVICE })).await;
    assert_eq!(user.answer(&id).await.unwrap_err().pair(), (404, "Unknown syscall: fs.copy"));

    let mut again = gateway.peer().await;
    let args = json!({
        "auth": { "token": gateway.node_token, "username": USER }, "client": client("driver", DEVICE),
        "driver": { "implements": ["fs.*", "shell.exec"] }, "protocol": 1,
    });
    again.call("sys.connect", args).await.unwrap();
    assert_eq!(driver.ended().await, Some((1000, "Replaced by newer connection".into())));
    drop(again);
}

#[tokio::test]
async fn large_answers_come_in_fragments_that_shipped_clients_accept() {
    let gateway = Gateway::set_up().await;
    let mut driver = gateway.driver().await;
    let mut user = Peer::open_strict(&gateway.url()).await;
    let auth = json!({ "auth": { "username": USER, "password": PASSWORD } });
    user.connect("user", "strict", auth).await.unwrap();
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "big" })).await;
    let request = driver.request().await;
    let content = "é".repeat(12 * 1024 * 1024);
    driver.reply(&request, json!({ "ok": true, "content": content })).await;
    assert_eq!(user.answer(&id).await.unwrap()["content"].as_str().unwrap().len(), content.len());
}
