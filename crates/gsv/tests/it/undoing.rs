//! An agent changes files on a device, and `gsv undo`, `gsv log` and `gsv diff` look at that and take it back; also when
//! the driver is killed in the middle.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::{Received, Reply, Turn, chat_reply};

use crate::agents_crash::Sweep;
use crate::world::{PATIENCE, Running};

/// Reads a file, edits it, makes another, then says so.
fn change_files(request: &Received) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let results = messages.iter().filter(|message| message["role"] == "tool").count();
    let on_desk = |mut args: Value| {
        args["target"] = json!("desk");
        args
    };
    let turn = match results {
        0 => Turn::tool("c1", "Read", on_desk(json!({ "path": "plan.txt" }))),
        1 => {
            let edit = json!({ "path": "plan.txt", "oldString": "two", "newString": "three" });
            Turn::tool("c2", "Edit", on_desk(edit))
        }
        2 => Turn::tool("c3", "Write", on_desk(json!({ "path": "new/made.txt", "content": "made\n" }))),
        _ => Turn::text("done"),
    };
    chat_reply(&turn)
}

/// Waits until the newest run has ended, and gives its id.
async fn ended(peer: &mut Peer) -> String {
    let waiting = async {
        loop {
            let costs = peer.call("proc.cost", json!({})).await.unwrap();
            if costs["newest"][0]["finishedAt"].is_i64() {
                return costs["newest"][0]["runId"].as_str().unwrap().to_string();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap()
}

#[tokio::test]
async fn an_agents_changes_are_shown_and_taken_back() {
    let sweep = Sweep::with_model(change_files).await;
    let world = &sweep.world;
    let plan = world.workspace().join("plan.txt");
    std::fs::write(&plan, "one\ntwo\r\n").unwrap();
    let mut alice = sweep.alice().await.unwrap();
    alice.call("proc.send", json!({ "message": "go on" })).await.unwrap();
    let run = ended(&mut alice).await;
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "one\nthree\r\n");

    let log = world.ok(&["log", "desk:plan.txt"]);
    assert!(log.contains("edited") && log.contains("1~") && log.contains("just now"), "{log}");
    let shown = world.run(&["diff", "desk:plan.txt"]);
    assert_eq!(shown.code, 1, "{shown:?}");
    assert!(shown.out.contains("--- desk:plan.txt (1~)\n+++ desk:plan.txt (now)\n"), "{shown:?}");
    assert!(shown.out.contains("\n one\n-two\r\n+three\r\n"), "byte for byte: {shown:?}");

    let asked = world.fails(2, &["undo"]);
    assert!(asked.contains("--yes") && asked.contains("--dry-run"), "{asked}");
    let dry = world.ok(&["undo", &run[..8], "--dry-run"]);
    assert!(dry.contains(&run) && dry.contains("restore") && dry.contains("remove"), "{dry}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "one\nthree\r\n");

    let undone = world.json(&["undo", "--last", "--yes"]);
    let desk = &undone["targets"][0];
    assert_eq!((&undone["runId"], &desk["target"]), (&json!(run), &json!("desk")), "{undone}");
    let actions: Vec<_> = desk["paths"].as_array().unwrap().iter().map(|path| &path["action"]).collect();
    assert_eq!(actions, ["removed", "restored"], "{undone}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "one\ntwo\r\n");
    assert!(!world.workspace().join("new").exists());

    let back = world.ok(&["log", "desk:plan.txt", "--restore", "1"]);
    assert!(back.contains("is back with 11 bytes"), "{back}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "one\nthree\r\n");
    let unknown = world.fails(1, &["log", "desk:plan.txt", "--restore", "99"]);
    assert!(unknown.contains("no version '99'"), "{unknown}");
}

// The model answers on another thread while this one waits for the driver's end.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_dies_between_keeping_and_writing_loses_nothing() {
    let mut sweep = Sweep::with_model(change_files).await;
    let plan = sweep.world.workspace().join("plan.txt");
    std::fs::write(&plan, "one\ntwo\n").unwrap();
    drop(sweep.world.take_device());
    let workspace = sweep.world.workspace();
    let mut command = sweep.world.command(&["device", "run", "--workspace", workspace.to_str().unwrap()]);
    let mut dying = Running::start(command.env("GSV_DIE_AFTER_KEEPING", "1"));
    dying.wait_for("connected as desk");
    sweep.world.wait_until_online("desk");
    let mut alice = sweep.alice().await.unwrap();
    alice.call("proc.send", json!({ "message": "go on" })).await.unwrap();
    assert_eq!(dying.wait(), -1, "killed");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "one\ntwo\n", "it was kept and not yet changed");
    sweep.world.connect_device();
    ended(&mut alice).await;
    let undone = sweep.world.json(&["undo", "--yes"]);
    let paths = undone["targets"][0]["paths"].as_array().unwrap();
    let all_well = paths.iter().all(|path| path["action"] != "conflict");
    assert!(all_well && !paths.is_empty(), "{undone}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "one\ntwo\n");
}
