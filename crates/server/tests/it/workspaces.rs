//! Tests of workspaces over real sockets: who has which, where agents work, what is kept of it, archive and restore.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use store::{Options, Store};
use testkit::fake_model::Turn;
use testkit::{Gateway, Peer};

use crate::agents::{self, chat};

async fn done(peer: &mut Peer, call: &str, args: Value) -> Value {
    peer.call(call, args.clone()).await.unwrap_or_else(|refused| panic!("{call} {args}: {refused:?}"))
}

async fn refused(peer: &mut Peer, call: &str, args: Value) -> (i64, String) {
    match peer.call(call, args.clone()).await {
        Ok(data) => panic!("{call} {args} is not refused: {data}"),
        Err(refused) => (refused.code, refused.message),
    }
}

async fn create(peer: &mut Peer, args: Value) -> String {
    done(peer, "sys.workspace.create", args).await["workspaceId"].as_str().unwrap().to_string()
}

async fn list(peer: &mut Peer, args: Value) -> Vec<Value> {
    done(peer, "sys.workspace.list", args).await["workspaces"].as_array().unwrap().clone()
}

fn ids(workspaces: &[Value]) -> Vec<&str> {
    workspaces.iter().map(|one| one["workspaceId"].as_str().unwrap()).collect()
}

async fn spawn(peer: &mut Peer, args: Value) -> Value {
    done(peer, "proc.spawn", args).await
}

fn attach(id: &str) -> Value {
    json!({ "workspace": { "mode": "attach", "workspaceId": id } })
}

async fn write(peer: &mut Peer, path: &str, content: &str) {
    let written = done(peer, "fs.write", json!({ "path": path, "content": content })).await;
    assert_eq!(written["ok"], true, "{written}");
}

/// The error of a file call.
async fn failed(peer: &mut Peer, call: &str, path: &str) -> String {
    let answer = done(peer, call, json!({ "path": path })).await;
    assert_eq!(answer["ok"], false, "{answer}");
    answer["error"].as_str().unwrap().to_string()
}

async fn shell(peer: &mut Peer, input: &str) -> String {
    let answer = done(peer, "shell.exec", json!({ "input": input })).await;
    assert_eq!((&answer["status"], &answer["exitCode"]), (&json!("completed"), &json!(0)), "{answer}");
    answer["output"].as_str().unwrap().to_string()
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn place(gateway: &Gateway, id: &str) -> std::path::PathBuf {
    gateway.data().join("files/workspaces").join(id)
}

#[tokio::test]
async fn a_workspace_is_its_owner_s_and_nobody_else_s() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let id = create(&mut alice, json!({ "label": " mend\nit ", "kind": "shared" })).await;
    assert!(id.starts_with("ws_") && id.len() == 39, "{id}");
    let at = format!("/workspaces/{id}");
    write(&mut alice, &format!("{at}/notes.md"), "one\n").await;
    assert_eq!(shell(&mut alice, "ls /workspaces").await, format!("{id}\n"));
    assert_eq!(shell(&mut bob, "ls /workspaces").await, "");
    assert_eq!(shell(&mut root, "ls /workspaces").await, format!("{id}\n"));
    assert_eq!(shell(&mut alice, &format!("stat -c '%a %U' {at}")).await, "750 alice\n");
    let denied = format!("EACCES: permission denied, workspace '{id}'");
    for path in [at.clone(), format!("{at}/notes.md"), format!("{at}/none/x")] {
        assert_eq!(refused(&mut bob, "fs.read", json!({ "path": path })).await, (403, denied.clone()));
    }
    assert_eq!(done(&mut root, "fs.read", json!({ "path": format!("{at}/notes.md") })).await["ok"], true);
    for path in ["/workspaces/ws_none", "/workspaces/ws_none/x"] {
        for peer in [&mut bob, &mut root] {
            assert_eq!(failed(peer, "fs.read", path).await, format!("Not found: {path}"));
        }
    }
    for peer in [&mut alice, &mut root] {
        let why = peer.call("fs.delete", json!({ "path": at })).await;
        let why = why.map_or_else(|refused| refused.message, |answer| answer["error"].to_string());
        assert!(why.contains("cannot remove workspace root"), "{why}");
    }
    // What appears from outside is the owner's.
    std::fs::write(place(&gateway, &id).join("outside"), "x").unwrap();
    assert_eq!(shell(&mut alice, &format!("stat -c '%a %U' {at}/outside")).await, "640 alice\n");

    let about = done(&mut alice, "fs.read", json!({ "path": format!("{at}/.gsv/workspace.json") })).await;
    let about = about["content"].to_string();
    for said in ["ownerUid", "1000", "ownerUsername", "alice", "mendit", "shared", "createdAt", &id] {
        assert!(about.contains(said), "{said}: {about}");
    }
    assert_eq!(std::fs::read(place(&gateway, &id).join(".gsv/summary.md")).unwrap(), b"");
}

