//! Tests of the change stream: every write tells what it changed, after it is committed.

use protocol::ids::Gid;
use store::Store;
use store::accounts::EndSessions;
use store::changes::{Event, Notice, Topic};

use crate::devices::registration;
use crate::home::{NOW_MS, add};

crate::home::with_a_store_on_both_engines! {
    every_write_bumps_what_it_changes,
    what_a_subscriber_hears_of_can_be_read,
    what_another_gateway_changed_is_fed_in,
}

async fn every_write_bumps_what_it_changes(store: &Store) {
    use Topic::{Accounts, Config, Devices, Grants, Tokens};
    let mut before = Topic::ALL.map(|topic| store.changes().generation(topic));
    let mut changed = || {
        let now = Topic::ALL.map(|topic| store.changes().generation(topic));
        let changed = Topic::ALL.into_iter().filter(|topic| before[*topic as usize] != now[*topic as usize]);
        let changed: Vec<Topic> = changed.collect();
        before = now;
        changed
    };
    let ada = add(store, "ada").await;
    assert_eq!(changed(), [Accounts]);
    store.accounts().set_locked(ada.uid, true).await.unwrap();
    assert_eq!(changed(), [Accounts]);
    store.accounts().set_hash(ada.uid, "$x", NOW_MS).await.unwrap();
    assert_eq!(changed(), [Accounts]);
    let ending = EndSessions { uid: ada.uid, hash: None, but: None, reason: "x", now_ms: NOW_MS };
    store.accounts().end_sessions(ending).await.unwrap();
    assert_eq!(changed(), [Accounts, Tokens]);
    store.tokens().create(crate::tokens::token("t", ada.uid)).await.unwrap();
    assert_eq!(changed(), []);
    store.tokens().revoke(&"t-1000".into(), None, None, NOW_MS).await.unwrap();
    assert_eq!(changed(), [Tokens]);
    store.accounts().set_gecos(ada.uid, "Ada").await.unwrap();
    assert_eq!(changed(), [Accounts]);
    store.accounts().set_groups(ada.uid, &[Gid::USERS]).await.unwrap();
    assert_eq!(changed(), [Accounts]);
    let makers = store.groups().create("makers").await.unwrap();
    assert_eq!(changed(), [Accounts]);
    store.grants().give(makers.gid, "fs.read").await.unwrap();
    assert_eq!(changed(), [Grants]);
    store.grants().revoke(makers.gid, "fs.read").await.unwrap();
    assert_eq!(changed(), [Grants]);
    store.grants().give_defaults(&[(Gid::USERS, "fs.read")]).await.unwrap();
    assert_eq!(changed(), [Grants]);
    store.grants().give_defaults(&[(Gid::USERS, "fs.read")]).await.unwrap();
    assert_eq!(changed(), [], "nothing was written");
    store.config().set("a/b", "1").await.unwrap();
    assert_eq!(changed(), [Config]);
    store.devices().register(registration("pc", &ada)).await.unwrap().unwrap();
    assert_eq!(changed(), [Devices]);
    store.devices().describe(&"pc".into(), "mine", NOW_MS).await.unwrap();
    assert_eq!(changed(), [Devices]);
    store.devices().set_access(&"pc".into(), makers.gid, true).await.unwrap();
    assert_eq!(changed(), [Devices]);
    store.devices().set_offline(&"pc".into(), NOW_MS).await.unwrap();
    assert_eq!(changed(), [Devices]);
    store.groups().remove(makers.gid).await.unwrap();
    assert_eq!(changed(), [Accounts, Grants, Devices]);
    store.accounts().remove(ada.uid).await.unwrap();
    assert_eq!(changed(), [Config, Accounts, Grants, Devices]);
    store.accounts().all().await.unwrap();
    assert_eq!(changed(), [], "reading changes nothing");
}

/// The event comes after the commit: whoever hears it finds what it is about.
async fn what_a_subscriber_hears_of_can_be_read(store: &Store) {
    let mut subscription = store.changes().subscribe();
    let writer = store.clone();
    let writing = tokio::spawn(async move {
        for number in 1..=50 {
            writer.config().set("a/b", &number.to_string()).await.unwrap();
        }
    });
    for number in 1..=50_u64 {
        let Some(Notice::Changed(event)) = subscription.next().await else { panic!("an event is missing") };
        assert_eq!((event.topic, event.generation, event.is_ours), (Topic::Config, number, true));
        let found: u64 = store.config().value("a/b").await.unwrap().unwrap().parse().unwrap();
        assert!(found >= number, "{found} was read at {number}");
    }
    writing.await.unwrap();
}

async fn what_another_gateway_changed_is_fed_in(store: &Store) {
    let mut subscription = store.changes().subscribe();
    let before = store.changes().generation(Topic::Config);
    store.changes().feed(Topic::Config);
    assert_ne!(store.changes().generation(Topic::Config), before);
    let expected =
        Event { topic: Topic::Config, generation: store.changes().generation(Topic::Config), is_ours: false };
    assert_eq!(subscription.next().await, Some(Notice::Changed(expected)));
}
