//! Tests of the capabilities of groups.

use protocol::ids::Gid;
use store::Store;

crate::home::with_a_store_on_both_engines! {
    grants_are_given_and_taken,
    defaults_stay_revoked,
}

fn pairs(list: &[(u32, &str)]) -> Vec<(Gid, String)> {
    list.iter().map(|(gid, name)| (Gid(*gid), name.to_string())).collect()
}

async fn grants_are_given_and_taken(store: &Store) {
    assert!(store.grants().give(Gid(100), "fs.*").await.unwrap());
    assert!(!store.grants().give(Gid(100), "fs.*").await.unwrap());
    assert!(store.grants().give(Gid(100), "ai.*").await.unwrap());
    assert!(store.grants().give(Gid(0), "*").await.unwrap());
    assert_eq!(store.grants().all().await.unwrap(), pairs(&[(0, "*"), (100, "ai.*"), (100, "fs.*")]));
    assert_eq!(store.grants().of(Gid(100)).await.unwrap(), ["ai.*", "fs.*"]);
    assert_eq!(store.grants().of(Gid(7)).await.unwrap(), Vec::<String>::new());
    let made = store.groups().create("makers").await.unwrap().gid;
    assert!(store.groups().has(made).await.unwrap() && !store.groups().has(Gid(7)).await.unwrap());
    assert!(store.grants().revoke(Gid(100), "ai.*").await.unwrap());
    assert!(!store.grants().revoke(Gid(100), "ai.*").await.unwrap());
    assert!(!store.grants().revoke(Gid(0), "fs.*").await.unwrap());
    assert_eq!(store.grants().all().await.unwrap(), pairs(&[(0, "*"), (100, "fs.*")]));
}

async fn defaults_stay_revoked(store: &Store) {
    let first = [(Gid(0), "*"), (Gid(100), "fs.*"), (Gid(100), "ai.*")];
    store.grants().give(Gid(100), "ai.*").await.unwrap();
    store.grants().give_defaults(&first).await.unwrap();
    assert_eq!(store.grants().all().await.unwrap(), pairs(&[(0, "*"), (100, "ai.*"), (100, "fs.*")]));
    store.grants().revoke(Gid(100), "fs.*").await.unwrap();
    let later = [first[0], first[1], first[2], (Gid(100), "shell.exec")];
    store.grants().give_defaults(&later).await.unwrap();
    store.grants().give_defaults(&later).await.unwrap();
    store.grants().give_defaults(&[]).await.unwrap();
    assert_eq!(store.grants().all().await.unwrap(), pairs(&[(0, "*"), (100, "ai.*"), (100, "shell.exec")]));
    assert!(store.grants().give(Gid(100), "fs.*").await.unwrap(), "it can be given by hand again");
}
