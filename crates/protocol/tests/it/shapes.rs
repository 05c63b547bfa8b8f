//! Round-trip tests of wire shapes: what stands in the text comes out again, nothing more and nothing less.

use protocol::spec::Syscall;
use protocol::{adapter, ai, codemode, identity, notification, proc, repo, sched, signal, signal_watch, sys};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn kept<T: Serialize + DeserializeOwned>(value: Value) {
    let typed: T = serde_json::from_value(value.clone()).expect("the shape is ours");
    assert_eq!(serde_json::to_value(&typed).expect("a wire type is JSON"), value);
}

/// Arguments of a call, then its result.
fn kept_call<S: Syscall>(args: Value, result: Value) {
    kept::<S>(args);
    kept::<S::Result>(result);
}

fn assistant_message() -> Value {
    json!({
        "role": "assistant",
        "content": [
            { "type": "thinking", "thinking": "hm", "redacted": false },
            { "type": "text", "text": "hello" },
            { "type": "toolCall", "id": "t1", "name": "Read", "arguments": { "path": "x" } }
        ],
        "api": "messages", "provider": "anthropic", "model": "m",
        "usage": {
            "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
            "cost": { "input": 0.5, "output": 0.25, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.75 }
        },
        "stopReason": "toolUse", "timestamp": 1
    })
}

#[test]
fn the_twelve_stream_events() {
    let partial = assistant_message();
    let call = json!({ "type": "toolCall", "id": "t1", "name": "Read", "arguments": {} });
    let mut events = vec![json!({ "type": "start", "partial": partial })];
    for kind in ["text", "thinking", "toolcall"] {
        events.push(json!({ "type": format!("{kind}_start"), "contentIndex": 0, "partial": partial }));
        events.push(
            json!({ "type": format!("{kind}_delta"), "contentIndex": 0, "delta": "h", "partial": partial }),
        );
    }
    for kind in ["text", "thinking"] {
        events.push(
            json!({ "type": format!("{kind}_end"), "contentIndex": 1, "content": "h", "partial": partial }),
        );
    }
    events.push(json!({ "type": "toolcall_end", "contentIndex": 2, "toolCall": call, "partial": partial }));
    events.push(json!({ "type": "done", "reason": "stop", "message": partial }));
    events.push(json!({ "type": "error", "reason": "aborted", "error": partial }));
    assert_eq!(events.len(), 12);
    for event in events {
        kept::<signal::run::Stream>(json!({
            "pid": "p", "runId": "r", "conversationId": "default", "seq": 3, "event": event, "timestamp": 1
        }));
    }
}

#[test]
fn signals_of_a_process() {
    kept::<signal::run::Changed>(json!({
        "pid": "p", "changes": ["queue", "messages"], "queuedCount": 1, "timestamp": 2, "conversationId": "default",
        "runId": "r", "drainedQueuedMessages": 1, "archivedMessages": 7
    }));
    kept::<signal::run::HilRequested>(json!({
        "pid": "p", "requestId": "q", "runId": "r", "callId": "c", "toolName": "Shell", "syscall": "shell.exec",
        "args": { "input": "ls" }, "createdAt": 1
    }));
    kept::<signal::run::Finished>(json!({
        "pid": "p", "runId": "r", "conversationId": "default", "status": "aborted", "reason": "user", "text": null,
        "aborted": true, "queuedCount": 0, "timestamp": 1
    }));
    kept::<signal::change::PkgChanged>(json!({
        "action": "install", "packageId": null, "ref": "main", "changed": true, "enabled": true, "name": "wiki",
        "repo": null
    }));
}

#[test]
fn processes() {
    kept_call::<proc::Spawn>(
        json!({
            "profile": "wiki#author", "workspace": { "mode": "attach", "workspaceId": "w" },
            "mounts": [{ "kind": "package-source", "packageId": "p" }],
            "assignment": { "contextFiles": [{ "name": "a", "text": "b" }], "autoStart": true }
        }),
        json!({ "ok": true, "pid": "p", "profile": "task", "workspaceId": null, "cwd": "/home/a" }),
    );
    kept_call::<proc::approval::Hil>(
        json!({ "requestId": "q", "decision": "approve", "remember": true, "rememberScope": "shape" }),
        json!({
            "ok": true, "pid": "p", "requestId": "q", "decision": "approve", "resumed": true, "pendingHil": null
        }),
    );
    kept_call::<proc::Send>(json!({ "message": "hi" }), json!({ "ok": false, "error": "closed" }));
    kept_call::<proc::SetIdentity>(
        json!({
            "pid": "p", "profile": "init",
            "identity": {
                "uid": 1000, "gid": 1000, "gids": [100, 1000], "username": "a", "home": "/home/a", "cwd": "/home/a",
                "workspaceId": null
            }
        }),
        json!({ "ok": true, "startedRunId": "r" }),
    );
    kept_call::<codemode::Run>(
        json!({ "code": "return 1", "args": { "a": [1] } }),
        json!({ "status": "failed", "error": "no", "logs": [] }),
    );
}

#[test]
fn unions_with_a_tag() {
    kept_call::<repo::Read>(
        json!({ "repo": "a/b", "ref": "main" }),
        json!({
            "repo": "a/b", "ref": "main", "path": "x", "kind": "file", "size": 1, "isBinary": true, "content": null
        }),
    );
    kept_call::<repo::change::Apply>(
        json!({
            "repo": "a/b", "message": "m",
            "ops": [
                { "type": "put", "path": "x", "contentBase64": "AA==" },
                { "type": "delete", "path": "y", "recursive": true },
                { "type": "move", "from": "a", "to": "b" }
            ]
        }),
        json!({ "ok": true, "repo": "a/b", "ref": "main", "head": null }),
    );
    kept_call::<adapter::Connect>(
        json!({ "adapter": "x", "accountId": "a" }),
        json!({ "ok": false, "error": "scan it", "challenge": { "type": "qr", "data": "…" } }),
    );
    kept::<notification::Source>(json!({ "kind": "process", "processId": "p" }));
    kept::<identity::ConnectionIdentity>(json!({
        "role": "service", "capabilities": ["adapter.*"], "channel": "x",
        "process": {
            "uid": 0, "gid": 0, "gids": [0], "username": "root", "home": "/root", "cwd": "/root", "workspaceId": null
        }
    }));
    for expression in [
        json!({ "kind": "at", "atMs": 1 }),
        json!({ "kind": "every", "everyMs": 1000, "anchorMs": 0 }),
        json!({ "kind": "cron", "expr": "* * * * *", "timezone": "UTC" }),
    ] {
        kept::<sched::Expression>(expression);
    }
    kept::<sched::Target>(json!({ "kind": "process.event", "pid": "p", "message": "m", "data": {} }));
}

#[test]
fn absent_and_null_stay_apart() {
    for patch in [json!({}), json!({ "description": null }), json!({ "description": "x", "enabled": false })]
    {
        kept::<sched::Update>(json!({ "id": "1", "patch": patch }));
    }
    kept::<signal_watch::Unwatch>(json!({ "key": "k" }));
    kept::<sys::mcp::Add>(json!({ "name": "n", "url": "https://x", "transport": { "type": "sse" } }));
    kept::<sys::setup_assist::Patch>(json!({ "op": "set", "path": "device.deviceId", "value": true }));
    kept::<ai::ToolDevice>(json!({ "id": "macbook", "implements": ["fs.*"] }));
}

#[test]
fn unknown_fields_are_no_error() {
    let send: proc::Send = serde_json::from_value(json!({ "message": "m", "later": 1 })).expect("accepted");
    assert_eq!(send.message, "m");
}
