//! Compatibility tests: the frames that shipped clients put on the wire, as recorded, and what they need back.

use serde_json::{Value, json};
use testkit::fake_model::{Piece, Turn};
use testkit::gateway::{DEVICE, PASSWORD, USER};
use testkit::{Gateway, Peer};

use crate::agents;

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

#[tokio::test]
async fn a_command_in_setup_mode_sets_up_and_goes_on_at_once() {
    let gateway = Gateway::fresh().await;
    let (mut first, refused) = probe(&gateway).await;
    assert_eq!(refused.code, 425);
    let mut setup = gateway.peer().await;
    let args = json!({ "username": USER, "password": PASSWORD, "node": { "deviceId": DEVICE } });
    let done = setup.call("sys.setup", args).await.unwrap();
    let mut second = gateway.peer().await;
    let auth = json!({ "password": PASSWORD, "username": USER });
    let args = json!({ "auth": auth, "client": client("user", "client-1"), "protocol": 1 });
    second.call("sys.connect", args).await.unwrap();
    let minted = second.call("sys.token.create", json!({ "kind": "user" })).await.unwrap();
    let mut third = gateway.peer().await;
    let auth = json!({ "token": minted["token"]["token"], "username": USER });
    let args = json!({ "auth": auth, "client": client("user", "client-2"), "protocol": 1 });
    third.call("sys.connect", args).await.unwrap();
    third.call("sys.config.get", json!({})).await.unwrap();
    let mut driver = gateway.peer().await;
    let args = json!({
        "auth": { "token": done["nodeToken"]["token"], "username": USER }, "client": client("driver", DEVICE),
        "driver": { "implements": ["fs.*", "shell.exec"] }, "protocol": 1,
    });
    driver.call("sys.connect", args).await.unwrap();
    // The probe's socket is still open, and learns that setup mode is over.
    let args = json!({ "client": client("user", "gsv-setup-probe-ee75"), "protocol": 1 });
    assert_eq!(first.call("sys.connect", args).await.unwrap_err().code, 401);
}

#[tokio::test]
async fn a_driver_whose_connection_breaks_off_is_offline_and_may_come_back() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut other) = (gateway.user().await, gateway.user().await);
    for _ in 0..3 {
        let mut driver = gateway.peer().await;
        let args = json!({
            "auth": { "token": gateway.node_token, "username": USER }, "client": client("driver", DEVICE),
            "driver": { "implements": ["fs.*", "shell.exec"] }, "protocol": 1,
        });
        driver.call("sys.connect", args).await.unwrap();
        let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
        driver.request().await;
        // No close frame, as every shipped command ends.
        drop(driver);
        let refused = user.answer(&id).await.unwrap_err();
        assert_eq!(refused.pair(), (503, "Device disconnected: laptop"));
        other
            .next_where(|frame| {
                frame["signal"] == "device.status" && frame["payload"]["event"] == "disconnected"
            })
            .await;
    }
}

/// The first of a list, whose fields a client parses.
fn first<'a>(data: &'a Value, list: &str) -> &'a Value {
    let first = &data[list][0];
    assert!(first.is_object(), "{data}");
    first
}

