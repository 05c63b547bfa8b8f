//! Tests of agents over real sockets: talking to one, its tools, approvals, and whose they are.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::fake_model::{Piece, Turn};
use testkit::gateway::DEVICE;
use testkit::{Gateway, Peer};
use tokio::sync::Notify;

use crate::agents::{self, chat, finished, said};

async fn state(peer: &mut Peer, pid: &str) -> Value {
    let listed = peer.call("proc.list", json!({})).await.unwrap();
    let rows = listed["processes"].as_array().unwrap();
    rows.iter().find(|row| row["pid"] == pid).cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_user_has_an_init_process_from_the_first_login_on_and_machines_do_not() {
    let gateway = Gateway::set_up().await;
    let _driver = gateway.driver().await;
    let mut root = gateway.root().await;
    let pids = |listed: &Value| -> Vec<String> {
        let rows = listed["processes"].as_array().unwrap();
        rows.iter().map(|row| row["pid"].as_str().unwrap().to_string()).collect()
    };
    let listed = root.call("proc.list", json!({})).await.unwrap();
    assert_eq!(pids(&listed), ["init:0"], "a driver of alice is not alice");
    let mut user = gateway.user().await;
    gateway.user().await;
    let own = state(&mut user, "init:1000").await;
    assert_eq!(
        (&own["label"], &own["profile"], &own["state"]),
        (&json!("init (alice)"), &json!("init"), &json!("idle"))
    );
    assert_eq!((&own["cwd"], &own["queuedCount"]), (&json!("/home/alice"), &json!(0)));
    assert_eq!(pids(&user.call("proc.list", json!({})).await.unwrap()), ["init:1000"]);
    let mut both = pids(&root.call("proc.list", json!({})).await.unwrap());
    both.sort();
    assert_eq!(both, ["init:0", "init:1000"]);
    assert_eq!(pids(&root.call("proc.list", json!({ "uid": 1000 })).await.unwrap()), ["init:1000"]);
    assert_eq!(user.call("proc.list", json!({ "uid": 0 })).await.unwrap_err().code, 403);
    assert_eq!(
        user.call("proc.list", json!({ "uid": 1000 })).await.unwrap()["processes"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn the_demo_answers_when_nothing_is_configured() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let root_sets = json!({ "key": "config/ai/provider", "value": "demo" });
    gateway.root().await.call("sys.config.set", root_sets).await.unwrap();
    let done = chat(&mut user, json!({ "message": "hello" })).await;
    assert_eq!((&done["status"], &done["reason"]), (&json!("ok"), &json!("turn.complete")), "{done}");
    assert!(!done["text"].as_str().unwrap().is_empty());
    assert_eq!(state(&mut user, "init:1000").await["state"], "idle");
}

#[tokio::test]
async fn a_message_is_answered_and_the_key_stays_in_the_kernel() {
    let agents = agents::saying(vec![Turn::text("good morning")]).await;
    let mut user = agents.gateway.user().await;
    let done = chat(&mut user, json!({ "message": "hello" })).await;
    assert_eq!((&done["status"], &done["text"]), (&json!("ok"), &json!("good morning")), "{done}");
    let talk = [("user", "hello"), ("assistant", "good morning")];
    assert_eq!(
        said(&mut user, "init:1000").await,
        talk.map(|(role, text)| (role.to_string(), text.to_string()))
    );
    let asked = &agents.model.received()[0];
    assert_eq!(asked.header("authorization"), "Bearer k");
    let read = user.call("fs.read", json!({ "path": "/proc/init:1000/status" })).await.unwrap();
    assert!(!read.to_string().contains("good morning"), "{read}");
}

#[tokio::test]
async fn signals_of_a_run_go_to_who_started_it_from_the_first_on() {
    let agents = agents::saying(vec![Turn::text("here")]).await;
    let (mut user, mut other) = (agents.gateway.user().await, agents.gateway.user().await);
    let done = chat(&mut user, json!({ "message": "hello" })).await;
    let run_id = done["runId"].clone();
    let started = user.next_where(|frame| frame["signal"] == "proc.run.started").await;
    assert_eq!(started["payload"]["runId"], run_id);
    assert!(
        other
            .saw_no(|frame| frame["signal"].as_str().is_some_and(|name| name.starts_with("proc.run.")))
            .await
    );
}

#[tokio::test]
async fn a_tool_runs_on_a_device_and_its_result_reaches_the_model() {
    let read = json!({ "target": DEVICE, "path": "/etc/motd" });
    let agents = agents::saying(vec![Turn::tool("t1", "Read", read), Turn::text("it says hi")]).await;
    let (mut driver, mut user) = (agents.gateway.driver().await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "what is in motd?" })).await.unwrap();
    let request = driver.request().await;
    assert_eq!((&request["call"], &request["args"]), (&json!("fs.read"), &json!({ "path": "/etc/motd" })));
    driver.reply(&request, json!({ "ok": true, "content": "hi", "path": "/etc/motd", "size": 2 })).await;
    let done = finished(&mut user, sent["runId"].as_str().unwrap()).await;
    assert_eq!(done["text"], "it says hi", "{done}");
    let tool = user.signal("proc.run.tool.finished").await;
    assert_eq!((&tool["ok"], &tool["syscall"]), (&json!(true), &json!("fs.read")), "{tool}");
    let asked = agents.model.received();
    let told = asked[1].json()["messages"].to_string();
    assert!(told.contains("hi"), "{told}");
}

#[tokio::test]
async fn an_approval_is_answered_from_another_connection_and_only_once() {
    let delete = json!({ "path": "/home/alice/old.txt" });
    let agents = agents::saying(vec![Turn::tool("t1", "Delete", delete), Turn::text("gone")]).await;
    let gateway = &agents.gateway;
    let (mut user, mut second, mut bob) =
        (gateway.user().await, gateway.user().await, gateway.add_user("bob").await);
    let file = json!({ "path": "/home/alice/old.txt", "content": "x" });
    user.call("fs.write", file).await.unwrap();
    let sent = user.call("proc.send", json!({ "message": "delete it" })).await.unwrap();
    let asked = user.signal("proc.run.hil.requested").await;
    assert_eq!((&asked["pid"], &asked["syscall"]), (&json!("init:1000"), &json!("fs.delete")));
    let pending = second.call("proc.approvals.pending", json!({})).await.unwrap();
    assert_eq!(pending["pending"][0]["requestId"], asked["requestId"]);
    assert_eq!(bob.call("proc.approvals.pending", json!({})).await.unwrap()["pending"], json!([]));
    assert_eq!(state(&mut second, "init:1000").await["state"], "waiting_hil");
    let answer = json!({ "pid": "init:1000", "requestId": asked["requestId"], "decision": "approve" });
    let foreign = bob.call("proc.hil", answer.clone()).await.unwrap_err();
    assert_eq!(foreign.pair(), (403, "Permission denied: cannot access process init:1000"));
    let given = second.call("proc.hil", answer.clone()).await.unwrap();
    assert_eq!((&given["ok"], &given["resumed"]), (&json!(true), &json!(true)), "{given}");
    let late = second.call("proc.hil", answer).await.unwrap();
    assert_eq!(late["ok"], false, "{late}");
    let done = finished(&mut user, sent["runId"].as_str().unwrap()).await;
    assert_eq!(done["text"], "gone", "{done}");
    let read = user.call("fs.read", json!({ "path": "/home/alice/old.txt" })).await.unwrap();
    assert_eq!(read["ok"], false, "the file is gone");
}

#[tokio::test]
async fn unknown_and_foreign_processes_are_refused_in_every_call() {
    let gateway = Gateway::set_up().await;
    let (_alice, mut bob, mut root) =
        (gateway.user().await, gateway.add_user("bob").await, gateway.root().await);
    let more = json!({
        "message": "x", "requestId": "r", "decision": "approve", "key": "k", "approvalId": "a", "conversationId": "c",
        "segmentId": "s",
    });
    let about = |pid: &str| {
        let mut args = more.clone();
        args["pid"] = json!(pid);
        args
    };
    let calls = protocol::calls().filter(|spec| {
        let takes_pid = spec.name.starts_with("proc.") && !spec.name.starts_with("proc.ipc.");
        takes_pid
            && !["proc.list", "proc.spawn", "proc.profile.list", "proc.setidentity"].contains(&spec.name)
    });
    for spec in calls {
        let unknown = bob.call(spec.name, about("no-such")).await.unwrap_err();
        assert_eq!(unknown.pair(), (404, "Process not found: no-such"), "{}", spec.name);
        let foreign = bob.call(spec.name, about("init:1000")).await.unwrap_err();
        let denied = "Permission denied: cannot access process init:1000";
        assert_eq!(foreign.pair(), (403, denied), "{}", spec.name);
    }
    let by_root = root.call("proc.history", json!({ "pid": "init:1000" })).await.unwrap();
    assert_eq!((&by_root["ok"], &by_root["pid"]), (&json!(true), &json!("init:1000")));
    assert_eq!(bob.call("proc.cost", json!({ "uid": 1000 })).await.unwrap_err().code, 403);
}

#[tokio::test]
async fn bad_messages_are_refused_with_the_field_that_is_wrong() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    for message in ["", "  \n"] {
        let refused = user.call("proc.send", json!({ "message": message })).await.unwrap_err();
        assert_eq!(refused.code, 400, "{message:?}");
        assert!(refused.message.contains("message"), "{refused:?}");
    }
    assert_eq!(
        user.call("proc.send", json!({})).await.unwrap_err().pair(),
        (400, "proc.send requires message")
    );
    let long = "x".repeat(4 * 1024 * 1024 + 1);
    assert_eq!(user.call("proc.send", json!({ "message": long })).await.unwrap_err().code, 413);
    let unknown = json!({ "message": "x", "conversationId": "nowhere" });
    let failed = user.call("proc.send", unknown).await.unwrap();
    assert_eq!(failed, json!({ "ok": false, "error": "Conversation not found: nowhere" }));
    let open = json!({ "conversationId": "side" });
    assert_eq!(user.call("proc.conversation.open", open.clone()).await.unwrap()["created"], true);
    user.call("proc.conversation.close", open).await.unwrap();
    let closed = user.call("proc.send", json!({ "message": "x", "conversationId": "side" })).await.unwrap();
    assert_eq!(closed, json!({ "ok": false, "error": "Conversation is closed: side" }));
}

