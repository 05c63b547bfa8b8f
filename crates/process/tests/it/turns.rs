//! Tests of one message and its answer, and of everything that can go wrong with a model.

use model::fake::{Chunk, Piece, Reply, Turn};
use protocol::outcome::Outcome;
use protocol::proc::history::MessageRole::{Assistant, System, ToolResult, User};
use serde_json::json;
use store::processes::ProcessState;
use store::runs::RunStatus;

use crate::scene::{Fixture, Scene, asked, turns, words};

fn pair(
    role: protocol::proc::history::MessageRole,
    text: &str,
) -> (protocol::proc::history::MessageRole, String) {
    (role, text.to_string())
}

#[tokio::test]
async fn a_message_gets_an_answer_that_streams() {
    let scene = Scene::new(vec![Turn::new().think("hm").say("Hello Ann!").tokens(10, 3)]).await;
    let run = scene.send("hi").await;
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["reason"]), (&json!("ok"), &json!("turn.complete")));
    assert_eq!((&finished["text"], &finished["usage"]["totalTokens"]), (&json!("Hello Ann!"), &json!(13)));
    assert_eq!(scene.fixture.said().await, [pair(User, "hi"), pair(Assistant, "Hello Ann!")]);
    assert_eq!(
        scene.recorder.names(),
        [
            "proc.run.started",
            "proc.changed",
            "proc.run.output",
            "proc.changed",
            "proc.changed",
            "proc.run.finished"
        ]
    );
    let context = scene.recorder.all("proc.changed");
    assert_eq!(context[2]["event"], "run.finished");
    assert_eq!(context[0]["context"]["source"], "estimate");
    assert_eq!(context[1]["context"]["source"], "provider");
    assert_eq!(
        (&context[1]["context"]["messageCount"], &context[1]["context"]["lastMessageId"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(context[1]["context"]["usage"]["totalTokens"], 13);
    let stream = scene.recorder.all("proc.run.stream");
    let seqs: Vec<u64> = stream.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=stream.len() as u64).collect::<Vec<_>>());
    assert_eq!(stream[0]["event"]["type"], "start");
    assert_eq!(stream.last().unwrap()["event"]["type"], "done");
    assert_eq!(scene.fixture.state().await, ProcessState::Idle);
    let row = scene.fixture.store.runs().by_id(&run).await.unwrap().unwrap();
    assert_eq!((row.status, row.turns, row.used.input_tokens), (RunStatus::Ok, 1, 10));
}

#[tokio::test]
async fn a_plain_turn_is_two_commits() {
    let scene = Scene::new(vec![Turn::text("one"), Turn::text("two")]).await;
    let run = scene.send("first").await;
    scene.finished(&run).await;
    let commits = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("gsv_store_batches_total ")).map(str::to_string);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    let Some(before) = commits(&scene.fixture.store.metrics()) else {
        panic!("no such metric among {}", scene.fixture.store.metrics());
    };
    let run = scene.send("second").await;
    scene.finished(&run).await;
    assert_eq!(commits(&scene.fixture.store.metrics()), Some(before + 2));
}

#[tokio::test]
async fn the_next_run_sees_what_was_said() {
    let scene = Scene::new(vec![Turn::text("one"), Turn::text("two")]).await;
    for message in ["first", "second"] {
        let run = scene.send(message).await;
        scene.finished(&run).await;
    }
    let requests = scene.fixture.server.received();
    let roles = asked(requests.last().unwrap()).into_iter().map(|message| message["role"].clone());
    assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant", "user"]);
}

