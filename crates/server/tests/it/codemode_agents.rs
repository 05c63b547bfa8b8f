//! Tests of CodeMode in runs of agents, over real sockets: what a block calls is decided on, asked about, journaled and
//! told as the model's own calls are.

use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::Turn;
use testkit::gateway::DEVICE;

use crate::agents::{self, Agents, chat, finished, last_text};

/// The model runs this block and then repeats its result.
async fn running(code: &'static str) -> Agents {
    agents::answering(move |messages| {
        let is_result = messages.last().is_some_and(|message| message["role"] == "tool");
        match is_result {
            true => Turn::text(&last_text(messages)),
            false => Turn::tool("t1", "CodeMode", json!({ "code": code })),
        }
    })
    .await
}

/// What the block came to, as the model was told.
fn result(finished: &Value) -> Value {
    let text = finished["text"].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| panic!("no result of a block: {finished}"))
}

async fn driver(agents: &Agents) -> Peer {
    let mut peer = agents.gateway.peer().await;
    let mut args = agents.gateway.driver_args("driver-1");
    let about = json!({
        "confine": ["fs", "secrets", "network", "processes"], "workspace": "/home/me/work", "home": "/home/me",
        "shell": "/bin/bash",
    });
    args["driver"].as_object_mut().unwrap().extend(about.as_object().cloned().unwrap());
    peer.connect("driver", DEVICE, args).await.unwrap();
    peer
}

fn done(output: &str) -> Value {
    json!({ "ok": true, "status": "completed", "output": output, "exitCode": 0 })
}

#[tokio::test]
async fn an_agent_reads_and_writes_through_a_block() {
    let agents = running(
        "await fs.write({ path: 'a.txt', content: 'hello' });\n\
         const read = await fs.read({ path: 'a.txt' });\n\
         const ran = await shell('cat a.txt');\n\
         return [read.content.includes('hello'), ran.output]",
    )
    .await;
    let mut user = agents.gateway.user().await;
    let sent = user.call("proc.send", json!({ "message": "go" })).await.unwrap();
    let mut started = Vec::new();
    for _ in 0..4 {
        started.push(user.signal("proc.run.tool.started").await);
    }
    let tools: Vec<&str> = started.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["CodeMode", "Write", "Read", "Shell"]);
    assert_eq!(started[0].get("parentCallId"), None);
    for nested in &started[1..] {
        assert_eq!(nested["parentCallId"], "t1");
        assert!(nested["callId"].as_str().unwrap().starts_with("codemode-"), "{nested}");
    }
    let ended = finished(&mut user, sent["runId"].as_str().unwrap()).await;
    assert_eq!(result(&ended), json!({ "status": "completed", "result": [true, "hello"] }));
    let said = agents::said(&mut user, "init:1000").await;
    let tool_results = said.iter().filter(|(role, _)| role == "toolResult").count();
    assert_eq!(tool_results, 1, "what a block calls is no message: {said:?}");
}

#[tokio::test]
async fn commands_run_on_devices_at_once_and_confined() {
    let agents = running(
        "const all = await Promise.all(['make a', 'make b'].map(input => shell(input, { target: 'laptop' })));\n\
         return all.map(one => one.output)",
    )
    .await;
    let (mut driver, mut user) = (driver(&agents).await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "go" })).await.unwrap();
    let requests = [driver.request().await, driver.request().await];
    for request in requests.iter().rev() {
        assert_eq!(request["args"]["confine"]["way"], "confined", "{request}");
        driver.reply(request, done(request["args"]["input"].as_str().unwrap())).await;
    }
    let ended = finished(&mut user, sent["runId"].as_str().unwrap()).await;
    assert_eq!(result(&ended)["result"], json!(["make a", "make b"]));
}

