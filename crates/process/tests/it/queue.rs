//! Tests of messages that arrive during a run: taken in at a boundary, or next in line; either way their run ends.

use model::fake::{Piece, Turn};
use process::Event;
use protocol::ids::RunId;
use protocol::outcome::Outcome;
use protocol::proc::history::MessageRole::{self, Assistant, System, ToolResult, User};
use protocol::proc::ipc::{Deliver, PendingCall};
use serde_json::json;
use std::sync::Arc;
use store::change::Change;
use store::ipc::IpcCall;
use store::runs::RunStatus;
use tokio::sync::Notify;

use crate::scene::{Scene, words};

async fn queue(scene: &Scene, message: &str) -> RunId {
    let Outcome::Done(sent) = scene.host.send(scene.pid(), words(message), None, None).await.unwrap() else {
        panic!("refused")
    };
    assert_eq!(sent.queued, Some(true));
    sent.run_id
}

async fn roles(scene: &Scene) -> Vec<MessageRole> {
    scene.fixture.said().await.into_iter().map(|(role, _)| role).collect()
}

#[tokio::test]
async fn a_message_during_a_tool_is_taken_in_and_its_run_ends_too() {
    let script = vec![Turn::tool("a", "Read", json!({ "path": "/a" })), Turn::text("both done")];
    let scene = Scene::new(script).await;
    let gate = scene.recorder.hold("fs.read");
    let run = scene.send("first").await;
    scene.recorder.until("proc.run.tool.started", |_| true).await;
    let second = queue(&scene, "second").await;
    let changed = scene.recorder.until("proc.changed", |body| body["enqueuedRunId"] == second.as_str()).await;
    assert_eq!((&changed["queuedCount"], &changed["changes"]), (&json!(1), &json!(["queue"])));
    gate.notify_one();
    let ends = [scene.finished(&run).await, scene.finished(&second).await];
    assert!(ends.iter().all(|end| end["text"] == "both done" && end["status"] == "ok"), "{ends:?}");
    let drained = scene.recorder.until("proc.changed", |body| body["drainedQueuedMessages"] == 1).await;
    assert_eq!(drained["changes"], json!(["queue", "messages"]));
    assert_eq!(roles(&scene).await, [User, Assistant, ToolResult, User, Assistant]);
    let row = scene.fixture.store.runs().by_id(&second).await.unwrap().unwrap();
    assert_eq!((row.status, row.absorbed_by), (RunStatus::Ok, Some(run)));
}

