//! Fault injection into our own code: faults end a run, never the process and never the gateway.

use model::fake::Turn;
use protocol::proc::history::MessageRole::ToolResult;
use serde_json::{Value, json};
use store::processes::ProcessState;

use crate::scene::Scene;

#[tokio::test]
async fn a_panic_in_a_process_ends_its_run_and_what_waits_goes_on() {
    let script = vec![
        Turn::tool("a", "Read", json!({ "path": "/a" })),
        Turn::text("the second one"),
        Turn::text("the third one"),
    ];
    let scene = Scene::new(script).await;
    let gate = scene.recorder.hold("fs.read");
    let run = scene.send("first").await;
    scene.recorder.until("proc.run.tool.started", |_| true).await;
    let second = scene.send("second").await;
    scene.recorder.panic_at("proc.run.tool.finished");
    gate.notify_one();
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["reason"]), (&json!("error"), &json!("process.error")));
    assert!(finished["error"].as_str().unwrap().contains("a fault of the test"), "{finished}");
    assert_eq!(scene.finished(&second).await["text"], "the second one");
    let third = scene.send("third").await;
    assert_eq!(scene.finished(&third).await["text"], "the third one");
    assert_eq!(scene.fixture.state().await, ProcessState::Idle);
}

#[tokio::test]
async fn a_panic_in_a_call_is_its_result() {
    let tool = |_: &str, _: &Value| panic!("a fault of the test");
    let script = vec![Turn::tool("a", "Read", json!({ "path": "/a" })), Turn::text("a pity")];
    let scene = Scene::with_tools(script, tool).await;
    let run = scene.send("read").await;
    assert_eq!(scene.finished(&run).await["text"], "a pity");
    let rows = scene.fixture.messages(scene.pid()).await;
    let result = rows.iter().find(|row| row.role == ToolResult).unwrap();
    assert!(result.content.starts_with("Error: Internal error"), "{}", result.content);
}

#[tokio::test]
async fn a_policy_that_changes_during_a_run_counts_at_the_next_call() {
    let read = || Turn::tool("a", "Read", json!({ "path": "/a", "target": "gsv" }));
    let scene = Scene::new(vec![read(), read(), Turn::text("denied")]).await;
    let gate = scene.recorder.hold("fs.read");
    let run = scene.send("read").await;
    scene.recorder.until("proc.run.tool.started", |_| true).await;
    let key = format!("users/{}/ai/tools/approval", scene.fixture.identity.uid);
    scene.fixture.set(&key, r#"{"default":"deny","rules":[]}"#).await;
    gate.notify_one();
    assert_eq!(scene.finished(&run).await["text"], "denied");
    let said = scene.fixture.said().await;
    let results: Vec<_> = said.iter().filter(|(role, _)| *role == ToolResult).map(|(_, text)| text).collect();
    assert_eq!(results, ["{\"ok\":true}", "Error: Tool execution denied by policy"]);
}
