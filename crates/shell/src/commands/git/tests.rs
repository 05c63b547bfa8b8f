//! Tests of what needs no repository: help, refusals, and where there is none.

use serde_json::json;

use super::super::stage::{Stage, text};

#[tokio::test]
async fn what_git_is_not_here_is_said() {
    let stage = Stage::new().await;
    for name in ["push", "pull", "fetch", "merge", "checkout", "reset", "rm", "stash", "no-such-command"] {
        let (code, why) = stage.fails(&["git", name]).await;
        assert_eq!(code, 128);
        assert!(why.starts_with(&format!("fatal: git {name} is not available here: ")), "{why}");
        assert!(why.contains("gsv auth git"), "{why}");
    }
    assert!(stage.prints(&["git", "--version"]).await.starts_with("git version "));
    assert!(stage.prints(&["git", "help"]).await.starts_with("usage: git "));
    assert!(stage.prints(&["git", "log", "--help"]).await.starts_with("usage: git "));
    assert_eq!(stage.run("alice", &["git"]).await.code, 1);
    assert_eq!(stage.fails(&["git", "--paginate", "log"]).await.0, 129);
}

#[tokio::test]
async fn a_directory_that_is_no_repository_is_none() {
    let stage = Stage::new().await;
    stage.answer("repo.list", Ok(json!({ "repos": [] })));
    for line in
        [["git", "-C", "/tmp", "status"], ["git", "-C", "/", "log"], ["git", "-C", "/home/alice", "log"]]
    {
        let (code, why) = stage.fails(&line).await;
        assert_eq!(code, 128);
        assert!(
            why.starts_with("fatal: not a git repository (or any of the parent directories): .git\n"),
            "{why}"
        );
    }
    let (code, why) = stage.fails(&["git", "-C", "/nowhere", "log"]).await;
    assert_eq!(
        (code, why.as_str()),
        (128, "fatal: cannot change to '/nowhere': No such file or directory\n")
    );
}

#[tokio::test]
async fn a_marker_that_is_damaged_is_no_clone() {
    let stage = Stage::new().await;
    for marker in ["", "{}", "{\"repo\":\"a/b\",\"branch\":\"main\",\"commit\":\"main\"}", &"x".repeat(5_000)]
    {
        stage.write("alice", "copy/.gsv-clone", marker, 0o644).await;
        let (code, why) = stage.fails(&["git", "-C", "copy", "log"]).await;
        assert_eq!(code, 128);
        assert!(why.contains("does not say of which repository"), "{why}");
    }
}

#[tokio::test]
async fn a_commit_is_a_message_for_what_was_changed_in_the_files() {
    let stage = Stage::new().await;
    let head = "1".repeat(40);
    let home = json!({ "repo": "alice/home", "owner": "alice", "name": "home", "kind": "home",
        "writable": true, "public": false });
    stage.answer("repo.list", Ok(json!({ "repos": [home] })));
    stage.answer("repo.refs", Ok(json!({ "repo": "alice/home", "heads": { "main": head }, "tags": {} })));
    stage.answer(
        "repo.read",
        Ok(json!({ "kind": "tree", "repo": "alice/home", "ref": head, "path": "", "entries": [] })),
    );
    let taken = protocol::error::Error::new(409, "somebody was faster");
    stage.answer("repo.apply", Err(taken));
    stage.write("alice", "knowledge/a.md", "one\n", 0o755).await;
    stage.write("alice", "elsewhere.md", "not versioned\n", 0o644).await;
    let (code, why) = stage.fails(&["git", "commit", "-m", " first ", "-m", "more\n\n"]).await;
    assert_eq!((code, why.as_str()), (128, "fatal: somebody was faster\n"));
    let sent = stage.last("repo.apply").unwrap();
    // The gateway knows what was changed: nothing is sent along, and nothing is overwritten.
    assert_eq!((&sent["expectedHead"], &sent["ops"]), (&serde_json::Value::Null, &json!([])));
    assert_eq!((&sent["ref"], &sent["message"]), (&json!("main"), &json!(" first\n\nmore\n")));
    stage.answer("repo.apply", Ok(json!({ "ok": true, "repo": "alice/home", "ref": "main", "head": head })));
    let clean = stage.run("alice", &["git", "commit", "-m", "again"]).await;
    let said = "On branch main\nnothing to commit, working tree clean\n";
    assert_eq!((clean.code, text(&clean.stdout).as_str()), (1, said));
    assert_eq!(stage.fails(&["git", "commit"]).await.0, 128);
    let empty = stage.run("alice", &["git", "commit", "-m", "  "]).await;
    assert_eq!(
        (empty.code, text(&empty.stderr).as_str()),
        (1, "Aborting commit due to empty commit message.\n")
    );
}

#[tokio::test]
async fn a_workspace_is_the_repository_that_the_list_says() {
    let stage = Stage::new().await;
    stage.write("root", "/workspaces/ws_1/deep/a.md", "one\n", 0o644).await;
    let workspace = |name: &str, kind: &str| {
        json!({ "repo": format!("alice/{name}"), "owner": "alice", "name": name, "kind": kind,
            "writable": true, "public": false })
    };
    stage.answer("repo.refs", Ok(json!({ "repo": "alice/ws_1", "heads": {}, "tags": {} })));
    let top = ["git", "-C", "/workspaces/ws_1/deep", "rev-parse", "--show-toplevel"];
    stage.answer("repo.list", Ok(json!({ "repos": [workspace("ws_1", "workspace")] })));
    assert_eq!(stage.prints(&top).await, "/workspaces/ws_1\n");
    assert_eq!(stage.last("repo.refs").unwrap(), json!({ "repo": "alice/ws_1" }));
    let status = ["git", "-C", "/workspaces/ws_1", "status", "-s"];
    assert_eq!(stage.prints(&status).await, "?? deep/\n");
    let (code, why) = stage.fails(&["git", "-C", "/workspaces/ws_1", "log"]).await;
    assert_eq!(
        (code, why.as_str()),
        (128, "fatal: your current branch 'main' does not have any commits yet\n")
    );
    // A name alone makes no workspace.
    for listed in [workspace("ws_1", "user"), workspace("ws_2", "workspace")] {
        stage.answer("repo.list", Ok(json!({ "repos": [listed] })));
        assert_eq!(stage.fails(&top).await.0, 128);
    }
}