#[tokio::test]
async fn every_command_finds_the_fields_it_needs_in_their_types() {
    let agents = agents::saying(vec![Turn::text("hello")]).await;
    let mut user = agents.gateway.user().await;
    let far = 4_102_444_800_000_i64;
    let args = json!({ "kind": "node", "allowedDeviceId": "dev-1", "allowedRole": "driver", "label": "lab", "expiresAt": far });
    let created = user.call("sys.token.create", args).await.unwrap()["token"].clone();
    let listed = user.call("sys.token.list", json!({})).await.unwrap();
    for token in [&created, first(&listed, "tokens")] {
        for field in ["tokenId", "tokenPrefix", "kind"] {
            assert!(token[field].is_string(), "{field}: {token}");
        }
        assert!(token["uid"].is_u64() && token["createdAt"].is_i64(), "{token}");
    }
    let args = json!({ "tokenId": created["tokenId"], "reason": "why" });
    assert_eq!(user.call("sys.token.revoke", args).await.unwrap()["revoked"], true);
    let args = json!({ "key": "users/1000/ai/max_tokens", "value": "1" });
    user.call("sys.config.set", args).await.unwrap();

    let processes = user.call("proc.list", json!({})).await.unwrap();
    let init = first(&processes, "processes");
    assert!(init["pid"].is_string() && init["state"].is_string(), "{init}");
    assert!(init["uid"].is_u64() && init["createdAt"].is_i64() && init["lastActiveAt"].is_i64(), "{init}");
    assert_eq!(user.call("proc.list", json!({ "uid": 1000 })).await.unwrap(), processes);

    let sent = user.call("proc.send", json!({ "message": "hello" })).await.unwrap();
    assert_eq!((&sent["ok"], &sent["status"]), (&json!(true), &json!("started")));
    let finished = agents::finished(&mut user, sent["runId"].as_str().unwrap()).await;
    assert_eq!((&finished["text"], &finished["error"]), (&json!("hello"), &Value::Null));
    let history = user.call("proc.history", json!({ "limit": 5, "offset": 0 })).await.unwrap();
    assert_eq!(history["ok"], true);
    for message in history["messages"].as_array().unwrap() {
        assert!(message["role"].is_string() && !message["content"].is_null(), "{message}");
    }
    let args = json!({ "label": "L", "parentPid": "init:1000", "prompt": "P" });
    let spawned = user.call("proc.spawn", args).await.unwrap();
    assert_eq!((&spawned["ok"], &spawned["profile"]), (&json!(true), &json!("task")), "{spawned}");
    let args = json!({ "label": "L", "prompt": "P", "runAs": "alice" });
    assert_eq!(
        user.call("proc.spawn", args).await.unwrap()["ok"],
        true,
        "more than is known is no reason to refuse"
    );
    for args in [json!({}), json!({ "pid": "init:1000" })] {
        assert_eq!(user.call("proc.reset", args).await.unwrap()["ok"], true);
    }
    let args = json!({ "archive": true, "pid": spawned["pid"] });
    assert_eq!(user.call("proc.kill", args).await.unwrap()["ok"], true);
    let shell = user.call("shell.exec", json!({ "input": "echo out; echo err >&2; exit 3" })).await.unwrap();
    assert_eq!((&shell["stdout"], &shell["stderr"]), (&json!("out\n"), &json!("err\n")), "{shell}");
    assert_eq!((&shell["exitCode"], &shell["status"]), (&json!(3), &json!("failed")), "{shell}");
    assert!(shell["output"].as_str().unwrap().contains("out"), "{shell}");
    for (call, args) in [
        ("proc.send", json!({ "message": "hello", "pid": "init:7777" })),
        ("proc.history", json!({ "pid": "init:7777" })),
        ("proc.spawn", json!({ "parentPid": "init:7777" })),
        ("pkg.sync", json!({})),
        ("sys.link.list", json!({})),
        ("adapter.status", json!({ "adapter": "whatsapp" })),
    ] {
        let id = user.send_call(call, args).await;
        let frame = user.next_where(|frame| frame["id"] == id.as_str()).await;
        let failed =
            frame["ok"] == false && frame["error"]["code"].is_i64() && frame["error"]["message"].is_string();
        let told = frame["data"]["ok"] == false && frame["data"]["error"].is_string();
        assert!(failed || (told && call == "proc.spawn"), "{call}: {frame}");
    }
}

