//! Tests of users and groups.

use std::collections::BTreeSet;

use protocol::ids::{Gid, Uid};
use store::accounts::Group;
use store::{Error, Store};

use crate::home::{NOW_MS, add, person};

crate::home::with_a_store_on_both_engines! {
    provision_makes_root_and_the_groups,
    a_user_gets_the_next_number_and_a_private_group,
    a_taken_name_is_a_conflict_and_changes_nothing,
    numbers_are_not_given_twice,
    concurrent_users_get_distinct_numbers,
    the_same_name_at_once_is_given_to_one,
    passwords_and_locks,
    names_and_the_last_number,
    memberships_are_replaced,
    removing_a_user_removes_what_is_its_own,
    groups_come_and_go,
    names_sort_by_their_bytes,
}

async fn provision_makes_root_and_the_groups(store: &Store) {
    store.provision(NOW_MS + 1).await.unwrap();
    let accounts = store.accounts().all().await.unwrap();
    assert_eq!(accounts.len(), 1);
    let root = &accounts[0];
    assert_eq!((root.uid, root.gid, &root.gids[..]), (Uid::ROOT, Gid::ROOT, &[Gid::ROOT][..]));
    assert_eq!((root.username.as_str(), root.gecos.as_str()), ("root", "root"));
    assert_eq!((root.home.as_str(), root.shell.as_str()), ("/root", "/bin/init"));
    assert_eq!((root.hash.as_str(), root.locked, root.changed_at), ("!", false, NOW_MS));
    let groups = store.groups().all().await.unwrap();
    let names: Vec<(u32, &str)> = groups.iter().map(|group| (group.gid.0, group.name.as_str())).collect();
    assert_eq!(names, [(0, "root"), (100, "users"), (101, "drivers"), (102, "services")]);
    assert!(groups.iter().all(|group| group.members.is_empty()));
}

async fn a_user_gets_the_next_number_and_a_private_group(store: &Store) {
    let ada = add(store, "ada").await;
    assert_eq!((ada.uid, ada.gid), (Uid(1000), Gid(1000)));
    assert_eq!(ada.gids, [Gid::USERS, Gid(1000)]);
    assert_eq!(
        (ada.gecos.as_str(), ada.home.as_str(), ada.shell.as_str()),
        ("ada", "/home/ada", "/bin/init")
    );
    assert_eq!((ada.hash.as_str(), ada.locked, ada.changed_at), ("$hash$ada", false, NOW_MS));
    assert_eq!(store.accounts().by_name("ada").await.unwrap(), Some(ada.clone()));
    assert_eq!(store.accounts().by_uid(Uid(1000)).await.unwrap(), Some(ada));
    assert_eq!(store.accounts().by_name("nobody").await.unwrap(), None);
    assert_eq!(store.accounts().by_name("a\0da").await.unwrap(), None);
    assert_eq!(store.accounts().by_uid(Uid(4_000_000_000)).await.unwrap(), None);
    assert_eq!(add(store, "bob").await.uid, Uid(1001));
    let users =
        store.groups().all().await.unwrap().into_iter().find(|group| group.gid == Gid::USERS).unwrap();
    assert_eq!(users.members, ["ada", "bob"]);
}

async fn a_taken_name_is_a_conflict_and_changes_nothing(store: &Store) {
    add(store, "ada").await;
    store.groups().create("makers").await.unwrap();
    let before = (store.accounts().all().await.unwrap(), store.groups().all().await.unwrap());
    for name in ["ada", "root", "users", "makers"] {
        let refused = store.accounts().create(person(name)).await;
        assert!(matches!(&refused, Err(Error::Conflict(what)) if what == name), "{name}: {refused:?}");
        let refused = store.groups().create(name).await;
        assert!(matches!(&refused, Err(Error::Conflict(what)) if what == name), "{name}: {refused:?}");
    }
    assert!(matches!(store.accounts().create(person("a\0b")).await, Err(Error::Failed(_))));
    assert_eq!((store.accounts().all().await.unwrap(), store.groups().all().await.unwrap()), before);
    assert_eq!(add(store, "bob").await.uid, Uid(1002));
}

async fn numbers_are_not_given_twice(store: &Store) {
    assert_eq!(store.groups().create("makers").await.unwrap().gid, Gid(1000));
    assert_eq!(add(store, "ada").await.uid, Uid(1001));
    assert!(store.accounts().remove(Uid(1001)).await.unwrap().is_some());
    assert_eq!(add(store, "bob").await.uid, Uid(1002));
}

async fn concurrent_users_get_distinct_numbers(store: &Store) {
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(
                async move { store.accounts().create(person(&format!("user{number}"))).await.unwrap() },
            )
        })
        .collect();
    let mut uids = BTreeSet::new();
    for task in tasks {
        let account = task.await.unwrap();
        assert_eq!(account.gids, [Gid::USERS, account.gid]);
        uids.insert(account.uid.0);
    }
    assert_eq!(uids, (1000..1064).collect());
    assert_eq!(store.accounts().all().await.unwrap().len(), 65);
}

async fn the_same_name_at_once_is_given_to_one(store: &Store) {
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.accounts().create(person("ada")).await })
        })
        .collect();
    let mut given = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => given += 1,
            Err(error) => assert!(matches!(&error, Error::Conflict(what) if what == "ada"), "{error:?}"),
        }
    }
    assert_eq!(given, 1);
}

