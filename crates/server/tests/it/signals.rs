//! Tests of signals over real sockets: counted for each user, and replayed to a client that comes back.

use serde_json::{Value, json};
use testkit::gateway::{DEVICE, PASSWORD, USER};
use testkit::{Gateway, Peer};

/// A socket of a user that goes on after a place; the answer's `resume`.
async fn resume(gateway: &Gateway, username: &str, seq: u64) -> (Peer, Value) {
    let mut peer = gateway.peer().await;
    let auth = json!({ "username": username, "password": PASSWORD });
    let args = json!({ "auth": auth, "resume": { "seq": seq } });
    let mut connected = peer.connect("user", "one-client", args).await.unwrap();
    (peer, connected["resume"].take())
}

async fn next_signal(peer: &mut Peer) -> Value {
    peer.next_where(|frame| frame["type"] == "sig").await
}

fn seq(frame: &Value) -> u64 {
    frame["seq"].as_u64().unwrap()
}

#[tokio::test]
async fn a_client_that_comes_back_gets_what_it_missed_and_then_what_is_new() {
    let gateway = Gateway::set_up().await;
    // The first time there is nothing to go on from, but the count is told.
    let (mut user, resumed) = resume(&gateway, USER, 0).await;
    assert_eq!(resumed["status"], "refresh");
    let beginning = resumed["to"].as_u64().unwrap();
    let driver = gateway.driver().await;
    let first = next_signal(&mut user).await;
    assert_eq!((seq(&first), first["payload"]["event"].as_str()), (beginning + 1, Some("connected")));
    user.close().await;

    let mut other = gateway.user().await;
    driver.close().await;
    assert_eq!(next_signal(&mut other).await["payload"]["event"], "disconnected");
    let driver = gateway.driver().await;
    assert_eq!(next_signal(&mut other).await["payload"]["event"], "connected");

    let (mut user, resumed) = resume(&gateway, USER, beginning + 1).await;
    assert_eq!(resumed, json!({ "status": "replayed", "from": beginning + 1, "to": beginning + 3 }));
    driver.close().await;
    for (place, event) in [(2, "disconnected"), (3, "connected"), (4, "disconnected")] {
        let signal = next_signal(&mut user).await;
        assert_eq!((seq(&signal), signal["payload"]["event"].as_str()), (beginning + place, Some(event)));
        assert_eq!(signal["payload"]["device"]["deviceId"], DEVICE);
    }
}

#[tokio::test]
async fn after_a_restart_the_client_reads_anew_and_numbers_go_on() {
    let gateway = Gateway::set_up().await;
    let (mut user, _) = resume(&gateway, USER, 0).await;
    let _driver = gateway.driver().await;
    let before = seq(&next_signal(&mut user).await);
    let gateway = gateway.restart().await;
    let (mut user, resumed) = resume(&gateway, USER, before).await;
    assert_eq!(resumed["status"], "refresh");
    assert!(resumed["to"].as_u64().unwrap() > before, "{resumed} after {before}");
    assert_eq!(resumed["from"], resumed["to"]);
    let _driver = gateway.driver().await;
    assert_eq!(seq(&next_signal(&mut user).await), resumed["to"].as_u64().unwrap() + 1);
}

#[tokio::test]
async fn nobody_is_told_what_is_not_theirs_neither_at_once_nor_later() {
    let gateway = Gateway::set_up().await;
    drop(gateway.add_user("bob").await);
    let (mut bob, resumed) = resume(&gateway, "bob", 0).await;
    let bobs = resumed["to"].as_u64().unwrap();
    let (mut user, resumed) = resume(&gateway, USER, 0).await;
    let users = resumed["to"].as_u64().unwrap();
    let driver = gateway.driver().await;
    next_signal(&mut user).await;
    driver.close().await;
    next_signal(&mut user).await;
    assert!(bob.saw_no(|frame| frame["type"] == "sig").await);
    bob.close().await;
    for place in [bobs, users, users + 1] {
        let (mut bob, _) = resume(&gateway, "bob", place).await;
        assert!(bob.saw_no(|frame| frame["type"] == "sig").await);
        bob.close().await;
    }
}

#[tokio::test]
async fn what_cannot_be_a_place_is_refused_by_name() {
    let gateway = Gateway::set_up().await;
    for wrong in [json!({}), json!({ "seq": -1 }), json!({ "seq": "7" }), json!(7)] {
        let auth = json!({ "username": USER, "password": PASSWORD });
        let args = json!({ "auth": auth, "resume": wrong });
        let refused = gateway.peer().await.connect("user", "c", args).await.unwrap_err();
        assert_eq!(refused.code, 400, "{wrong}: {refused:?}");
    }
    // Machines are told as ever, without places.
    let mut args = gateway.driver_args("i");
    args["resume"] = json!({ "seq": 1 });
    let mut driver = gateway.peer().await;
    assert_eq!(driver.connect("driver", DEVICE, args).await.unwrap()["resume"], json!(null));
    assert!(next_signal(&mut driver).await.get("seq").is_none());
}
