//! Tests of calls that their device refuses before it does anything: a person is asked, and what they approve is made
//! once, wherever the gateway is killed meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::fake::{Received, Turn};
use protocol::confine::Way;
use protocol::ids::RunId;
use protocol::proc::approval::{Decision, Hil, Scope};
use protocol::proc::history::MessageRole::{Assistant, ToolResult, User};
use serde_json::json;
use store::runs::RunStatus;

use crate::scene::{Fixture, Scene, asked};
use crate::sweep::{self, Swept, tool};

fn model(request: &Received) -> Turn {
    match asked(request).iter().any(|message| message["role"] == "assistant") {
        false => Turn::tool("m", "Shell", json!({ "input": "make", "target": "mac" })),
        true => Turn::text("all done"),
    }
}

async fn fixture() -> Arc<Fixture> {
    let fixture = Fixture::new(model).await;
    fixture.wants_person.store(true, Ordering::SeqCst);
    fixture
}

fn answer(request_id: &str, decision: Decision) -> Hil {
    let request_id = request_id.to_string();
    Hil {
        pid: None,
        request_id,
        decision,
        outside: None,
        remember: None,
        remember_scope: None,
        rehearsal: None,
    }
}

#[tokio::test]
async fn a_person_is_asked_and_told_why() {
    let scene = Scene::on(fixture().await, tool);
    let run = scene.send("build").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "m").await;
    let why = "It was refused by the device without approval: no checkpoint could be taken: too large.";
    assert_eq!(asked["reasons"][0], why);
    assert!(asked["widening"].is_null(), "nothing in the sandbox would do");
    scene
        .host
        .hil(scene.pid(), &answer(asked["requestId"].as_str().unwrap(), Decision::Approve), "ann")
        .await
        .unwrap();
    assert_eq!(scene.finished(&run).await["text"], "all done");
    let ways: Vec<Way> = scene.recorder.confined().iter().map(|confine| confine.way).collect();
    assert_eq!(ways, [Way::Confined, Way::Approved]);
    assert!(scene.fixture.said().await[2].1.contains("shell.exec"));
}

#[tokio::test]
async fn what_is_denied_is_not_made() {
    let scene = Scene::on(fixture().await, tool);
    let run = scene.send("build").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "m").await;
    scene
        .host
        .hil(scene.pid(), &answer(asked["requestId"].as_str().unwrap(), Decision::Deny), "ann")
        .await
        .unwrap();
    assert_eq!(scene.finished(&run).await["text"], "all done");
    assert_eq!(scene.fixture.said().await[2].1, "Error: Tool execution denied by user");
    assert_eq!(scene.recorder.confined().len(), 1);
}

#[tokio::test]
async fn what_is_remembered_for_the_target_runs_outside_at_the_second_try() {
    let script = vec![
        Turn::tool("a", "Shell", json!({ "input": "make", "target": "mac" })),
        Turn::tool("b", "Shell", json!({ "input": "make", "target": "mac" })),
        Turn::text("done"),
    ];
    let scene = Scene::new(script).await;
    scene.fixture.wants_person.store(true, Ordering::SeqCst);
    let run = scene.send("build").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "a").await;
    let yes = answer(asked["requestId"].as_str().unwrap(), Decision::Approve);
    let always = Hil { remember: Some(true), remember_scope: Some(Scope::Target), ..yes };
    scene.host.hil(scene.pid(), &always, "ann").await.unwrap();
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert_eq!(scene.recorder.all("proc.run.hil.requested").len(), 1);
    let ways: Vec<Way> = scene.recorder.confined().iter().map(|confine| confine.way).collect();
    assert_eq!(ways, [Way::Confined, Way::Approved, Way::Confined, Way::Approved]);
}

/// A call that its device refuses at first, and a person who says yes.
struct RefusedOnce;

impl Swept for RefusedOnce {
    async fn fixture() -> Arc<Fixture> {
        fixture().await
    }

    async fn accompany(scene: &Scene, run: &RunId) {
        let is_active = async || {
            scene.fixture.store.runs().by_id(run).await.unwrap().unwrap().status == RunStatus::Active
        };
        while is_active().await {
            let uid = Some(scene.fixture.identity.uid);
            for waiting in scene.host.approvals_pending(uid, None).await.unwrap().pending {
                let yes = answer(&waiting.request.request_id, Decision::Approve);
                // It may have been answered by the life before this one.
                drop(scene.host.hil(scene.pid(), &yes, "ann").await);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn check(fixture: &Arc<Fixture>, run: &RunId, moments: &[usize]) {
        let row = fixture.store.runs().by_id(run).await.unwrap().unwrap();
        assert_eq!(row.status, RunStatus::Ok, "stopped at {moments:?}");
        let said = fixture.said().await;
        let roles: Vec<_> = said.iter().map(|(role, _)| *role).collect();
        assert_eq!(roles, [User, Assistant, ToolResult, Assistant], "stopped at {moments:?}: {said:?}");
        assert!(said[2].1.contains("shell.exec"), "stopped at {moments:?}: {said:?}");
        assert!(fixture.store.processes().unfinished().await.unwrap().is_empty());
        let effects = fixture.effects.lock().unwrap();
        let made = || effects.iter().filter(|(request, _)| request.contains('/'));
        assert!(made().all(|(_, (times, _))| *times == 1), "stopped at {moments:?}: {effects:?}");
        let ran = made().filter(|(_, (_, answer))| answer.is_ok()).count();
        assert_eq!((made().count(), ran), (2, 1), "stopped at {moments:?}: {effects:?}");
    }
}

#[test]
fn it_is_made_once_wherever_the_gateway_is_stopped() {
    let moments = sweep::at_every_moment::<RefusedOnce>();
    assert!(moments > 10, "there were only {moments} moments to stop at");
}

#[test]
fn it_is_made_once_however_often_the_gateway_is_stopped() {
    for first in [1, 3, 5] {
        sweep::again_and_again::<RefusedOnce>(first, 9);
    }
}
