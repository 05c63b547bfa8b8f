//! Tests of processes and their conversations.

use protocol::ids::{ConversationId, Pid, Uid};
use protocol::proc::conversation::{Overflow, Status};
use store::Store;
use store::change::Change;
use store::conversations::{ConversationRow, PolicyRow};
use store::processes::{Activity, ProcessRow, ProcessState};

use crate::home::{NOW_MS, add};
use crate::messages::message;
use crate::queue::queued;
use crate::runs::run;

crate::home::with_a_store_on_both_engines! {
    a_process_is_made_once_with_its_default_conversation,
    processes_are_listed_newest_first,
    an_activity_is_kept_until_the_process_exits,
    a_process_comes_back,
    unfinished_processes_have_a_run_or_a_queue,
    a_conversation_is_opened_closed_and_opened_again,
    conversations_are_listed_last_changed_first,
    the_message_count_stays_true,
    a_policy_is_kept_through_a_reset,
    a_change_is_kept_whole_or_not_at_all,
}

pub fn process(pid: &str, uid: u32, created_at: i64) -> ProcessRow {
    ProcessRow {
        parent_pid: Some(Pid(format!("init:{uid}"))),
        label: Some("a \"note\"".to_string()),
        ..ProcessRow::idle(pid.into(), Uid(uid), "task", "/home/ada", created_at)
    }
}

/// A process that is there.
pub async fn made(store: &Store, pid: &str) -> Pid {
    add_people(store).await;
    assert!(store.processes().create(&process(pid, 1000, NOW_MS)).await.unwrap());
    pid.into()
}

/// Sees to it that 1000 and 1001 are users.
async fn add_people(store: &Store) {
    for (uid, name) in [(1000, "ada"), (1001, "bob")] {
        if store.accounts().by_uid(Uid(uid)).await.unwrap().is_none() {
            assert_eq!(add(store, name).await.uid, Uid(uid));
        }
    }
}

pub fn default() -> ConversationId {
    "default".into()
}

async fn found(store: &Store, pid: &Pid, id: &ConversationId) -> ConversationRow {
    store.conversations().by_id(pid, id).await.unwrap().unwrap()
}

async fn a_process_is_made_once_with_its_default_conversation(store: &Store) {
    let row = process("p", 1000, NOW_MS);
    assert!(!store.processes().create(&row).await.unwrap(), "a user who is not there has no processes");
    assert_eq!(store.processes().by_id(&row.pid).await.unwrap(), None);
    add_people(store).await;
    assert!(store.processes().create(&row).await.unwrap());
    let other = ProcessRow { profile: "cron".to_string(), ..process("p", 1001, NOW_MS + 9) };
    assert!(!store.processes().create(&other).await.unwrap());
    assert_eq!(store.processes().by_id(&row.pid).await.unwrap(), Some(row.clone()));
    assert_eq!(store.processes().by_id(&"q".into()).await.unwrap(), None);
    let expected = ConversationRow {
        id: default(),
        generation: 1,
        status: Status::Open,
        title: None,
        message_count: 0,
        policy: None,
        context: None,
        created_at: NOW_MS,
        updated_at: NOW_MS,
    };
    assert_eq!(store.conversations().of(&row.pid).await.unwrap(), [expected]);
    assert_eq!(store.conversations().count(&row.pid).await.unwrap(), 1);
}

async fn processes_are_listed_newest_first(store: &Store) {
    add_people(store).await;
    for (pid, uid, at) in [("b", 1000, 1), ("a", 1000, 2), ("c", 1001, 2), ("d", 0, 3)] {
        assert!(store.processes().create(&process(pid, uid, at)).await.unwrap());
    }
    let listed = async |of: Option<u32>| -> Vec<String> {
        store.processes().of(of.map(Uid)).await.unwrap().into_iter().map(|row| row.pid.0).collect()
    };
    assert_eq!(listed(Some(1000)).await, ["a", "b"]);
    assert_eq!(listed(None).await, ["d", "a", "c", "b"]);
    assert!(listed(Some(7)).await.is_empty());
    store.keep(Change::new(&"a".into()).exit(9)).await.unwrap();
    assert_eq!(store.processes().alive(Uid(1000)).await.unwrap(), 1);
    assert_eq!(listed(Some(1000)).await, ["a", "b"], "one that has exited stays in the list");
}

