//! Tests of tool calls: which run, in which order their results stand, and what the model is told of those that do
//! not.

use gateway::Recalled;
use model::fake::Turn;
use protocol::error::Error;
use protocol::proc::history::MessageRole::{Assistant, ToolResult, User};
use serde_json::{Value, json};

use crate::scene::{Scene, asked};

fn file(name: &str, args: &Value) -> Result<Value, Error> {
    match name {
        "fs.read" => {
            Ok(json!({ "ok": true, "path": args["path"], "content": format!("text of {}", args["path"]) }))
        }
        other => Ok(json!({ "ok": true, "did": other })),
    }
}

#[tokio::test]
async fn results_stand_in_the_order_of_their_calls_however_they_end() {
    let script = vec![
        Turn::new()
            .call("a", "Shell", json!({ "input": "uptime", "target": "mac" }))
            .call("b", "Read", json!({ "path": "/b", "target": "gsv" }))
            .call("c", "Read", json!({ "path": "/c", "target": "gsv" })),
        Turn::text("done"),
    ];
    let scene = Scene::with_tools(script, file).await;
    let slow = scene.recorder.hold("shell.exec");
    let run = scene.send("look").await;
    for id in ["b", "c"] {
        let finished = scene.recorder.until("proc.run.tool.finished", |body| body["callId"] == id).await;
        assert_eq!((&finished["ok"], &finished["syscall"]), (&json!(true), &json!("fs.read")));
    }
    slow.notify_one();
    assert_eq!(scene.finished(&run).await["text"], "done");
    let rows = scene.fixture.messages(scene.pid()).await;
    let ids: Vec<_> = rows.iter().map(|row| (row.role, row.tool_call_id.as_deref().unwrap_or(""))).collect();
    assert_eq!(
        ids,
        [
            (User, ""),
            (Assistant, ""),
            (ToolResult, "a"),
            (ToolResult, "b"),
            (ToolResult, "c"),
            (Assistant, "")
        ]
    );
    let second = asked(&scene.fixture.server.received()[1]);
    let results: Vec<_> = second.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.iter().map(|result| &result["tool_call_id"]).collect::<Vec<_>>(), ["a", "b", "c"]);
    let names = scene.recorder.names();
    assert_eq!(names.iter().filter(|name| **name == "proc.run.tool.started").count(), 3);
    assert_eq!(names.iter().filter(|name| **name == "proc.run.tool.finished").count(), 3);
    let seqs = scene.recorder.all("proc.run.stream").into_iter().map(|event| event["seq"].as_u64().unwrap());
    assert!(seqs.collect::<Vec<_>>().is_sorted(), "one count for all turns of a run");
}

#[tokio::test]
async fn what_does_not_run_is_told_to_the_model() {
    let script = vec![
        Turn::new()
            .call("a", "Frobnicate", json!({}))
            .call_raw("b", "Read", "{\"path\": ")
            .call("c", "Read", json!({ "path": "/gone" }))
            .call("d", "Read", json!({ "path": "/away" })),
        Turn::text("I see"),
    ];
    let tool = |_: &str, args: &Value| match args["path"].as_str() {
        Some("/gone") => Ok(json!({ "ok": false, "error": "Not found: /gone" })),
        _ => Err(Error::new(503, "Device offline: mac")),
    };
    let scene = Scene::with_tools(script, tool).await;
    let run = scene.send("go").await;
    assert_eq!(scene.finished(&run).await["status"], "ok");
    let rows = scene.fixture.messages(scene.pid()).await;
    let results: Vec<_> = rows.iter().filter(|row| row.role == ToolResult).collect();
    assert_eq!(results[0].content, "Error: Unknown tool \"Frobnicate\"");
    assert!(results[1].content.contains("not a JSON object"), "{}", results[1].content);
    assert_eq!(results[2].content, "Error: Not found: /gone");
    assert_eq!(results[3].content, "Error: Device offline: mac");
    for result in results {
        assert!(result.meta.as_deref().unwrap().contains("\"isError\":true"));
    }
    let finished = scene.recorder.all("proc.run.tool.finished");
    assert!(finished.iter().all(|body| body["ok"] == false && body["error"].is_string()), "{finished:?}");
    let started = scene.recorder.all("proc.run.tool.started");
    let unknown: Vec<_> = started.iter().filter(|body| body["callId"] == "a").collect();
    let [unknown] = unknown.as_slice() else { panic!("an unknown tool is announced once: {started:?}") };
    assert_eq!((&unknown["name"], &unknown["syscall"]), (&json!("Frobnicate"), &json!("Frobnicate")));
    assert_eq!(scene.fixture.effects.lock().unwrap().values().map(|(times, _)| times).sum::<usize>() - 1, 2);
}

