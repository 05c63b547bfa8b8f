//! Crash tests: a gateway that is killed at any moment loses no accepted message, leaves no run stuck and repeats no
//! effect.

use std::sync::Arc;

use model::fake::{Received, Turn};
use protocol::ids::RunId;
use protocol::proc::history::MessageRole::{Assistant, ToolResult, User};
use serde_json::json;
use store::runs::RunStatus;

use crate::scene::{Fixture, Scene, asked};
use crate::sweep::{self, Swept};

/// A model that only looks at what it is sent: first it calls four tools, then one more, then it is done.
fn model(request: &Received) -> Turn {
    let answers = asked(request).iter().filter(|message| message["role"] == "assistant").count();
    match answers {
        0 => Turn::new()
            .call("r", "Read", json!({ "path": "/a", "target": "gsv" }))
            .call("w", "Write", json!({ "path": "/b", "content": "x", "target": "gsv" }))
            .call("m", "Shell", json!({ "input": "date", "target": "mac" })),
        1 => Turn::tool("n", "Shell", json!({ "input": "uptime", "target": "mac" })),
        _ => Turn::text("all done"),
    }
}

struct FourTools;

impl Swept for FourTools {
    async fn fixture() -> Arc<Fixture> {
        Fixture::new(model).await
    }

    async fn accompany(scene: &Scene, run: &RunId) {
        // The end may have been kept, and only its signal lost.
        if scene.fixture.store.runs().by_id(run).await.unwrap().unwrap().status == RunStatus::Active {
            scene.recorder.until("proc.run.finished", |body| body["runId"] == run.as_str()).await;
        }
    }

    async fn check(fixture: &Arc<Fixture>, run: &RunId, moments: &[usize]) {
        let row = fixture.store.runs().by_id(run).await.unwrap().unwrap();
        assert_eq!(row.status, RunStatus::Ok, "stopped at {moments:?}");
        let said = fixture.said().await;
        let roles: Vec<_> = said.iter().map(|(role, _)| *role).collect();
        assert_eq!(
            roles,
            [User, Assistant, ToolResult, ToolResult, ToolResult, Assistant, ToolResult, Assistant],
            "stopped at {moments:?}: {said:?}"
        );
        for (request, (times, _)) in fixture.effects.lock().unwrap().iter() {
            let reads = request.ends_with("/1/0") || !request.contains('/');
            assert!(reads || *times == 1, "{request} took effect {times} times; stopped at {moments:?}");
        }
        assert!(said[2].1.contains("fs.read"), "{said:?}");
        assert!(said[3].1.contains("fs.write") || said[3].1.contains("not known whether"), "{said:?}");
        assert!(said[4].1.contains("shell.exec") && said[6].1.contains("shell.exec"), "{said:?}");
        assert!(fixture.store.processes().unfinished().await.unwrap().is_empty());
    }
}

#[test]
fn a_run_ends_well_wherever_it_is_stopped() {
    let moments = sweep::at_every_moment::<FourTools>();
    assert!(moments > 15, "there were only {moments} moments to stop at");
}

#[test]
fn a_run_ends_well_however_often_it_is_stopped() {
    for first in [1, 4, 7] {
        sweep::again_and_again::<FourTools>(first, 12);
    }
}
