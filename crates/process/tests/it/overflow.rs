//! Tests of the overflow policies of a conversation.

use model::fake::Turn;
use protocol::ids::Pid;
use protocol::proc::conversation::Overflow;
use protocol::proc::history::MessageRole::{Assistant, System, User};
use serde_json::json;
use store::change::Change;
use store::conversations::PolicyRow;

use crate::scene::Scene;

async fn policy(scene: &Scene, overflow: Overflow, keep_last: u64) {
    let row = PolicyRow { overflow, compact_at: 0.9, keep_last, updated_at: 1 };
    let change = Change::new(scene.pid()).policy(&"default".into(), row);
    scene.fixture.store.keep(change).await.unwrap();
}

/// Everything is too long for this model.
async fn narrow(scene: &Scene) {
    let uid = scene.fixture.identity.uid;
    scene.fixture.set(&format!("users/{uid}/ai/context_window_tokens"), "8200").await;
}

#[tokio::test]
async fn a_policy_may_stop_the_run() {
    let scene = Scene::new(vec![]).await;
    policy(&scene, Overflow::Fail, 80).await;
    narrow(&scene).await;
    let run = scene.send("hi").await;
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["reason"]), (&json!("error"), &json!("context.policy.fail")));
    assert!(finished["error"].as_str().unwrap().contains("90%"), "{finished}");
    assert!(scene.fixture.server.received().is_empty());
    let said = scene.fixture.said().await;
    assert_eq!(said.iter().map(|(role, _)| *role).collect::<Vec<_>>(), [User, System]);
}

#[tokio::test]
async fn compacting_keeps_the_run_going() {
    let script = [Turn::text("one"), Turn::text("They said hello.").tokens(500, 50), Turn::text("two")];
    let scene = Scene::new(script.into()).await;
    let run = scene.send("first").await;
    scene.finished(&run).await;
    policy(&scene, Overflow::AutoCompact, 1).await;
    narrow(&scene).await;
    let run = scene.send("second").await;
    assert_eq!(scene.finished(&run).await["text"], "two");
    let said = scene.fixture.said().await;
    assert_eq!(said.iter().map(|(role, _)| *role).collect::<Vec<_>>(), [System, User, Assistant], "{said:?}");
    assert!(said[0].1.contains("They said hello."), "{said:?}");
    let told =
        scene.recorder.until("proc.changed", |body| body["event"] == "conversation.auto_compacted").await;
    let segments = scene.fixture.store.segments().of(scene.pid(), &"default".into()).await.unwrap();
    let [segment] = segments.as_slice() else { panic!("{segments:?}") };
    let expected = json!({
        "pid": scene.pid(), "conversationId": "default", "runId": run, "queuedCount": 0,
        "changes": ["lifecycle", "conversations", "messages"], "event": "conversation.auto_compacted",
        "provider": "openai-chat", "model": "test-model", "generation": 1, "segment": segment, "archivedMessages": 2,
        "archivedTo": segment.archive_path, "summaryMessageId": segment.summary_message_id,
        "policy": { "conversationId": "default", "overflow": "auto-compact", "compactAtPressure": 0.9, "keepLast": 1,
            "updatedAt": 1 },
        "pressure": told["pressure"], "timestamp": told["timestamp"],
    });
    assert_eq!(told, expected);
    assert!(told["pressure"].as_f64().unwrap() >= 0.9, "{told}");
    let used = scene.fixture.store.runs().used_in(scene.pid(), &"default".into()).await.unwrap();
    assert!(used.input_tokens >= 500, "{used:?}");
    let told = scene.recorder.all("proc.changed").into_iter();
    let shown = told.rev().find(|body| body["context"]["usage"].is_object()).unwrap();
    assert_eq!(shown["context"]["usage"]["input"], used.input_tokens, "what a summary cost is shown too");
}

#[tokio::test]
async fn nothing_to_compact_stops_only_what_does_not_fit() {
    let scene = Scene::new(vec![]).await;
    policy(&scene, Overflow::AutoCompact, 80).await;
    narrow(&scene).await;
    let run = scene.send("hi").await;
    let finished = scene.finished(&run).await;
    assert_eq!(finished["reason"], "context.auto_compact.empty");
    let pid: &Pid = scene.pid();
    assert_eq!(scene.fixture.messages(pid).await.len(), 2);
}
