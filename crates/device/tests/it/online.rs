//! Tests of the whole driver over a real socket: logging in, losing the socket, losing nothing else.

use std::time::Duration;

use base::limits;
use device::{Report, RunError};
use futures_util::{SinkExt, StreamExt};
use protocol::error::Error;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::gateway::{Gateway, LIMIT, Socket};

/// A command that ends when the file `go` appears.
const WAIT_FOR_GO: &str = "while [ ! -e go ]; do sleep 0.02; done; echo went";

async fn poll_until(socket: &mut Socket, session: &Value, wanted: &str) -> Value {
    let mut output = String::new();
    for n in 0.. {
        let data = socket
            .call(&format!("poll-{n}-{wanted}"), "shell.exec", json!({ "sessionId": session, "input": "" }))
            .await;
        output.push_str(data["output"].as_str().unwrap());
        if output.contains(wanted) {
            return data;
        }
        assert_eq!(data["status"], "running", "{wanted} never came: {output}");
    }
    unreachable!()
}

#[tokio::test]
async fn a_driver_says_who_it_is_and_what_it_offers() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let first = gateway.accept().await;
    let args = &first.hello["args"];
    assert_eq!((&args["client"]["id"], &args["client"]["role"]), (&json!("mac"), &json!("driver")));
    assert_eq!(args["auth"], json!({ "username": "alice", "token": "gsv_node_x" }));
    let all =
        ["fs.read", "fs.write", "fs.edit", "fs.delete", "fs.search", "fs.pull", "fs.push", "shell.exec"];
    assert_eq!(args["driver"]["implements"], json!(all));
    let instance = args["driver"]["instance"].clone();
    assert!(instance.as_str().unwrap().len() > 20);
    assert_eq!(gateway.report(|_| true).await, Report::Connecting { attempt: 1 });
    gateway
        .report(|report| matches!(report, Report::Connected { device_id, .. } if device_id == "mac"))
        .await;
    drop(first);
    gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    let second = gateway.accept().await;
    assert_eq!(second.hello["args"]["driver"]["instance"], instance, "the same program");
    gateway.stop(second).await;
}

#[tokio::test]
async fn only_what_is_allowed_is_offered_and_answered() {
    let temp = tempfile::tempdir().unwrap();
    let gateway =
        Gateway::start(temp.path(), |options| options.allow = vec!["fs.read".into(), "fs.search".into()])
            .await;
    let mut socket = gateway.accept().await;
    assert_eq!(socket.hello["args"]["driver"]["implements"], json!(["fs.read", "fs.search"]));
    socket.ask("1", "shell.exec", json!({ "input": "echo hi" })).await;
    let refused = socket.answer("1").await;
    assert_eq!(refused["error"]["code"], json!(404));
    assert_eq!(socket.call("2", "fs.read", json!({ "path": "." })).await["ok"], json!(true));
    gateway.stop(socket).await;
}

#[tokio::test]
async fn requests_are_answered_as_they_are_done() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    socket.text("nonsense".into()).await;
    socket.text(r#"{"type":"sig","signal":"device.status","payload":{}}"#.into()).await;
    socket.ask("slow", "shell.exec", json!({ "input": WAIT_FOR_GO, "yieldMs": 30_000 })).await;
    socket.call("quick", "fs.write", json!({ "path": "go", "content": "" })).await;
    assert_eq!(socket.answer("slow").await["data"]["output"], "went\n");
    gateway.stop(socket).await;
}

#[tokio::test]
async fn an_answer_that_was_ready_while_offline_is_delivered() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    socket.ask("slow", "shell.exec", json!({ "input": WAIT_FOR_GO, "yieldMs": 30_000 })).await;
    // The answer to this one proves that the other is being worked on.
    socket.call("fence", "fs.read", json!({ "path": "." })).await;
    drop(socket);
    gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    std::fs::write(temp.path().join("go"), "").unwrap();
    let mut socket = gateway.accept().await;
    assert_eq!(socket.answer("slow").await["data"]["output"], "went\n");
    gateway.stop(socket).await;
}

