//! Capabilities of groups.

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
    assert!(store.grant(Gid(100), "fs.*").await.unwrap());
    assert!(!store.grant(Gid(100), "fs.*").await.unwrap());
    assert!(store.grant(Gid(100), "ai.*").await.unwrap());
    assert!(store.grant(Gid(0), "*").await.unwrap());
    assert_eq!(store.grants().await.unwrap(), pairs(&[(0, "*"), (100, "ai.*"), (100, "fs.*")]));
    assert_eq!(store.grants_of(Gid(100)).await.unwrap(), ["ai.*", "fs.*"]);
    assert_eq!(store.grants_of(Gid(7)).await.unwrap(), Vec::<String>::new());
    let made = store.group_create("makers").await.unwrap().gid;
    assert!(store.has_group(made).await.unwrap() && !store.has_group(Gid(7)).await.unwrap());
    assert!(store.revoke(Gid(100), "ai.*").await.unwrap());
    assert!(!store.revoke(Gid(100), "ai.*").await.unwrap());
    assert!(!store.revoke(Gid(0), "fs.*").await.unwrap());
    assert_eq!(store.grants().await.unwrap(), pairs(&[(0, "*"), (100, "fs.*")]));
}

async fn defaults_stay_revoked(store: &Store) {
    let first = [(Gid(0), "*"), (Gid(100), "fs.*"), (Gid(100), "ai.*")];
    store.grant(Gid(100), "ai.*").await.unwrap();
    store.grant_defaults(&first).await.unwrap();
    assert_eq!(store.grants().await.unwrap(), pairs(&[(0, "*"), (100, "ai.*"), (100, "fs.*")]));
    store.revoke(Gid(100), "fs.*").await.unwrap();
    let later = [first[0], first[1], first[2], (Gid(100), "shell.exec")];
    store.grant_defaults(&later).await.unwrap();
    store.grant_defaults(&later).await.unwrap();
    store.grant_defaults(&[]).await.unwrap();
    assert_eq!(store.grants().await.unwrap(), pairs(&[(0, "*"), (100, "ai.*"), (100, "shell.exec")]));
    assert!(store.grant(Gid(100), "fs.*").await.unwrap(), "it can be given by hand again");
}
