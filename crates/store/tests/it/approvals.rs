//! Tests of approvals: what waits, who answers first, and what is remembered.

use protocol::ids::Uid;
use protocol::proc::approval::{Decision, Scope};
use store::Store;
use store::approvals::{ApprovalRow, RuleRow};
use store::change::Change;

use crate::home::NOW_MS;
use crate::messages::message;
use crate::processes::{default, made};

crate::home::with_a_store_on_both_engines! {
    a_request_waits_and_is_answered_once,
    of_many_answers_exactly_one_counts,
    open_requests_are_listed_oldest_first,
    rules_are_remembered_once_and_forgotten,
}

pub fn approval(request_id: &str, run_id: &str) -> ApprovalRow {
    ApprovalRow {
        request_id: request_id.to_string(),
        pid: "p".into(),
        uid: Uid(1000),
        run_id: run_id.into(),
        conversation_id: "default".into(),
        turn: 2,
        place: 1,
        call_id: "call_1".to_string(),
        parent_call_id: Some("call_0".to_string()),
        tool_name: "Shell".to_string(),
        syscall: "shell.exec".to_string(),
        target: "gsv".to_string(),
        args: r#"{"input":"rm -r x"}"#.to_string(),
        tags: vec!["destructive".to_string(), "mutating".to_string()],
        shape: Some("rm -r *".to_string()),
        digest: "abc".to_string(),
        details: Some(r#"{"reasons":["it deletes"]}"#.to_string()),
        created_at: NOW_MS,
        decision: None,
        withdrawn: false,
        decided_at: None,
        decided_by: None,
    }
}

async fn a_request_waits_and_is_answered_once(store: &Store) {
    let pid = made(store, "p").await;
    let bare = ApprovalRow { tags: vec![], shape: None, details: None, ..approval("bare", "r") };
    store.keep(Change::new(&pid).ask(&approval("q", "r")).ask(&bare)).await.unwrap();
    assert_eq!(store.approvals().by_id("q").await.unwrap(), Some(approval("q", "r")));
    assert_eq!(store.approvals().by_id("bare").await.unwrap(), Some(bare));
    assert_eq!(store.approvals().by_id("none").await.unwrap(), None);
    let answer = |id: &str, decision| Change::new(&pid).answer(id, decision, "ada", NOW_MS + 1);
    assert!(store.apply(answer("q", Decision::Approve)).await.unwrap());
    assert!(!store.apply(answer("q", Decision::Deny)).await.unwrap());
    assert!(!store.apply(answer("none", Decision::Deny)).await.unwrap());
    assert!(store.apply(answer("bare", Decision::Deny)).await.unwrap());
    let expected = ApprovalRow {
        decision: Some(Decision::Approve),
        decided_at: Some(NOW_MS + 1),
        decided_by: Some("ada".to_string()),
        ..approval("q", "r")
    };
    assert_eq!(store.approvals().by_id("q").await.unwrap(), Some(expected));
    assert_eq!(store.approvals().by_id("bare").await.unwrap().unwrap().decision, Some(Decision::Deny));
}

async fn of_many_answers_exactly_one_counts(store: &Store) {
    let pid = made(store, "p").await;
    store.keep(Change::new(&pid).ask(&approval("q", "r"))).await.unwrap();
    let tasks: Vec<_> = (1..=12)
        .map(|id| {
            let (store, pid) = (store.clone(), pid.clone());
            tokio::spawn(async move {
                let decision = if id % 2 == 0 { Decision::Approve } else { Decision::Deny };
                let change = Change::new(&pid).answer("q", decision, &id.to_string(), NOW_MS);
                let first = store.apply(change.message(&message(id, "default"))).await.unwrap();
                first.then_some((id, decision))
            })
        })
        .collect();
    let mut winners = Vec::new();
    for task in tasks {
        winners.extend(task.await.unwrap());
    }
    let [(winner, decision)] = winners[..] else { panic!("{winners:?}") };
    let row = store.approvals().by_id("q").await.unwrap().unwrap();
    assert_eq!((row.decision, row.decided_by), (Some(decision), Some(winner.to_string())));
    let rows = store.messages().page(&pid, &default(), store::messages::Page::Tail, 99).await.unwrap();
    assert_eq!(rows, [message(winner, "default")], "what came with the other answers is not kept");
    assert_eq!(store.conversations().by_id(&pid, &default()).await.unwrap().unwrap().message_count, 1);
}

async fn open_requests_are_listed_oldest_first(store: &Store) {
    let pid = made(store, "p").await;
    let at =
        |id: &str, uid, at, place| ApprovalRow { uid: Uid(uid), created_at: at, place, ..approval(id, "r") };
    let change =
        Change::new(&pid).ask(&at("b", 1000, 2, 1)).ask(&at("c", 1000, 2, 0)).ask(&at("a", 1000, 1, 5));
    store.keep(change.ask(&at("d", 1001, 0, 0)).ask(&at("e", 1000, 0, 0))).await.unwrap();
    store.keep(Change::new(&pid).answer("e", Decision::Deny, "ada", NOW_MS)).await.unwrap();
    let listed = async |of: Option<u32>| -> Vec<String> {
        store.approvals().open(of.map(Uid)).await.unwrap().into_iter().map(|row| row.request_id).collect()
    };
    assert_eq!(listed(Some(1000)).await, ["a", "c", "b"]);
    assert_eq!(listed(None).await, ["d", "a", "c", "b"]);
    assert!(listed(Some(7)).await.is_empty());
    let of_run = store.approvals().of_run(&"r".into()).await.unwrap();
    let of_run: Vec<_> = of_run.iter().map(|row| row.request_id.as_str()).collect();
    assert_eq!(of_run, ["d", "e", "a", "c", "b"], "also those that were answered");
}

async fn rules_are_remembered_once_and_forgotten(store: &Store) {
    let pid = made(store, "p").await;
    let rule = |id: &str, scope, shape: Option<&str>| RuleRow {
        approval_id: id.to_string(),
        syscall: "shell.exec".to_string(),
        scope,
        target: "pc".to_string(),
        shape: shape.map(str::to_string),
        created_at: NOW_MS,
    };
    let rules = [
        rule("1", Scope::Class, None),
        rule("2", Scope::Target, None),
        rule("3", Scope::Shape, Some("git push")),
        rule("4", Scope::Shape, Some("git pull")),
    ];
    for rule in &rules {
        store.keep(Change::new(&pid).remember(rule)).await.unwrap();
    }
    let again = Change::new(&pid).remember(&rule("5", Scope::Target, None));
    store.keep(again.remember(&rule("6", Scope::Shape, Some("git push")))).await.unwrap();
    assert_eq!(store.approvals().rules(&pid).await.unwrap(), rules);
    assert!(!store.approvals().remove_rule(&"q".into(), "2").await.unwrap(), "it is not that process's");
    assert!(store.approvals().remove_rule(&pid, "2").await.unwrap());
    assert!(!store.approvals().remove_rule(&pid, "2").await.unwrap());
    assert_eq!(store.approvals().rules(&pid).await.unwrap().len(), 3);
    store.keep(Change::new(&pid).conversation_reset(&default(), NOW_MS)).await.unwrap();
    assert_eq!(store.approvals().rules(&pid).await.unwrap().len(), 3, "they outlive a reset");
}
