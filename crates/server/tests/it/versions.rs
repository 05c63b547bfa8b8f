//! Tests of versioned homes and workspaces over real sockets and with the real git program: what changes becomes
//! commits, commits appear in the files, and what a run did is taken back.

use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::Turn;
use testkit::gateway::Gateway;

use crate::agents::{self, chat};
use crate::git_http::bed::Bed;

const NOTE: &str = "/home/alice/knowledge/note.md";

async fn write(peer: &mut Peer, path: &str, content: &str) {
    let written = peer.call("fs.write", json!({ "path": path, "content": content })).await.unwrap();
    assert_eq!(written["ok"], true, "{written}");
}

async fn history(peer: &mut Peer, path: &str) -> Vec<Value> {
    let told = peer.call("fs.history", json!({ "path": path })).await.unwrap();
    assert_eq!(told["ok"], true, "{told}");
    told["versions"].as_array().unwrap().clone()
}

async fn text(peer: &mut Peer, path: &str) -> Option<String> {
    let read = peer.call("fs.read", json!({ "path": path })).await.unwrap();
    match read["ok"] == true {
        true => Some(read["content"].as_str().unwrap_or_else(|| panic!("{read}")).to_string()),
        false => None,
    }
}

async fn old_text(peer: &mut Peer, path: &str, version: &Value) -> String {
    let read = peer.call("fs.history.read", json!({ "path": path, "version": version })).await.unwrap();
    read["content"].as_str().unwrap_or_else(|| panic!("{read}")).to_string()
}

#[tokio::test]
async fn a_file_has_a_history_and_every_version_can_be_brought_back() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    write(&mut alice, NOTE, "one\n").await;
    assert_eq!(history(&mut alice, NOTE).await.len(), 1);
    // A burst is one commit.
    for number in 0..20 {
        write(&mut alice, NOTE, &format!("burst {number}\n")).await;
        write(&mut alice, &format!("/home/alice/knowledge/more/{number}.md"), "x\n").await;
    }
    let versions = history(&mut alice, NOTE).await;
    assert_eq!(versions.len(), 2, "{versions:?}");
    assert_eq!((&versions[0]["author"], &versions[0]["size"]), (&json!("alice"), &json!(9)));
    assert_eq!(versions[0]["message"], "gsv: 21 files in knowledge");
    assert_eq!(versions[1]["deleted"], false);
    assert!(old_text(&mut alice, NOTE, &versions[0]["version"]).await.contains("burst 19"));
    assert!(old_text(&mut alice, NOTE, &versions[1]["version"]).await.contains("one"));
    alice.call("fs.delete", json!({ "path": NOTE })).await.unwrap();
    let versions = history(&mut alice, NOTE).await;
    assert_eq!(
        (&versions[0]["deleted"], &versions[0]["message"]),
        (&json!(true), &json!("gsv: rm knowledge/note.md"))
    );
    let args = json!({ "path": NOTE, "version": versions[2]["version"] });
    let restored = alice.call("fs.restore", args.clone()).await.unwrap();
    assert_eq!((&restored["ok"], &restored["size"]), (&json!(true), &json!(4)), "{restored}");
    assert!(text(&mut alice, NOTE).await.unwrap().contains("one"));
    let again = alice.call("fs.restore", args).await.unwrap();
    assert_eq!(
        (&again["ok"], again.get("version")),
        (&json!(true), None),
        "it is like that already: {again}"
    );
    let gone = json!({ "path": NOTE, "version": versions[0]["version"] });
    alice.call("fs.restore", gone).await.unwrap();
    assert_eq!(text(&mut alice, NOTE).await, None, "a version that deleted it deletes it again");
    for (path, version) in [(NOTE, "0".repeat(40)), (NOTE, "main".into()), ("/tmp/x", "0".repeat(40))] {
        let refused =
            alice.call("fs.history.read", json!({ "path": path, "version": version })).await.unwrap();
        assert_eq!(refused["ok"], false, "{refused}");
    }
    let none = alice.call("fs.history", json!({ "path": "/home/alice/notes.md" })).await.unwrap();
    assert!(none["error"].as_str().unwrap().starts_with("No versions are kept of"), "{none}");
}

