//! Remembered approvals serve what a person started. The message of another agent does not borrow them, wherever it gets
//! into a run.

use model::fake::Turn;
use protocol::ids::RunId;
use protocol::outcome::Outcome;
use protocol::proc::approval::{Decision, Hil, Scope};
use serde_json::json;

use crate::scene::{Scene, words};

const AGENT: &str = r#"{"kind":"process","sourcePid":"p2","uid":1000}"#;
const CLIENT: &str = r#"{"kind":"client","clientId":"c"}"#;

fn delete(id: &str) -> Turn {
    Turn::tool(id, "Delete", json!({ "path": format!("/{id}"), "target": "gsv" }))
}

async fn send(scene: &Scene, origin: &str) -> RunId {
    match scene.host.send(scene.pid(), words("clean up"), Some(origin.to_string()), None).await.unwrap() {
        Outcome::Done(sent) => sent.run_id,
        Outcome::Failed(why) => panic!("not sent: {why}"),
    }
}

async fn request(scene: &Scene, call: &str) -> String {
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == call).await;
    asked["requestId"].as_str().unwrap().to_string()
}

async fn answer(scene: &Scene, call: &str, decision: Decision, remember: bool) {
    let hil = Hil {
        rehearsal: None,
        pid: None,
        request_id: request(scene, call).await,
        decision,
        outside: None,
        remember: Some(remember),
        remember_scope: Some(Scope::Target),
    };
    assert!(matches!(scene.host.hil(scene.pid(), &hil, "ann").await.unwrap(), Outcome::Done(_)));
}

fn asked(scene: &Scene) -> Vec<String> {
    let all = scene.recorder.all("proc.run.hil.requested");
    all.iter().map(|body| body["callId"].as_str().unwrap().to_string()).collect()
}

#[tokio::test]
async fn an_agents_message_does_not_borrow_what_a_person_approved_for_good() {
    let script = vec![
        delete("a"),
        Turn::text("one"),
        delete("b"),
        Turn::text("two"),
        delete("c"),
        Turn::text("three"),
        delete("d"),
        Turn::text("four"),
    ];
    let scene = Scene::new(script).await;
    let first = send(&scene, CLIENT).await;
    answer(&scene, "a", Decision::Approve, true).await;
    scene.finished(&first).await;

    let own = send(&scene, CLIENT).await;
    assert_eq!(scene.finished(&own).await["text"], "two");
    assert_eq!(asked(&scene), ["a"], "a person's own run is not asked again");

    let borrowed = send(&scene, AGENT).await;
    answer(&scene, "c", Decision::Deny, false).await;
    assert_eq!(scene.finished(&borrowed).await["text"], "three");
    let own = send(&scene, r#"{"kind":"scheduler","scheduleId":"s"}"#).await;
    assert_eq!(scene.finished(&own).await["text"], "four");
    assert_eq!(asked(&scene), ["a", "c"], "a schedule of that person's is as good as the person");
}

#[tokio::test]
async fn a_run_that_takes_in_an_agents_message_is_the_persons_no_more() {
    let script = vec![delete("a"), delete("b"), Turn::text("done")];
    let scene = Scene::new(script).await;
    let run = send(&scene, CLIENT).await;
    // It comes while the person is asked, and is taken in before the model goes on.
    request(&scene, "a").await;
    send(&scene, AGENT).await;
    answer(&scene, "a", Decision::Approve, true).await;
    answer(&scene, "b", Decision::Approve, false).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert_eq!(asked(&scene), ["a", "b"]);
}

#[tokio::test]
async fn what_is_remembered_in_an_agents_run_answers_nothing_else_in_it() {
    let turn = Turn::new().call("a", "Delete", json!({ "path": "/a", "target": "gsv" })).call(
        "b",
        "Delete",
        json!({ "path": "/b", "target": "gsv" }),
    );
    let scene = Scene::new(vec![turn, Turn::text("done")]).await;
    let run = send(&scene, AGENT).await;
    request(&scene, "b").await;
    answer(&scene, "a", Decision::Approve, true).await;
    answer(&scene, "b", Decision::Deny, false).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
}

#[tokio::test]
async fn a_run_without_a_message_is_whose_it_was_started_by() {
    for (by_person, expected) in [(true, &["a"][..]), (false, &["a", "b"])] {
        let script = vec![delete("a"), Turn::text("one"), delete("b"), Turn::text("two")];
        let scene = Scene::new(script).await;
        let first = send(&scene, CLIENT).await;
        answer(&scene, "a", Decision::Approve, true).await;
        scene.finished(&first).await;
        let started = scene.host.autostart(scene.pid(), "assignment.autostart", by_person).await.unwrap();
        if !by_person {
            answer(&scene, "b", Decision::Approve, false).await;
        }
        assert_eq!(scene.finished(&started.unwrap()).await["text"], "two");
        assert_eq!(asked(&scene), expected);
    }
}