#[tokio::test]
async fn lists_show_what_is_asked_for_to_whom_it_belongs() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let first = create(&mut alice, json!({})).await;
    let second = create(&mut alice, json!({ "kind": "app", "label": "two" })).await;
    create(&mut bob, json!({})).await;
    let process = spawn(&mut alice, attach(&first)).await;
    let gone = spawn(&mut alice, attach(&first)).await;
    done(&mut alice, "proc.kill", json!({ "pid": gone["pid"] })).await;

    let all = list(&mut alice, json!({})).await;
    assert_eq!(ids(&all), [first.as_str(), &second], "the one that was used last comes first");
    let expected = json!({ "pid": process["pid"], "label": null, "cwd": format!("/workspaces/{first}") });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&all[0]["activeProcess"][name], value, "{all:?}");
    }
    assert_eq!((&all[0]["processCount"], &all[1]["activeProcess"]), (&json!(1), &Value::Null));
    assert_eq!((&all[0]["ownerUid"], &all[0]["defaultBranch"]), (&json!(1000), &json!("main")));
    let repository = gateway.data().join(format!("repos/alice/{first}.git"));
    assert_eq!(all[0]["headCommit"], git(&repository, &["rev-parse", "main"]).trim());
    assert_eq!(ids(&list(&mut alice, json!({ "kind": "app" })).await), [second.as_str()]);
    assert_eq!(ids(&list(&mut alice, json!({ "limit": 1 })).await), [first.as_str()]);
    assert_eq!(list(&mut alice, json!({ "state": "archived" })).await, [] as [Value; 0]);
    assert_eq!(ids(&list(&mut root, json!({ "uid": 1000 })).await), [first.as_str(), &second]);
    assert_eq!(list(&mut root, json!({})).await, [] as [Value; 0]);
    assert_eq!(ids(&list(&mut alice, json!({ "uid": 1000 })).await).len(), 2);
    let (code, why) = refused(&mut bob, "sys.workspace.list", json!({ "uid": 1000 })).await;
    assert_eq!((code, why.as_str()), (403, "Permission denied: cannot list workspaces for uid 1000"));
    assert_eq!(refused(&mut bob, "sys.workspace.list", json!({ "limit": 0 })).await.0, 400);
    for call in ["sys.workspace.archive", "sys.workspace.restore"] {
        assert_eq!(refused(&mut bob, call, json!({ "workspaceId": first })).await.0, 403);
        assert_eq!(refused(&mut bob, call, json!({ "workspaceId": "ws_none" })).await.0, 404);
    }
}

#[tokio::test]
async fn processes_work_where_they_are_told() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let new = spawn(&mut alice, json!({ "label": "mend", "workspace": { "mode": "new" } })).await;
    let id = new["workspaceId"].as_str().unwrap().to_string();
    assert_eq!((&new["ok"], &new["cwd"]), (&json!(true), &json!(format!("/workspaces/{id}"))));
    let shown = list(&mut alice, json!({})).await;
    assert_eq!((&shown[0]["label"], &shown[0]["kind"]), (&json!("mend"), &json!("thread")));
    let pid = new["pid"].as_str().unwrap();
    assert_eq!(
        std::fs::read(place(&gateway, &id).join(format!(".gsv/processes/{pid}/chat.jsonl"))).unwrap(),
        b""
    );

    // The parent's is inherited, also unsaid; `none` is the home.
    for workspace in [Value::Null, json!({ "mode": "inherit" })] {
        let below = spawn(&mut alice, json!({ "parentPid": pid, "workspace": workspace })).await;
        assert_eq!((&below["workspaceId"], &below["cwd"]), (&new["workspaceId"], &new["cwd"]));
    }
    let none = spawn(&mut alice, json!({ "parentPid": pid, "workspace": { "mode": "none" } })).await;
    assert_eq!((&none["workspaceId"], &none["cwd"]), (&Value::Null, &json!("/home/alice")));
    let inherit = spawn(&mut alice, json!({ "workspace": { "mode": "inherit" } })).await;
    assert_eq!((&inherit["workspaceId"], &inherit["cwd"]), (&Value::Null, &json!("/home/alice")));
    let own = json!({ "workspace": { "mode": "new", "label": "own", "kind": "app" }, "label": "mend" });
    spawn(&mut alice, own).await;
    let shown = list(&mut alice, json!({ "kind": "app" })).await;
    assert_eq!(shown[0]["label"], "own");

    let unknown = spawn(&mut alice, attach("ws_none")).await;
    assert_eq!(unknown, json!({ "ok": false, "error": "Workspace not found: ws_none" }));
    let foreign = spawn(&mut bob, attach(&id)).await;
    assert_eq!(foreign, json!({ "ok": false, "error": format!("Permission denied: workspace {id}") }));
    // Root's process is root's wherever it works; one under a user's is that user's.
    assert_eq!(spawn(&mut root, attach(&id)).await["ok"], true);
    let for_bob = json!({ "parentPid": "init:1001", "workspace": { "mode": "new" } });
    let for_bob = spawn(&mut root, for_bob).await;
    assert_eq!(ids(&list(&mut bob, json!({})).await), [for_bob["workspaceId"].as_str().unwrap()]);
    let not_bobs = json!({ "parentPid": "init:1001", "workspace": { "mode": "attach", "workspaceId": id } });
    assert_eq!(spawn(&mut root, not_bobs).await["ok"], false);
}

