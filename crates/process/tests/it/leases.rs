//! Tests of the actor lease: an actor that lost it keeps nothing.

use base::limits;
use model::fake::{Piece, Turn};
use std::sync::Arc;
use store::leases::of_process;
use tokio::sync::Notify;

use crate::scene::{Scene, words};

async fn take_lease(scene: &Scene) {
    let taken =
        scene.fixture.store.leases().acquire(&of_process(scene.pid()), 1, limits::store::LEASE_KEPT).await;
    assert!(taken.unwrap().is_some());
}

#[tokio::test]
async fn an_actor_that_lost_its_lease_keeps_nothing_and_begins_anew() {
    let scene = Scene::new(vec![Turn::text("one"), Turn::text("two")]).await;
    let run = scene.send("first").await;
    assert_eq!(scene.finished(&run).await["text"], "one");
    take_lease(&scene).await;
    let refused = scene.host.send(scene.pid(), words("second"), None, None).await.unwrap_err();
    assert_eq!(refused.code, 409, "{refused}");
    assert_eq!(scene.fixture.said().await.len(), 2, "nothing was kept of it");
    let run = scene.send("third").await;
    assert_eq!(scene.finished(&run).await["text"], "two");
    assert_eq!(scene.fixture.said().await.len(), 4);
}

/// What the model said for the actor before is not kept; the next one asks again and answers once.
#[tokio::test]
async fn a_run_goes_on_with_the_next_holder() {
    let gate = Arc::new(Notify::new());
    let slow = Turn::new().piece(Piece::Gate(gate.clone())).say("too late");
    let scene = Scene::new(vec![slow, Turn::text("in time")]).await;
    let run = scene.send("first").await;
    scene.recorder.until("proc.run.started", |_| true).await;
    while scene.fixture.server.received().is_empty() {
        tokio::task::yield_now().await;
    }
    take_lease(&scene).await;
    gate.notify_one();
    assert_eq!(scene.finished(&run).await["text"], "in time");
    assert_eq!(scene.fixture.said().await.len(), 2);
}
