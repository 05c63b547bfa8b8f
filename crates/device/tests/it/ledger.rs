//! Durable calls: carried out once, and their results told again to a gateway that has lost them.

use std::path::Path;

use device::Report;
use protocol::frame;
use serde_json::{Value, json};

use crate::gateway::{Gateway, LIMIT, Socket};

/// Counts itself in a file, and ends when the file `go` appears.
const COUNTED: &str = "echo x >> count; while [ ! -e go ]; do sleep 0.02; done; echo went";

async fn ask(socket: &mut Socket, id: &str, call: &str, args: Value, again: bool) {
    let mut text = frame::request_head(id, call, 256) + &args.to_string();
    frame::durable_tail(&mut text, again);
    socket.text(text).await;
}

/// Waits until a command has written a file.
async fn until_there(path: &Path) {
    let there = async {
        while !path.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, there).await.expect("the command runs");
}

fn count(workspace: &Path) -> usize {
    std::fs::read_to_string(workspace.join("count")).unwrap().lines().count()
}

#[tokio::test]
async fn a_driver_says_that_it_remembers() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let socket = gateway.accept().await;
    assert_eq!(socket.hello["args"]["driver"]["remembers"], json!(true));
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_result_that_was_lost_is_told_again_and_nothing_is_done_twice() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("go"), "").unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let args = json!({ "input": COUNTED, "yieldMs": 30_000 });
    ask(&mut socket, "a", "shell.exec", args.clone(), false).await;
    let first = socket.answer("a").await;
    assert_eq!(first["data"]["output"], "went\n");
    // Another gateway, which has never heard of it.
    drop(socket);
    let mut socket = gateway.accept().await;
    for again in [true, true, false] {
        ask(&mut socket, "a", "shell.exec", args.clone(), again).await;
        assert_eq!(socket.answer("a").await, first);
    }
    assert_eq!(count(temp.path()), 1);
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_call_under_way_is_answered_when_it_is_done() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let args = json!({ "input": COUNTED, "yieldMs": 30_000 });
    ask(&mut socket, "a", "shell.exec", args.clone(), false).await;
    until_there(&temp.path().join("count")).await;
    drop(socket);
    gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    let mut socket = gateway.accept().await;
    ask(&mut socket, "a", "shell.exec", args, true).await;
    socket.call("fence", "fs.write", json!({ "path": "go", "content": "" })).await;
    assert_eq!(socket.answer("a").await["data"]["output"], "went\n");
    assert_eq!(count(temp.path()), 1);
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_call_that_never_came_is_not_made() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let args = json!({ "path": "f", "content": "x" });
    ask(&mut socket, "a", "fs.write", args.clone(), true).await;
    let answer = socket.answer("a").await;
    assert_eq!(answer["error"], json!(protocol::error::Error::call_never_seen()));
    assert!(!temp.path().join("f").exists());
    // A result that nobody asked to remember is not remembered.
    socket.call("b", "fs.write", args.clone()).await;
    ask(&mut socket, "b", "fs.write", args, true).await;
    assert_eq!(socket.answer("b").await["error"]["message"], "Call never seen");
    gateway.stop(socket).await;
}

#[tokio::test]
async fn failures_are_remembered_as_well() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    ask(&mut socket, "a", "shell.exec", json!({ "input": "" }), false).await;
    let failed = socket.answer("a").await;
    assert_eq!(failed["error"]["code"], 400);
    ask(&mut socket, "a", "shell.exec", json!({ "input": "" }), true).await;
    assert_eq!(socket.answer("a").await, failed);
    gateway.stop(socket).await;
}

#[tokio::test]
async fn output_that_was_taken_back_is_not_told_twice() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let start = json!({ "input": "echo early; while [ ! -e go ]; do sleep 0.02; done", "background": true });
    let session = socket.call("start", "shell.exec", start).await["sessionId"].clone();
    let poll = json!({ "sessionId": session, "input": "", "yieldMs": 30_000 });
    // The answer is read, but the ping behind it gets no pong: it may be lost.
    ask(&mut socket, "a", "shell.exec", poll.clone(), false).await;
    let lost = socket.answer("a").await;
    assert_eq!(lost["data"]["output"], "early\n");
    drop(socket);
    gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    let mut socket = gateway.accept().await;
    ask(&mut socket, "a", "shell.exec", poll.clone(), true).await;
    let again = socket.answer("a").await;
    let next = socket.call("next", "shell.exec", poll).await;
    let told =
        [&again, &json!({ "data": next })].map(|it| it["data"]["output"].as_str().unwrap().to_string());
    assert_eq!(told.concat(), "early\n", "once, in one of the two: {told:?}");
    std::fs::write(temp.path().join("go"), "").unwrap();
    gateway.stop(socket).await;
}
