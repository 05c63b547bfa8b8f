//! `kill -9` in the middle of finding something out: while a device is asked for the result of a call, and between a
//! run's end and the signal that tells of it.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::{Received, Reply, Turn, chat_reply};

use crate::agents_crash::Sweep;
use crate::world::PATIENCE;

/// Counts itself, and ends when the file `go` appears. The device waits for it with its answer.
const COMMAND: &str = "echo once >> effects.log; while [ ! -e go ]; do sleep 0.02; done; echo went";

/// Runs the command, then says what it was told.
fn run_command(request: &Received) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let turn = match messages.iter().find(|message| message["role"] == "tool") {
        Some(result) => Turn::text(&format!("I was told: {}", result["content"])),
        None => Turn::tool("c1", "Shell", json!({ "input": COMMAND, "target": "desk", "yieldMs": 30_000 })),
    };
    chat_reply(&turn)
}

/// Asks until the answer fits; that answer.
async fn until(peer: &mut Peer, call: &str, args: Value, fits: impl Fn(&Value) -> bool) -> Value {
    let asking = async {
        loop {
            let answer = peer.call(call, args.clone()).await.unwrap();
            if fits(&answer) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap()
}

/// What the newest run of alice's agent came to, once it has ended.
async fn newest_run(peer: &mut Peer) -> Value {
    let is_over = |costs: &Value| costs["newest"][0]["finishedAt"].is_i64();
    until(peer, "proc.cost", json!({}), is_over).await["newest"][0].clone()
}

async fn last_words(peer: &mut Peer) -> String {
    let history = peer.call("proc.history", json!({})).await.unwrap();
    history["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
}

#[tokio::test]
async fn a_device_is_asked_again_however_often_the_gateway_dies_while_asking() {
    let mut sweep = Sweep::with_model(run_command).await;
    let mut alice = sweep.alice().await.unwrap();
    alice.call("proc.send", json!({ "message": "go on" })).await.unwrap();
    let under_way = |listed: &Value| listed["files"].as_array().is_some_and(|all| !all.is_empty());
    for _ in 0..2 {
        // The call is on its way to the device: at first it is made, after that it is asked about.
        until(&mut alice, "fs.read", json!({ "path": "/sys/routes" }), under_way).await;
        sweep.world.gateway.signal(libc::SIGKILL);
        sweep.world.gateway.wait();
        sweep.world.restart_gateway();
        alice = sweep.alice().await.unwrap();
    }
    until(&mut alice, "fs.read", json!({ "path": "/sys/routes" }), under_way).await;
    std::fs::write(sweep.world.workspace().join("go"), "").unwrap();
    let run = newest_run(&mut alice).await;
    assert_eq!((&run["status"], &run["turns"]), (&json!("ok"), &json!(2)), "{run}");
    let told = last_words(&mut alice).await;
    assert!(told.contains("went"), "{told}");
    let effects = std::fs::read_to_string(sweep.world.workspace().join("effects.log")).unwrap();
    assert_eq!(effects, "once\n");
}

#[tokio::test]
async fn a_client_that_resumes_after_a_crash_reads_anew_and_misses_no_end() {
    let mut sweep = Sweep::with_model(|_| chat_reply(&Turn::text("All said."))).await;
    sweep.world.gateway.signal(libc::SIGKILL);
    sweep.world.gateway.wait();
    // Dies when the end of the run is kept and before anybody is told: the first write is the message.
    sweep.world.restart_gateway_with(&[("GSV_DIE_AT_WRITE", "2")]);
    let (mut alice, resumed) = sweep.resume(0).await;
    let mut seq = resumed["to"].as_u64().unwrap();
    let sent = alice.send_call("proc.send", json!({ "message": "hello" })).await;
    let (mut names, mut events) = (Vec::new(), 0);
    while let Some(frame) = alice.try_next().await {
        if frame["id"] == sent {
            assert_eq!(frame["data"]["status"], "started", "{frame}");
        }
        if let Some(place) = frame["seq"].as_u64() {
            // Deltas that are merged for a slow reader have the number of the last of them, in both sequences.
            let mut merged = 0;
            if frame["signal"] == "proc.run.stream" {
                let event = frame["payload"]["seq"].as_u64().unwrap();
                merged = event - events - 1;
                events = event;
            }
            assert_eq!(place, seq + 1 + merged, "no gap before the crash: {place} after {seq}: {frame}");
            seq = place;
            names.push(frame["signal"].as_str().unwrap().to_string());
        }
    }
    assert!(names.iter().any(|name| name == "proc.run.started"), "{names:?}");
    assert!(!names.iter().any(|name| name == "proc.run.finished"), "{names:?}");
    sweep.world.gateway.wait();
    sweep.world.restart_gateway();
    let (mut alice, resumed) = sweep.resume(seq).await;
    assert_eq!(resumed["status"], "refresh", "{resumed}");
    assert!(resumed["to"].as_u64().unwrap() > seq, "{resumed} after {seq}");
    assert_eq!(newest_run(&mut alice).await["status"], "ok");
    assert!(last_words(&mut alice).await.contains("All said."));
}