async fn an_activity_is_kept_until_the_process_exits(store: &Store) {
    let pid = made(store, "p").await;
    let (run_id, conversation) = ("r".into(), default());
    let busy = Activity {
        state: ProcessState::WaitingTool,
        run: Some((&run_id, &conversation)),
        next_message_id: 42,
        now_ms: NOW_MS + 1,
    };
    store.keep(Change::new(&pid).activity(busy)).await.unwrap();
    let row = store.processes().by_id(&pid).await.unwrap().unwrap();
    let expected = ProcessRow {
        state: ProcessState::WaitingTool,
        active_run_id: Some(run_id.clone()),
        active_conversation_id: Some(conversation.clone()),
        next_message_id: 42,
        last_active_at: NOW_MS + 1,
        ..process("p", 1000, NOW_MS)
    };
    assert_eq!(row, expected);
    store.keep(Change::new(&pid).exit(NOW_MS + 2)).await.unwrap();
    store.keep(Change::new(&pid).activity(Activity { now_ms: NOW_MS + 3, ..busy })).await.unwrap();
    let row = store.processes().by_id(&pid).await.unwrap().unwrap();
    let expected = ProcessRow {
        state: ProcessState::Exited,
        active_run_id: None,
        active_conversation_id: None,
        last_active_at: NOW_MS + 2,
        exited_at: Some(NOW_MS + 2),
        ..expected
    };
    assert_eq!(row, expected);
}

async fn a_process_comes_back(store: &Store) {
    let pid = made(store, "init:1000").await;
    store.keep(Change::new(&pid).exit(NOW_MS + 1)).await.unwrap();
    store.keep(Change::new(&pid).revive(NOW_MS + 2)).await.unwrap();
    let row = store.processes().by_id(&pid).await.unwrap().unwrap();
    assert_eq!((row.state, row.exited_at, row.last_active_at), (ProcessState::Idle, None, NOW_MS + 2));
    assert_eq!(store.processes().alive(Uid(1000)).await.unwrap(), 1);
}

async fn unfinished_processes_have_a_run_or_a_queue(store: &Store) {
    for pid in ["idle", "runs", "waits", "both"] {
        made(store, pid).await;
    }
    store.keep(Change::new(&"runs".into()).run_begin(&run("r1", "runs"))).await.unwrap();
    store.keep(Change::new(&"waits".into()).enqueue(&queued(1, "r2"))).await.unwrap();
    let both = Change::new(&"both".into()).run_begin(&run("r3", "both")).enqueue(&queued(1, "r4"));
    store.keep(both).await.unwrap();
    let pids: Vec<Pid> = ["both", "runs", "waits"].map(Pid::from).to_vec();
    assert_eq!(store.processes().unfinished().await.unwrap(), pids);
}

async fn a_conversation_is_opened_closed_and_opened_again(store: &Store) {
    let pid = made(store, "p").await;
    let (id, other) = ("talk".into(), "other".into());
    store.keep(Change::new(&pid).conversation_open(&id, Some("A title"), 5)).await.unwrap();
    let row = found(store, &pid, &id).await;
    assert_eq!((row.title.as_deref(), row.status, row.created_at), (Some("A title"), Status::Open, 5));
    let close = |id: &ConversationId, at| Change::new(&pid).conversation_close(id, at);
    assert!(store.apply(close(&id, 6)).await.unwrap());
    assert!(!store.apply(close(&id, 7)).await.unwrap(), "it was closed before");
    assert!(!store.apply(close(&other, 7)).await.unwrap(), "there is none");
    let row = found(store, &pid, &id).await;
    assert_eq!((row.status, row.updated_at, row.created_at), (Status::Closed, 6, 5));
    store.keep(Change::new(&pid).conversation_ensure(&id, 8)).await.unwrap();
    assert_eq!(found(store, &pid, &id).await, row, "to ensure it does not open it");
    store.keep(Change::new(&pid).conversation_open(&id, None, 9)).await.unwrap();
    let row = found(store, &pid, &id).await;
    assert_eq!((row.title.as_deref(), row.status, row.updated_at), (Some("A title"), Status::Open, 9));
    store.keep(Change::new(&pid).conversation_open(&id, Some("New"), 10)).await.unwrap();
    assert_eq!(found(store, &pid, &id).await.title.as_deref(), Some("New"));
    assert_eq!(
        store.conversations().by_id(&"q".into(), &id).await.unwrap(),
        None,
        "another process has its own"
    );
}

