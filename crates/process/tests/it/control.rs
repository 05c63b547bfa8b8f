//! Tests of abort, reset and kill.

use model::fake::{Piece, Turn};
use protocol::outcome::Outcome;
use protocol::proc::conversation::Reset;
use serde_json::json;
use store::processes::ProcessState;

use crate::scene::{Scene, words};

#[tokio::test]
async fn an_abort_cancels_the_provider_and_begins_what_waits() {
    let scene = Scene::new(vec![Turn::new().say("never ").piece(Piece::Hang), Turn::text("next")]).await;
    let run = scene.send("first").await;
    scene.recorder.until("proc.run.stream", |body| body["event"]["type"] == "text_delta").await;
    let Outcome::Done(queued) = scene.host.send(scene.pid(), words("second"), None, None).await.unwrap()
    else {
        panic!()
    };
    let Outcome::Done(aborted) = scene.host.abort(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!((aborted.run_id.as_ref(), aborted.interrupted_tool_calls), (Some(&run), Some(0)));
    assert_eq!(aborted.continued_queued_run_id.as_ref(), Some(&queued.run_id));
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["aborted"]), (&json!("aborted"), &json!(true)));
    scene.fixture.server.clients_left(1).await;
    assert_eq!(scene.finished(&queued.run_id).await["text"], "next");
    let Outcome::Done(nothing) = scene.host.abort(scene.pid()).await.unwrap() else { panic!() };
    assert!(!nothing.aborted && nothing.run_id.is_none());
}

#[tokio::test]
async fn an_abort_interrupts_tools() {
    let turn = Turn::tool("a", "Shell", json!({ "input": "sleep 99", "target": "mac" }));
    let scene = Scene::new(vec![turn, Turn::text("I was stopped")]).await;
    let _held = scene.recorder.hold("shell.exec");
    let run = scene.send("sleep").await;
    scene.recorder.until("proc.run.tool.started", |_| true).await;
    let Outcome::Done(aborted) = scene.host.abort(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!(aborted.interrupted_tool_calls, Some(1));
    scene.finished(&run).await;
    let said = scene.fixture.said().await;
    assert_eq!(said.last().unwrap().1, "Error: User interrupted tool execution");
    let run = scene.send("what happened?").await;
    assert_eq!(scene.finished(&run).await["text"], "I was stopped");
}

#[tokio::test]
async fn a_killed_process_is_gone_but_an_init_comes_back() {
    let scene = Scene::new(vec![Turn::new().say("never ").piece(Piece::Hang), Turn::text("back")]).await;
    let task = "task-1".into();
    scene.fixture.spawn(&task, "task").await;
    let run = scene.send_to(&task, "hi").await;
    scene.recorder.until("proc.run.stream", |_| true).await;
    let Outcome::Done(_) = scene.host.kill(&task, false).await.unwrap() else { panic!() };
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["reason"]), (&json!("aborted"), &json!("process.kill")));
    let exit = scene.recorder.until("process.exit", |_| true).await;
    assert_eq!((&exit["pid"], &exit["reason"]), (&json!("task-1"), &json!("proc.kill")));
    let row = scene.fixture.store.processes().by_id(&task).await.unwrap().unwrap();
    assert_eq!(row.state, ProcessState::Exited);
    assert!(scene.fixture.messages(&task).await.is_empty());
    let gone = scene.host.send(&task, words("hi"), None, None).await.unwrap_err();
    assert_eq!((gone.code, gone.message.as_str()), (404, "Process not found: task-1"));

    let pid = scene.pid().clone();
    scene.host.kill(&pid, false).await.unwrap();
    assert_eq!(scene.fixture.state().await, ProcessState::Exited);
    let run = scene.send("hello again").await;
    assert_eq!(scene.finished(&run).await["text"], "back");
    assert_eq!(scene.fixture.state().await, ProcessState::Idle);
}

#[tokio::test]
async fn a_reset_archives_clears_and_ends_everything() {
    let never = Turn::new().say("never ").piece(Piece::Hang);
    let scene = Scene::new(vec![Turn::text("one"), never, Turn::text("fresh")]).await;
    let run = scene.send("first").await;
    scene.finished(&run).await;
    let active = scene.send("second").await;
    scene.recorder.until("proc.run.stream", |body| body["runId"] == active.as_str()).await;
    let Outcome::Done(queued) = scene.host.send(scene.pid(), words("third"), None, None).await.unwrap()
    else {
        panic!()
    };
    let Outcome::Done(archived) = scene.host.reset(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!((archived.archived_messages, archived.archives.len()), (3, 1));
    for run in [&active, &queued.run_id] {
        let finished = scene.finished(run).await;
        assert_eq!((&finished["status"], &finished["reason"]), (&json!("aborted"), &json!("process.reset")));
    }
    assert!(scene.fixture.said().await.is_empty());
    let run = scene.send("new life").await;
    assert_eq!(scene.finished(&run).await["text"], "fresh");
    let messages = scene.fixture.messages(scene.pid()).await;
    assert!(messages.iter().all(|row| row.generation == 2), "{messages:?}");
    let args = Reset { pid: None, conversation_id: None, archive: Some(false) };
    let Outcome::Done(done) = scene.host.reset_conversation(scene.pid(), args).await.unwrap() else {
        panic!()
    };
    assert_eq!((done.generation, done.archived_messages, done.archived_to), (3, 2, None));
}
