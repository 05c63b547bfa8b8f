//! `proc`.

use protocol::error::Error;
use serde_json::{Value, json};

use crate::commands::stage::{NOW_MS, Stage, text};

fn summary(pid: &str, state: &str) -> Value {
    json!({
        "pid": pid, "uid": 1000, "profile": "task", "parentPid": "init:1000", "state": state,
        "label": "a\tb", "createdAt": NOW_MS, "workspaceId": null, "cwd": "/home/alice",
    })
}

#[tokio::test]
async fn lists_all_and_ps_those_that_have_not_ended() {
    let stage = Stage::new().await;
    stage.answer("proc.list", Ok(json!({ "processes": [summary("p1", "idle"), summary("p2", "exited")] })));
    let all = "PID\tSTATE\tPROFILE\tLABEL\np1\tidle\ttask\ta b\np2\texited\ttask\ta b\n";
    assert_eq!(stage.prints(&["proc", "list"]).await, all);
    assert_eq!(stage.prints(&["ps"]).await, "PID\tSTATE\tLABEL\np1\tidle\ta b\n");
}

#[tokio::test]
async fn a_person_sends_and_a_process_lets_its_message_say_who_it_is() {
    let mut stage = Stage::new().await;
    stage.answer("proc.send", Ok(json!({ "ok": true, "status": "started", "runId": "r1", "queued": true })));
    assert_eq!(stage.prints(&["proc", "send", "p1", "do", "it"]).await, "accepted run_id=r1 queued=true\n");
    assert_eq!(stage.last("proc.send"), Some(json!({ "pid": "p1", "message": "do it" })));
    assert_eq!(stage.fails(&["proc", "self"]).await, (1, "proc: no current process\n".to_string()));
    stage.settings.pid = Some("p0".to_string());
    let sent = json!({
        "ok": true, "status": "started", "pid": "p1", "sourcePid": "p0", "conversationId": "default", "runId": "r2",
    });
    stage.answer("proc.ipc.send", Ok(sent));
    let line = ["proc", "send", "p1", "--conversation", "c", "--metadata-json", r#"{"n":1}"#, "hello"];
    assert_eq!(stage.prints(&line).await, "accepted run_id=r2 queued=false\n");
    let args = json!({ "pid": "p1", "conversationId": "c", "message": "hello", "metadata": { "n": 1 } });
    assert_eq!(stage.last("proc.ipc.send"), Some(args));
    assert_eq!(stage.prints(&["proc", "self"]).await, "p0\n");
}

#[tokio::test]
async fn a_call_has_a_deadline_and_a_refusal_its_own_words() {
    let stage = Stage::new().await;
    let called = json!({
        "ok": true, "status": "started", "callId": "c1", "pid": "p1", "sourcePid": "p0",
        "conversationId": "default", "runId": "r1", "deadlineAt": 1_700_000_000_000_i64,
    });
    stage.answer("proc.ipc.call", Ok(called));
    let line = ["proc", "call", "p1", "--timeout", "90s", "what", "is", "it"];
    assert_eq!(
        stage.prints(&line).await,
        "call_id=c1 run_id=r1 queued=false deadline=2023-11-14T22:13:20Z\n"
    );
    let args = json!({ "pid": "p1", "message": "what is it", "timeoutMs": 90_000 });
    assert_eq!(stage.last("proc.ipc.call"), Some(args));
    let refusal = json!({ "ok": false, "error": "proc.ipc.call requires a process caller" });
    stage.answer("proc.ipc.call", Ok(refusal));
    let failed = stage.fails(&["proc", "call", "p1", "x"]).await;
    assert_eq!(failed, (1, "proc: proc.ipc.call requires a process caller\n".to_string()));
    assert_eq!(stage.fails(&["proc", "call", "p1"]).await.1, "proc: a message is required\n");
    assert!(stage.fails(&["proc", "call", "p1", "--timeout", "soon", "x"]).await.1.contains("'soon'"));
    stage.answer("proc.ipc.call", Err(Error::permission_denied("proc.ipc.call")));
    let denied = stage.fails(&["proc", "call", "p1", "x"]).await.1;
    assert_eq!(denied, "proc: Permission denied: proc.ipc.call\n");
}

#[tokio::test]
async fn spawns_with_a_prompt_from_words_or_a_pipe() {
    let mut stage = Stage::new().await;
    let spawned = json!({
        "ok": true, "pid": "p9", "label": "two", "profile": "task", "workspaceId": null, "cwd": "/home/alice",
    });
    stage.answer("proc.spawn", Ok(spawned));
    let line = ["proc", "spawn", "--label", "two", "count", "files"];
    assert_eq!(stage.prints(&line).await, "pid=p9 label=\"two\" cwd=\"/home/alice\"\n");
    assert_eq!(stage.last("proc.spawn"), Some(json!({ "label": "two", "prompt": "count files" })));
    stage.stdin = b"from a pipe\n".to_vec();
    stage.prints(&["proc", "spawn", "--profile", "review", "--auto-start"]).await;
    let args = json!({
        "profile": "review", "prompt": "from a pipe\n", "assignment": { "contextFiles": [], "autoStart": true },
    });
    assert_eq!(stage.last("proc.spawn"), Some(args));
    assert_eq!(stage.fails(&["proc", "spawn", "--assignment-json", "[]"]).await.0, 1);
}

#[tokio::test]
async fn history_shows_words_calls_and_outputs() {
    let stage = Stage::new().await;
    let messages = json!([
        { "id": 1, "role": "user", "content": "hello", "timestamp": 1_700_000_000_000_i64 },
        { "id": 2, "role": "assistant", "content": {
            "text": "looking", "thinking": [], "toolCalls": [{ "id": "t", "name": "Read", "arguments": { "path": "x" } }],
        } },
        { "id": 3, "role": "toolResult", "content": { "toolName": "Read", "isError": false, "output": "42" } },
    ]);
    let history = json!({ "ok": true, "pid": "init:1000", "messages": messages, "messageCount": 9, "hasMoreBefore": true });
    stage.answer("proc.history", Ok(history));
    let done = stage.run("alice", &["proc", "history", "--limit", "3"]).await;
    assert_eq!(text(&done.stderr), "proc: 6 more before: --limit N shows more\n");
    assert_eq!(
        text(&done.stdout),
        "[1] user 2023-11-14T22:13:20Z\nhello\n\n[2] assistant -\nlooking\n-> Read {\"path\":\"x\"}\n\n[3] tool -\n42\n\n"
    );
    assert_eq!(stage.last("proc.history"), Some(json!({ "limit": 3, "tail": true })));
}

#[tokio::test]
async fn ends_clears_and_compacts() {
    let stage = Stage::new().await;
    let archived = json!({
        "ok": true, "pid": "p1", "archivedMessages": 3, "archivedTo": "/var/sessions/alice/p1/a/", "archives": [],
    });
    stage.answer("proc.kill", Ok(archived.clone()));
    stage.answer("proc.reset", Ok(archived));
    let done = "killed p1 archived=3 archive=/var/sessions/alice/p1/a/\n";
    assert_eq!(stage.prints(&["proc", "kill", "p1", "--no-archive"]).await, done);
    assert_eq!(stage.last("proc.kill"), Some(json!({ "pid": "p1", "archive": false })));
    assert!(stage.prints(&["proc", "reset"]).await.starts_with("reset p1 archived=3"));
    assert_eq!(stage.last("proc.reset"), Some(json!({})));
    assert_eq!(stage.fails(&["proc", "kill"]).await.1, "proc: pid is required\n");
    stage.answer(
        "proc.conversation.compact",
        Ok(json!({ "ok": false, "error": "Conversation is active: default" })),
    );
    let failed = stage.fails(&["proc", "compact", "p1", "--keep-last", "2"]).await;
    assert_eq!(failed, (1, "proc: Conversation is active: default\n".to_string()));
    let args = json!({ "pid": "p1", "generateSummary": true, "keepLast": 2 });
    assert_eq!(stage.last("proc.conversation.compact"), Some(args));
    assert_eq!(stage.fails(&["proc", "nonsense"]).await.0, 1);
}