#[tokio::test]
async fn what_a_block_wants_is_asked_about_as_if_the_model_wanted_it() {
    let agents = running(
        "const tried = await Promise.allSettled([\n\
           shell('rm -rf /srv/x', { target: 'laptop' }), fs.delete({ path: 'gone', target: 'laptop' })]);\n\
         return tried.map(one => one.value?.output ?? one.reason?.message ?? one.value)",
    )
    .await;
    let (mut driver, mut user) = (driver(&agents).await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "go" })).await.unwrap();
    let asked = [user.signal("proc.run.hil.requested").await, user.signal("proc.run.hil.requested").await];
    for question in &asked {
        assert_eq!(question["parentCallId"], "t1", "{question}");
        let reasons = question["reasons"].as_array().unwrap();
        assert!(
            reasons.iter().any(|reason| reason.as_str().unwrap().contains("CodeMode block")),
            "{question}"
        );
        let decision = if question["syscall"] == "shell.exec" { "approve" } else { "deny" };
        let answer = json!({ "requestId": question["requestId"], "decision": decision });
        assert_eq!(user.call("proc.hil", answer).await.unwrap()["ok"], true);
    }
    let request = driver.request().await;
    assert_eq!(request["args"]["input"], "rm -rf /srv/x");
    driver.reply(&request, done("removed")).await;
    let ended = finished(&mut user, sent["runId"].as_str().unwrap()).await;
    assert_eq!(result(&ended)["result"], json!(["removed", "Tool execution denied by user"]));
}

#[tokio::test]
async fn a_failed_block_tells_what_it_had_done() {
    let agents = running("await fs.write({ path: 'b.txt', content: 'x' }); throw new TypeError('no')").await;
    let mut user = agents.gateway.user().await;
    let ended = result(&chat(&mut user, json!({ "message": "go" })).await);
    let error = ended["error"].as_str().unwrap();
    assert!(error.starts_with("TypeError: no\nat line 1:") && error.contains("- fs.write"), "{ended}");
}

#[tokio::test]
async fn a_restart_ends_a_block_and_the_run_goes_on() {
    let agents = running(
        "await shell('make first', { target: 'laptop' }); await shell('make second', { target: 'laptop' }); return 1",
    )
    .await;
    let (mut driver_before, mut user) = (driver(&agents).await, agents.gateway.user().await);
    let sent = user.call("proc.send", json!({ "message": "go" })).await.unwrap();
    let first = driver_before.request().await;
    driver_before.reply(&first, done("one")).await;
    let second = driver_before.request().await;
    assert_eq!(second["args"]["input"], "make second");
    let Agents { gateway, model } = agents;
    let gateway = gateway.restart().await;
    let agents = Agents { gateway, model };
    let mut user = agents.gateway.user().await;
    let mut driver_after = driver(&agents).await;
    let run_id = sent["runId"].as_str().unwrap().to_string();
    // It may have ended before this connection was there.
    let text = loop {
        let said = agents::said(&mut user, "init:1000").await;
        if let Some((_, text)) =
            said.iter().rev().find(|(role, text)| role == "assistant" && !text.is_empty())
        {
            break text.clone();
        }
        tokio::task::yield_now().await;
    };
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["status"], "failed", "{run_id}: {told}");
    let error = told["error"].as_str().unwrap();
    assert!(error.contains("make first") && error.contains("(done)"), "{error}");
    assert!(error.contains("make second") && error.contains("not known"), "{error}");
    let is_make = |frame: &Value| frame["call"] == "shell.exec";
    assert!(driver_after.saw_no(is_make).await, "nothing nested is repeated");
}

#[tokio::test]
async fn aborting_a_run_ends_its_block_and_withdraws_what_it_asked() {
    let agents = running("await shell('rm -rf /srv/x', { target: 'laptop' })").await;
    let (_driver, mut user) = (driver(&agents).await, agents.gateway.user().await);
    user.call("proc.send", json!({ "message": "go" })).await.unwrap();
    let asked = user.signal("proc.run.hil.requested").await;
    let aborted = user.call("proc.abort", json!({})).await.unwrap();
    assert_eq!(aborted["interruptedToolCalls"], 1, "{aborted}");
    let late = json!({ "requestId": asked["requestId"], "decision": "approve" });
    assert_eq!(user.call("proc.hil", late).await.unwrap()["ok"], false);
}