#[tokio::test]
async fn what_a_pong_confirmed_is_not_sent_again_and_the_rest_is() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    socket.ask("confirmed", "fs.read", json!({ "path": "." })).await;
    let mut answered = false;
    loop {
        match tokio::time::timeout(LIMIT, socket.stream.next()).await.unwrap().unwrap().unwrap() {
            Message::Text(text) if text.contains("confirmed") => answered = true,
            Message::Ping(payload) if payload.starts_with(b"gsv-sent-") && answered => break,
            _ => {}
        }
    }
    socket.stream.flush().await.unwrap();
    // Reading stops with the answer: the ping behind it gets no pong.
    socket.call("unconfirmed", "fs.read", json!({ "path": "." })).await;
    drop(socket);
    let mut socket = gateway.accept().await;
    socket.answer("unconfirmed").await;
    socket.call("end", "fs.read", json!({ "path": "." })).await;
    assert!(!socket.left_aside().iter().any(|text| text.contains("\"confirmed\"")));
    gateway.stop(socket).await;
}

/// A command in the background; the socket it was begun over, and its session.
async fn begin(gateway: &Gateway, input: &str) -> (Socket, Value) {
    let mut socket = gateway.accept().await;
    let started = socket.call("start", "shell.exec", json!({ "input": input, "background": true })).await;
    (socket, started["sessionId"].clone())
}

/// Output belongs to the socket that asked: a poll that lost its socket hands nothing over, and the next poll,
/// perhaps through a gateway that has started anew, gets everything.
#[tokio::test]
async fn a_lost_poll_loses_no_output() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let (mut socket, session) = begin(&gateway, WAIT_FOR_GO).await;
    socket.ask("lost", "shell.exec", json!({ "sessionId": session, "input": "", "yieldMs": 30_000 })).await;
    socket.call("fence", "fs.read", json!({ "path": "." })).await;
    drop(socket);
    gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    std::fs::write(temp.path().join("go"), "").unwrap();
    let mut socket = gateway.accept().await;
    let lost = socket.answer("lost").await;
    assert_eq!((&lost["data"]["status"], &lost["data"]["output"]), (&json!("running"), &json!("")));
    poll_until(&mut socket, &session, "went\n").await;
    gateway.stop(socket).await;
}

#[tokio::test]
async fn an_answer_nobody_confirmed_gives_its_output_back() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("go"), "").unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let (mut socket, session) = begin(&gateway, &format!("{WAIT_FOR_GO}; sleep 1000")).await;
    let poll = json!({ "sessionId": session, "input": "", "yieldMs": 30_000 });
    assert_eq!(socket.call("lost", "shell.exec", poll).await["output"], "went\n");
    drop(socket);
    let mut socket = gateway.accept().await;
    assert_eq!(socket.answer("lost").await["data"]["output"], "");
    poll_until(&mut socket, &session, "went\n").await;
    gateway.stop(socket).await;
}

#[tokio::test]
async fn the_end_of_a_command_is_told_also_after_being_offline() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let (mut socket, session) = begin(&gateway, WAIT_FOR_GO).await;
    let is = |event: &'static str| {
        move |frame: &Value| frame["signal"] == "exec.status" && frame["payload"]["event"] == event
    };
    assert_eq!(socket.frame(is("started")).await["payload"]["sessionId"], session);
    drop(socket);
    gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    std::fs::write(temp.path().join("go"), "").unwrap();
    let mut socket = gateway.accept().await;
    let finished = socket.frame(is("finished")).await;
    assert_eq!((&finished["payload"]["sessionId"], &finished["payload"]["exitCode"]), (&session, &json!(0)));
    assert_eq!(finished["payload"]["outputTail"], "went\n");
    gateway.stop(socket).await;
}

#[tokio::test]
async fn more_requests_than_it_can_work_on_are_refused_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let (mut socket, session) = begin(&gateway, WAIT_FOR_GO).await;
    let poll = json!({ "sessionId": session, "input": "", "yieldMs": 30_000 });
    let max = base::limits::device::REQUESTS_MAX;
    for n in 0..max + 10 {
        socket.ask(&format!("poll-{n}"), "shell.exec", poll.clone()).await;
    }
    for _ in 0..10 {
        let refused = socket.frame(|frame| frame["type"] == "res" && frame["ok"] == json!(false)).await;
        assert_eq!(refused["error"]["code"], json!(429));
    }
    std::fs::write(temp.path().join("go"), "").unwrap();
    for n in 0..max {
        // On a busy machine the output comes well before the end, and is news too.
        assert_eq!(socket.answer(&format!("poll-{n}")).await["ok"], json!(true));
    }
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_gateway_that_is_not_set_up_is_fatal() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    gateway.refuse(&Error::setup_required()).await;
    let error = tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, RunError::SetupMode) && error.to_string().contains("gsv auth setup"));
}