#[tokio::test]
async fn messages_during_a_run_are_taken_in_and_their_runs_end_too() {
    let gate = Arc::new(Notify::new());
    let first =
        Turn::new().piece(Piece::Gate(gate.clone())).call("t1", "Read", json!({ "path": "/proc/version" }));
    let agents = agents::saying(vec![first, Turn::text("both done")]).await;
    let mut user = agents.gateway.user().await;
    let one = user.call("proc.send", json!({ "message": "first" })).await.unwrap();
    let two = user.call("proc.send", json!({ "message": "second" })).await.unwrap();
    assert_eq!(two["queued"], true, "{two}");
    gate.notify_one();
    for sent in [&one, &two] {
        let done = finished(&mut user, sent["runId"].as_str().unwrap()).await;
        assert_eq!((&done["status"], &done["text"]), (&json!("ok"), &json!("both done")), "{done}");
    }
    assert_eq!(agents.model.received().len(), 2, "one run took both in");
}

#[tokio::test]
async fn a_killed_process_keeps_its_row_and_takes_no_more_messages() {
    let agents = agents::saying(vec![Turn::text("done")]).await;
    let mut user = agents.gateway.user().await;
    let spawned = user.call("proc.spawn", json!({ "prompt": "go" })).await.unwrap();
    let pid = spawned["pid"].as_str().unwrap().to_string();
    user.signal("proc.run.finished").await;
    let killed = user.call("proc.kill", json!({ "pid": pid })).await.unwrap();
    assert_eq!((&killed["ok"], &killed["archivedMessages"]), (&json!(true), &json!(2)), "{killed}");
    assert_eq!(user.signal("process.exit").await["pid"], pid.as_str());
    assert_eq!(state(&mut user, &pid).await["state"], "exited");
    let path = killed["archives"][0]["path"].as_str().unwrap();
    assert!(path.starts_with(&format!("/var/sessions/alice/{pid}/")), "{path}");
    let sent = user.call("proc.send", json!({ "pid": pid, "message": "again" })).await;
    assert_eq!(sent.unwrap_err().code, 404);
    let again = user.call("proc.kill", json!({ "pid": "init:1000" })).await.unwrap();
    assert_eq!(again["ok"], true, "{again}");
    let done = chat(&mut user, json!({ "message": "still there?" })).await;
    assert_eq!(done["text"], "done", "init comes back");
}

