//! Crash tests: a gateway that is killed at any moment loses no accepted message, leaves no run stuck and repeats no
//! effect.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::fake::{Received, Turn};
use protocol::ids::RunId;
use protocol::proc::history::MessageRole::{Assistant, ToolResult, User};
use serde_json::{Value, json};
use store::runs::RunStatus;
use tokio::runtime::Runtime;

use crate::scene::{Fixture, Scene, asked, words};

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

fn tool(name: &str, _: &Value) -> Result<Value, protocol::error::Error> {
    Ok(json!({ "ok": true, "did": name }))
}

/// Lets a gateway run until it stands still at that moment; false when it ended before.
fn live(fixture: &Arc<Fixture>, run: &RunId, first: bool, moment: usize) -> bool {
    let runtime = Runtime::new().unwrap();
    let stood_still = runtime.block_on(async {
        let scene = Scene::on(fixture.clone(), tool);
        scene.recorder.freeze_at(moment);
        let work = async {
            if first {
                scene.host.send(scene.pid(), words("go"), None, Some(run.clone())).await.unwrap();
            } else {
                scene.host.recover().await;
            }
            // The end may have been kept, and only its signal lost.
            if fixture.store.runs().by_id(run).await.unwrap().unwrap().status != RunStatus::Active {
                return;
            }
            scene.recorder.until("proc.run.finished", |body| body["runId"] == run.as_str()).await;
        };
        tokio::select! {
            () = scene.recorder.frozen.notified() => true,
            () = work => false,
        }
    });
    runtime.shutdown_timeout(Duration::ZERO);
    stood_still
}

fn check(fixture: &Arc<Fixture>, outer: &Runtime, run: &RunId, moments: &[usize]) {
    outer.block_on(async {
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
    });
    fixture.over.store(true, Ordering::SeqCst);
}

#[test]
fn a_run_ends_well_wherever_it_is_stopped() {
    let outer = Runtime::new().unwrap();
    let mut moment = 1;
    loop {
        let fixture = outer.block_on(Fixture::new(model));
        let run = RunId(format!("run-{moment}"));
        let stopped = live(&fixture, &run, true, moment);
        if stopped {
            assert!(!live(&fixture, &run, false, usize::MAX));
        }
        check(&fixture, &outer, &run, &[moment]);
        if !stopped {
            break;
        }
        moment += 1;
    }
    assert!(moment > 15, "there were only {moment} moments to stop at");
}

#[test]
fn a_run_ends_well_however_often_it_is_stopped() {
    let outer = Runtime::new().unwrap();
    for first in [1, 4, 7] {
        let fixture = outer.block_on(Fixture::new(model));
        let run = RunId(format!("run-{first}"));
        let mut moments = vec![first];
        let mut stopped = live(&fixture, &run, true, first);
        for round in 0.. {
            if !stopped {
                break;
            }
            let next = if round < 12 { 2 + round % 3 } else { usize::MAX };
            moments.push(next);
            stopped = live(&fixture, &run, false, next);
        }
        check(&fixture, &outer, &run, &moments);
    }
}
