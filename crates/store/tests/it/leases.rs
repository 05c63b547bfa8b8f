//! Tests of leases: who holds one, and that a holder who has lost it writes nothing.

use std::time::Duration;

use store::lease::Lease;
use store::leases::of_process;
use store::{Error, OpenError, Store};

use crate::home::{Home, NOW_MS, provisioned};

const KEPT: Duration = Duration::from_secs(30);
const EXPIRED_MS: i64 = NOW_MS + 30_000;

crate::home::with_a_store_on_both_engines! {
    each_holder_has_a_higher_number_and_the_one_before_writes_nothing,
    a_lease_that_was_given_back_allows_no_write,
    a_group_of_writes_fails_for_the_stale_holder_only,
    a_removed_users_processes_write_nothing_any_more,
}

async fn acquired(store: &Store, name: &str, now_ms: i64) -> Option<Lease> {
    store.leases().acquire(name, now_ms, KEPT).await.unwrap()
}

async fn is_refused(store: &Store, key: &str) -> bool {
    let before = store.config().value(key).await.unwrap();
    match store.config().set(key, "stale").await {
        Ok(()) => false,
        Err(Error::LeaseLost(_)) => {
            assert_eq!(store.config().value(key).await.unwrap(), before, "nothing was written");
            true
        }
        Err(other) => panic!("{other}"),
    }
}

async fn each_holder_has_a_higher_number_and_the_one_before_writes_nothing(store: &Store) {
    let first = acquired(store, "sweep", NOW_MS).await.unwrap();
    let other = acquired(store, "other", NOW_MS).await.unwrap();
    let by_first = store.fenced_by(&first);
    by_first.config().set("a", "first").await.unwrap();
    let second = acquired(store, "sweep", NOW_MS).await.expect("the same gateway takes over from itself");
    assert!(second.fence() > first.fence() && second.name() == "sweep");
    assert!(is_refused(&by_first, "a").await);
    assert!(!store.leases().renew(&first, NOW_MS, KEPT).await.unwrap());
    assert!(store.leases().renew(&second, NOW_MS, KEPT).await.unwrap());
    store.leases().release(first).await.unwrap();
    store.fenced_by(&second).config().set("a", "second").await.unwrap();
    store.fenced_by(&other).config().set("a", "other").await.unwrap();
    store.config().set("a", "nobody's").await.unwrap();
}

async fn a_lease_that_was_given_back_allows_no_write(store: &Store) {
    let lease = acquired(store, "sweep", NOW_MS).await.unwrap();
    store.leases().release(lease.clone()).await.unwrap();
    assert!(is_refused(&store.fenced_by(&lease), "a").await);
    let next = acquired(store, "sweep", NOW_MS).await.unwrap();
    assert!(next.fence() > lease.fence());
    assert!(is_refused(&store.fenced_by(&lease), "a").await);
}

async fn a_group_of_writes_fails_for_the_stale_holder_only(store: &Store) {
    let stale = acquired(store, "sweep", NOW_MS).await.unwrap();
    let held = acquired(store, "sweep", NOW_MS).await.unwrap();
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let store = store.fenced_by(if number % 2 == 0 { &held } else { &stale });
            tokio::spawn(async move { (number, store.config().set(&format!("n/{number}"), "x").await) })
        })
        .collect();
    for task in tasks {
        let (number, written) = task.await.unwrap();
        assert_eq!(written.is_ok(), number % 2 == 0, "{number}: {written:?}");
    }
    assert_eq!(store.config().below("n").await.unwrap().len(), 20);
}

async fn a_removed_users_processes_write_nothing_any_more(store: &Store) {
    let pid = crate::processes::made(store, "p").await;
    let uid = store.processes().by_id(&pid).await.unwrap().unwrap().uid;
    let lease = acquired(store, &of_process(&pid), NOW_MS).await.unwrap();
    let actor = store.fenced_by(&lease);
    let change = || store::change::Change::new(&pid).conversation_open(&"c".into(), None, NOW_MS);
    actor.keep(change()).await.unwrap();
    assert_eq!(store.accounts().remove(uid).await.unwrap(), Some(vec![pid.clone()]));
    let late = actor.keep(change()).await;
    assert!(matches!(&late, Err(Error::LeaseLost(name)) if *name == of_process(&pid)), "{late:?}");
    assert!(store.conversations().of(&pid).await.unwrap().is_empty());
}

