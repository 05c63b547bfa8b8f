//! Tests of `repo.*` over real sockets: what each call answers, and to whom.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Gateway, Peer};

async fn done(peer: &mut Peer, call: &str, args: Value) -> Value {
    peer.call(call, args.clone()).await.unwrap_or_else(|refused| panic!("{call} {args}: {refused:?}"))
}

async fn refused(peer: &mut Peer, call: &str, args: Value) -> (i64, String) {
    match peer.call(call, args.clone()).await {
        Ok(data) => panic!("{call} {args} is not refused: {data}"),
        Err(refused) => (refused.code, refused.message),
    }
}

fn put(path: &str, content: &str) -> Value {
    json!({ "type": "put", "path": path, "content": content })
}

async fn apply(peer: &mut Peer, repo: &str, ops: Vec<Value>) -> String {
    let applied = done(peer, "repo.apply", json!({ "repo": repo, "message": "change", "ops": ops })).await;
    assert_eq!(applied["ok"], true);
    applied["head"].as_str().unwrap().to_string()
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn what_is_committed_is_a_repository_that_git_reads() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let created = done(&mut alice, "repo.create", json!({ "repo": "alice/notes", "description": "d" })).await;
    assert_eq!((&created["created"], &created["ref"]), (&json!(true), &json!("main")));
    let again = done(&mut alice, "repo.create", json!({ "repo": "alice/notes" })).await;
    assert_eq!((&again["created"], &again["head"]), (&json!(false), &created["head"]));

    let run = json!({ "type": "put", "path": "bin/run", "content": "#!/bin/sh\n", "executable": true });
    let binary = json!({ "type": "put", "path": "logo", "contentBase64": "AAEC" });
    let link = json!({ "type": "symlink", "path": "now", "target": "bin/run" });
    let head = apply(&mut alice, "alice/notes", vec![put("ä b.md", "one\n"), run, binary, link]).await;
    // The bit stays when the text changes, and moves with the file.
    apply(&mut alice, "alice/notes", vec![put("bin/run", "#!/bin/sh\ntrue\n")]).await;
    let moved = json!({ "type": "move", "from": "bin", "to": "sbin" });
    apply(&mut alice, "alice/notes", vec![moved]).await;

    let path = gateway.data().join("repos/alice/notes.git");
    assert_eq!(git(&path, &["fsck", "--strict", "--full"]), "");
    assert_eq!(git(&path, &["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    let listed = git(&path, &["-c", "core.quotePath=false", "ls-tree", "-r", "main"]);
    let modes: Vec<(&str, &str)> =
        listed.lines().map(|line| (&line[..6], line.split('\t').nth(1).unwrap())).collect();
    let expected = [("100644", "logo"), ("120000", "now"), ("100755", "sbin/run"), ("100644", "ä b.md")];
    assert_eq!(modes, expected);
    assert_eq!(git(&path, &["log", "-1", "--format=%an %ae", &head]).trim(), "alice alice@gsv.local");

    let tree = done(&mut alice, "repo.read", json!({ "repo": "alice/notes", "path": "/" })).await;
    let kinds: Vec<(&str, &str)> = tree["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["name"].as_str().unwrap(), entry["type"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds, [("logo", "blob"), ("now", "symlink"), ("sbin", "tree"), ("ä b.md", "blob")]);
    let logo = done(&mut alice, "repo.read", json!({ "repo": "alice/notes", "path": "logo" })).await;
    assert_eq!((&logo["isBinary"], &logo["content"], &logo["size"]), (&json!(true), &Value::Null, &json!(3)));
    assert_eq!(logo.get("contentBase64"), None);
    let logo =
        done(&mut alice, "repo.read", json!({ "repo": "alice/notes", "path": "logo", "binary": true })).await;
    assert_eq!((&logo["content"], &logo["contentBase64"]), (&Value::Null, &json!("AAEC")));
    let old =
        done(&mut alice, "repo.read", json!({ "repo": "alice/notes", "ref": head, "path": "bin/run" })).await;
    assert_eq!(old["content"], "#!/bin/sh\n");

    // What git commits is seen here, packed or not.
    let clone = gateway.data().join("clone");
    git(gateway.data(), &["clone", "-q", path.to_str().unwrap(), clone.to_str().unwrap()]);
    std::fs::write(clone.join("theirs"), "from git\n").unwrap();
    git(&clone, &["add", "."]);
    git(&clone, &["-c", "user.name=g", "-c", "user.email=g@x", "commit", "-qm", "theirs"]);
    git(&clone, &["push", "-q"]);
    git(&path, &["gc", "-q"]);
    let theirs = done(&mut alice, "repo.read", json!({ "repo": "alice/notes", "path": "theirs" })).await;
    assert_eq!(theirs["content"], "from git\n");
    let log = done(&mut alice, "repo.log", json!({ "repo": "alice/notes", "limit": 1_000 })).await;
    assert_eq!((&log["limit"], log["entries"].as_array().unwrap().len()), (&json!(100), 5));
    assert_eq!(log["entries"][0]["message"], "theirs");
}

#[tokio::test]
async fn only_owners_write_and_only_whoever_may_reads() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root, mut bob) =
        (gateway.user().await, gateway.root().await, gateway.add_user("bob").await);
    apply(&mut alice, "alice/notes", vec![put("a", "secret\n")]).await;
    let of =
        |repo: &str| json!({ "repo": repo, "query": "x", "commit": "main", "base": "main", "head": "main" });
    for call in ["repo.refs", "repo.read", "repo.search", "repo.log", "repo.diff", "repo.compare"] {
        let expected = |repo: &str| (403, format!("Forbidden: cannot read repo {repo}"));
        // Whether it is there is not told.
        assert_eq!(refused(&mut bob, call, of("alice/notes")).await, expected("alice/notes"), "{call}");
        assert_eq!(refused(&mut bob, call, of("alice/nothing")).await, expected("alice/nothing"), "{call}");
        done(&mut root, call, of("alice/notes")).await;
        assert_eq!(refused(&mut alice, call, of("alice/nothing")).await.0, 404, "{call}");
    }
    let change = |repo: &str| json!({ "repo": repo, "message": "m", "ops": [put("b", "b")], "remoteUrl": "https://x.invalid/y" });
    for call in ["repo.create", "repo.apply", "repo.import"] {
        for repo in ["alice/notes", "alice/new", "root/new"] {
            let expected = (403, format!("Forbidden: cannot write repo {repo}"));
            assert_eq!(refused(&mut bob, call, change(repo)).await, expected, "{call}");
        }
    }
    apply(&mut root, "alice/notes", vec![put("by-root", "r\n")]).await;
    assert_eq!(refused(&mut root, "repo.create", json!({ "repo": "nobody/x" })).await.0, 404);

    let listed = done(&mut bob, "repo.list", json!({})).await;
    assert_eq!(listed["repos"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(
        (&listed["repos"][0]["repo"], &listed["repos"][0]["kind"]),
        (&json!("bob/home"), &json!("home"))
    );
    let all = done(&mut root, "repo.list", json!({ "owner": "alice" })).await;
    assert_eq!(
        (&all["repos"][0]["repo"], &all["repos"][0]["writable"]),
        (&json!("alice/notes"), &json!(true))
    );
}

#[tokio::test]
async fn a_home_is_there_before_anything_is_in_it() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let (code, message) =
        refused(&mut alice, "repo.read", json!({ "repo": "alice/home", "path": "knowledge" })).await;
    assert_eq!(code, 404);
    assert!(message.contains("Path not found"), "{message}");
    apply(&mut alice, "alice/home", vec![put("knowledge/a.md", "a\n")]).await;
    let (_, message) = refused(&mut alice, "repo.read", json!({ "repo": "alice/home", "path": "x" })).await;
    assert_eq!(message, "Path not found: x");
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for repo in [
        "",
        "alice",
        "alice/..",
        "../x",
        "alice/.git",
        "alice/a.git",
        "alice/a/b",
        "alice/a b",
        "alice/x.lock",
    ] {
        assert_eq!(refused(&mut alice, "repo.create", json!({ "repo": repo })).await.0, 400, "{repo}");
    }
    done(&mut alice, "repo.create", json!({ "repo": "alice/Notes" })).await;
    assert_eq!(refused(&mut alice, "repo.create", json!({ "repo": "alice/notes" })).await.0, 409);
    for reference in ["..", "a..b", "refs/tags/x", "HEAD", "-x", "a.lock", "a b"] {
        let args = json!({ "repo": "alice/Notes", "ref": reference, "message": "m", "ops": [put("a", "a")] });
        assert_eq!(refused(&mut alice, "repo.apply", args).await.0, 400, "{reference}");
    }
    for path in [
        "",
        "/",
        "..",
        "a/../b",
        ".git/config",
        "a/.GIT/x",
        "git~1/x",
        ".git./x",
        "a\u{0}b",
        ".g\u{200c}it/x",
    ] {
        let args = json!({ "repo": "alice/Notes", "message": "m", "ops": [put(path, "a")] });
        assert_eq!(refused(&mut alice, "repo.apply", args).await.0, 400, "{path:?}");
    }
}

#[tokio::test]
async fn changes_are_made_together_or_not_at_all() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let first = apply(&mut alice, "alice/notes", vec![put("a", "1"), put("d/b", "2")]).await;
    let head = |refs: &Value| refs["heads"]["main"].as_str().unwrap().to_string();
    for (op, code) in [
        (json!({ "type": "delete", "path": "missing" }), 404),
        (json!({ "type": "delete", "path": "d" }), 409),
        (json!({ "type": "move", "from": "a", "to": "d" }), 409),
        (json!({ "type": "move", "from": "d", "to": "d/e" }), 400),
        (json!({ "type": "put", "path": "a/b", "content": "x" }), 409),
        (json!({ "type": "put", "path": "d", "content": "x" }), 409),
        (json!({ "type": "put", "path": "x", "content": "x", "contentBase64": "eA==" }), 400),
        (json!({ "type": "put", "path": "x", "contentBase64": "%" }), 400),
        (json!({ "type": "chmod", "path": "x" }), 400),
    ] {
        let args = json!({ "repo": "alice/notes", "message": "m", "ops": [put("new", "x"), op] });
        assert_eq!(refused(&mut alice, "repo.apply", args.clone()).await.0, code, "{args}");
        assert_eq!(head(&done(&mut alice, "repo.refs", json!({ "repo": "alice/notes" })).await), first);
    }
    // Nothing new is no commit, unless that is wanted.
    let same = json!({ "repo": "alice/notes", "message": "m", "ops": [put("a", "1")] });
    assert_eq!(done(&mut alice, "repo.apply", same).await["head"], first);
    let empty = json!({ "repo": "alice/notes", "message": "m", "ops": [], "allowEmpty": true });
    let second = done(&mut alice, "repo.apply", empty).await["head"].as_str().unwrap().to_string();
    assert_ne!(second, first);
    let late =
        json!({ "repo": "alice/notes", "message": "m", "ops": [put("a", "2")], "expectedHead": first });
    let error = alice.call("repo.apply", late).await.unwrap_err();
    assert_eq!(error.code, 409);
    assert_eq!(error.message, format!("ref refs/heads/main moved: expected {first}, found {second}"));
    let details = error.details;
    assert_eq!((&details["expectedHead"], &details["head"]), (&json!(first), &json!(second)));
}

#[tokio::test]
async fn repositories_of_a_removed_user_are_put_aside_and_fall_to_nobody() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut bob) = (gateway.root().await, gateway.add_user("bob").await);
    apply(&mut bob, "bob/notes", vec![put("a", "bob's\n")]).await;
    done(&mut root, "sys.user.remove", json!({ "username": "bob" })).await;
    assert!(!gateway.data().join("repos/bob/notes.git").exists());
    assert!(gateway.data().join("repos/.removed/bob").read_dir().unwrap().next().is_some());
    let mut other = gateway.add_user("bob").await;
    assert_eq!(refused(&mut other, "repo.read", json!({ "repo": "bob/notes" })).await.0, 404);
    apply(&mut other, "bob/notes", vec![put("b", "new\n")]).await;
    let log = done(&mut other, "repo.log", json!({ "repo": "bob/notes" })).await;
    assert_eq!(log["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_restart_forgets_nothing() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let head = apply(&mut alice, "alice/notes", vec![put("a", "1\n")]).await;
    std::fs::write(gateway.data().join("repos/alice/notes.git/gsv-ref-1-1"), "x").unwrap();
    std::fs::create_dir_all(gateway.data().join("repos/alice/.new-x/objects")).unwrap();
    let gateway = gateway.restart().await;
    let mut alice = gateway.user().await;
    let refs = done(&mut alice, "repo.refs", json!({ "repo": "alice/notes" })).await;
    assert_eq!(refs["heads"]["main"], head);
    assert!(!gateway.data().join("repos/alice/notes.git/gsv-ref-1-1").exists());
    assert!(!gateway.data().join("repos/alice/.new-x").exists());
}
