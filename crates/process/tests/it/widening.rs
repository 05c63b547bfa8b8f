//! Tests of widenings: a question says what would be opened in the sandbox, and exactly that is opened.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::fake::Turn;
use protocol::confine::{Way, Widening};
use protocol::outcome::Outcome;
use protocol::proc::approval::{Decision, Hil, Scope};
use serde_json::{Value, json};

use crate::scene::Scene;

const CURL: &str = "curl -sS https://example.org/x";
const OPENED: &str = "reaching example.org from confined commands in / on mac";

fn shell(id: &str, input: &str) -> Turn {
    Turn::tool(id, "Shell", json!({ "input": input, "target": "mac" }))
}

async fn asked(scene: &Scene, call: &str) -> Value {
    scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == call).await
}

fn yes(request: &Value) -> Hil {
    Hil {
        pid: None,
        request_id: request["requestId"].as_str().unwrap().to_string(),
        decision: Decision::Approve,
        outside: None,
        remember: None,
        remember_scope: None,
        rehearsal: None,
    }
}

async fn hil(scene: &Scene, hil: &Hil) {
    assert!(matches!(scene.host.hil(scene.pid(), hil, "ann").await.unwrap(), Outcome::Done(_)));
}

fn hosts(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| host.to_string()).collect()
}

#[tokio::test]
async fn a_question_says_what_would_be_opened_and_only_that_is() {
    let scene = Scene::new(vec![shell("a", CURL), Turn::text("done")]).await;
    let run = scene.send("fetch it").await;
    let request = asked(&scene, "a").await;
    assert_eq!(request["widening"], json!({ "hosts": ["example.org"] }));
    assert_eq!(request["wideningText"], "reach example.org");
    assert_eq!(request["hostsText"], OPENED);
    let shape = request["shapeText"].as_str().unwrap();
    assert!(shape.ends_with("inside the sandbox, which may reach example.org on mac"), "{shape}");
    hil(&scene, &yes(&request)).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let confine = &scene.recorder.confined()[0];
    assert_eq!((confine.way, &confine.hosts), (Way::Confined, &hosts(&["example.org"])));
}

#[tokio::test]
async fn paths_are_opened_too_and_a_person_may_still_leave_the_sandbox() {
    let script = vec![shell("a", "cat ~/.aws/config"), shell("b", "cat ~/.aws/config"), Turn::text("done")];
    let scene = Scene::new(script).await;
    let run = scene.send("look").await;
    let request = asked(&scene, "a").await;
    assert_eq!(request["wideningText"], "read /home/me/.aws/config");
    assert!(request["hostsText"].is_null(), "only hosts are remembered for a workspace");
    hil(&scene, &yes(&request)).await;
    let request = asked(&scene, "b").await;
    hil(&scene, &Hil { outside: Some(true), ..yes(&request) }).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let seen = scene.recorder.confined();
    assert_eq!((seen[0].way, &seen[0].read), (Way::Confined, &hosts(&["/home/me/.aws/config"])));
    assert_eq!((seen[1].way, seen[1].read.is_empty()), (Way::Approved, true));
}

#[tokio::test]
async fn a_host_is_remembered_for_the_workspace() {
    let other = "curl https://example.org/other | jq .";
    let script = vec![
        shell("a", CURL),
        shell("b", other),
        shell("c", "make"),
        shell("d", "curl https://other.example"),
        Turn::text("done"),
    ];
    let scene = Scene::new(script).await;
    let run = scene.send("fetch").await;
    let request = asked(&scene, "a").await;
    let always = Hil { remember: Some(true), remember_scope: Some(Scope::Hosts), ..yes(&request) };
    hil(&scene, &always).await;
    let last = asked(&scene, "d").await;
    assert_eq!(last["wideningText"], "reach other.example");
    hil(&scene, &Hil { decision: Decision::Deny, ..yes(&last) }).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert_eq!(scene.recorder.all("proc.run.hil.requested").len(), 2);
    for confine in scene.recorder.confined() {
        assert_eq!(confine.way, Way::Confined);
        assert!(confine.hosts.contains(&"example.org".to_string()), "{confine:?}");
    }
    let Outcome::Done(list) = scene.host.approvals_list(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!(list.approvals[0].scope, Scope::Hosts);
    assert_eq!(list.approvals[0].shape_text.as_deref(), Some(OPENED));
}

#[tokio::test]
async fn a_remembered_shape_keeps_its_widening() {
    let scene = Scene::new(vec![shell("a", CURL), shell("b", CURL), Turn::text("done")]).await;
    let run = scene.send("fetch").await;
    let request = asked(&scene, "a").await;
    hil(&scene, &Hil { remember: Some(true), remember_scope: Some(Scope::Shape), ..yes(&request) }).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let seen = scene.recorder.confined();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|confine| confine.way == Way::Confined && confine.hosts == ["example.org"]));
}