#[tokio::test]
async fn another_users_device_is_fatal_and_a_bad_token_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    gateway.refuse(&Error::authentication_failed()).await;
    let refused = gateway.report(|report| matches!(report, Report::Refused { .. })).await;
    assert!(matches!(refused, Report::Refused { code: 401, retry_ms, .. } if retry_ms > 0));
    assert_eq!(gateway.report(|_| true).await, Report::Connecting { attempt: 2 });
    gateway.refuse(&Error::device_taken("mac")).await;
    let error = tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, RunError::DeviceTaken { .. }), "{error}");
}

#[tokio::test]
async fn senseless_options_are_refused_before_anything_is_connected() {
    let temp = tempfile::tempdir().unwrap();
    type Change = fn(&mut device::Options);
    let changes: [(&str, Change); 5] = [
        ("device id", |options| options.device_id = String::new()),
        ("--allow: 'everything'", |options| options.allow = vec!["everything".into()]),
        ("leaves nothing", |options| options.allow = vec!["sched.add".into()]),
        ("--workspace", |options| options.workspace = "/no/such/directory".into()),
        ("--root", |options| options.root = Some("/no/such/directory".into())),
    ];
    for (word, change) in changes {
        let gateway = Gateway::start(temp.path(), change).await;
        let error = tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap_err();
        assert!(matches!(&error, RunError::Options(why) if why.contains(word)), "{word}: {error}");
    }
}

#[tokio::test]
async fn stopping_says_goodbye_and_ends_the_commands() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let started =
        socket.call("start", "shell.exec", json!({ "input": "exec sleep 1000", "background": true })).await;
    let stat = format!("/proc/{}/stat", started["pid"]);
    assert!(std::fs::read_to_string(&stat).is_ok());
    gateway.trigger.stop();
    while socket.message().await.is_some() {}
    tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap();
    for _ in 0..2_000 {
        match std::fs::read_to_string(&stat) {
            Ok(stat) if !stat.contains(") Z ") => tokio::time::sleep(Duration::from_millis(5)).await,
            _ => return,
        }
    }
    panic!("the command goes on");
}

/// Time after which a ping is due; timers are exact to a millisecond.
const PING_DUE: Duration = base::limits::device::KEEPALIVE.saturating_add(Duration::from_millis(10));

/// Stops time, and keeps it from running ahead whenever everybody waits for a socket; drop the sender to let go.
fn stop_time() -> std::sync::mpsc::SyncSender<()> {
    let (let_go, held) = std::sync::mpsc::sync_channel(1);
    // Time does not pass by itself while there is such work.
    tokio::task::spawn_blocking(move || held.recv().is_ok());
    tokio::time::pause();
    let_go
}

#[tokio::test]
async fn a_gateway_that_goes_silent_is_left_for_another_try() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    socket.call("fence", "fs.read", json!({ "path": "." })).await;
    let let_go = stop_time();
    // One ping without an answer may be bad luck; nobody reads this socket any more.
    tokio::time::advance(PING_DUE).await;
    tokio::time::advance(PING_DUE).await;
    tokio::time::resume();
    drop(let_go);
    let lost = gateway.report(|report| matches!(report, Report::Lost { .. })).await;
    assert!(matches!(&lost, Report::Lost { why, .. } if why == "the gateway has gone silent"), "{lost:?}");
    let mut again = gateway.accept().await;
    again.call("fence", "fs.read", json!({ "path": "." })).await;
    gateway.stop(again).await;
}

