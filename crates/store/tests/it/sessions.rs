//! Tests of shell sessions.

use protocol::confine::Way;
use protocol::ids::Uid;
use protocol::shell::Status;
use store::sessions::ShellSession;
use store::{Error, Store};

use crate::home::NOW_MS;

crate::home::with_a_store_on_both_engines! {
    a_session_is_kept_until_it_expires,
    an_update_keeps_what_it_does_not_say,
    an_id_the_device_uses_again_belongs_to_the_new_session,
    expired_sessions_are_removed,
    sessions_are_listed_by_user,
}

pub fn session(id: &str, uid: Uid, device_id: &str, device_session_id: &str) -> ShellSession {
    ShellSession {
        session_id: id.into(),
        uid,
        pid: None,
        way: None,
        device_id: device_id.into(),
        device_session_id: device_session_id.to_string(),
        status: Status::Running,
        exit_code: None,
        error: None,
        created_at: NOW_MS,
        updated_at: NOW_MS,
        expires_at: NOW_MS + 100,
    }
}

async fn a_session_is_kept_until_it_expires(store: &Store) {
    let (pid, way) = (Some("p1".into()), Some(Way::Confined));
    let kept = ShellSession { pid, way, ..session("sh_1", Uid(1000), "pc", "1") };
    store.sessions().create(kept.clone()).await.unwrap();
    assert_eq!(store.sessions().by_id(&"sh_1".into(), NOW_MS + 99).await.unwrap(), Some(kept.clone()));
    assert_eq!(store.sessions().by_id(&"sh_1".into(), NOW_MS + 100).await.unwrap(), None);
    assert_eq!(store.sessions().by_id(&"sh_2".into(), NOW_MS).await.unwrap(), None);
    let again = store.sessions().create(kept).await;
    assert!(matches!(&again, Err(Error::Conflict(what)) if what == "sh_1"), "{again:?}");
}

async fn an_update_keeps_what_it_does_not_say(store: &Store) {
    let first = session("sh_1", Uid(1000), "pc", "1");
    store.sessions().create(first.clone()).await.unwrap();
    store.sessions().create(session("sh_2", Uid(1000), "pc", "2")).await.unwrap();
    let pc = "pc".into();
    let update = async |status, exit_code, error, at: i64| {
        assert!(
            store
                .sessions()
                .update(&pc, "1", status, exit_code, error, NOW_MS + at, NOW_MS + at + 100)
                .await
                .unwrap()
        );
        store.sessions().by_id(&"sh_1".into(), NOW_MS + at).await.unwrap().unwrap()
    };
    let noted = update(Status::Failed, Some(-9), Some("killed"), 1).await;
    let expected = ShellSession {
        status: Status::Failed,
        exit_code: Some(-9),
        error: Some("killed".to_string()),
        updated_at: NOW_MS + 1,
        expires_at: NOW_MS + 101,
        ..first
    };
    assert_eq!(noted, expected);
    let noted = update(Status::Completed, None, None, 2).await;
    let expected = ShellSession {
        status: Status::Completed,
        updated_at: NOW_MS + 2,
        expires_at: NOW_MS + 102,
        ..expected
    };
    assert_eq!(noted, expected);
    let other = store.sessions().by_id(&"sh_2".into(), NOW_MS).await.unwrap().unwrap();
    assert_eq!((other.status, other.updated_at), (Status::Running, NOW_MS));
    for (device, id) in [("pc", "3"), ("mac", "1")] {
        let found =
            store.sessions().update(&device.into(), id, Status::Failed, None, None, NOW_MS, NOW_MS).await;
        assert!(!found.unwrap());
    }
}

async fn an_id_the_device_uses_again_belongs_to_the_new_session(store: &Store) {
    store.sessions().create(session("sh_1", Uid(1000), "pc", "1")).await.unwrap();
    store.sessions().create(session("sh_2", Uid(1000), "mac", "1")).await.unwrap();
    store.sessions().create(session("sh_3", Uid(1001), "pc", "1")).await.unwrap();
    assert_eq!(store.sessions().by_id(&"sh_1".into(), NOW_MS).await.unwrap(), None);
    assert!(store.sessions().by_id(&"sh_2".into(), NOW_MS).await.unwrap().is_some());
    assert_eq!(store.sessions().by_id(&"sh_3".into(), NOW_MS).await.unwrap().unwrap().uid, Uid(1001));
}

async fn expired_sessions_are_removed(store: &Store) {
    for (id, expires_at) in [("1", 1), ("2", 2), ("3", 3)] {
        let kept = ShellSession { expires_at, ..session(&format!("sh_{id}"), Uid(1000), "pc", id) };
        store.sessions().create(kept).await.unwrap();
    }
    assert_eq!(store.sessions().prune(2).await.unwrap(), 2);
    assert_eq!(store.sessions().prune(2).await.unwrap(), 0);
    assert!(store.sessions().by_id(&"sh_3".into(), 0).await.unwrap().is_some());
    assert!(store.sessions().by_id(&"sh_1".into(), 0).await.unwrap().is_none());
}

async fn sessions_are_listed_by_user(store: &Store) {
    for (id, uid) in [("sh_2", 1000), ("sh_1", 1000), ("sh_3", 1001)] {
        store.sessions().create(session(id, Uid(uid), "pc", id)).await.unwrap();
    }
    let listed = async |of: Option<u32>, at: i64| -> Vec<String> {
        let rows = store.sessions().of(of.map(Uid), NOW_MS + at).await.unwrap();
        rows.into_iter().map(|row| row.session_id.0).collect()
    };
    assert_eq!(listed(Some(1000), 0).await, ["sh_1", "sh_2"]);
    assert_eq!(listed(None, 99).await, ["sh_1", "sh_2", "sh_3"]);
    assert!(listed(Some(0), 0).await.is_empty() && listed(None, 100).await.is_empty());
}
