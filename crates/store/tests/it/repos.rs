//! Tests of the rows of git repositories.

use protocol::ids::Uid;
use protocol::repo::RepoKind;
use store::Store;
use store::repos::{RepoRow, Upstream};

use crate::home::{NOW_MS, add};

crate::home::with_a_store_on_both_engines! {
    a_repository_is_kept_as_given,
    names_that_differ_by_case_are_one,
    a_user_sees_its_own_and_public_ones,
    a_removed_user_leaves_none,
}

fn repo(owner: &str, uid: Uid, name: &str) -> RepoRow {
    RepoRow {
        owner: owner.to_string(),
        name: name.to_string(),
        owner_uid: uid,
        kind: RepoKind::User,
        public: false,
        description: None,
        upstream: None,
        created_at: NOW_MS,
        updated_at: NOW_MS,
    }
}

async fn a_repository_is_kept_as_given(store: &Store) {
    let ada = add(store, "ada").await;
    let row = RepoRow { kind: RepoKind::Home, description: Some("d".into()), ..repo("ada", ada.uid, "home") };
    assert!(store.repos().create(&row).await.unwrap());
    assert!(!store.repos().create(&row).await.unwrap());
    assert_eq!(store.repos().find("ada", "home").await.unwrap(), Some(row.clone()));
    let upstream = Upstream { url: "https://x/y".into(), reference: "main".into() };
    store.repos().set_upstream("ada", "home", &upstream).await.unwrap();
    store.repos().touch("ada", "home", NOW_MS + 1).await.unwrap();
    store.repos().describe("ada", "home", "other").await.unwrap();
    assert!(store.repos().set_public("ada", "home", true).await.unwrap());
    assert!(!store.repos().set_public("ada", "nothing", true).await.unwrap());
    let expected = RepoRow {
        public: true,
        description: Some("other".into()),
        upstream: Some(upstream),
        updated_at: NOW_MS + 1,
        ..row
    };
    assert_eq!(store.repos().all().await.unwrap(), [expected]);
}

async fn names_that_differ_by_case_are_one(store: &Store) {
    let ada = add(store, "ada").await;
    assert!(store.repos().create(&repo("ada", ada.uid, "Notes")).await.unwrap());
    assert!(!store.repos().create(&repo("ada", ada.uid, "notes")).await.unwrap());
    assert_eq!(store.repos().find("ada", "NOTES").await.unwrap().unwrap().name, "Notes");
}

async fn a_user_sees_its_own_and_public_ones(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    store.repos().create(&repo("ada", ada.uid, "a")).await.unwrap();
    store.repos().create(&RepoRow { public: true, ..repo("bob", bob.uid, "open") }).await.unwrap();
    store.repos().create(&repo("bob", bob.uid, "closed")).await.unwrap();
    let seen = store.repos().visible_to(ada.uid).await.unwrap();
    let seen: Vec<&str> = seen.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(seen, ["a", "open"]);
}

async fn a_removed_user_leaves_none(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    store.repos().create(&repo("ada", ada.uid, "a")).await.unwrap();
    store.repos().create(&repo("bob", bob.uid, "b")).await.unwrap();
    store.accounts().remove(bob.uid).await.unwrap();
    let left = store.repos().all().await.unwrap();
    assert_eq!(left.iter().map(|row| row.owner.as_str()).collect::<Vec<_>>(), ["ada"]);
}
