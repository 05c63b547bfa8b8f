//! Tests of approvals: tool calls that wait for a person, listed, answered and remembered from another terminal.

use std::path::PathBuf;

use base::clock::Clock;
use serde_json::Value;

use crate::world::{PATIENCE, Running, World};

/// A chat that asks to delete a file on the device, and the request that waits.
pub fn asking(world: &World) -> (Running, Value, PathBuf) {
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old").unwrap();
    let chat = Running::start(&mut world.command(&["chat", "delete old.txt on desk"]));
    (chat, pending(world), file)
}

pub fn pending(world: &World) -> Value {
    let deadline = Clock::system().instant() + PATIENCE;
    loop {
        let pending = world.json(&["approvals"])["pending"].clone();
        if let Some(first) = pending.as_array().unwrap().first() {
            return first.clone();
        }
        assert!(Clock::system().instant() < deadline, "nothing asks");
    }
}

fn id(request: &Value) -> &str {
    request["requestId"].as_str().unwrap()
}

#[test]
fn a_second_terminal_approves() {
    let world = World::with_device();
    let (mut chat, request, file) = asking(&world);
    assert_eq!((&request["syscall"], &request["args"]["path"]), (&"fs.delete".into(), &"old.txt".into()));
    let table = world.ok(&["approvals", "list"]);
    assert!(table.contains("fs.delete") && table.contains("desk") && table.contains("old.txt"), "{table}");
    assert!(world.ok(&["approvals", "show", id(&request)]).contains("old.txt"));
    assert!(file.exists());
    let told = world.ok(&["approvals", "approve", &id(&request)[..id(&request).len() - 2]]);
    assert_eq!(told, "approved: old.txt\n");
    assert_eq!(chat.wait(), 0);
    assert!(!file.exists());
    assert_eq!(world.ok(&["approvals"]), "(nothing waits)\n");
    let again = world.fails(1, &["approvals", "approve", id(&request)]);
    assert!(again.contains("there is no call that waits"), "{again}");
}

#[test]
fn what_is_denied_does_not_happen() {
    let world = World::with_device();
    let (mut chat, request, file) = asking(&world);
    world.ok(&["approvals", "deny", id(&request)]);
    assert_eq!(chat.wait(), 0);
    assert!(file.exists());
    assert!(chat.rest().join("\n").contains("denied"));
}

#[test]
fn an_approval_for_good_is_listed_and_revoked() {
    let world = World::with_device();
    let (mut chat, request, file) = asking(&world);
    let told = world.ok(&["approvals", "approve", id(&request), "--remember", "target"]);
    assert_eq!(told, "approved: old.txt; from now on every fs.delete on desk\n");
    assert_eq!(chat.wait(), 0);
    std::fs::write(&file, "old").unwrap();
    world.ok(&["chat", "delete old.txt on desk"]);
    assert!(!file.exists(), "it was not asked again");
    let rules = world.json(&["approvals", "rules"]);
    let rule = rules["approvals"][0]["approval"].clone();
    assert_eq!(
        (&rule["syscall"], &rule["scope"], &rule["target"]),
        (&"fs.delete".into(), &"target".into(), &"desk".into())
    );
    assert!(world.ok(&["approvals", "rules"]).contains("fs.delete"));
    world.ok(&["approvals", "revoke", rule["approvalId"].as_str().unwrap()]);
    assert_eq!(world.ok(&["approvals", "rules"]), "(nothing is approved for good)\n");
    let (mut chat, request, _) = asking(&world);
    world.ok(&["approvals", "deny", id(&request)]);
    assert_eq!(chat.wait(), 0);
}

#[test]
fn every_device_at_once_takes_two_words() {
    let world = World::with_device();
    let (mut chat, request, file) = asking(&world);
    let refused = world.fails(2, &["approvals", "approve", id(&request), "--remember", "class"]);
    assert!(
        refused.contains("every fs.delete on every device") && refused.contains("--every-device"),
        "{refused}"
    );
    assert!(file.exists());
    world.ok(&["approvals", "approve", id(&request), "--remember", "class", "--every-device"]);
    assert_eq!(chat.wait(), 0);
    assert_eq!(world.json(&["approvals", "rules"])["approvals"][0]["approval"]["target"], "device");
}

#[test]
fn a_command_is_tried_without_running() {
    let world = World::with_device();
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old").unwrap();
    let told = world.ok(&["policy", "test", "--target", "desk", "--", "rm", "old.txt"]);
    for part in [
        "a person is asked",
        "on desk",
        "it deletes or overwrites something for good",
        "rm of a single plain file in",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let ls = world.json(&["policy", "test", "--", "ls"]);
    assert_eq!((&ls["action"], &ls["target"]), (&"auto".into(), &"gsv".into()));
    let uid = world.json(&["proc", "list"])["processes"][0]["uid"].clone();
    let policy = r#"{"rules":[{"match":"shell.exec","action":"deny"}]}"#;
    world.ok(&["config", "set", &format!("users/{uid}/ai/tools/approval"), policy]);
    assert_eq!(world.json(&["policy", "test", "--", "ls"])["action"], "deny");
    assert!(world.fails(1, &["policy", "test", "--target", "none", "--", "ls"]).contains("no device none"));
    assert!(file.exists());
}

#[test]
fn with_yes_nobody_is_asked() {
    let world = World::with_device();
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old").unwrap();
    world.ok(&["chat", "--yes", "delete old.txt on desk"]);
    assert!(!file.exists());
}

#[test]
fn a_question_survives_the_gateways_death() {
    let mut world = World::with_device();
    let (mut chat, request, file) = asking(&world);
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    world.wait_until_online("desk");
    assert_eq!(id(&pending(&world)), id(&request));
    world.ok(&["approvals", "approve", id(&request)]);
    assert_eq!(chat.wait(), 0);
    assert!(!file.exists());
}
