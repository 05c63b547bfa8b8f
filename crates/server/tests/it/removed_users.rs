//! Tests of removing a user: agents and rows end with it, files are kept for root, adopted or deleted.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::fake_model::{Piece, Turn};
use testkit::gateway::PASSWORD;
use testkit::{Gateway, Peer};
use tokio::sync::Notify;

use crate::agents::{self, Agents, chat};

async fn pids(root: &mut Peer) -> Vec<String> {
    let listed = root.call("proc.list", json!({})).await.unwrap();
    let rows = listed["processes"].as_array().unwrap();
    rows.iter().map(|row| row["pid"].as_str().unwrap().to_string()).collect()
}

/// Waits until the model was asked.
async fn asked(agents: &Agents) {
    while agents.model.received().is_empty() {
        tokio::task::yield_now().await;
    }
}

async fn shell(peer: &mut Peer, input: &str) -> String {
    let done = peer.call("shell.exec", json!({ "input": input })).await.unwrap();
    assert_eq!(done["status"], "completed", "{done}");
    done["output"].as_str().unwrap().to_string()
}

#[tokio::test]
async fn the_agents_of_a_removed_user_end_and_nothing_of_it_is_left() {
    let gate = Arc::new(Notify::new());
    let late = json!({ "path": "/tmp/late", "content": "from beyond" });
    let turns =
        vec![Turn::new().piece(Piece::Gate(gate.clone())).call("t1", "Write", late), Turn::text("well")];
    let agents = agents::saying(turns).await;
    let gateway = &agents.gateway;
    let (mut root, mut bob) = (gateway.root().await, gateway.add_user("bob").await);
    bob.call("sys.config.set", json!({ "key": "users/1001/ai/max_tokens", "value": "500" })).await.unwrap();
    let token =
        json!({ "kind": "node", "label": "pc", "allowedRole": "driver", "allowedDeviceId": "bobs-pc" });
    let token = bob.call("sys.token.create", token).await.unwrap();
    let raw = token["token"]["token"].as_str().unwrap().to_string();
    let mut driver = gateway.peer().await;
    let auth = json!({
        "auth": { "username": "bob", "token": raw }, "driver": { "implements": ["fs.*", "shell.exec"] },
    });
    driver.connect("driver", "bobs-pc", auth).await.unwrap();
    bob.call("proc.spawn", json!({ "prompt": "think" })).await.unwrap();
    asked(&agents).await;
    let agent = pids(&mut root).await.into_iter().find(|pid| !pid.starts_with("init:")).unwrap();

    let removed = root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    assert_eq!(removed, json!({ "removed": true, "filesKept": "/home/bob" }));
    assert!(bob.ended().await.is_some() && driver.ended().await.is_some());
    assert_eq!(pids(&mut root).await, ["init:0"]);
    for pid in [agent.as_str(), "init:1001"] {
        let gone = root.call("proc.history", json!({ "pid": pid })).await.unwrap_err();
        assert_eq!(gone.code, 404, "{pid}: {}", gone.message);
    }
    let config = root.call("sys.config.get", json!({ "key": "users/1001" })).await.unwrap();
    assert_eq!(config, json!({ "entries": [] }));
    assert_eq!(root.call("sys.token.list", json!({ "uid": 1001 })).await.unwrap(), json!({ "tokens": [] }));
    let devices = root.call("sys.device.list", json!({ "includeOffline": true })).await.unwrap();
    assert!(!devices.to_string().contains("bobs-pc"), "{devices}");

    // The model's answer comes too late to do anything. By the time that root's agent has been answered it would have.
    gate.notify_one();
    let done = chat(&mut root, json!({ "message": "are you there?" })).await;
    assert_eq!(done["text"], "well", "{done}");
    assert_eq!(agents.model.received().len(), 2, "the removed user's agent asked only once");
    assert_eq!(shell(&mut root, "ls /tmp").await, "");

    let mut again = gateway.add_user("bob").await;
    let who = root.call("sys.user.list", json!({})).await.unwrap();
    assert_eq!(who["users"][2]["uid"], 1002, "a number is given once: {who}");
    let listed = again.call("proc.list", json!({})).await.unwrap();
    assert_eq!(listed["processes"][0]["pid"], "init:1002");
    assert_eq!(listed["processes"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(again.call("sys.token.list", json!({})).await.unwrap(), json!({ "tokens": [] }));
}

#[tokio::test]
async fn a_removed_user_is_gone_after_a_restart_too() {
    let gate = Arc::new(Notify::new());
    let agents = agents::saying(vec![Turn::new().piece(Piece::Gate(gate.clone())), Turn::text("well")]).await;
    let mut bob = agents.gateway.add_user("bob").await;
    bob.call("proc.send", json!({ "message": "think" })).await.unwrap();
    asked(&agents).await;
    let mut root = agents.gateway.root().await;
    root.call("sys.user.remove", json!({ "username": "bob", "files": "delete" })).await.unwrap();
    drop((bob, root));
    let gateway = agents.gateway.restart().await;
    let mut root = gateway.root().await;
    assert_eq!(pids(&mut root).await, ["init:0"]);
    assert_eq!(shell(&mut root, "ls /home").await, "alice\n");
}

/// Creates bob; what the answer says of files.
async fn create(root: &mut Peer, adopt: Option<bool>) -> Value {
    let mut args = json!({ "username": "bob", "password": PASSWORD });
    if let Some(adopt) = adopt {
        args["adoptFiles"] = json!(adopt);
    }
    root.call("sys.user.create", args).await.unwrap()["foundFiles"].clone()
}

async fn remove(root: &mut Peer, files: &str) -> Value {
    let args = json!({ "username": "bob", "files": files });
    root.call("sys.user.remove", args).await.unwrap()["filesKept"].clone()
}

#[tokio::test]
async fn kept_files_are_roots_until_a_new_user_adopts_them() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut alice) = (gateway.root().await, gateway.user().await);
    shell(&mut alice, "echo mine > ~/secret").await;
    assert_eq!(create(&mut root, None).await, Value::Null);
    let mut bob = gateway.login("bob", PASSWORD).await;
    let prepare = "mkdir -p notes/deep && echo private > notes/deep/diary && chmod 666 notes/deep/diary && \
                   chmod 777 . notes notes/deep && ln -s /home/alice/secret link && ln -s /home/alice all";
    shell(&mut bob, prepare).await;
    let diary = json!({ "path": "/home/bob/notes/deep/diary" });
    assert_eq!(alice.call("fs.read", diary.clone()).await.unwrap()["ok"], true, "everybody may read it");

    assert_eq!(remove(&mut root, "keep").await, "/home/bob");
    assert_eq!(alice.call("fs.read", diary.clone()).await.unwrap_err().code, 403);
    assert!(root.call("fs.read", diary.clone()).await.unwrap().to_string().contains("private"));
    let listed = shell(&mut root, "stat -c '%U %G %a %n' /home/bob /home/bob/notes/deep/diary").await;
    assert_eq!(listed, "root root 700 /home/bob\nroot root 666 /home/bob/notes/deep/diary\n");

    // Without a word about them they stay closed to the new user of that name.
    assert_eq!(create(&mut root, None).await, "/home/bob");
    let mut bob = gateway.login("bob", PASSWORD).await;
    assert_eq!(bob.call("fs.read", diary.clone()).await.unwrap_err().code, 403);
    assert_eq!(remove(&mut root, "keep").await, Value::Null, "it had no files of its own");

    assert_eq!(create(&mut root, Some(true)).await, "/home/bob");
    let mut bob = gateway.login("bob", PASSWORD).await;
    assert!(bob.call("fs.read", diary.clone()).await.unwrap().to_string().contains("private"));
    shell(&mut bob, "echo more >> ~/notes/deep/diary && mkdir ~/new").await;
    let listed =
        shell(&mut root, "stat -c '%U %G %a' /home/bob /home/bob/notes /home/bob/notes/deep/diary").await;
    assert_eq!(listed, "bob bob 750\nbob bob 777\nbob bob 666\n");
    let listed = shell(&mut root, "stat -c '%U %a' /home/alice /home/alice/secret").await;
    assert_eq!(listed, "alice 750\nalice 644\n", "links were not followed");

    assert_eq!(remove(&mut root, "delete").await, Value::Null);
    assert_eq!(shell(&mut root, "ls /home; cat /home/alice/secret").await, "alice\nmine\n");
    assert_eq!(create(&mut root, Some(true)).await, Value::Null, "there is nothing to adopt");
    let mut bob = gateway.login("bob", PASSWORD).await;
    shell(&mut bob, "echo fresh > ~/start").await;
    let bad = json!({ "username": "bob", "files": "burn" });
    assert_eq!(root.call("sys.user.remove", bad).await.unwrap_err().code, 400);
}

