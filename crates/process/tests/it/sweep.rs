//! Crash sweep: a run is stopped at every moment, or again and again, and recovered by the next gateway until it has
//! ended; then it is checked what became of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use protocol::error::Error;
use protocol::ids::RunId;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::scene::{Fixture, Scene, words};

/// A run that is swept.
pub trait Swept {
    /// A store with a process in it, its model and its devices.
    async fn fixture() -> Arc<Fixture>;

    /// What people do about the run once a gateway has begun or recovered it, until the run has ended.
    async fn accompany(scene: &Scene, run: &RunId);

    /// What must be true of the run in the end, wherever it was stopped.
    async fn check(fixture: &Arc<Fixture>, run: &RunId, moments: &[usize]);
}

/// Stops the run at each of its moments once; how many there were.
pub fn at_every_moment<S: Swept>() -> usize {
    let outer = Runtime::new().unwrap();
    let mut moment = 1;
    loop {
        let fixture = outer.block_on(S::fixture());
        let run = RunId(format!("run-{moment}"));
        let stopped = live::<S>(&fixture, &run, true, moment);
        if stopped {
            assert!(!live::<S>(&fixture, &run, false, usize::MAX));
        }
        outer.block_on(S::check(&fixture, &run, &[moment]));
        fixture.over.store(true, Ordering::SeqCst);
        if !stopped {
            return moment;
        }
        moment += 1;
    }
}

/// Stops the run at the first moment, and each gateway that recovers it so many times a few moments later.
pub fn again_and_again<S: Swept>(first: usize, times: usize) {
    let outer = Runtime::new().unwrap();
    let fixture = outer.block_on(S::fixture());
    let run = RunId(format!("run-{first}"));
    let mut moments = vec![first];
    let mut stopped = live::<S>(&fixture, &run, true, first);
    for round in 0.. {
        if !stopped {
            break;
        }
        let next = if round < times { 2 + round % 3 } else { usize::MAX };
        moments.push(next);
        stopped = live::<S>(&fixture, &run, false, next);
    }
    outer.block_on(S::check(&fixture, &run, &moments));
    fixture.over.store(true, Ordering::SeqCst);
}

/// Lets a gateway run until it stands still at that moment; false when the run ended before.
fn live<S: Swept>(fixture: &Arc<Fixture>, run: &RunId, first: bool, moment: usize) -> bool {
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
            S::accompany(&scene, run).await;
        };
        tokio::select! {
            () = scene.recorder.frozen.notified() => true,
            () = work => false,
        }
    });
    runtime.shutdown_timeout(Duration::ZERO);
    stood_still
}

/// Answers a tool call with its name.
pub fn tool(name: &str, _: &Value) -> Result<Value, Error> {
    Ok(json!({ "ok": true, "did": name }))
}