async fn passwords_and_locks(store: &Store) {
    let ada = add(store, "ada").await;
    assert!(store.accounts().set_hash(ada.uid, "$new", NOW_MS + 5).await.unwrap());
    assert!(store.accounts().set_locked(ada.uid, true).await.unwrap());
    let now = store.accounts().by_name("ada").await.unwrap().unwrap();
    assert_eq!((now.hash.as_str(), now.locked, now.changed_at), ("$new", true, NOW_MS + 5));
    assert!(store.accounts().set_locked(ada.uid, false).await.unwrap());
    let now = store.accounts().by_name("ada").await.unwrap().unwrap();
    assert_eq!((now.hash.as_str(), now.locked), ("$new", false));
    assert!(!store.accounts().set_hash(Uid(7), "$new", NOW_MS).await.unwrap());
    assert!(!store.accounts().set_locked(Uid(7), true).await.unwrap());
}

async fn memberships_are_replaced(store: &Store) {
    let ada = add(store, "ada").await;
    let makers = store.groups().create("makers").await.unwrap();
    let groups = [makers.gid, Gid::SERVICES, Gid::SERVICES, ada.gid, Gid(9999)];
    store.accounts().set_groups(ada.uid, &groups).await.unwrap();
    let gids = store.accounts().by_name("ada").await.unwrap().unwrap().gids;
    assert_eq!(gids, [Gid::SERVICES, ada.gid, makers.gid]);
    store.accounts().set_groups(ada.uid, &[]).await.unwrap();
    assert_eq!(store.accounts().by_name("ada").await.unwrap().unwrap().gids, [ada.gid]);
    store.accounts().set_groups(Uid(7), &[Gid::USERS]).await.unwrap();
    assert!(store.groups().all().await.unwrap().iter().all(|group| group.members.is_empty()));
}

async fn removing_a_user_removes_what_is_its_own(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    for account in [&ada, &bob] {
        store.grants().give(account.gid, "fs.read").await.unwrap();
        store.config().set(&format!("users/{}/ai/api_key", account.uid), "k").await.unwrap();
        store.tokens().create(crate::tokens::token("t", account.uid)).await.unwrap();
        let device = crate::devices::registration(&format!("pc-{}", account.username), account);
        store.devices().register(device).await.unwrap().unwrap();
    }
    store.config().set("users/10000/note", "another's").await.unwrap();
    store.devices().set_access(&"pc-bob".into(), ada.gid, true).await.unwrap();
    let session = crate::sessions::session("sh_1", ada.uid, "pc-bob", "1");
    store.sessions().create(session.clone()).await.unwrap();

    assert_eq!(store.accounts().remove(ada.uid).await.unwrap(), Some(Vec::new()));
    assert_eq!(store.accounts().remove(ada.uid).await.unwrap(), None);
    assert_eq!(store.accounts().by_name("ada").await.unwrap(), None);
    assert!(store.groups().all().await.unwrap().iter().all(|group| group.name != "ada"));
    assert_eq!(store.grants().all().await.unwrap(), [(bob.gid, "fs.read".to_string())]);
    let keys: Vec<String> = store.config().below("").await.unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["users/10000/note", "users/1001/ai/api_key"]);
    let tokens = store.tokens().of(None).await.unwrap();
    assert_eq!(tokens.iter().map(|token| token.uid).collect::<Vec<_>>(), [bob.uid]);
    let devices = store.devices().all().await.unwrap();
    assert_eq!(devices.iter().find(|device| device.device_id.0 == "pc-bob").unwrap().gids, [bob.gid]);
    assert_eq!(store.sessions().by_id(&session.session_id, NOW_MS).await.unwrap(), None);
}

async fn groups_come_and_go(store: &Store) {
    let ada = add(store, "ada").await;
    let makers = store.groups().create("makers").await.unwrap();
    assert_eq!(makers, Group { gid: Gid(1001), name: "makers".to_string(), members: vec![] });
    store.accounts().set_groups(ada.uid, &[makers.gid]).await.unwrap();
    store.grants().give(makers.gid, "fs.read").await.unwrap();
    store.devices().register(crate::devices::registration("pc", &ada)).await.unwrap().unwrap();
    store.devices().set_access(&"pc".into(), makers.gid, true).await.unwrap();
    assert!(store.groups().all().await.unwrap().iter().any(|group| group.members == ["ada"]));

    assert!(!store.groups().remove(ada.gid).await.unwrap(), "a private group stays with its user");
    assert!(store.groups().remove(makers.gid).await.unwrap());
    assert!(!store.groups().remove(makers.gid).await.unwrap());
    assert_eq!(store.accounts().by_name("ada").await.unwrap().unwrap().gids, [ada.gid]);
    assert_eq!(store.grants().all().await.unwrap(), []);
    assert_eq!(store.devices().all().await.unwrap()[0].gids, [ada.gid]);
}

async fn names_sort_by_their_bytes(store: &Store) {
    for name in ["b", "B", "a", "A", "_", "-", "ä", "Z", "z"] {
        store.grants().give(Gid::USERS, name).await.unwrap();
    }
    let names: Vec<String> = store.grants().all().await.unwrap().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["-", "A", "B", "Z", "_", "a", "b", "z", "ä"]);
}

async fn names_and_the_last_number(store: &Store) {
    assert_eq!(store.accounts().latest_number().await.unwrap(), 999);
    let ada = add(store, "ada").await;
    assert_eq!(store.accounts().latest_number().await.unwrap(), ada.uid.0);
    assert!(store.accounts().set_gecos(ada.uid, "Ada L.").await.unwrap());
    assert_eq!(store.accounts().by_name("ada").await.unwrap().unwrap().gecos, "Ada L.");
    assert!(!store.accounts().set_gecos(Uid(4_000), "nobody").await.unwrap());
}
