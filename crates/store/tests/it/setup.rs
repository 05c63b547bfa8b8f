//! Tests of setup: the first user, in one transaction, once.

use protocol::ids::{Gid, Uid};
use store::accounts::Setup;
use store::{Error, Store};

use crate::home::{NOW_MS, add, person};
use crate::tokens::token;

crate::home::with_a_store_on_both_engines! {
    setup_writes_everything_once,
    setup_without_a_token_or_config,
    a_refused_setup_writes_nothing,
    a_token_that_exists_undoes_the_setup,
    of_many_setups_at_once_one_wins,
    setup_mode_ends_with_a_password_or_a_user,
    a_missing_root_is_setup_mode,
}

fn first(name: &str) -> Setup {
    Setup {
        account: person(name),
        root_hash: "$hash$root".to_string(),
        config: vec![
            ("config/server/timezone".to_string(), "Europe/Paris".to_string()),
            ("config/ai/api_key".to_string(), "sk-first".to_string()),
        ],
        token: Some(token("first", Uid(0))),
    }
}

async fn setup_writes_everything_once(store: &Store) {
    assert!(store.in_setup_mode().await.unwrap());
    let (account, token) = store.setup(first("ada")).await.unwrap().unwrap();
    assert_eq!((account.uid, &account.gids[..]), (Uid(1000), &[Gid::USERS, Gid(1000)][..]));
    let token = token.unwrap();
    assert_eq!((token.uid, token.token_id.as_str()), (Uid(1000), "first-0"));
    assert_eq!(store.tokens().by_hash(Uid(1000), &token.hash).await.unwrap(), Some(token));
    let root = store.accounts().by_name("root").await.unwrap().unwrap();
    assert_eq!((root.hash.as_str(), root.locked, root.changed_at), ("$hash$root", false, NOW_MS));
    assert_eq!(store.config().value("config/ai/api_key").await.unwrap().as_deref(), Some("sk-first"));
    assert!(!store.in_setup_mode().await.unwrap());

    let mut again = first("bob");
    again.root_hash = "$hash$stolen".to_string();
    assert_eq!(store.setup(again).await.unwrap(), None);
    assert_eq!(store.accounts().by_name("bob").await.unwrap(), None);
    assert_eq!(store.accounts().by_name("root").await.unwrap().unwrap().hash, "$hash$root");
}

async fn setup_without_a_token_or_config(store: &Store) {
    let setup = Setup { config: vec![], token: None, ..first("ada") };
    let (account, token) = store.setup(setup).await.unwrap().unwrap();
    assert_eq!((account.username.as_str(), token), ("ada", None));
    assert_eq!(store.config().below("").await.unwrap(), []);
}

async fn a_refused_setup_writes_nothing(store: &Store) {
    for name in ["root", "users"] {
        let refused = store.setup(first(name)).await;
        assert!(matches!(&refused, Err(Error::Conflict(what)) if what == name), "{refused:?}");
        untouched(store).await;
    }
}

async fn a_token_that_exists_undoes_the_setup(store: &Store) {
    store.tokens().create(token("first", Uid(0))).await.unwrap();
    assert!(matches!(store.setup(first("ada")).await, Err(Error::Conflict(_))));
    untouched(store).await;
    let setup = Setup { token: None, ..first("ada") };
    assert_eq!(store.setup(setup).await.unwrap().unwrap().0.uid, Uid(1000));
}

async fn untouched(store: &Store) {
    assert!(store.in_setup_mode().await.unwrap());
    assert_eq!(store.accounts().by_name("root").await.unwrap().unwrap().hash, "!");
    assert_eq!(store.accounts().all().await.unwrap().len(), 1);
    assert_eq!(store.groups().all().await.unwrap().len(), 4);
    assert_eq!(store.config().below("").await.unwrap(), []);
}

async fn of_many_setups_at_once_one_wins(store: &Store) {
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.setup(first(&format!("user{number}"))).await.unwrap() })
        })
        .collect();
    let mut won = 0;
    for task in tasks {
        won += usize::from(task.await.unwrap().is_some());
    }
    assert_eq!((won, store.accounts().all().await.unwrap().len()), (1, 2));
}

async fn setup_mode_ends_with_a_password_or_a_user(store: &Store) {
    for hash in ["", "!", "*"] {
        store.accounts().set_hash(Uid::ROOT, hash, NOW_MS).await.unwrap();
        assert!(store.in_setup_mode().await.unwrap(), "{hash:?}");
    }
    store.accounts().set_hash(Uid::ROOT, "$hash", NOW_MS).await.unwrap();
    assert!(!store.in_setup_mode().await.unwrap());
    store.accounts().set_hash(Uid::ROOT, "!", NOW_MS).await.unwrap();
    let ada = add(store, "ada").await;
    assert!(!store.in_setup_mode().await.unwrap());
    assert_eq!(store.setup(first("bob")).await.unwrap(), None);
    store.accounts().remove(ada.uid).await.unwrap();
    assert!(store.in_setup_mode().await.unwrap());
}

async fn a_missing_root_is_setup_mode(store: &Store) {
    let ada = add(store, "ada").await;
    store.accounts().remove(Uid::ROOT).await.unwrap();
    assert!(store.in_setup_mode().await.unwrap());
    store.provision(NOW_MS).await.unwrap();
    assert!(store.in_setup_mode().await.unwrap(), "there are accounts, so nothing is provisioned");
    let (bob, _) = store.setup(first("bob")).await.unwrap().unwrap();
    assert_ne!(bob.uid, ada.uid);
    assert_eq!(store.accounts().by_name("root").await.unwrap().unwrap().hash, "$hash$root");
    assert!(!store.in_setup_mode().await.unwrap());
}