#[tokio::test]
async fn what_goes_wrong_with_a_model_ends_the_run_and_is_said() {
    let cases: Vec<(Reply, &str, &str)> = vec![
        (Reply::json(401, json!({ "error": { "message": "bad key" } })), "generation.error", "bad key"),
        (model::fake::chat_reply(&Turn::new().say("half ").fail("it broke")), "generation.error", "it broke"),
        (
            Reply::events("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n", 999)
                .then(Chunk::Close),
            "generation.error",
            "",
        ),
        (model::fake::chat_reply(&Turn::new()), "generation.empty", "LLM returned empty response"),
        (
            model::fake::chat_reply(&Turn::new().think("only this")),
            "generation.empty",
            "LLM returned reasoning but no final response",
        ),
    ];
    for (reply, reason, says) in cases {
        let fixture = Fixture::replying(move |_| reply.clone()).await;
        let scene = Scene::on(fixture, |_, _| Ok(json!({})));
        let run = scene.send("hi").await;
        let finished = scene.finished(&run).await;
        assert_eq!(
            (&finished["status"], &finished["reason"]),
            (&json!("error"), &json!(reason)),
            "{finished}"
        );
        assert!(
            finished["error"].as_str().unwrap().contains(says) && finished["text"].is_null(),
            "{finished}"
        );
        let said = scene.fixture.said().await;
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[1], (System, finished["error"].as_str().unwrap().to_string()));
        let changed = scene.recorder.all("proc.changed");
        assert!(
            changed
                .iter()
                .any(|changed| changed["role"] == "system" && changed["changes"] == json!(["messages"]))
        );
        assert_eq!(scene.fixture.state().await, ProcessState::Idle);
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_prepared_ends() {
    let scene = Scene::new(vec![]).await;
    let uid = scene.fixture.identity.uid;
    scene.fixture.set(&format!("users/{uid}/ai/provider"), "skynet").await;
    let run = scene.send("hi").await;
    let finished = scene.finished(&run).await;
    assert_eq!(finished["status"], "error");
    assert!(finished["error"].as_str().unwrap().contains("skynet"), "{finished}");
}

#[tokio::test]
async fn bad_messages_are_refused() {
    let scene = Scene::new(vec![]).await;
    let pid = scene.pid().clone();
    let empty = scene.host.send(&pid, words("  "), None, None).await.unwrap_err();
    assert_eq!(empty.code, 400);
    let unknown = scene.host.send(&"nobody".into(), words("hi"), None, None).await.unwrap_err();
    assert_eq!((unknown.code, unknown.message.as_str()), (404, "Process not found: nobody"));
    let mut elsewhere = words("hi");
    elsewhere.conversation_id = Some("elsewhere".into());
    let elsewhere = scene.host.send(&pid, elsewhere, None, None).await.unwrap();
    assert_eq!(elsewhere, Outcome::Failed("Conversation not found: elsewhere".to_string()));
    let close = store::change::Change::new(&pid).conversation_close(&"default".into(), 1);
    assert!(scene.fixture.store.apply(close).await.unwrap());
    let closed = scene.host.send(&pid, words("hi"), None, None).await.unwrap();
    assert_eq!(closed, Outcome::Failed("Conversation is closed: default".to_string()));
}

#[tokio::test]
async fn a_run_ends_at_its_limits() {
    let loops = || Turn::tool("c", "Read", json!({ "path": "/x" }));
    for (key, value, says) in [
        ("config/process/max_turns", "3", "3 answers of the model (config/process/max_turns)"),
        ("config/process/max_tool_calls", "2", "2 tool calls (config/process/max_tool_calls)"),
    ] {
        let scene = Scene::on(Fixture::new(move |_| loops()).await, |_, _| Ok(json!({ "ok": true })));
        scene.fixture.set(key, value).await;
        let run = scene.send("go").await;
        let finished = scene.finished(&run).await;
        assert_eq!((&finished["status"], &finished["reason"]), (&json!("error"), &json!("run.limit")));
        assert!(finished["error"].as_str().unwrap().contains(says), "{finished}");
        let said = scene.fixture.said().await;
        let calls = said.iter().filter(|(role, _)| *role == Assistant).count();
        assert_eq!(said.iter().filter(|(role, _)| *role == ToolResult).count(), calls, "{said:?}");
    }
    let slow = Turn::new().piece(Piece::Hang);
    let scene = Scene::on(Fixture::new(turns(vec![slow])).await, |_, _| Ok(json!({})));
    scene.fixture.set("config/process/max_run_ms", "1000").await;
    let run = scene.send("go").await;
    let finished = scene.finished(&run).await;
    assert!(finished["error"].as_str().unwrap().contains("config/process/max_run_ms"), "{finished}");
}

#[tokio::test]
async fn a_process_without_messages_can_be_started() {
    let scene = Scene::new(vec![Turn::text("I begin")]).await;
    let run = scene.host.autostart(scene.pid(), "assignment.autostart", true).await.unwrap().unwrap();
    assert_eq!(scene.finished(&run).await["text"], "I begin");
    assert_eq!(scene.recorder.all("proc.run.started")[0]["reason"], "assignment.autostart");
    assert_eq!(asked(&scene.fixture.server.received()[0]).len(), 1);
}