#[tokio::test]
async fn what_was_said_and_what_waits_outlives_the_gateway() {
    let delete = json!({ "path": "/home/alice/old.txt" });
    let turns = vec![Turn::tool("t1", "Delete", delete), Turn::text("after all")];
    let agents = agents::saying(turns).await;
    let mut user = agents.gateway.user().await;
    let sent = user.call("proc.send", json!({ "message": "delete it" })).await.unwrap();
    let asked = user.signal("proc.run.hil.requested").await;
    let queued = user.call("proc.send", json!({ "message": "and then?" })).await.unwrap();
    assert_eq!(queued["queued"], true);
    let gateway = agents.gateway.restart().await;
    let mut user = gateway.user().await;
    let history = user.call("proc.history", json!({})).await.unwrap();
    assert_eq!(history["pendingHil"]["requestId"], asked["requestId"], "{history}");
    let answer = json!({ "requestId": asked["requestId"], "decision": "deny" });
    assert_eq!(user.call("proc.hil", answer).await.unwrap()["ok"], true);
    for sent in [&sent, &queued] {
        let done = finished(&mut user, sent["runId"].as_str().unwrap()).await;
        assert_eq!(done["text"], "after all", "{done}");
    }
}

#[tokio::test]
async fn proc_shows_processes_and_self_is_the_one_that_looks() {
    let shell = json!({ "input": "cat /proc/self/status; proc self; ps" });
    let agents = agents::saying(vec![Turn::tool("t1", "Shell", shell), Turn::text("seen")]).await;
    let (mut user, mut bob) = (agents.gateway.user().await, agents.gateway.add_user("bob").await);
    let spawned = user.call("proc.spawn", json!({ "prompt": "look", "label": "watcher" })).await.unwrap();
    let pid = spawned["pid"].as_str().unwrap().to_string();
    let tool = user.signal("proc.run.tool.finished").await;
    assert_eq!(tool["ok"], true, "{tool}");
    let output = tool["output"].to_string();
    assert!(
        output.contains(&format!("Pid:\\t{pid}\\n")) || output.contains(&format!("Pid:\\\\t{pid}")),
        "{output}"
    );
    assert!(output.contains("watcher"), "{output}");
    let own = user.call("fs.read", json!({ "path": format!("/proc/{pid}/identity") })).await.unwrap();
    assert!(own["content"].to_string().contains("alice"), "{own}");
    let foreign = bob.call("fs.read", json!({ "path": format!("/proc/{pid}/identity") })).await.unwrap();
    assert_eq!(foreign["ok"], false, "{foreign}");
}