#[tokio::test]
async fn strangers_learn_nothing_and_root_everything() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut bob) = (gateway.user().await, gateway.add_user("bob").await);
    write(&mut alice, NOTE, "secret\n").await;
    let versions = history(&mut alice, NOTE).await;
    let version = &versions[0]["version"];
    for call in ["fs.history", "fs.history.read", "fs.restore"] {
        let ask = |path: &str| json!({ "path": path, "version": version });
        let there = bob.call(call, ask(NOTE)).await.unwrap();
        let missing = bob.call(call, ask("/home/alice/knowledge/none")).await.unwrap();
        assert_eq!((&there["ok"], &missing["ok"]), (&json!(false), &json!(false)), "{call}");
        let told = |answer: &Value| answer["error"].as_str().unwrap().replace("note.md", "none");
        assert_eq!(told(&there), told(&missing), "{call}");
    }
    let undone = bob.call("fs.undo", json!({ "runId": "r" })).await.unwrap();
    assert_eq!(undone["paths"], json!([]));
    assert_eq!(history(&mut gateway.root().await, NOTE).await.len(), 1);
}

#[tokio::test]
async fn changes_on_the_host_and_before_a_stop_are_committed() {
    let bed = Bed::new().await;
    let mut alice = bed.gateway.user().await;
    let host = bed.gateway.data().join("files/home/alice/knowledge");
    std::fs::write(host.join("edited.md"), "on the host\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", host.join("out")).unwrap();
    std::fs::create_dir(host.join(".git")).unwrap();
    std::fs::write(host.join(".git/config"), "x").unwrap();
    let log = alice.call("repo.log", json!({ "repo": "alice/home" })).await.unwrap();
    assert!(!log["entries"].as_array().unwrap().is_empty(), "{log}");
    let names = bed.at(&bed.bare("alice/home")).ok(&["ls-tree", "-r", "--name-only", "main"]).await;
    assert!(names.contains("knowledge/edited.md"), "{names}");
    assert!(!names.contains("out") && !names.contains(".git/"), "{names}");
    let newest = &history(&mut alice, "/home/alice/knowledge/edited.md").await[0];
    assert!(newest["message"].as_str().unwrap().contains("found changed"), "{newest}");
    write(&mut alice, NOTE, "last words\n").await;
    let data = bed.gateway.data().to_path_buf();
    bed.fsck("alice/home").await;
    let Bed { gateway, .. } = bed;
    let gateway = gateway.restart().await;
    let shown = std::process::Command::new("git")
        .args(["show", "main:knowledge/note.md"])
        .current_dir(data.join("repos/alice/home.git"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&shown.stdout),
        "last words\n",
        "committed when it stopped: {shown:?}"
    );
    drop(gateway);
}

#[tokio::test]
async fn what_is_pushed_to_a_home_appears_in_it_and_nothing_is_overwritten() {
    let bed = Bed::new().await;
    let mut alice = bed.gateway.user().await;
    write(&mut alice, NOTE, "live\n").await;
    let (copy, url) = (bed.dir("home"), bed.url("alice", "alice/home"));
    bed.git(&["clone", "-q", &url, copy.to_str().unwrap()]).await.assert_ok();
    let copy = bed.at(&copy);
    assert_eq!(copy.read("knowledge/note.md"), "live\n", "a clone has what was written a moment ago");
    copy.commit("knowledge/note.md", "pushed\n", "by hand").await;
    copy.commit("README.md", "not in the home\n", "outside").await;
    copy.ok(&["push", "-q", "origin", "HEAD:main"]).await;
    assert!(text(&mut alice, NOTE).await.unwrap().contains("pushed"));
    assert_eq!(text(&mut alice, "/home/alice/README.md").await, None);
    assert_eq!(history(&mut alice, NOTE).await[0]["message"], "by hand");
    // What was changed meanwhile is not overwritten.
    write(&mut alice, NOTE, "live again\n").await;
    copy.commit("knowledge/note.md", "stale\n", "stale").await;
    let refused = copy.git(&["push", "origin", "HEAD:main"]).await;
    assert_ne!(refused.code, 0, "{refused:?}");
    let forced = copy.git(&["push", "--force", "origin", "HEAD:main"]).await;
    assert_ne!(forced.code, 0, "{forced:?}");
    let deleted = copy.git(&["push", "origin", ":main"]).await;
    assert_ne!(deleted.code, 0, "{deleted:?}");
    assert!(text(&mut alice, NOTE).await.unwrap().contains("live again"));
    copy.ok(&["pull", "-q", "--rebase", "-X", "theirs", "origin", "main"]).await;
    copy.ok(&["push", "-q", "origin", "HEAD:main"]).await;
    assert!(text(&mut alice, NOTE).await.unwrap().contains("stale"));
    // The same through a call.
    let ops = json!([{ "type": "put", "path": "knowledge/applied.md", "content": "applied\n" },
        { "type": "delete", "path": "knowledge/note.md" }]);
    let args = json!({ "repo": "alice/home", "message": "applied", "ops": ops });
    alice.call("repo.apply", args).await.unwrap();
    assert!(text(&mut alice, "/home/alice/knowledge/applied.md").await.unwrap().contains("applied"));
    assert_eq!(text(&mut alice, NOTE).await, None);
    bed.fsck("alice/home").await;
}