#[tokio::test]
async fn what_is_remembered_for_the_target_is_for_outside() {
    let scene = Scene::new(vec![shell("a", CURL), shell("b", CURL), Turn::text("done")]).await;
    let run = scene.send("fetch").await;
    let request = asked(&scene, "a").await;
    hil(&scene, &Hil { remember: Some(true), remember_scope: Some(Scope::Target), ..yes(&request) }).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert!(scene.recorder.confined().iter().all(|confine| confine.way == Way::Approved));
}

#[tokio::test]
async fn a_question_keeps_its_widening_over_a_restart() {
    let scene = Scene::new(vec![shell("a", CURL), Turn::text("done")]).await;
    let run = scene.send("fetch").await;
    let request = asked(&scene, "a").await;
    scene.host.stop().await;
    let again = Scene::on(scene.fixture.clone(), |_, _| Ok(json!({ "ok": true })));
    again.host.recover().await;
    hil(&again, &yes(&request)).await;
    assert_eq!(again.finished(&run).await["text"], "done");
    assert_eq!(again.recorder.confined()[0].hosts, ["example.org"]);
}

#[tokio::test]
async fn a_host_that_a_command_was_kept_from_is_asked_about_when_it_runs_again() {
    let script =
        vec![shell("a", "npm test"), shell("b", "npm test"), shell("c", "npm test"), Turn::text("done")];
    let tries = AtomicUsize::new(0);
    let scene = Scene::with_tools(script, move |_, _| {
        let refused = match tries.fetch_add(1, Ordering::SeqCst) {
            0 => json!(["registry.npmjs.org"]),
            _ => json!([]),
        };
        Ok(json!({ "ok": true, "status": "failed", "exitCode": 1, "output": "x", "refusedHosts": refused }))
    })
    .await;
    let run = scene.send("test it").await;
    let request = asked(&scene, "b").await;
    assert_eq!(request["reasons"][0], "It reaches another machine: registry.npmjs.org.");
    assert_eq!(request["wideningText"], "reach registry.npmjs.org");
    let told = scene.fixture.said().await[2].1.clone();
    assert!(told.contains("registry.npmjs.org") && told.contains("exactly the same call again"), "{told}");
    let always = Hil { remember: Some(true), remember_scope: Some(Scope::Hosts), ..yes(&request) };
    hil(&scene, &always).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let seen = scene.recorder.confined();
    let all: Vec<_> = seen.iter().map(|confine| confine.hosts.clone()).collect();
    assert_eq!(all.len(), 3);
    assert!(all[0].is_empty() && all[1].contains(&"registry.npmjs.org".to_string()), "{all:?}");
    assert_eq!(all[2], ["registry.npmjs.org"]);
    assert_eq!(scene.recorder.all("proc.run.hil.requested").len(), 1);
}

#[tokio::test]
async fn hosts_that_are_not_shown_are_not_remembered() {
    let scene = Scene::new(vec![shell("a", "rm notes.txt"), Turn::text("done")]).await;
    scene.send("clean up").await;
    let request = asked(&scene, "a").await;
    let always = Hil { remember: Some(true), remember_scope: Some(Scope::Hosts), ..yes(&request) };
    let refused = scene.host.hil(scene.pid(), &always, "ann").await.unwrap_err();
    assert!(refused.message.contains("rememberScope"), "{refused}");
    assert_eq!(Widening::default().words(), "");
}
