//! Tests of cache invalidation: another gateway writes to the store behind this kernel's back, and the change is fed
//! in.

use std::time::Duration;

use protocol::config::ROUTING_TIMEOUT_MS;
use protocol::ids::TokenId;
use store::accounts::EndSessions;
use store::changes::Topic;
use store::devices::Registration;

use super::doors::session_of;
use super::*;
use crate::outbox::Close;

/// Waits for something that happens beside the test.
async fn until(what: &str, mut happens: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !happens().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect(what);
}

async fn log_in(kernel: &Arc<Kernel>, username: &str) -> Arc<Connection> {
    let client = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let auth = json!({ "username": username, "password": "ann-password" });
    let args = json!({ "protocol": 1, "client": { "id": "c", "role": "user" }, "auth": auth });
    send(kernel, &client, json!({ "type": "req", "id": "1", "call": "sys.connect", "args": args }));
    assert_eq!(next(&client).await["ok"], true);
    client
}

/// Whether a socket may make a call.
async fn may(kernel: &Arc<Kernel>, client: &Arc<Connection>, call: &str) -> bool {
    send(kernel, client, json!({ "type": "req", "id": "2", "call": call, "args": {} }));
    loop {
        let frame = next(client).await;
        if frame["type"] == "res" {
            assert!(frame["ok"] == true || frame["error"]["code"] == 403, "{frame}");
            return frame["ok"] == true;
        }
    }
}

#[tokio::test]
async fn a_grant_that_another_gateway_gave_or_revoked_counts_here() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    drop(with_driver(&kernel).await);
    let client = log_in(&kernel, "ann").await;
    let process = kernel.gateway.calls(&process(&kernel).await);
    let list = async || process.raw("sys.device.list", "{}").await.is_ok();
    let store = &kernel.store;
    assert!(may(&kernel, &client, "sys.device.list").await && list().await);

    assert!(store.grants().revoke(Gid::USERS, "sys.device.list").await.unwrap());
    assert!(may(&kernel, &client, "sys.device.list").await, "nobody has told this gateway yet");
    store.changes().feed(Topic::Grants);
    until("the socket is refused", async || !may(&kernel, &client, "sys.device.list").await).await;
    assert!(!list().await, "and so is what runs inside");

    assert!(!may(&kernel, &client, "sys.user.list").await);
    assert!(store.grants().give(Gid::USERS, "sys.device.list").await.unwrap());
    store.changes().feed(Topic::Grants);
    until("the socket is let in", async || may(&kernel, &client, "sys.device.list").await).await;
    assert!(list().await);
}

#[tokio::test]
async fn a_setting_that_another_gateway_set_or_removed_counts_here() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let (store, key) = (&kernel.store, ROUTING_TIMEOUT_MS.name());
    let usual = kernel.settings.route_timeout();
    store.config().set(key, "5000").await.unwrap();
    store.config().set("config/ai/api_key", "hidden").await.unwrap();
    assert_eq!(kernel.settings.route_timeout(), usual);
    store.changes().feed(Topic::Config);
    let five = Duration::from_secs(5);
    until("it is set", async || kernel.settings.route_timeout() == five).await;
    store.config().remove(key).await.unwrap();
    store.changes().feed(Topic::Config);
    until("it is removed", async || kernel.settings.route_timeout() == usual).await;
}

#[tokio::test]
async fn devices_that_another_gateway_knows_are_known_here_and_those_here_keep_their_sockets() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let ann = kernel.store.accounts().by_name("ann").await.unwrap().unwrap();
    let registration = Registration {
        device_id: "far".into(),
        owner_uid: ann.uid,
        owner_gid: ann.gid,
        implements: vec!["fs.*".to_string()],
        platform: "linux".to_string(),
        version: "1".to_string(),
        now_ms: 1,
    };
    kernel.store.devices().register(registration).await.unwrap();
    kernel.store.devices().describe(&"desk".into(), "the one here", 2).await.unwrap();
    let who = ann.identity();
    assert!(kernel.devices.visible(&"far".into(), &who).is_none());
    let before = kernel.gateway.changes().feed(Topic::Devices);
    until("the device is known", async || kernel.devices.visible(&"far".into(), &who).is_some()).await;
    assert!(kernel.gateway.changes().generation(Topic::Devices) > before, "setups are made again");
    let desk = kernel.devices.get(&"desk".into()).unwrap();
    assert_eq!((desk.description.as_str(), desk.online), ("the one here", true));
    let refused = kernel.devices.driver_for(&"far".into(), "fs.read", &who).err().unwrap();
    assert_eq!(refused.code, 503, "its socket is elsewhere");

    let calling = tokio::spawn(read_on_desk(kernel.clone(), process(&kernel).await));
    let request = next(&driver).await;
    send(&kernel, &driver, json!({ "type": "res", "id": request["id"], "ok": true, "data": { "n": 1 } }));
    assert_eq!(calling.await.unwrap().unwrap(), r#"{"n":1}"#);
}

#[tokio::test]
async fn a_token_that_another_gateway_revoked_is_over_here() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    drop(with_driver(&kernel).await);
    let store = &kernel.store;
    let lost = session_of(&kernel, "lost", None, None).await;
    let child = session_of(&kernel, "child", None, Some(TokenId("lost".into()))).await;
    let good = session_of(&kernel, "good", None, None).await;
    store.tokens().revoke(&TokenId("lost".into()), None, None, 2).await.unwrap();
    assert!(!lost.outbox.is_closing(), "nobody has told this gateway yet");
    store.changes().feed(Topic::Tokens);
    until("the sockets close", async || lost.outbox.is_closing() && child.outbox.is_closing()).await;
    assert_eq!(lost.outbox.closing(), Some(Close::REVOKED));
    assert!(!good.outbox.is_closing());
}

#[tokio::test]
async fn sessions_that_another_gateway_ended_are_over_here() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let (store, client) = (&kernel.store, log_in(&kernel, "ann").await);
    let ann = store.accounts().by_name("ann").await.unwrap().unwrap();
    // A new password alone, as one that was told to keep the sessions, ends nothing.
    store.accounts().set_hash(ann.uid, &ann.hash, 2).await.unwrap();
    store.changes().feed(Topic::Accounts);
    assert!(may(&kernel, &client, "sys.device.list").await);
    let ending = EndSessions { uid: ann.uid, hash: None, but: None, reason: "new", now_ms: 3 };
    store.accounts().end_sessions(ending).await.unwrap();
    store.changes().feed(Topic::Accounts);
    until("the session ends", async || client.outbox.is_closing()).await;
    assert_eq!(client.outbox.closing(), Some(Close::PASSWORD_CHANGED));
    assert!(!driver.outbox.is_closing(), "devices have no sessions");
    let again = log_in(&kernel, "ann").await;
    store.changes().feed(Topic::Accounts);
    assert!(may(&kernel, &again, "sys.device.list").await, "who logs in afterwards stays");
}

#[tokio::test]
async fn a_user_whom_another_gateway_locked_or_removed_is_cut_off_here() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let (store, client) = (&kernel.store, log_in(&kernel, "ann").await);
    let ann = store.accounts().by_name("ann").await.unwrap().unwrap();
    store.accounts().set_locked(ann.uid, true).await.unwrap();
    assert!(!client.outbox.is_closing());
    store.changes().feed(Topic::Accounts);
    until("the sockets close", async || client.outbox.is_closing() && driver.outbox.is_closing()).await;

    store.accounts().remove(ann.uid).await.unwrap();
    store.changes().feed(Topic::Devices);
    until("the device is forgotten", async || kernel.devices.get(&"desk".into()).is_none()).await;
}