#[tokio::test]
async fn many_calls_run_a_few_at_a_time_and_too_many_are_refused() {
    let many = base::limits::process::TOOLS_PER_TURN_MAX + 2;
    let turn = (0..many).fold(Turn::new(), |turn, number| {
        turn.call(&format!("c{number}"), "Read", json!({ "path": format!("/{number}") }))
    });
    let scene = Scene::with_tools(vec![turn, Turn::text("enough")], file).await;
    let run = scene.send("go").await;
    assert_eq!(scene.finished(&run).await["text"], "enough");
    let rows = scene.fixture.messages(scene.pid()).await;
    let results: Vec<_> = rows.iter().filter(|row| row.role == ToolResult).collect();
    assert_eq!(results.len(), many);
    assert!(results[many - 3].content.contains("text of"));
    assert!(results[many - 2].content.contains("Too many tool calls"));
}

#[tokio::test]
async fn calls_with_the_same_id_keep_their_own_results() {
    let script = vec![
        Turn::new().call("same", "Shell", json!({ "input": "date", "target": "mac" })).call(
            "same",
            "Read",
            json!({ "path": "/b" }),
        ),
        Turn::text("done"),
    ];
    let scene = Scene::with_tools(script, file).await;
    let slow = scene.recorder.hold("shell.exec");
    let run = scene.send("go").await;
    scene.recorder.until("proc.run.tool.finished", |body| body["syscall"] == "fs.read").await;
    slow.notify_one();
    scene.finished(&run).await;
    let second = asked(&scene.fixture.server.received()[1]);
    let results: Vec<_> = second.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 2);
    assert!(results[0]["content"].to_string().contains("shell.exec"), "{results:?}");
    assert!(results[1]["content"].to_string().contains("text of"), "{results:?}");
}

#[tokio::test]
async fn a_picture_that_was_read_is_kept_as_one() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let tool = |_: &str, _: &Value| {
        Ok(json!({ "ok": true, "path": "/cat.png", "size": 70, "content": [
            { "type": "text", "text": "Read image /cat.png [image/png, 70 B]" },
            { "type": "image", "data": PIXEL, "mimeType": "image/png" },
        ] }))
    };
    let script = vec![Turn::tool("a", "Read", json!({ "path": "/cat.png" })), Turn::text("a cat")];
    let scene = Scene::with_tools(script, tool).await;
    let run = scene.send("look").await;
    scene.finished(&run).await;
    let rows = scene.fixture.messages(scene.pid()).await;
    let result = rows.iter().find(|row| row.role == ToolResult).unwrap();
    assert_eq!(result.content, "Read image /cat.png [image/png, 70 B]");
    let media: Value = serde_json::from_str(result.media.as_deref().unwrap()).unwrap();
    assert_eq!((&media[0]["type"], &media[0]["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(media[0]["key"].is_string());
}

/// What a model is told of a call of this tool whose device is lost on the way, and how often the call was made.
async fn told_of_a_loss(tool: &str, args: Value, recalled: Recalled) -> (String, usize) {
    let lost = |name: &str, _: &Value| match name {
        "shell.exec" | "fs.read" => Err(Error::device_disconnected("mac")),
        _ => Ok(json!({ "ok": true })),
    };
    let scene = Scene::with_tools(vec![Turn::tool("a", tool, args), Turn::text("noted")], lost).await;
    scene.recorder.recall_as(recalled);
    let run = scene.send("go on").await;
    assert_eq!(scene.finished(&run).await["text"], "noted");
    let made: usize = scene.fixture.effects.lock().unwrap().values().map(|(count, _)| count).sum();
    let rows = scene.fixture.messages(scene.pid()).await;
    let told = rows.iter().find(|row| row.role == ToolResult).unwrap().content.clone();
    // The tools were listed, and the call was made.
    (told, made - 1)
}

#[tokio::test]
async fn a_call_whose_device_is_lost_is_asked_about_and_never_repeated() {
    let shell = || json!({ "input": "make", "target": "mac" });
    let found = Recalled::Answered(Ok(json!({ "ok": true }).to_string()));
    let told = told_of_a_loss("Shell", shell(), found).await;
    assert_eq!(told, (r#"{"ok":true}"#.to_string(), 1));
    let (told, made) = told_of_a_loss("Shell", shell(), Recalled::Unknown).await;
    assert!(told.contains("It is not known whether it took effect"), "{told}");
    assert_eq!(made, 1);
    let told = told_of_a_loss("Shell", shell(), Recalled::NeverSent).await;
    assert_eq!(told, ("Error: Device disconnected: mac".to_string(), 1));
    let told = told_of_a_loss("Read", json!({ "path": "/a", "target": "mac" }), Recalled::Unknown).await;
    assert_eq!(told, ("Error: Device disconnected: mac".to_string(), 1));
}
