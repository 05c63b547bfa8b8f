//! Tests of runs, their journal, and what they used.

use protocol::ids::{ConversationId, Pid, Uid};
use store::Store;
use store::change::Change;
use store::runs::{RunEnd, RunRow, RunStatus, StepRow, Used};

use crate::approvals::approval;
use crate::devices::route;
use crate::home::NOW_MS;
use crate::processes::{default, made};

crate::home::with_a_store_on_both_engines! {
    a_run_begins_takes_turns_and_ends,
    absorbed_runs_end_with_the_one_that_took_them_in,
    what_was_used_is_added_up,
    runs_are_listed_newest_first,
    a_journal_is_read_in_order,
    an_outcome_ends_its_route,
}

pub fn run(run_id: &str, pid: &str) -> RunRow {
    let begun = RunRow::begun(run_id.into(), &pid.into(), Uid(1000), &"default".into(), NOW_MS);
    RunRow { reason: "proc.send".to_string(), ..begun }
}

const USED: Used = Used {
    input_tokens: 1,
    output_tokens: 2,
    cache_read_tokens: 3,
    cache_write_tokens: 4,
    input_nano: 5_000_000_000_000,
    output_nano: 6,
    cache_read_nano: 7,
    cache_write_nano: 8,
};

fn times(used: Used, factor: i64) -> Used {
    Used {
        input_tokens: used.input_tokens * factor,
        output_tokens: used.output_tokens * factor,
        cache_read_tokens: used.cache_read_tokens * factor,
        cache_write_tokens: used.cache_write_tokens * factor,
        input_nano: used.input_nano * factor,
        output_nano: used.output_nano * factor,
        cache_read_nano: used.cache_read_nano * factor,
        cache_write_nano: used.cache_write_nano * factor,
    }
}

fn end(status: RunStatus, error: Option<&str>) -> RunEnd<'_> {
    RunEnd { status, reason: "turn.complete", error, now_ms: NOW_MS + 9 }
}

async fn a_run_begins_takes_turns_and_ends(store: &Store) {
    let pid = made(store, "p").await;
    assert_eq!(store.runs().active(&pid).await.unwrap(), None);
    store.keep(Change::new(&pid).run_begin(&run("r", "p"))).await.unwrap();
    assert_eq!(store.runs().active(&pid).await.unwrap(), Some(run("r", "p")));
    let turn = |change: Change, calls| change.run_turn(&"r".into(), ("anthropic", "claude"), calls, &USED);
    store.keep(turn(turn(Change::new(&pid), 3), 1)).await.unwrap();
    let ended = Change::new(&pid).run_end(&"r".into(), &end(RunStatus::Error, Some("it\0 broke")));
    store.keep(ended).await.unwrap();
    let expected = RunRow {
        status: RunStatus::Error,
        finish_reason: Some("turn.complete".to_string()),
        error: Some("it\u{fffd} broke".to_string()),
        provider: Some("anthropic".to_string()),
        model: Some("claude".to_string()),
        turns: 2,
        tool_calls: 4,
        used: times(USED, 2),
        finished_at: Some(NOW_MS + 9),
        ..run("r", "p")
    };
    assert_eq!(store.runs().by_id(&"r".into()).await.unwrap(), Some(expected.clone()));
    assert_eq!(store.runs().active(&pid).await.unwrap(), None);
    let again = Change::new(&pid).run_end(&"r".into(), &end(RunStatus::Ok, None));
    store.keep(again).await.unwrap();
    assert_eq!(store.runs().by_id(&"r".into()).await.unwrap(), Some(expected), "a run ends once");
    assert_eq!(store.runs().by_id(&"other".into()).await.unwrap(), None);
}

async fn absorbed_runs_end_with_the_one_that_took_them_in(store: &Store) {
    let pid = made(store, "p").await;
    let other = made(store, "q").await;
    let absorbed = |id: &str, at| RunRow { absorbed_by: Some("r".into()), started_at: at, ..run(id, "p") };
    let change = Change::new(&pid)
        .run_begin(&run("r", "p"))
        .run_begin(&absorbed("b", NOW_MS))
        .run_begin(&absorbed("a", NOW_MS))
        .run_begin(&absorbed("c", NOW_MS - 1))
        .ask(&approval("q1", "r"))
        .ask(&approval("q2", "elsewhere"));
    store.keep(change).await.unwrap();
    store.keep(Change::new(&other).run_begin(&run("s", "q"))).await.unwrap();
    assert_eq!(store.runs().active(&pid).await.unwrap(), Some(run("r", "p")));
    let taken = store.runs().absorbed(&pid, &"r".into()).await.unwrap();
    assert_eq!(taken, [absorbed("c", NOW_MS - 1), absorbed("a", NOW_MS), absorbed("b", NOW_MS)]);
    store.keep(Change::new(&pid).run_end(&"r".into(), &end(RunStatus::Aborted, None))).await.unwrap();
    for id in ["r", "a", "b", "c"] {
        let row = store.runs().by_id(&id.into()).await.unwrap().unwrap();
        assert_eq!((row.status, row.finished_at), (RunStatus::Aborted, Some(NOW_MS + 9)), "{id}");
    }
    assert!(store.runs().absorbed(&pid, &"r".into()).await.unwrap().is_empty());
    assert_eq!(store.runs().by_id(&"s".into()).await.unwrap().unwrap().status, RunStatus::Active);
    let withdrawn = async |id: &str| store.approvals().by_id(id).await.unwrap().unwrap().withdrawn;
    assert!(withdrawn("q1").await && !withdrawn("q2").await);
}

