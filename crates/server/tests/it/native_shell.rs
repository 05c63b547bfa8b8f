//! Tests of `shell.exec` on the gateway itself, over real sockets.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Gateway, Peer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn run(peer: &mut Peer, script: &str) -> Value {
    peer.call("shell.exec", json!({ "input": script, "closeStdin": true })).await.unwrap()
}

/// Polls until it has ended; returns the last answer and all output.
async fn to_the_end(peer: &mut Peer, mut answer: Value) -> (Value, String) {
    let mut output = answer["output"].as_str().unwrap().to_string();
    while answer["status"] == "running" {
        let poll = json!({ "sessionId": answer["sessionId"], "input": "" });
        answer = peer.call("shell.exec", poll).await.unwrap();
        output += answer["output"].as_str().unwrap();
    }
    (answer, output)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_in_the_users_home_and_says_how_it_ended() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let done = run(&mut user, "whoami; pwd; echo oops >&2; mkdir -p d; cd d; exit 3").await;
    assert_eq!(
        (&done["status"], &done["exitCode"], &done["ok"]),
        (&json!("failed"), &json!(3), &json!(true))
    );
    assert_eq!(done["output"], "alice\n/home/alice\noops\n");
    assert_eq!((&done["stdout"], &done["stderr"]), (&json!("alice\n/home/alice\n"), &json!("oops\n")));
    assert_eq!(
        (&done["cwd"], &done["error"]),
        (&json!("/home/alice/d"), &json!("Command exited with code 3"))
    );
    assert_eq!((done.get("sessionId"), done.get("pid")), (None, None));

    let there =
        user.call("shell.exec", json!({ "input": "pwd", "cwd": "~/d", "target": "gsv" })).await.unwrap();
    assert_eq!((&there["status"], &there["output"]), (&json!("completed"), &json!("/home/alice/d\n")));
    let refused = user.call("shell.exec", json!({ "input": "pwd", "cwd": "/root" })).await.unwrap_err();
    assert!(refused.pair().0 == 400 && refused.pair().1.contains("cwd"), "{refused:?}");
    let refused = user.call("shell.exec", json!({ "input": " " })).await.unwrap_err();
    assert_eq!(refused.pair(), (400, "shell.exec requires input"));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_written_by_the_shell_are_those_of_fs_and_of_the_disk() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    run(&mut user, "printf 'one\\ntwo\\n' > list; echo '{\"a\": 1}' | jq -c . > a.json").await;
    let read = user.call("fs.read", json!({ "path": "list" })).await.unwrap();
    assert!(read["content"].as_str().unwrap().contains("two"), "{read}");
    let on_disk = std::fs::read_to_string(gateway.data().join("files/home/alice/a.json")).unwrap();
    assert_eq!(on_disk, "{\"a\":1}\n");
    user.call("fs.write", json!({ "path": "w", "content": "from fs\n" })).await.unwrap();
    assert_eq!(run(&mut user, "cat w; grep -c o list").await["output"], "from fs\n2\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_users_file_is_refused() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut bob) = (gateway.user().await, gateway.add_user("bob").await);
    run(&mut alice, "echo secret > ~/s; chmod 600 ~/s; chmod 755 ~").await;
    let done = run(&mut bob, "cat /home/alice/s").await;
    assert_eq!((&done["status"], &done["exitCode"]), (&json!("failed"), &json!(1)));
    assert_eq!(done["stderr"], "cat: /home/alice/s: Permission denied\n");
    let mut root = gateway.root().await;
    assert_eq!(run(&mut root, "cat /home/alice/s").await["output"], "secret\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_command_is_a_session_that_polls_reads_and_ends() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let args = json!({ "input": "echo ready; read x; echo got $x; read y; echo $y", "yieldMs": 250 });
    let running = user.call("shell.exec", args).await.unwrap();
    assert_eq!((&running["status"], &running["output"]), (&json!("running"), &json!("ready\n")));
    let session = running["sessionId"].clone();
    assert!(session.as_str().unwrap().starts_with("sh_"));

    let seen = user.call("shell.exec", json!({ "sessionId": session, "input": "hi\n" })).await.unwrap();
    assert_eq!(
        (&seen["status"], &seen["output"], &seen["sessionId"]),
        (&json!("running"), &json!("got hi\n"), &session)
    );
    let elsewhere = json!({ "sessionId": session, "input": "", "target": "laptop" });
    assert_eq!(user.call("shell.exec", elsewhere).await.unwrap_err().pair().0, 400);

    let mut bob = gateway.add_user("bob").await;
    let poll = json!({ "sessionId": session, "input": "" });
    let refused = bob.call("shell.exec", poll.clone()).await.unwrap_err();
    assert_eq!(
        refused.pair(),
        (404, format!("Unknown shell session: {}", session.as_str().unwrap()).as_str())
    );

    let last = json!({ "sessionId": session, "input": "bye\n", "closeStdin": true });
    let first = user.call("shell.exec", last).await.unwrap();
    let (done, output) = to_the_end(&mut user, first).await;
    assert_eq!(
        (output.as_str(), &done["status"], &done["exitCode"]),
        ("bye\n", &json!("completed"), &json!(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_a_command() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let running =
        user.call("shell.exec", json!({ "input": "sleep 1000", "background": true })).await.unwrap();
    let end = json!({ "sessionId": running["sessionId"], "input": "", "signal": "TERM" });
    let first = user.call("shell.exec", end).await.unwrap();
    let (done, _) = to_the_end(&mut user, first).await;
    assert_eq!((&done["status"], &done["exitCode"]), (&json!("failed"), &json!(143)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_an_earlier_gateway_ran_has_ended_with_it() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let running =
        user.call("shell.exec", json!({ "input": "sleep 1000", "background": true })).await.unwrap();
    drop(user);
    let gateway = gateway.restart().await;
    let mut user = gateway.user().await;
    let poll = json!({ "sessionId": running["sessionId"], "input": "" });
    let over = user.call("shell.exec", poll.clone()).await.unwrap();
    assert_eq!(over["status"], "failed");
    let error = over["error"].as_str().unwrap();
    assert!(error.starts_with("Command ended: the gateway"), "{error}");
    let mut bob = gateway.add_user("bob").await;
    assert_eq!(bob.call("shell.exec", poll).await.unwrap_err().pair().0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_root_sets_holds_for_the_next_command() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    for (key, value) in
        [("config/shell/timeout_ms", "200"), ("config/server/name", "hal"), ("config/shell/wait_ms", "20000")]
    {
        root.call("sys.config.set", json!({ "key": key, "value": value })).await.unwrap();
    }
    assert_eq!(run(&mut user, "echo $HOSTNAME").await["output"], "hal\n");
    let done = run(&mut user, "sleep 1000").await;
    assert_eq!((&done["error"], &done["exitCode"]), (&json!("Command timed out after 200ms"), &json!(124)));
    assert_eq!(done["timedOut"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_scripts_do_not_hold_up_the_gateway() {
    let gateway = Gateway::set_up().await;
    let mut busy = Vec::new();
    for script in
        ["while :; do :; done", "awk 'BEGIN { while (1); }'", "yes > /dev/null", "jq -n 'def f: f; f'"]
    {
        let mut user = gateway.user().await;
        let args = json!({ "input": script, "timeout": 1500, "yieldMs": 30000, "closeStdin": true });
        let id = user.send_call("shell.exec", args).await;
        busy.push((script, user, id));
    }
    let mut other = gateway.user().await;
    for number in 0..20 {
        assert!(health(&gateway).await.starts_with("HTTP/1.1 200"));
        let done = run(&mut other, &format!("echo {number}")).await;
        assert_eq!(done["output"], format!("{number}\n"));
    }
    for (script, mut user, id) in busy {
        let first = tokio::time::timeout(Duration::from_secs(60), user.answer(&id)).await.unwrap().unwrap();
        let (done, _) = to_the_end(&mut user, first).await;
        assert_eq!(done["status"], "failed", "{script}: {done}");
        assert!(matches!(done["exitCode"].as_i64(), Some(1 | 2 | 5 | 124 | 137)), "{script}: {done}");
    }
    assert_eq!(run(&mut other, "echo after").await["output"], "after\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_are_all_answered() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let mut ids = Vec::new();
    for number in 0..30 {
        let args =
            json!({ "input": format!("echo {number} > f{number}; cat f{number}"), "closeStdin": true });
        ids.push((number, user.send_call("shell.exec", args).await));
    }
    for (number, id) in ids {
        let first = user.answer(&id).await.unwrap();
        let (done, output) = to_the_end(&mut user, first).await;
        assert_eq!((output, &done["exitCode"]), (format!("{number}\n"), &json!(0)));
    }
}

async fn health(gateway: &Gateway) -> String {
    let mut socket = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
    socket.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_cannot_name_a_transfer_to_a_device() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    for call in ["fs.pull", "fs.push"] {
        let more = if call == "fs.push" { "--size 3 --sha256 00" } else { "" };
        let target = testkit::gateway::DEVICE;
        let script = format!("gsv call {call} --target {target} --path /f --transfer-id 7 {more}");
        let done = run(&mut user, &script).await;
        assert_ne!(done["exitCode"], 0, "{done}");
        assert!(done["stderr"].as_str().unwrap().contains("transferId"), "{done}");
    }
    // The next the device hears is the next call, and nothing of those.
    let id = user.send_call("fs.read", json!({ "target": testkit::gateway::DEVICE, "path": "/f" })).await;
    let request = driver.request().await;
    assert_eq!(request["call"], "fs.read");
    driver.reply(&request, json!({ "ok": true, "path": "/f", "content": "x" })).await;
    user.answer(&id).await.unwrap();
}