#[tokio::test]
async fn archived_conversations_go_with_the_files() {
    let agents = agents::saying(vec![Turn::text("hello")]).await;
    let gateway = &agents.gateway;
    let mut root = gateway.root().await;
    for _ in 0..2 {
        create(&mut root, Some(true)).await;
        let mut bob = gateway.login("bob", PASSWORD).await;
        chat(&mut bob, json!({ "message": "hi" })).await;
        let reset = bob.call("proc.reset", json!({})).await.unwrap();
        assert_eq!(reset["ok"], true, "{reset}");
        assert_ne!(shell(&mut root, "ls /var/sessions/bob").await, "");
        assert_eq!(remove(&mut root, "keep").await, "/home/bob");
        assert!(!shell(&mut root, "ls /var/sessions").await.contains("bob"));
    }
    let kept =
        shell(&mut root, "cd /home/bob && stat -c '%U %n' archived* && find archived* -name '*.gz' | wc -l")
            .await;
    assert_eq!(kept, "root archived-conversations\nroot archived-conversations-2\n2\n");
    create(&mut root, Some(true)).await;
    assert_eq!(remove(&mut root, "delete").await, Value::Null);
    assert_eq!(shell(&mut root, "ls /home /var/sessions").await, "/home:\nalice\n\n/var/sessions:\n");
}