async fn conversations_are_listed_last_changed_first(store: &Store) {
    let pid = made(store, "p").await;
    for (id, at) in [("b", 1), ("a", 1), ("c", 2)] {
        store.keep(Change::new(&pid).conversation_open(&id.into(), None, at)).await.unwrap();
    }
    let listed = async || -> Vec<String> {
        store.conversations().of(&pid).await.unwrap().into_iter().map(|row| row.id.0).collect()
    };
    assert_eq!(listed().await, ["default", "c", "a", "b"]);
    store.keep(Change::new(&pid).message(&message(1, "b"))).await.unwrap();
    assert_eq!(listed().await, ["default", "c", "a", "b"], "a message does not move it");
    store.keep(Change::new(&pid).conversation_touch(&"b".into(), NOW_MS + 1)).await.unwrap();
    assert_eq!(listed().await, ["b", "default", "c", "a"]);
    assert_eq!(store.conversations().count(&pid).await.unwrap(), 4);
}

async fn the_message_count_stays_true(store: &Store) {
    let pid = made(store, "p").await;
    let (default, other) = (default(), ConversationId::from("other"));
    let mut change = Change::new(&pid).conversation_ensure(&other, NOW_MS);
    for id in 1..=10 {
        change = change.message(&message(id, if id % 2 == 0 { "other" } else { "default" }));
    }
    store.keep(change).await.unwrap();
    let counts = async || {
        let mut counts = Vec::new();
        for id in [&default, &other] {
            let counted =
                store.messages().page(&pid, id, store::messages::Page::Tail, 100).await.unwrap().len() as u64;
            assert_eq!(found(store, &pid, id).await.message_count, counted, "{id}");
            counts.push(counted);
        }
        counts
    };
    assert_eq!(counts().await, [5, 5]);
    store.keep(Change::new(&pid).messages_remove(&default, 2, 7)).await.unwrap();
    assert_eq!(counts().await, [2, 5], "3, 5 and 7 went, those of the other conversation did not");
    let marker = Change::new(&pid).messages_remove(&other, 2, 6).message(&message(2, "other"));
    store.keep(marker).await.unwrap();
    assert_eq!(counts().await, [2, 3], "an id that was let go is used again");
    store.keep(Change::new(&pid).messages_remove(&other, 100, 200)).await.unwrap();
    assert_eq!(counts().await, [2, 3]);
    store.keep(Change::new(&pid).context(&other, "{}").conversation_reset(&other, NOW_MS + 1)).await.unwrap();
    assert_eq!(counts().await, [2, 0]);
    let row = found(store, &pid, &other).await;
    assert_eq!((row.generation, row.context, row.updated_at), (2, None, NOW_MS + 1));
}

async fn a_policy_is_kept_through_a_reset(store: &Store) {
    let pid = made(store, "p").await;
    let policy = PolicyRow {
        overflow: Overflow::AutoCompact,
        compact_at: 1.0 / 3.0,
        keep_last: 12,
        updated_at: NOW_MS + 1,
    };
    let change = Change::new(&pid).policy(&default(), policy).conversation_close(&default(), NOW_MS + 2);
    store.keep(change.conversation_reset(&default(), NOW_MS + 3)).await.unwrap();
    let row = found(store, &pid, &default()).await;
    assert_eq!((row.policy, row.status, row.generation), (Some(policy), Status::Open, 2));
    for overflow in [Overflow::Manual, Overflow::Fail] {
        let policy = PolicyRow { overflow, ..policy };
        store.keep(Change::new(&pid).policy(&default(), policy)).await.unwrap();
        assert_eq!(found(store, &pid, &default()).await.policy, Some(policy));
    }
}

async fn a_change_is_kept_whole_or_not_at_all(store: &Store) {
    let pid = made(store, "p").await;
    assert!(store.apply(Change::new(&pid)).await.unwrap(), "nothing is always kept");
    let failing = Change::new(&pid).message(&message(1, "default")).conversation_close(&"none".into(), 1);
    assert!(!store.apply(failing.clone()).await.unwrap());
    assert!(store.keep(failing).await.is_err());
    let twice = Change::new(&pid).message(&message(1, "default")).message(&message(1, "default"));
    assert!(matches!(store.apply(twice).await, Err(store::Error::Conflict(_))));
    assert_eq!(found(store, &pid, &default()).await.message_count, 0);
    let both = Change::new(&pid).message(&message(1, "default"));
    store.keep(both.and(Change::new(&pid).message(&message(2, "default")))).await.unwrap();
    assert_eq!(found(store, &pid, &default()).await.message_count, 2);
}