async fn what_was_used_is_added_up(store: &Store) {
    let pid = made(store, "p").await;
    let other = made(store, "q").await;
    let talk = ConversationId::from("talk");
    let in_talk = RunRow { conversation_id: talk.clone(), started_at: NOW_MS + 5, ..run("c", "p") };
    let turn = |change: Change, id: &str| change.run_turn(&id.into(), ("p", "m"), 0, &USED);
    let change = Change::new(&pid).conversation_ensure(&talk, NOW_MS);
    let change = change.run_begin(&run("a", "p")).run_begin(&run("b", "p")).run_begin(&in_talk);
    store.keep(turn(turn(turn(turn(change, "a"), "a"), "b"), "c")).await.unwrap();
    store.keep(turn(Change::new(&other).run_begin(&run("d", "q")), "d")).await.unwrap();
    let foreign = RunRow { uid: Uid(7), ..run("e", "q") };
    store.keep(turn(Change::new(&other).run_begin(&foreign), "e")).await.unwrap();

    assert_eq!(store.runs().used_in(&pid, &default()).await.unwrap(), times(USED, 3));
    assert_eq!(store.runs().used_in(&pid, &talk).await.unwrap(), USED);
    assert_eq!(store.runs().used_in(&pid, &"none".into()).await.unwrap(), Used::default());
    store.keep(Change::new(&pid).conversation_reset(&default(), NOW_MS)).await.unwrap();
    assert_eq!(
        store.runs().used_in(&pid, &default()).await.unwrap(),
        times(USED, 3),
        "what was spent was spent"
    );

    let (p, q): (Pid, Pid) = ("p".into(), "q".into());
    let expected = [
        (p.clone(), default(), 2, times(USED, 3)),
        (p.clone(), talk.clone(), 1, USED),
        (q, default(), 1, USED),
    ];
    assert_eq!(store.runs().used_by_conversation(Uid(1000), 0).await.unwrap(), expected);
    assert_eq!(store.runs().used_by_conversation(Uid(1000), NOW_MS + 5).await.unwrap(), [(p, talk, 1, USED)]);
    assert!(store.runs().used_by_conversation(Uid(8), 0).await.unwrap().is_empty());
}

async fn runs_are_listed_newest_first(store: &Store) {
    let (pid, other) = (made(store, "p").await, made(store, "q").await);
    let at = |id: &str, pid: &str, at| RunRow { started_at: NOW_MS + at, ..run(id, pid) };
    let change = Change::new(&pid).run_begin(&at("a", "p", 1)).run_begin(&at("b", "p", 3));
    store.keep(change.run_begin(&RunRow { uid: Uid(7), ..at("f", "p", 9) })).await.unwrap();
    store.keep(Change::new(&other).run_begin(&at("c", "q", 2)).run_begin(&at("d", "q", 3))).await.unwrap();
    let listed = async |pid: Option<&Pid>, since: i64, limit| -> Vec<String> {
        let rows = store.runs().newest(Uid(1000), pid, NOW_MS + since, limit).await.unwrap();
        rows.into_iter().map(|row| row.run_id.0).collect()
    };
    assert_eq!(listed(None, 0, 9).await, ["b", "d", "c", "a"]);
    assert_eq!(listed(None, 2, 9).await, ["b", "d", "c"]);
    assert_eq!(listed(None, 0, 2).await, ["b", "d"]);
    assert_eq!(listed(Some(&pid), 0, u64::MAX).await, ["b", "a"]);
}

async fn a_journal_is_read_in_order(store: &Store) {
    let pid = made(store, "p").await;
    let step = |number, kind: &str| StepRow {
        number,
        kind: kind.to_string(),
        body: format!("{{\"n\":{number}}}"),
        created_at: NOW_MS + number,
    };
    let r = "r".into();
    store.keep(Change::new(&pid).journal(&r, &step(2, "turn")).journal(&r, &step(1, "begin"))).await.unwrap();
    store.keep(Change::new(&pid).journal(&"s".into(), &step(1, "begin"))).await.unwrap();
    assert_eq!(store.runs().steps(&r).await.unwrap(), [step(1, "begin"), step(2, "turn")]);
    let again = store.apply(Change::new(&pid).journal(&r, &step(2, "end"))).await;
    assert!(matches!(again, Err(store::Error::Conflict(_))), "a step is never written over: {again:?}");
}

async fn an_outcome_ends_its_route(store: &Store) {
    let pid = made(store, "p").await;
    for (id, request) in [("1", "r/1/0"), ("2", "r/1/1")] {
        store.routes().open(route(id, "p", request)).await.unwrap();
    }
    store.routes().open(route("3", "q", "r/1/0")).await.unwrap();
    assert_eq!(store.routes().of(&pid, "r/1/0").await.unwrap(), Some(route("1", "p", "r/1/0")));
    store.keep(Change::new(&pid).route_done("r/1/0")).await.unwrap();
    assert_eq!(store.routes().of(&pid, "r/1/0").await.unwrap(), None);
    assert_eq!(store.routes().all().await.unwrap().len(), 2);
    assert_eq!(store.routes().of(&"q".into(), "r/1/0").await.unwrap(), Some(route("3", "q", "r/1/0")));
}
