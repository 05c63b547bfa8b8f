//! Tests of devices, who may use them, and the routes of processes.

use protocol::ids::{DeviceId, Gid, Uid};
use store::accounts::Account;
use store::devices::{Device, Registration};
use store::routes::RouteRow;
use store::{Error, Store};

use crate::home::{NOW_MS, add};

crate::home::with_a_store_on_both_engines! {
    a_device_is_added_and_refreshed,
    another_users_device_is_left_alone,
    ids_that_differ_only_in_case_are_one,
    devices_go_offline,
    access_is_given_and_taken,
    a_device_id_claimed_at_once_goes_to_one,
    routes_are_opened_and_closed_once,
    a_route_remembers_what_was_sent,
}

/// A route with everything in it.
pub fn route(id: &str, pid: &str, request_id: &str) -> RouteRow {
    RouteRow {
        route_id: id.to_string(),
        call: "shell.exec".to_string(),
        pid: pid.into(),
        request_id: request_id.to_string(),
        device_id: "pc".into(),
        created_at: NOW_MS,
        expires_at: NOW_MS + 60_000,
        wire_id: Some(format!("g{id}")),
        instance: Some("i".to_string()),
        args: Some(r#"{"input":"ls"}"#.to_string()),
    }
}

pub fn registration(device_id: &str, owner: &Account) -> Registration {
    Registration {
        device_id: device_id.into(),
        owner_uid: owner.uid,
        owner_gid: owner.gid,
        implements: vec!["fs.*".to_string(), "shell.exec".to_string()],
        platform: "linux".to_string(),
        version: "0.1".to_string(),
        now_ms: NOW_MS,
    }
}

async fn a_device_is_added_and_refreshed(store: &Store) {
    let ada = add(store, "ada").await;
    let device = store.devices().register(registration("pc", &ada)).await.unwrap().unwrap();
    let expected = Device {
        device_id: "pc".into(),
        owner_uid: ada.uid,
        description: String::new(),
        implements: vec!["fs.*".to_string(), "shell.exec".to_string()],
        platform: "linux".to_string(),
        version: "0.1".to_string(),
        online: true,
        first_seen_at: NOW_MS,
        last_seen_at: NOW_MS,
        connected_at: Some(NOW_MS),
        disconnected_at: None,
        gids: vec![ada.gid],
    };
    assert_eq!(device, expected);
    store.devices().describe(&"pc".into(), "the \"big\" one", NOW_MS + 1).await.unwrap();
    store.devices().set_access(&"pc".into(), ada.gid, false).await.unwrap();
    store.devices().set_access(&"pc".into(), Gid::USERS, true).await.unwrap();
    store.devices().set_offline(&"pc".into(), NOW_MS + 2).await.unwrap();
    let again = Registration {
        implements: vec![],
        platform: "darwin".to_string(),
        version: "0.2".to_string(),
        now_ms: NOW_MS + 3,
        ..registration("pc", &ada)
    };
    let device = store.devices().register(again).await.unwrap().unwrap();
    let expected = Device {
        description: "the \"big\" one".to_string(),
        implements: vec![],
        platform: "darwin".to_string(),
        version: "0.2".to_string(),
        last_seen_at: NOW_MS + 3,
        connected_at: Some(NOW_MS + 3),
        gids: vec![Gid::USERS],
        ..expected
    };
    assert_eq!(device, expected);
    assert_eq!(store.devices().all().await.unwrap(), [expected]);
}

async fn another_users_device_is_left_alone(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    let device = store.devices().register(registration("pc", &ada)).await.unwrap().unwrap();
    let theft = Registration { platform: "evil".to_string(), ..registration("pc", &bob) };
    assert_eq!(store.devices().register(theft).await.unwrap(), None);
    assert_eq!(store.devices().all().await.unwrap(), [device]);
}

async fn ids_that_differ_only_in_case_are_one(store: &Store) {
    let (ada, ben) = (add(store, "ada").await, add(store, "ben").await);
    store.devices().register(registration("pc", &ada)).await.unwrap().unwrap();
    assert_eq!(store.devices().register(registration("PC", &ada)).await.unwrap(), None);
    assert_eq!(store.devices().register(registration("Pc", &ben)).await.unwrap(), None);
    assert_eq!(store.devices().all().await.unwrap().len(), 1);
    assert!(store.devices().register(registration("pc", &ada)).await.unwrap().is_some());
}

async fn devices_go_offline(store: &Store) {
    let ada = add(store, "ada").await;
    for name in ["b", "a", "c"] {
        store.devices().register(registration(name, &ada)).await.unwrap().unwrap();
    }
    store.devices().set_offline(&"a".into(), NOW_MS + 1).await.unwrap();
    store.devices().set_offline(&"a".into(), NOW_MS + 2).await.unwrap();
    store.devices().set_offline(&"unknown".into(), NOW_MS + 2).await.unwrap();
    let ids: Vec<DeviceId> = vec!["b".into(), "c".into()];
    assert_eq!(store.devices().set_all_offline(NOW_MS + 3).await.unwrap(), ids);
    assert_eq!(store.devices().set_all_offline(NOW_MS + 4).await.unwrap(), []);
    let devices = store.devices().all().await.unwrap();
    let times: Vec<_> = devices.iter().map(|d| (d.device_id.as_str(), d.online, d.disconnected_at)).collect();
    assert_eq!(
        times,
        [("a", false, Some(NOW_MS + 1)), ("b", false, Some(NOW_MS + 3)), ("c", false, Some(NOW_MS + 3))]
    );
    assert_eq!(devices[0].last_seen_at, NOW_MS + 1);
}

async fn access_is_given_and_taken(store: &Store) {
    let ada = add(store, "ada").await;
    store.devices().set_access(&"pc".into(), Gid::USERS, true).await.unwrap();
    let device = store.devices().register(registration("pc", &ada)).await.unwrap().unwrap();
    assert_eq!(device.gids, [ada.gid], "access to a device that was not there did not wait for it");
    for _ in 0..2 {
        store.devices().set_access(&"pc".into(), Gid::USERS, true).await.unwrap();
        assert_eq!(store.devices().all().await.unwrap()[0].gids, [Gid::USERS, ada.gid]);
    }
    for _ in 0..2 {
        store.devices().set_access(&"pc".into(), Gid::USERS, false).await.unwrap();
        assert_eq!(store.devices().all().await.unwrap()[0].gids, [ada.gid]);
    }
}

async fn a_device_id_claimed_at_once_goes_to_one(store: &Store) {
    let mut tasks = Vec::new();
    for number in 0..12 {
        let (store, owner) = (store.clone(), add(store, &format!("user{number}")).await);
        tasks.push(tokio::spawn(async move {
            store.devices().register(registration("pc", &owner)).await.unwrap()
        }));
    }
    let mut owners: Vec<Uid> = Vec::new();
    for task in tasks {
        owners.extend(task.await.unwrap().map(|device| device.owner_uid));
    }
    let devices = store.devices().all().await.unwrap();
    assert_eq!((devices.len(), owners.as_slice()), (1, &[devices[0].owner_uid][..]));
    assert_eq!(devices[0].gids, [Gid(devices[0].owner_uid.0)]);
}

async fn routes_are_opened_and_closed_once(store: &Store) {
    let route = |id: &str, created_at: i64| RouteRow {
        route_id: id.to_string(),
        call: "fs.read".to_string(),
        pid: "init:1000".into(),
        request_id: "7".to_string(),
        device_id: "pc".into(),
        created_at,
        expires_at: created_at + 60_000,
        wire_id: None,
        instance: None,
        args: None,
    };
    for (id, created_at) in [("b", 2), ("c", 1), ("a", 2)] {
        store.routes().open(route(id, created_at)).await.unwrap();
    }
    let twice = store.routes().open(route("a", 9)).await;
    assert!(matches!(&twice, Err(Error::Conflict(what)) if what == "a"), "{twice:?}");
    assert_eq!(store.routes().all().await.unwrap(), [route("c", 1), route("a", 2), route("b", 2)]);

    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.routes().close("a").await.unwrap() })
        })
        .collect();
    let mut closed = 0;
    for task in tasks {
        closed += usize::from(task.await.unwrap());
    }
    assert_eq!(closed, 1);
    assert_eq!(store.routes().all().await.unwrap(), [route("c", 1), route("b", 2)]);
}

async fn a_route_remembers_what_was_sent(store: &Store) {
    let bare = RouteRow { wire_id: None, instance: None, args: None, ..route("2", "p", "r/1/1") };
    for row in [route("1", "p", "r/1/0"), bare.clone()] {
        store.routes().open(row).await.unwrap();
    }
    assert_eq!(store.routes().all().await.unwrap(), [route("1", "p", "r/1/0"), bare.clone()]);
    assert_eq!(store.routes().of(&"p".into(), "r/1/1").await.unwrap(), Some(bare));
    assert_eq!(store.routes().of(&"p".into(), "r/1/2").await.unwrap(), None);
}
