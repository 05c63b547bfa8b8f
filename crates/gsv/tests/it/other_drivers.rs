//! Compatibility tests with drivers of other clients, which say what is documented and no more, and know neither
//! signals nor the end of stdin.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::Peer;

use crate::world::{World, send_signal};

async fn with_driver() -> (World, Peer) {
    let world = tokio::task::block_in_place(World::set_up);
    let token = world.ok(&["config", "--local", "get", "node.token", "--reveal"]);
    let mut driver = Peer::open(&world.url()).await;
    let more = json!({
        "auth": { "username": "alice", "token": token.trim() }, "driver": { "implements": ["fs.*", "shell.exec"] },
    });
    driver.connect("driver", "desk", more).await.unwrap();
    (world, driver)
}

fn start(world: &World, args: &[&str]) -> Child {
    let mut command = world.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_followed_by_documented_results_alone() {
    let (world, mut driver) = with_driver().await;
    let run = start(&world, &["run", "--target", "desk", "--", "make"]);
    let request = driver.request().await;
    assert_eq!(request["args"]["input"], "make");
    driver.reply(&request, json!({ "status": "running", "output": "first\n", "sessionId": "7ad3" })).await;
    let request = driver.request().await;
    assert_eq!(request["args"]["sessionId"], "7ad3");
    driver
        .reply(&request, json!({ "status": "failed", "output": "last\n", "error": "no", "exitCode": 3 }))
        .await;
    let said = tokio::task::block_in_place(|| run.wait_with_output().unwrap());
    let out = String::from_utf8(said.stdout).unwrap();
    assert_eq!((said.status.code(), out.as_str()), (Some(3), "first\nlast\n"));
    let run = start(&world, &["run", "--target", "desk", "--", "make"]);
    let request = driver.request().await;
    driver.reply(&request, json!({ "ok": false, "error": "no such directory" })).await;
    let said = tokio::task::block_in_place(|| run.wait_with_output().unwrap());
    let err = String::from_utf8(said.stderr).unwrap();
    assert_eq!((said.status.code(), err.as_str()), (Some(1), "error: no such directory\n"));
}

/// Answers that the command runs, whatever is asked, and tells which signals were meant for it.
async fn ignore_everything(mut driver: Peer, heard: tokio::sync::mpsc::Sender<String>) {
    loop {
        let request = driver.request().await;
        let first = request["args"]["sessionId"].is_null();
        let output = if first { "ready\n" } else { "" };
        driver.reply(&request, json!({ "status": "running", "output": output, "sessionId": "7ad3" })).await;
        if let Value::String(signal) = &request["args"]["signal"] {
            heard.send(signal.clone()).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_twice_leaves_a_command_that_cannot_be_ended() {
    let (world, driver) = with_driver().await;
    let (hear, mut heard) = tokio::sync::mpsc::channel(16);
    let ignoring = tokio::spawn(ignore_everything(driver, hear));
    let mut run = start(&world, &["run", "--target", "desk", "--", "cat"]);
    let mut line = String::new();
    let mut out = BufReader::new(run.stdout.take().unwrap());
    tokio::task::block_in_place(|| out.read_line(&mut line).unwrap());
    assert_eq!(line, "ready\n");
    let pid = i32::try_from(run.id()).unwrap();
    for signal in ["INT", "KILL"] {
        send_signal(pid, libc::SIGINT);
        assert_eq!(heard.recv().await.as_deref(), Some(signal));
    }
    let (mut err, code) = (String::new(), tokio::task::block_in_place(|| run.wait().unwrap().code()));
    run.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("interrupted") && err.contains("the command may go on"), "{err}");
    ignoring.abort();
}