#[tokio::test]
async fn a_message_during_the_last_answer_gets_its_own_run() {
    let gate = Arc::new(Notify::new());
    let first = Turn::new().say("slow ").piece(Piece::Gate(gate.clone())).say("answer");
    let scene = Scene::new(vec![first, Turn::text("second answer"), Turn::text("third answer")]).await;
    let run = scene.send("first").await;
    scene.recorder.until("proc.run.stream", |body| body["event"]["type"] == "text_delta").await;
    let second = queue(&scene, "second").await;
    let third = queue(&scene, "third").await;
    gate.notify_one();
    assert_eq!(scene.finished(&run).await["text"], "slow answer");
    assert_eq!(scene.finished(&second).await["text"], "second answer");
    assert_eq!(scene.finished(&third).await["text"], "third answer");
    let started = scene.recorder.all("proc.run.started");
    let reasons: Vec<_> = started.iter().map(|body| body["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["proc.send", "queue.promote", "queue.promote"]);
}

#[tokio::test]
async fn an_event_is_a_system_message_and_never_lost() {
    let gate = Arc::new(Notify::new());
    let first = Turn::new().say("busy").piece(Piece::Gate(gate.clone()));
    let scene = Scene::new(vec![first, Turn::text("noted")]).await;
    let run = scene.send("work").await;
    scene.recorder.until("proc.run.stream", |_| true).await;
    let event = |with| Event {
        conversation: "default".into(),
        reason: "schedule.event".to_string(),
        content: "It is noon.".to_string(),
        with,
    };
    scene.host.event(scene.pid(), event(None)).await.unwrap();
    gate.notify_one();
    scene.finished(&run).await;
    let noted = scene.recorder.until("proc.run.finished", |body| body["text"] == "noted").await;
    assert_ne!(noted["runId"], run.as_str());
    assert_eq!(roles(&scene).await, [User, Assistant, System, Assistant]);
    scene.recorder.until("proc.changed", |body| body["content"] == "It is noon.").await;

    let call = IpcCall {
        call_id: "c1".to_string(),
        uid: scene.fixture.identity.uid,
        source_pid: scene.pid().clone(),
        target_pid: "other".into(),
        target_run_id: "r".into(),
        deadline_at: 1,
        created_at: 1,
    };
    scene.fixture.store.keep(Change::new(scene.pid()).ipc_open(&call)).await.unwrap();
    let close = || Change::new(scene.pid()).ipc_close("c1", "completed");
    assert!(scene.fixture.store.apply(close()).await.unwrap());
    scene.host.event(scene.pid(), event(Some(close()))).await.unwrap();
    assert_eq!(roles(&scene).await.len(), 4, "an event whose reason is gone is dropped");
}

#[tokio::test]
async fn a_message_of_another_process_comes_with_its_envelope_and_its_call() {
    let scene = Scene::new(vec![Turn::text("42")]).await;
    let source = scene.fixture.identity.clone();
    let deliver = Deliver {
        source_pid: "p2".into(),
        source: source.clone(),
        conversation_id: None,
        message: "How much?".to_string(),
        metadata: serde_json::from_value(json!({ "unit": "kg" })).unwrap(),
        sent_at: 0,
        call: Some(PendingCall {
            call_id: "c7".to_string(),
            reply_to_pid: "p2".into(),
            deadline_at: 4_000_000_000_000,
        }),
    };
    let call = IpcCall {
        call_id: "c7".to_string(),
        uid: source.uid,
        source_pid: "p2".into(),
        target_pid: scene.pid().clone(),
        target_run_id: "".into(),
        deadline_at: 4_000_000_000_000,
        created_at: 1,
    };
    let gate = scene.recorder.hold("ai.tools");
    let taken = scene.host.deliver(scene.pid(), deliver, Some(call)).await.unwrap();
    let Outcome::Done((run, false)) = taken else { panic!("{taken:?}") };
    let waiting = scene.fixture.store.ipc().of_run(&run).await.unwrap();
    assert_eq!(waiting.len(), 1, "the call waits for the run that was just begun");
    gate.notify_one();
    assert_eq!(scene.finished(&run).await["text"], "42");
    assert_eq!(scene.recorder.all("proc.run.started")[0]["reason"], "proc.ipc.deliver");
    let said = scene.fixture.said().await;
    let expected = format!(
        "Message from process `p2` (ann uid={}).\nSent at: 1970-01-01T00:00:00.000Z.\n\nHow much?\n\nMetadata:\n\
         ```json\n{{\n  \"unit\": \"kg\"\n}}\n```\n\nIPC call:\nCall id: `c7`\nDeadline: 2096-10-02T07:06:40.000Z\n\
         Reply target: process `p2`\n\n",
        source.uid
    );
    assert!(said[0].1.starts_with(&expected), "{}", said[0].1);
}

#[tokio::test]
async fn after_a_restart_the_reply_of_any_open_call_is_found() {
    let scene = Scene::new(vec![Turn::text("42"), Turn::text("noted")]).await;
    let worker = "worker".into();
    scene.fixture.spawn(&worker, "task").await;
    let run = scene.send_to(&worker, "How much?").await;
    scene.finished(&run).await;
    // The one that has its reply is behind more than two pages of others.
    let many = 2 * base::limits::process::IPC_PAGE as i64 + 10;
    let call = |number: i64| IpcCall {
        call_id: format!("c{number:03}"),
        uid: scene.fixture.identity.uid,
        source_pid: scene.pid().clone(),
        target_pid: worker.clone(),
        target_run_id: if number == many { run.clone() } else { "still going".into() },
        deadline_at: 4_000_000_000_000 + number / 2,
        created_at: 1,
    };
    let open = (0..=many).fold(Change::new(&worker), |change, number| change.ipc_open(&call(number)));
    scene.fixture.store.keep(open).await.unwrap();
    scene.host.recover_ipc().await.unwrap();
    scene.recorder.until("proc.run.finished", |body| body["text"] == "noted").await;
    let said = scene.fixture.said().await;
    let expected = format!("IPC call `c{many:03}` completed from process `worker`.");
    assert!(said[0].1.starts_with(&expected), "{said:?}");
    assert_eq!(scene.fixture.store.ipc().open_calls(None, 1_000).await.unwrap().len() as i64, many);
}
