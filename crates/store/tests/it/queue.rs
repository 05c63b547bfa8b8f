//! Tests of the durable queue.

use protocol::proc::history::MessageRole;
use store::change::Change;
use store::queue::QueueRow;
use store::{Error, Store};

use crate::home::NOW_MS;
use crate::processes::made;

crate::home::with_a_store_on_both_engines! {
    what_waits_comes_out_in_order,
    a_run_waits_once,
}

pub fn queued(position: i64, run_id: &str) -> QueueRow {
    QueueRow {
        position,
        run_id: run_id.into(),
        conversation_id: "default".into(),
        role: MessageRole::User,
        reason: "proc.send".to_string(),
        content: format!("number {position}"),
        media: None,
        origin: None,
        created_at: NOW_MS,
    }
}

async fn what_waits_comes_out_in_order(store: &Store) {
    let pid = made(store, "p").await;
    let event = QueueRow {
        role: MessageRole::System,
        reason: "ipc.reply".to_string(),
        conversation_id: "other".into(),
        media: Some("[1]".to_string()),
        origin: Some("{}".to_string()),
        ..queued(3, "r3")
    };
    let change = Change::new(&pid).enqueue(&queued(10, "r10")).enqueue(&event).enqueue(&queued(1, "r1"));
    store.keep(change).await.unwrap();
    assert_eq!(store.queue().of(&pid).await.unwrap(), [queued(1, "r1"), event.clone(), queued(10, "r10")]);
    assert_eq!(store.queue().length(&pid).await.unwrap(), 3);
    store.keep(Change::new(&pid).dequeue(1).dequeue(2)).await.unwrap();
    assert_eq!(store.queue().of(&pid).await.unwrap(), [event, queued(10, "r10")]);
    assert_eq!(store.queue().length(&"q".into()).await.unwrap(), 0);
}

async fn a_run_waits_once(store: &Store) {
    let (pid, other) = (made(store, "p").await, made(store, "q").await);
    store.keep(Change::new(&pid).enqueue(&queued(1, "r1"))).await.unwrap();
    for change in [
        Change::new(&pid).enqueue(&queued(2, "r1")),
        Change::new(&pid).enqueue(&queued(1, "r2")),
        Change::new(&other).enqueue(&queued(1, "r1")),
    ] {
        assert!(matches!(store.apply(change).await, Err(Error::Conflict(_))));
    }
    store.keep(Change::new(&other).enqueue(&queued(1, "r2"))).await.unwrap();
    assert_eq!(store.queue().of(&other).await.unwrap(), [queued(1, "r2")]);
}