#[tokio::test]
async fn a_gateway_that_answers_pings_is_kept() {
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    gateway.report(|report| matches!(report, Report::Connected { .. })).await;
    socket.call("fence", "fs.read", json!({ "path": "." })).await;
    let let_go = stop_time();
    for n in 0..5 {
        tokio::time::advance(PING_DUE).await;
        loop {
            match socket.stream.next().await.unwrap().unwrap() {
                Message::Ping(payload) if payload == "gsv-keepalive" => break,
                _ => {}
            }
        }
        // The pong goes out before this, so its answer says that the pong has come.
        socket.call(&format!("fence-{n}"), "fs.read", json!({ "path": "." })).await;
    }
    assert!(gateway.reports.try_recv().is_err(), "the socket was given up");
    tokio::time::resume();
    drop(let_go);
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_finished_session_that_nobody_asks_for_is_forgotten_after_ten_minutes() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let start = json!({ "input": "echo done", "background": true });
    let session = socket.call("start", "shell.exec", start).await["sessionId"].clone();
    let running = json!({ "input": WAIT_FOR_GO, "background": true, "timeout": 3_600_000 });
    let running = socket.call("running", "shell.exec", running).await["sessionId"].clone();
    let is_over = |status: &Value| status["sessionId"] == session && status["event"] == "finished";
    socket.frame(|frame| frame["signal"] == "exec.status" && is_over(&frame["payload"])).await;
    let ask = json!({ "sessionId": session, "input": "", "background": true });
    let let_go = stop_time();
    // Asking for it counts: the ten minutes begin anew.
    pass(&mut socket, base::limits::shell::FINISHED_KEPT - Duration::from_secs(1)).await;
    assert_eq!(socket.call("early", "shell.exec", ask.clone()).await["output"], "done\n");
    pass(&mut socket, base::limits::shell::FINISHED_KEPT - Duration::from_secs(1)).await;
    socket.call("in time", "shell.exec", ask.clone()).await;
    pass(&mut socket, base::limits::shell::FINISHED_KEPT).await;
    socket.ask("late", "shell.exec", ask).await;
    assert_eq!(socket.answer("late").await["error"]["code"], 404);
    // A command that runs is kept, however long nobody asks for it.
    std::fs::write(temp.path().join("go"), "").unwrap();
    tokio::time::resume();
    drop(let_go);
    let ended = poll_until(&mut socket, &running, "went").await;
    assert_eq!(ended["exitCode"], 0, "{ended}");
    gateway.stop(socket).await;
}

/// Lets time pass in small steps, with something said in each, so that nobody takes the other for silent.
async fn pass(socket: &mut Socket, time: Duration) {
    let step = Duration::from_secs(30);
    let mut left = time;
    while !left.is_zero() {
        tokio::time::advance(step.min(left)).await;
        left = left.saturating_sub(step);
        socket.call("fence", "fs.read", json!({ "path": "." })).await;
    }
}

#[tokio::test]
async fn a_driver_whose_token_is_refused_stops_and_says_what_to_do() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    for _ in 0..limits::device::REFUSALS_MAX {
        gateway.refuse(&Error::authentication_failed()).await;
    }
    let error = tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, RunError::TokenRefused { .. }) && error.is_final(), "{error}");
    assert!(error.to_string().contains("gsv auth token create --kind node --device mac"), "{error}");
}

#[tokio::test]
async fn a_driver_with_the_token_of_another_device_stops_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    gateway.refuse(&Error::token_of_other_device("desk").with_details(json!({ "deviceId": "desk" }))).await;
    let error = tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(&error, RunError::TokenOfOtherDevice { bound_to, .. } if bound_to == "desk"), "{error}");
}

#[tokio::test]
async fn a_driver_that_another_took_the_place_of_stops_and_one_that_was_only_replaced_comes_back() {
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;
    let temp = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(temp.path(), |_| {}).await;
    for code in [1000, protocol::sys::CLOSE_TAKEN_OVER] {
        let mut socket = gateway.accept().await;
        gateway.report(|report| matches!(report, Report::Connected { .. })).await;
        let close = CloseFrame { code: code.into(), reason: "Replaced".into() };
        socket.stream.close(Some(close)).await.unwrap();
        while socket.message().await.is_some() {}
    }
    let error = tokio::time::timeout(LIMIT, gateway.running).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, RunError::TakenOver { .. }) && error.is_final(), "{error}");
    assert!(error.to_string().contains("--id"), "{error}");
}