#[tokio::test]
async fn every_run_that_a_chat_waits_for_ends_with_its_own_id() {
    let hang = || Turn::text("thinking").piece(Piece::Hang);
    let turns = vec![hang(), hang(), hang(), Turn::text("one moment").fail("it broke"), Turn::text("well")];
    let agents = agents::saying(turns).await;
    let (mut user, mut other) = (agents.gateway.user().await, agents.gateway.user().await);
    let spawned = user.call("proc.spawn", json!({ "profile": "task" })).await.unwrap();
    let task = spawned["pid"].as_str().unwrap().to_string();
    let ends = [
        ("init:1000", Some("proc.abort"), "aborted"),
        ("init:1000", Some("proc.reset"), "aborted"),
        (task.as_str(), Some("proc.kill"), "aborted"),
        ("init:1000", None, "error"),
        ("init:1000", None, "ok"),
    ];
    for (pid, stop, status) in ends {
        let sent = user.call("proc.send", json!({ "pid": pid, "message": "hello" })).await.unwrap();
        let run_id = sent["runId"].as_str().unwrap();
        if let Some(call) = stop {
            let is_it = |frame: &Value| {
                let payload = &frame["payload"];
                frame["signal"] == "proc.run.stream"
                    && payload["runId"] == run_id
                    && payload["event"]["type"] == "text_delta"
                    && payload["event"]["delta"].is_string()
            };
            user.next_where(is_it).await;
            assert_eq!(other.call(call, json!({ "pid": pid })).await.unwrap()["ok"], true, "{call}");
        }
        let finished = agents::finished(&mut user, run_id).await;
        assert_eq!(finished["status"], status, "{stop:?}: {finished}");
        assert_eq!(finished["error"].is_string(), status == "error", "{finished}");
    }
}

#[tokio::test]
async fn calls_to_a_device_may_take_as_long_as_shipped_drivers_do() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let key = json!({ "key": "config/routing/timeout_ms" });
    let found = root.call("sys.config.get", key).await.unwrap();
    let wait_ms: u64 = found["entries"][0]["value"].as_str().unwrap().parse().unwrap();
    assert!(wait_ms > 35_000, "a driver polls for up to 30 seconds, and more may pass on the way");
}

async fn shipped(gateway: &Gateway) -> (Peer, Value) {
    let mut peer = gateway.peer().await;
    let auth = json!({ "password": PASSWORD, "username": USER });
    let args = json!({ "auth": auth, "client": client("user", "client-83ec"), "protocol": 1 });
    let connected = peer.call("sys.connect", args).await.unwrap();
    (peer, connected)
}

#[tokio::test]
async fn a_chat_hears_of_its_run_by_the_names_it_knows() {
    let agents = agents::saying(vec![Turn::text("hello")]).await;
    let (mut chat, connected) = shipped(&agents.gateway).await;
    let names = connected["signals"].as_array().unwrap();
    assert!(names.contains(&json!("chat.complete")) && names.contains(&json!("proc.run.finished")));
    let sent = chat.call("proc.send", json!({ "message": "hello" })).await.unwrap();
    let text = chat.next_where(|frame| frame["signal"] == "chat.text").await;
    assert_eq!((&text["payload"]["text"], &text["payload"]["runId"]), (&json!("hello"), &sent["runId"]));
    let ended = chat.next_where(|frame| frame["signal"] == "chat.complete").await;
    assert_eq!((&ended["payload"]["text"], &ended["payload"]["runId"]), (&json!("hello"), &sent["runId"]));
    let mut today = agents.gateway.user().await;
    assert!(
        today.saw_no(|frame| frame["signal"].as_str().is_some_and(|name| name.starts_with("chat."))).await
    );
}

#[tokio::test]
async fn a_command_that_outlasts_the_wait_is_not_lost_on_clients_that_never_poll() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let brief = json!({ "key": "config/shell/wait_ms", "value": "10" });
    root.call("sys.config.set", brief).await.unwrap();
    let command = json!({ "input": "sleep 1; echo done" });
    let (mut old, _) = shipped(&gateway).await;
    let waited = old.call("shell.exec", command.clone()).await.unwrap();
    assert_eq!((&waited["status"], &waited["output"]), (&json!("completed"), &json!("done\n")), "{waited}");
    let mut follower = gateway.user().await;
    assert_eq!(follower.call("shell.exec", command).await.unwrap()["status"], "running");
}