async fn shared(home: &Home) -> Store {
    Store::open_shared(&home.options()).await.unwrap()
}

#[tokio::test]
async fn another_gateway_takes_over_after_the_expiry_and_the_stale_holder_is_refused() {
    let home = Home::postgres().await;
    let one = shared(&home).await;
    one.provision(NOW_MS).await.unwrap();
    let elsewhere = Home { data: tempfile::tempdir().unwrap(), url: home.url.clone() };
    let two = shared(&elsewhere).await;

    let lease = acquired(&one, "sweep", NOW_MS).await.unwrap();
    let (by_one, held) = (one.fenced_by(&lease), EXPIRED_MS - 1);
    assert_eq!(acquired(&two, "sweep", held).await, None, "it has not expired");
    one.leases().renew_all(held, KEPT).await.unwrap();
    assert_eq!(acquired(&two, "sweep", EXPIRED_MS).await, None, "it was renewed");
    by_one.config().set("a", "one").await.unwrap();

    let taken = acquired(&two, "sweep", held + 30_000).await.expect("it has expired");
    assert!(taken.fence() > lease.fence());
    assert!(is_refused(&by_one, "a").await);
    two.fenced_by(&taken).config().set("a", "two").await.unwrap();
    assert!(!one.leases().renew(&lease, held + 30_000, KEPT).await.unwrap());
    one.leases().renew_all(held + 90_000, KEPT).await.unwrap();
    assert_eq!(acquired(&one, "sweep", held + 30_000).await, None, "it is the other one's now");
    two.leases().release(taken).await.unwrap();
    assert!(acquired(&one, "sweep", held + 30_000).await.is_some(), "it was given back");
}

/// Whoever takes over reads what the holder before has written: a write under way and a new holder exclude each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_lands_behind_the_back_of_the_next_holder() {
    let home = Home::postgres().await;
    let one = shared(&home).await;
    one.provision(NOW_MS).await.unwrap();
    let elsewhere = Home { data: tempfile::tempdir().unwrap(), url: home.url.clone() };
    let two = shared(&elsewhere).await;
    for round in 0..20 {
        let name = format!("actor:{round}");
        let lease = acquired(&one, &name, NOW_MS).await.unwrap();
        let by_one = one.fenced_by(&lease);
        let key = format!("round/{round}");
        let write = {
            let key = key.clone();
            tokio::spawn(async move { by_one.config().set(&key, "one").await })
        };
        let taken = acquired(&two, &name, EXPIRED_MS).await;
        assert!(taken.is_some());
        let seen = two.config().value(&key).await.unwrap();
        let written = write.await.unwrap();
        assert_eq!(seen.is_some(), written.is_ok(), "{round}: {written:?}");
    }
}

#[tokio::test]
async fn gateways_that_share_and_one_that_does_not_exclude_each_other() {
    let home = Home::postgres().await;
    let elsewhere = Home { data: tempfile::tempdir().unwrap(), url: home.url.clone() };
    let sharing = shared(&home).await;
    let lease = acquired(&sharing, "sweep", NOW_MS).await.unwrap();
    assert!(matches!(elsewhere.try_open().await, Err(OpenError::Held(_))));
    drop(sharing);
    let alone = provisioned(&elsewhere).await;
    let next = acquired(&alone, "sweep", NOW_MS).await.expect("who is alone need not wait for the expiry");
    assert!(next.fence() > lease.fence());
    assert!(matches!(Store::open_shared(&home.options()).await, Err(OpenError::Held(_))));
    let sqlite = Home::sqlite();
    let refused = Store::open_shared(&sqlite.options()).await.err().unwrap().to_string();
    assert!(refused.contains("only a PostgreSQL database can be shared"), "{refused}");
}