#[tokio::test]
async fn what_is_said_is_kept_in_the_workspace() {
    let agents =
        agents::saying(vec![Turn::text("It is mended."), Turn::text("A summary by the model.")]).await;
    let gateway = &agents.gateway;
    let mut alice = gateway.user().await;
    let new = spawn(&mut alice, json!({ "label": "mend", "workspace": { "mode": "new" } })).await;
    let (id, pid) = (new["workspaceId"].as_str().unwrap(), new["pid"].as_str().unwrap());
    let used_at = list(&mut alice, json!({})).await[0]["updatedAt"].as_i64().unwrap();
    chat(&mut alice, json!({ "pid": pid, "message": "Mend it" })).await;
    assert!(list(&mut alice, json!({})).await[0]["updatedAt"].as_i64().unwrap() >= used_at);
    let repository = gateway.data().join(format!("repos/alice/{id}.git"));
    let log = || git(&repository, &["log", "--format=%s|%an|%cn", "main"]);
    // The process comes to rest after it has answered.
    while !log().contains("checkpoint thread state") {
        tokio::task::yield_now().await;
    }
    let newest = log().lines().next().unwrap().to_string();
    assert_eq!(newest, format!("checkpoint thread state|alice|alice (agent {pid})"));
    let chat_path = format!(".gsv/processes/{pid}/chat.jsonl");
    let transcript = git(&repository, &["show", &format!("main:{chat_path}")]);
    let lines: Vec<Value> = transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| (line["role"].as_str().unwrap(), line["content"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [("user", "Mend it"), ("assistant", "It is mended.")]);
    // What is committed appears among the files a moment later.
    while std::fs::read_to_string(place(gateway, id).join(&chat_path)).unwrap() != transcript {
        tokio::task::yield_now().await;
    }
    let summary = git(&repository, &["show", "main:.gsv/summary.md"]);
    assert!(summary.contains("Mend it") && summary.contains("It is mended."), "{summary}");

    // Before it goes, the model is asked for a summary.
    let reset = done(&mut alice, "proc.reset", json!({ "pid": pid })).await;
    assert_eq!((&reset["ok"], &reset["archivedMessages"]), (&json!(true), &json!(2)));
    assert_eq!(git(&repository, &["show", "main:.gsv/summary.md"]), "A summary by the model.\n");
    assert!(log().starts_with("checkpoint proc reset|"), "{}", log());
    let commits = log().lines().count();
    // Nothing was said since.
    assert_eq!(done(&mut alice, "proc.kill", json!({ "pid": pid })).await["ok"], true);
    assert_eq!(log().lines().count(), commits);
    assert_eq!(git(&repository, &["fsck", "--strict", "--full", "--no-dangling"]), "");
}

#[tokio::test]
async fn an_archived_workspace_comes_back_as_it_was() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let new = spawn(&mut alice, json!({ "workspace": { "mode": "new" } })).await;
    let (id, pid) = (new["workspaceId"].as_str().unwrap().to_string(), new["pid"].as_str().unwrap());
    let at = format!("/workspaces/{id}");
    let make = format!(
        "cd {at} && mkdir -p a/b && echo one > a/b/one && echo run > run && chmod 755 run && ln -s a/b/one now"
    );
    shell(&mut alice, &make).await;
    std::fs::write(place(&gateway, &id).join("binary"), [0, 159, 146, 150]).unwrap();
    let named = json!({ "workspaceId": id });
    let archived = done(&mut alice, "sys.workspace.archive", named.clone()).await;
    assert_eq!((&archived["state"], &archived["processCount"]), (&json!("archived"), &json!(1)));
    assert!(!place(&gateway, &id).exists());
    assert_eq!(failed(&mut alice, "fs.read", &at).await, format!("Not found: {at}"));
    let repository = gateway.data().join(format!("repos/alice/{id}.git"));
    let kept = git(&repository, &["ls-tree", "-r", "--name-only", "main"]);
    let chat = format!(".gsv/processes/{pid}/chat.jsonl");
    let expected = [&chat, ".gsv/summary.md", ".gsv/workspace.json", "a/b/one", "binary", "now", "run"];
    assert_eq!(kept.lines().collect::<Vec<_>>(), expected);

    // Nobody works in it meanwhile.
    let say = "bring it back with sys.workspace.restore";
    for args in [attach(&id), json!({ "parentPid": pid })] {
        let failed = spawn(&mut alice, args).await;
        assert!(failed["error"].as_str().unwrap().contains(say), "{failed}");
    }
    let sent = done(&mut alice, "proc.send", json!({ "pid": pid, "message": "Go on" })).await;
    assert!(sent["error"].as_str().unwrap().contains(say), "{sent}");
    let (code, why) = refused(&mut alice, "sys.workspace.archive", named.clone()).await;
    assert_eq!((code, why), (409, format!("Workspace {id} is archived already")));

    let restored = done(&mut alice, "sys.workspace.restore", named.clone()).await;
    assert_eq!((&restored["state"], &restored["headCommit"]), (&json!("active"), &archived["headCommit"]));
    assert_eq!(
        shell(&mut alice, &format!("cd {at} && cat a/b/one now && stat -c %a run one . 2>&1 || true"))
            .await
            .lines()
            .take(3)
            .collect::<Vec<_>>(),
        ["one", "one", "755"]
    );
    assert_eq!(std::fs::read(place(&gateway, &id).join("binary")).unwrap(), [0, 159, 146, 150]);
    assert_eq!(
        shell(&mut alice, &format!("stat -c '%a %U' {at} {at}/a/b/one")).await,
        "750 alice\n644 alice\n"
    );
    assert_eq!(refused(&mut alice, "sys.workspace.restore", named.clone()).await.0, 409);

    // What became a directory, a file, or nothing.
    let change =
        format!("cd {at} && rm -r a run && echo now > a && mkdir run && echo x > run/x && rm now binary");
    shell(&mut alice, &change).await;
    done(&mut alice, "sys.workspace.archive", named.clone()).await;
    let kept = git(&repository, &["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(kept.lines().skip(3).collect::<Vec<_>>(), ["a", "run/x"]);
    done(&mut alice, "sys.workspace.restore", named).await;
    assert_eq!(shell(&mut alice, &format!("cat {at}/a {at}/run/x")).await, "now\nx\n");
    assert_eq!(git(&repository, &["fsck", "--strict", "--full", "--no-dangling"]), "");
}

#[tokio::test]
async fn what_can_not_be_kept_is_not_put_away() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root) = (gateway.user().await, gateway.root().await);
    let id = create(&mut alice, json!({})).await;
    let named = json!({ "workspaceId": id });
    write(&mut alice, &format!("/workspaces/{id}/notes"), "here").await;
    std::fs::create_dir(place(&gateway, &id).join(".git")).unwrap();
    std::fs::write(place(&gateway, &id).join(".git/config"), "").unwrap();
    let (code, why) = refused(&mut alice, "sys.workspace.archive", named.clone()).await;
    assert!(code == 409 && why.contains("'.git/config'") && why.contains("move or delete"), "{code} {why}");
    assert_eq!(list(&mut alice, json!({})).await[0]["state"], "active");
    assert_eq!(shell(&mut alice, &format!("cat /workspaces/{id}/notes")).await, "here");
    std::fs::remove_dir_all(place(&gateway, &id).join(".git")).unwrap();
    done(&mut alice, "sys.workspace.archive", named.clone()).await;

    // Its files count for its owner when they come back.
    let quota = json!({ "key": "users/1000/files/quota_bytes", "value": "1" });
    done(&mut root, "sys.config.set", quota).await;
    let (code, why) = refused(&mut alice, "sys.workspace.restore", named.clone()).await;
    assert!(code == 413 && why.contains("quota"), "{code} {why}");
    assert_eq!(list(&mut alice, json!({})).await[0]["state"], "archived");
    assert!(!place(&gateway, &id).exists());
    let before = list(&mut alice, json!({})).await.len();
    assert_eq!(refused(&mut alice, "sys.workspace.create", json!({})).await.0, 413);
    assert_eq!(list(&mut alice, json!({})).await.len(), before, "what failed left nothing");
    assert_eq!(std::fs::read_dir(gateway.data().join("files/workspaces")).unwrap().count(), 0);
}

