//! Tests of text for commands that go on: an agent types into its own confined command unasked, and into no other.

use model::fake::Turn;
use protocol::confine::Way;
use protocol::ids::Pid;
use protocol::proc::approval::{Decision, Hil};
use protocol::shell::Status;
use serde_json::json;
use store::sessions::ShellSession;

use crate::scene::Scene;

async fn started(scene: &Scene, id: &str, pid: Option<Pid>, way: Option<Way>) {
    let now_ms = scene.fixture.clock.now_ms();
    let session = ShellSession {
        session_id: id.into(),
        uid: scene.fixture.identity.uid,
        pid,
        way,
        device_id: "mac".into(),
        device_session_id: format!("dev-{id}"),
        status: Status::Running,
        exit_code: None,
        error: None,
        created_at: now_ms,
        updated_at: now_ms,
        expires_at: now_ms + 1_000_000,
    };
    scene.fixture.store.sessions().create(session).await.unwrap();
}

fn types(call: &str, session: &str, input: &str) -> Turn {
    Turn::tool(call, "Shell", json!({ "input": input, "sessionId": session }))
}

#[tokio::test]
async fn text_for_its_own_confined_command_is_not_asked_about() {
    let scene = Scene::new(vec![types("a", "sh_1", "yes\n"), Turn::text("done")]).await;
    started(&scene, "sh_1", Some(scene.pid().clone()), Some(Way::Confined)).await;
    let run = scene.send("go on").await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert!(scene.recorder.all("proc.run.hil.requested").is_empty());
    assert_eq!(scene.recorder.confined()[0].way, Way::Confined);
}

#[tokio::test]
async fn text_for_any_other_command_is_asked_about() {
    let kinds = [
        ("sh_approved", true, Some(Way::Approved)),
        ("sh_before", true, None),
        ("sh_of_another", false, Some(Way::Confined)),
    ];
    let mut turn = Turn::new();
    for (id, ..) in kinds {
        turn = turn.call(id, "Shell", json!({ "input": "yes\n", "sessionId": id }));
    }
    turn = turn.call("rm", "Shell", json!({ "input": "rm -rf src\n", "sessionId": "sh_own" }));
    let scene = Scene::new(vec![turn, Turn::text("done")]).await;
    for (id, is_own, way) in kinds {
        let pid = if is_own { scene.pid().clone() } else { Pid("other".to_string()) };
        started(&scene, id, Some(pid), way).await;
    }
    started(&scene, "sh_own", Some(scene.pid().clone()), Some(Way::Confined)).await;
    let run = scene.send("go on").await;
    for call in kinds.map(|(id, ..)| id).into_iter().chain(["rm"]) {
        let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == call).await;
        let hil = Hil {
            pid: None,
            request_id: asked["requestId"].as_str().unwrap().to_string(),
            decision: Decision::Deny,
            outside: None,
            remember: None,
            remember_scope: None,
            rehearsal: None,
        };
        scene.host.hil(scene.pid(), &hil, "ann").await.unwrap();
    }
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert!(scene.recorder.confined().is_empty());
}
