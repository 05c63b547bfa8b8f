//! Tests of config values and of reading whole branches.

use store::config::Room;
use store::{Error, Store};

crate::home::with_a_store_on_both_engines! {
    values_are_set_replaced_and_removed,
    a_branch_ends_where_its_name_does,
    odd_texts_come_back_as_they_were,
    texts_with_a_nul_are_refused,
    a_write_is_seen_as_soon_as_it_is_acknowledged,
    every_change_has_a_number_of_its_own,
    a_branch_takes_so_many_keys_and_bytes,
}

async fn values_are_set_replaced_and_removed(store: &Store) {
    assert_eq!(store.config().value("a/b").await.unwrap(), None);
    store.config().set("a/b", "1").await.unwrap();
    store.config().set("a/b", "2").await.unwrap();
    assert_eq!(store.config().value("a/b").await.unwrap().as_deref(), Some("2"));
    assert!(store.config().remove("a/b").await.unwrap());
    assert!(!store.config().remove("a/b").await.unwrap());
    assert_eq!(store.config().value("a/b").await.unwrap(), None);
}

async fn a_branch_ends_where_its_name_does(store: &Store) {
    let keys = [
        "a",
        "a-b",
        "a/",
        "a/B",
        "a/b",
        "a/b-c",
        "a/b/c",
        "a/b/token",
        "a/b0",
        "a0",
        "ab",
        "A/b",
        "a/\u{10ffff}",
    ];
    for key in keys {
        store.config().set(key, key).await.unwrap();
    }
    let below = async |prefix: &str| {
        let rows = store.config().below(prefix).await.unwrap();
        assert!(rows.iter().all(|(key, value)| key == value), "{rows:?}");
        rows.into_iter().map(|(key, _)| key).collect::<Vec<String>>()
    };
    assert_eq!(below("a").await, ["a/", "a/B", "a/b", "a/b-c", "a/b/c", "a/b/token", "a/b0", "a/\u{10ffff}"]);
    assert_eq!(below("a/b").await, ["a/b/c", "a/b/token"]);
    assert_eq!(below("a-b").await, Vec::<String>::new());
    assert_eq!(below("a\0").await, Vec::<String>::new());
    let mut all: Vec<String> = keys.map(str::to_string).to_vec();
    all.sort();
    assert_eq!(below("").await, all);
}

async fn odd_texts_come_back_as_they_were(store: &Store) {
    let long = "x".repeat(1_000_000);
    for value in
        ["", " ", "'; DROP TABLE config; --", "%_$1", "a\nb\r\t", "\u{feff}héllo 😀", "NULL", "0", &long]
    {
        for key in ["note", "secret"] {
            store.config().set(key, value).await.unwrap();
            assert_eq!(store.config().value(key).await.unwrap().as_deref(), Some(value));
        }
    }
    store.config().set("", "empty key").await.unwrap();
    assert_eq!(store.config().value("").await.unwrap().as_deref(), Some("empty key"));
}

async fn texts_with_a_nul_are_refused(store: &Store) {
    for (key, value) in [("a\0b", "x"), ("a", "x\0y")] {
        let refused = store.config().set(key, value).await;
        assert!(matches!(&refused, Err(Error::Failed(why)) if why.contains("NUL")), "{refused:?}");
    }
    assert_eq!(store.config().value("a\0b").await.unwrap(), None);
    assert_eq!(store.config().below("").await.unwrap(), []);
}

async fn a_write_is_seen_as_soon_as_it_is_acknowledged(store: &Store) {
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..20 {
                    let (key, value) = (format!("task/{task}"), number.to_string());
                    store.config().set(&key, &value).await.unwrap();
                    assert_eq!(store.config().value(&key).await.unwrap(), Some(value));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn every_change_has_a_number_of_its_own(store: &Store) {
    let generation = || store.changes().generation(store::changes::Topic::Config);
    let mut before = generation();
    let mut next = || std::mem::replace(&mut before, generation()) != generation();
    store.config().value("a/b").await.unwrap();
    assert!(!next(), "reading changes nothing");
    store.config().set("a/b", "1").await.unwrap();
    assert!(next());
    store.config().remove("a/b").await.unwrap();
    assert!(next());
    assert!(store.config().set("a", "\0").await.is_err());
    assert!(next(), "what failed may have been written nevertheless");
    store.provision(1).await.unwrap();
    let groups = Vec::new();
    let new = store::accounts::NewAccount { username: "ann".into(), hash: "!".into(), groups, now_ms: 1 };
    let account = store.accounts().create(new).await.unwrap();
    next();
    store.accounts().remove(account.uid).await.unwrap();
    assert!(next(), "an account takes its config with it");
}

async fn a_branch_takes_so_many_keys_and_bytes(store: &Store) {
    let room = Room { keys: 2, bytes: 100 };
    let set =
        async |key: &str, value: &str| store.config().set_within("u/1", key, value, room).await.unwrap();
    store.config().set("u/10/x", &"x".repeat(1_000)).await.unwrap();
    assert!(set("u/1/a", &"x".repeat(40)).await, "another branch does not count");
    assert!(!set("u/1/b", &"\u{e9}".repeat(30)).await, "bytes count, not characters");
    assert!(set("u/1/b", &"\u{e9}".repeat(20)).await);
    assert!(!set("u/1/c", "").await, "there are two keys");
    assert!(set("u/1/b", "other").await, "the same key is no further one");
    assert_eq!(store.config().value("u/1/b").await.unwrap().as_deref(), Some("other"));
    assert!(set("u/1/a", &"x".repeat(80)).await);
    assert!(!set("u/1/b", &"x".repeat(20)).await);
    assert_eq!(
        store.config().value("u/1/b").await.unwrap().as_deref(),
        Some("other"),
        "what was there stays"
    );
    assert!(store.config().remove("u/1/a").await.unwrap());
    assert!(set("u/1/token", "secret").await);
    assert_eq!(store.config().value("u/1/token").await.unwrap().as_deref(), Some("secret"));
}