#[tokio::test]
async fn what_a_run_did_is_a_set_of_its_own_that_is_taken_back() {
    let by_shell = json!({ "input": "echo shell > /home/alice/knowledge/shell.md" });
    let agents = agents::saying(vec![
        Turn::tool("t1", "Write", json!({ "path": NOTE, "content": "agent\n" })),
        Turn::tool("t2", "Shell", by_shell),
        Turn::text("done"),
    ])
    .await;
    let gateway = &agents.gateway;
    let mut alice = gateway.user().await;
    let allow = json!({ "key": "users/1000/ai/tools/approval", "value": r#"{"default":"auto"}"# });
    alice.call("sys.config.set", allow).await.unwrap();
    // Nobody looks in between: the person's change and the agent's are apart all the same.
    write(&mut alice, NOTE, "person\n").await;
    write(&mut alice, "/home/alice/knowledge/mine.md", "mine\n").await;
    let done = chat(&mut alice, json!({ "message": "write it" })).await;
    assert_eq!(done["text"], "done", "{done}");
    let run = done["runId"].as_str().unwrap().to_string();
    let versions = history(&mut alice, NOTE).await;
    assert_eq!(versions.len(), 2, "{versions:?}");
    assert_eq!((&versions[0]["runId"], &versions[0]["pid"]), (&json!(run), &json!("init:1000")));
    assert_eq!((&versions[1]["author"], versions[1].get("runId")), (&json!("alice"), None));
    let shell = &history(&mut alice, "/home/alice/knowledge/shell.md").await[0];
    assert_eq!(shell["runId"], json!(run), "{shell}");
    let dry = alice.call("fs.undo", json!({ "runId": run, "dryRun": true })).await.unwrap();
    let planned = json!([
        { "path": NOTE, "action": "restored" },
        { "path": "/home/alice/knowledge/shell.md", "action": "removed" },
    ]);
    assert_eq!((&dry["paths"], dry.get("versions")), (&planned, None), "{dry}");
    assert!(text(&mut alice, NOTE).await.unwrap().contains("agent"));
    let undone = alice.call("fs.undo", json!({ "runId": run })).await.unwrap();
    assert_eq!((&undone["paths"], undone["versions"].as_array().unwrap().len()), (&planned, 1), "{undone}");
    assert!(text(&mut alice, NOTE).await.unwrap().contains("person"));
    assert_eq!(text(&mut alice, "/home/alice/knowledge/shell.md").await, None);
    assert!(text(&mut alice, "/home/alice/knowledge/mine.md").await.unwrap().contains("mine"));
    let twice = alice.call("fs.undo", json!({ "runId": run })).await.unwrap();
    let actions: Vec<&Value> =
        twice["paths"].as_array().unwrap().iter().map(|path| &path["action"]).collect();
    assert_eq!((actions, twice.get("versions")), (vec![&json!("unchanged"); 2], None), "{twice}");
}

#[tokio::test]
async fn a_workspace_is_versioned_whole_for_its_owner() {
    let bed = Bed::new().await;
    let (mut root, mut alice) = (bed.gateway.root().await, bed.gateway.user().await);
    let made = "mkdir /workspaces/ws_1 && chown alice:alice /workspaces/ws_1 && chmod 750 /workspaces/ws_1";
    let told = root.call("shell.exec", json!({ "input": made })).await.unwrap();
    assert_eq!(told["exitCode"], 0, "{told}");
    write(&mut alice, "/workspaces/ws_1/src/main.rs", "fn main() {}\n").await;
    assert_eq!(history(&mut alice, "/workspaces/ws_1/src/main.rs").await.len(), 1);
    let read = alice.call("repo.read", json!({ "repo": "alice/ws_1", "path": "src/main.rs" })).await.unwrap();
    assert_eq!(read["content"], "fn main() {}\n");
    bed.fsck("alice/ws_1").await;
}
