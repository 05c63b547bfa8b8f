//! Tests of starting processes: which profiles, under which parent, and with what.

use serde_json::{Value, json};
use testkit::fake_model::Turn;
use testkit::{Gateway, Peer};

use crate::agents::{self, said};

async fn spawn(peer: &mut Peer, args: Value) -> Value {
    peer.call("proc.spawn", args).await.unwrap()
}

async fn refused(peer: &mut Peer, args: Value) -> (i64, String) {
    let refused = peer.call("proc.spawn", args).await.unwrap_err();
    (refused.code, refused.message)
}

#[tokio::test]
async fn the_profiles_are_listed_in_order() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let listed = user.call("proc.profile.list", json!({})).await.unwrap();
    let rows = listed["profiles"].as_array().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["init", "task", "review", "mcp", "app", "cron"]);
    assert_eq!(rows[0]["spawnMode"], "singleton");
    assert_eq!((&rows[4]["startable"], &rows[5]["background"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn a_new_process_is_a_task_under_init_in_the_home() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let spawned = spawn(&mut user, json!({ "label": " count\nfiles " })).await;
    assert_eq!(spawned["ok"], true, "{spawned}");
    assert_eq!((&spawned["profile"], &spawned["cwd"]), (&json!("task"), &json!("/home/alice")));
    assert_eq!((&spawned["label"], &spawned["workspaceId"]), (&json!("countfiles"), &Value::Null));
    let listed = user.call("proc.list", json!({})).await.unwrap();
    let newest = &listed["processes"][0];
    assert_eq!((&newest["pid"], &newest["parentPid"]), (&spawned["pid"], &json!("init:1000")), "{listed}");
    assert_ne!(spawn(&mut user, json!({})).await["pid"], spawned["pid"]);
    let below =
        spawn(&mut user, json!({ "parentPid": spawned["pid"], "workspace": { "mode": "inherit" } })).await;
    assert_eq!((&below["ok"], &below["workspaceId"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn a_process_acts_as_no_other_user() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    gateway.add_user("bob").await;
    for field in ["as", "runAs"] {
        for args in
            [json!({ field: "bob" }), json!({ field: "root", "profile": "init" }), json!({ field: "" })]
        {
            let (code, why) = refused(&mut user, args).await;
            assert!(code == 400 && why.contains("runAs") && why.contains("alice"), "{code} {why}");
        }
        assert_eq!(refused(&mut root, json!({ field: "alice" })).await.0, 400);
        for own in ["alice", "1000"] {
            assert_eq!(spawn(&mut user, json!({ field: own })).await["ok"], true);
        }
        let below = json!({ field: "alice", "parentPid": "init:1000" });
        assert_eq!(spawn(&mut root, below).await["ok"], true, "under her process it does act as her");
    }
    let listed = user.call("proc.list", json!({})).await.unwrap();
    assert_eq!(listed["processes"].as_array().unwrap().len(), 7, "init, and what was not refused: {listed}");
}

#[tokio::test]
async fn there_is_one_init() {
    let agents = agents::saying(vec![Turn::text("yes")]).await;
    let mut user = agents.gateway.user().await;
    let args = json!({ "profile": "init", "label": "mine", "prompt": "are you there?" });
    let spawned = spawn(&mut user, args).await;
    assert_eq!((&spawned["pid"], &spawned["label"]), (&json!("init:1000"), &json!("init (alice)")));
    user.signal("proc.run.finished").await;
    assert_eq!(said(&mut user, "init:1000").await.len(), 2);
    let listed = user.call("proc.list", json!({})).await.unwrap();
    assert_eq!(listed["processes"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn profiles_and_parents_that_are_not_the_callers_are_refused() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let (code, message) = refused(&mut user, json!({ "profile": "boss" })).await;
    assert!(
        code == 400 && message.contains("profile") && message.contains("Invalid process profile: boss"),
        "{message}"
    );
    let unknown = refused(&mut user, json!({ "profile": "tools#helper" })).await;
    assert_eq!(unknown, (404, "Unknown package profile: tools#helper".to_string()));
    for profile in ["app", "cron"] {
        assert_eq!(refused(&mut user, json!({ "profile": profile })).await.0, 403, "{profile}");
    }
    assert_eq!(refused(&mut root, json!({ "profile": "app" })).await.0, 403);
    assert_eq!(spawn(&mut root, json!({ "profile": "cron" })).await["ok"], true);
    for parent in ["init:1000", "no-such"] {
        let foreign = refused(&mut bob, json!({ "parentPid": parent })).await;
        assert_eq!(foreign, (403, format!("Cannot spawn under foreign process: {parent}")));
    }
    let below = spawn(&mut root, json!({ "parentPid": "init:1000" })).await;
    let listed = user.call("proc.list", json!({})).await.unwrap();
    assert_eq!(listed["processes"][0]["pid"], below["pid"], "it is alice's");
    assert_eq!(below["cwd"], "/home/alice");
    assert_eq!(refused(&mut root, json!({ "parentPid": "no-such" })).await.0, 404);
}

#[tokio::test]
async fn packages_that_are_not_there_are_not_mounted() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let source =
        |path: Option<&str>| json!({ "kind": "package-source", "packageId": "p", "mountPath": path });
    let twice = json!([source(Some("/src/packages/p")), source(Some("/src/packages/p/"))]);
    for (mounts, said) in [
        (
            json!([{ "kind": "package-repo", "packageId": "p", "mountPath": "/etc" }]),
            "Unsupported mount path: /etc",
        ),
        (json!([source(Some("/srcx"))]), "Unsupported mount path: /srcx"),
        (twice, "Conflicting package source mount path: /src/packages/p"),
        (json!([{ "kind": "package-source", "packageId": "p" }]), "Unknown package: p"),
    ] {
        let failed = spawn(&mut user, json!({ "mounts": mounts, "workspace": { "mode": "new" } })).await;
        assert_eq!(failed["ok"], false, "{failed}");
        assert!(failed["error"].as_str().unwrap().starts_with(said), "{failed}");
    }
    let listed = user.call("sys.workspace.list", json!({})).await.unwrap();
    assert_eq!(listed["workspaces"], json!([]), "what failed left nothing");
    assert_eq!(spawn(&mut user, json!({ "workspace": { "mode": "none" }, "mounts": [] })).await["ok"], true);
    let listed = user.call("proc.list", json!({})).await.unwrap();
    assert_eq!(listed["processes"].as_array().unwrap().len(), 2, "what failed left nothing");
}

#[tokio::test]
async fn root_limits_how_many_a_user_has() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let limit = json!({ "key": "config/process/max_per_user", "value": "2" });
    root.call("sys.config.set", limit).await.unwrap();
    let first = spawn(&mut user, json!({})).await;
    let (code, message) = refused(&mut user, json!({})).await;
    assert!(code == 429 && message.contains("config/process/max_per_user"), "{message}");
    user.call("proc.kill", json!({ "pid": first["pid"] })).await.unwrap();
    assert_eq!(spawn(&mut user, json!({})).await["ok"], true, "those that ended do not count");
}

#[tokio::test]
async fn context_files_are_checked_and_reach_the_model() {
    let agents = agents::saying(vec![Turn::text("read")]).await;
    let mut user = agents.gateway.user().await;
    let with = |files: Value| json!({ "assignment": { "contextFiles": files, "autoStart": true } });
    let large = json!([{ "name": "a.md", "text": "x".repeat(1024 * 1024) }]);
    assert_eq!(refused(&mut user, with(large)).await.0, 413);
    let (code, message) = refused(&mut user, with(json!([{ "name": " ", "text": "x" }]))).await;
    assert!(code == 400 && message.contains("assignment.contextFiles[0].name"), "{message}");
    let files = json!([{ "name": "role.md", "text": "You count sheep." }]);
    let spawned = spawn(&mut user, with(files)).await;
    let started = user.signal("proc.run.started").await;
    assert_eq!((&started["pid"], &started["reason"]), (&spawned["pid"], &json!("assignment.autostart")));
    user.signal("proc.run.finished").await;
    let asked = agents.model.received()[0].json()["messages"].to_string();
    assert!(asked.contains("You count sheep."), "{asked}");
}