/// Where a killed gateway may have left a workspace, and what it is after the next start.
#[tokio::test]
async fn after_a_crash_rows_and_files_agree() {
    let mut gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let mut made = Vec::new();
    for _ in 0..6 {
        let id = create(&mut alice, json!({})).await;
        write(&mut alice, &format!("/workspaces/{id}/notes"), "here").await;
        made.push(id);
    }
    let [marked, aside, discarded, half, built, bare] = <[String; 6]>::try_from(made).unwrap();
    // These are archived for good; a crash of their restoring is made below.
    for id in [&half, &built, &discarded] {
        done(&mut alice, "sys.workspace.archive", json!({ "workspaceId": id })).await;
    }
    drop(alice);
    let data = gateway.data().to_path_buf();
    let places = data.join("files/workspaces");
    gateway = gateway
        .restarted_after(async || {
            let store = Store::open(&Options { data: data.clone(), url: None }).await.unwrap();
            // The row says so, and nothing was done yet.
            assert!(store.workspaces().archive(&marked, 1).await.unwrap());
            // It left the tree, and was not committed.
            assert!(store.workspaces().archive(&aside, 1).await.unwrap());
            std::fs::rename(places.join(&aside), places.join(format!(".gsv-away-{aside}"))).unwrap();
            // It was committed, and deleted in part.
            std::fs::create_dir(places.join(format!(".gsv-away-{discarded}"))).unwrap();
            // It was being built.
            std::fs::create_dir(places.join(format!(".gsv-back-{half}"))).unwrap();
            // It was built, and the row did not say so yet.
            std::fs::create_dir(places.join(&built)).unwrap();
            std::fs::write(places.join(&built).join("notes"), "here").unwrap();
            // It was made, and its directory not.
            std::fs::remove_dir_all(places.join(&bare)).unwrap();
        })
        .await;
    let mut alice = gateway.user().await;
    for row in list(&mut alice, json!({})).await {
        let id = row["workspaceId"].as_str().unwrap();
        let is_active = id == bare;
        assert_eq!(row["state"], if is_active { "active" } else { "archived" }, "{row}");
        assert_eq!(place(&gateway, id).exists(), is_active, "{row}");
    }
    for id in [&marked, &aside] {
        done(&mut alice, "sys.workspace.restore", json!({ "workspaceId": id })).await;
        assert_eq!(shell(&mut alice, &format!("cat /workspaces/{id}/notes")).await, "here");
    }
    for id in [&half, &built, &discarded] {
        done(&mut alice, "sys.workspace.restore", json!({ "workspaceId": id })).await;
    }
    assert_eq!(shell(&mut alice, &format!("cat /workspaces/{half}/notes")).await, "here");
    let mut left: Vec<String> = std::fs::read_dir(&places)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    left.sort();
    assert_eq!(left, [] as [String; 0]);
}

#[tokio::test]
async fn the_workspaces_of_a_removed_user_go_the_way_of_its_home() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    for (name, files) in [("bob", "keep"), ("carol", "delete")] {
        let mut user = gateway.add_user(name).await;
        let id = create(&mut user, json!({})).await;
        write(&mut user, &format!("/workspaces/{id}/notes"), name).await;
        let process = spawn(&mut user, attach(&id)).await;
        assert_eq!(process["ok"], true);
        let remove = json!({ "username": name, "files": files });
        let remove = if files == "keep" { json!({ "username": name }) } else { remove };
        done(&mut root, "sys.user.remove", remove).await;
        assert!(!place(&gateway, &id).exists());
        assert_eq!(list(&mut root, json!({ "uid": 1001 })).await, [] as [Value; 0]);
        if files == "keep" {
            let kept = format!("/home/bob/workspaces/{id}/notes");
            assert_eq!(shell(&mut root, &format!("cat {kept}; stat -c %U {kept}")).await, "bobroot\n");
        }
    }
    assert_eq!(shell(&mut root, "ls /workspaces").await, "");
}
