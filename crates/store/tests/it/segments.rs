//! Tests of archived parts of conversations, and of calls between processes.

use protocol::ids::Uid;
use protocol::proc::segment::{Segment, SegmentKind};
use store::Store;
use store::change::Change;
use store::ipc::IpcCall;

use crate::home::NOW_MS;
use crate::processes::{default, made};

crate::home::with_a_store_on_both_engines! {
    segments_are_listed_oldest_first,
    archives_of_earlier_lives_are_found_until_something_refers_to_them,
    a_call_is_over_once,
    a_reply_and_a_timeout_never_both_count,
    overdue_calls_are_found_in_order,
    open_calls_are_read_in_pages,
}

fn segment(id: &str, conversation: &str, created_at: i64) -> Segment {
    Segment {
        id: id.to_string(),
        conversation_id: conversation.into(),
        generation: 3,
        kind: SegmentKind::Compaction,
        from_message_id: 4,
        to_message_id: 9,
        archive_path: "/var/sessions/ada/p/x.jsonl.gz".to_string(),
        summary_message_id: Some(4),
        created_at,
    }
}

async fn segments_are_listed_oldest_first(store: &Store) {
    let pid = made(store, "p").await;
    let bare = Segment { summary_message_id: None, ..segment("c", "default", 1) };
    let rows =
        [segment("b", "default", 2), segment("a", "default", 2), bare.clone(), segment("d", "other", 0)];
    for row in &rows {
        store.keep(Change::new(&pid).segment(row)).await.unwrap();
    }
    let expected = [bare.clone(), segment("a", "default", 2), segment("b", "default", 2)];
    assert_eq!(store.segments().of(&pid, &default()).await.unwrap(), expected);
    assert_eq!(store.segments().by_id(&pid, &default(), "c").await.unwrap(), Some(bare));
    assert_eq!(
        store.segments().by_id(&pid, &default(), "d").await.unwrap(),
        None,
        "it is of another conversation"
    );
    assert_eq!(store.segments().by_id(&"q".into(), &default(), "a").await.unwrap(), None);
}

async fn archives_of_earlier_lives_are_found_until_something_refers_to_them(store: &Store) {
    let pid = made(store, "p").await;
    for (path, life) in [("/b", "first"), ("/a", "first"), ("/c", "second")] {
        store.loose_archives().begin(&pid, path, life).await.unwrap();
    }
    let left = store.loose_archives().left("second").await.unwrap();
    assert_eq!(left, [(pid.clone(), "/a".to_string()), (pid.clone(), "/b".to_string())]);
    assert_eq!(store.loose_archives().left("third").await.unwrap().len(), 3);
    let taken = store.loose_archives().begin(&pid, "/a", "second").await;
    assert!(taken.is_err(), "two archives never share a path");

    let kept = Change::new(&pid).segment(&segment("s", "default", 1)).loose_archive_end("/a");
    let refused = Change::new(&pid).if_unchanged(&default(), (1, 7), 7, 7).and(kept.clone());
    assert!(!store.apply(refused).await.unwrap(), "there are no seven messages");
    assert!(store.loose_archives().has("/a").await.unwrap());
    store.keep(kept).await.unwrap();
    assert!(!store.loose_archives().has("/a").await.unwrap());
    assert_eq!(store.loose_archives().left("second").await.unwrap(), [(pid, "/b".to_string())]);
}

fn call(call_id: &str, deadline_at: i64) -> IpcCall {
    IpcCall {
        call_id: call_id.to_string(),
        uid: Uid(1000),
        source_pid: "p".into(),
        target_pid: "q".into(),
        target_run_id: "r".into(),
        deadline_at,
        created_at: NOW_MS,
    }
}

async fn a_call_is_over_once(store: &Store) {
    let (source, target) = (made(store, "p").await, made(store, "q").await);
    store.keep(Change::new(&target).ipc_open(&call("c", 5)).ipc_open(&call("d", 5))).await.unwrap();
    let mut of_run = store.ipc().of_run(&"r".into()).await.unwrap();
    of_run.sort_by(|a, b| a.call_id.cmp(&b.call_id));
    assert_eq!(of_run, [call("c", 5), call("d", 5)]);
    let close = |id: &str, status| Change::new(&source).ipc_close(id, status);
    assert!(store.apply(close("c", "completed")).await.unwrap());
    assert!(!store.apply(close("c", "timed_out")).await.unwrap());
    assert!(!store.apply(close("none", "timed_out")).await.unwrap());
    assert_eq!(store.ipc().of_run(&"r".into()).await.unwrap(), [call("d", 5)]);
    assert!(store.ipc().of_run(&"s".into()).await.unwrap().is_empty());
}

async fn a_reply_and_a_timeout_never_both_count(store: &Store) {
    let (source, target) = (made(store, "p").await, made(store, "q").await);
    for round in 0..10 {
        let id = format!("c{round}");
        store.keep(Change::new(&target).ipc_open(&call(&id, 5))).await.unwrap();
        let ends = ["completed", "timed_out"].map(|status| {
            let (store, source, id) = (store.clone(), source.clone(), id.clone());
            tokio::spawn(async move {
                let change = Change::new(&source).conversation_ensure(&id.as_str().into(), NOW_MS);
                store.apply(change.ipc_close(&id, status)).await.unwrap()
            })
        });
        let [reply, timeout] = ends;
        assert!(reply.await.unwrap() != timeout.await.unwrap(), "exactly one of them");
    }
    assert_eq!(store.conversations().count(&source).await.unwrap(), 11);
}

async fn overdue_calls_are_found_in_order(store: &Store) {
    let (source, target) = (made(store, "p").await, made(store, "q").await);
    assert_eq!(store.ipc().next_deadline().await.unwrap(), None);
    let mut change = Change::new(&target);
    for (id, deadline_at) in [("a", 30), ("b", 10), ("c", 20)] {
        change = change.ipc_open(&call(id, deadline_at));
    }
    store.keep(change).await.unwrap();
    assert_eq!(store.ipc().next_deadline().await.unwrap(), Some(10));
    assert!(store.ipc().overdue(9).await.unwrap().is_empty());
    assert_eq!(store.ipc().overdue(20).await.unwrap(), [call("b", 10), call("c", 20)]);
    store.keep(Change::new(&source).ipc_close("b", "timed_out")).await.unwrap();
    assert_eq!(store.ipc().overdue(20).await.unwrap(), [call("c", 20)]);
    assert_eq!(store.ipc().next_deadline().await.unwrap(), Some(20));
}

async fn open_calls_are_read_in_pages(store: &Store) {
    let (source, target) = (made(store, "p").await, made(store, "q").await);
    let calls = [("d", 10), ("a", 20), ("b", 20), ("c", 20), ("e", 30)];
    let change =
        calls.iter().rev().fold(Change::new(&target), |change, (id, at)| change.ipc_open(&call(id, *at)));
    store.keep(change.ipc_open(&call("f", 15))).await.unwrap();
    store.keep(Change::new(&source).ipc_close("f", "completed")).await.unwrap();
    let (mut read, mut last) = (Vec::new(), None);
    for size in [2, 2, 1, 0] {
        let page = store.ipc().open_calls(last.as_ref(), 2).await.unwrap();
        assert_eq!(page.len(), size);
        last = page.last().cloned();
        read.extend(page);
    }
    assert_eq!(read, calls.map(|(id, at)| call(id, at)));
}
