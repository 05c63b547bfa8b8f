//! Tests of file transfers through the gateway: bytes in both directions, and what breaks them.

use protocol::transfer;
use serde_json::json;
use testkit::gateway::DEVICE;
use testkit::{Gateway, Peer};

async fn open(user: &mut Peer, driver: &mut Peer, call: &str) -> u32 {
    let mut args = json!({ "target": DEVICE, "path": "/f" });
    if call == "fs.push" {
        args["size"] = json!(3);
        args["sha256"] = json!("00");
    }
    let id = user.send_call(call, args).await;
    let request = driver.request().await;
    let transfer_id = request["args"]["transferId"].as_u64().unwrap() as u32;
    driver
        .reply(
            &request,
            json!({ "ok": true, "path": "/f", "size": 3, "offset": 0, "transferId": transfer_id }),
        )
        .await;
    assert_eq!(user.answer(&id).await.unwrap()["transferId"], transfer_id);
    transfer_id
}

#[tokio::test]
async fn bytes_pass_both_ways_between_the_two_sockets_of_a_transfer() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let id = open(&mut user, &mut driver, "fs.pull").await;
    driver.send_binary(transfer::message(id, b"abc")).await;
    assert_eq!(user.binary().await, transfer::message(id, b"abc"));
    user.send_binary(transfer::message(id, br#"{"ack":3}"#)).await;
    assert_eq!(driver.binary().await, transfer::message(id, br#"{"ack":3}"#));

    let mut stranger = gateway.root().await;
    stranger.send_binary(transfer::message(id, b"evil")).await;
    stranger.call("sys.device.list", json!({})).await.unwrap();
    driver.send_binary(transfer::message(id, b"good")).await;
    assert_eq!(user.binary().await, transfer::message(id, b"good"), "a third socket cannot push in");
}

#[tokio::test]
async fn a_refused_transfer_leaves_nothing_open() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    for _ in 0..2 * base::limits::transfer::PER_SOCKET_MAX {
        let id = user.send_call("fs.pull", json!({ "target": DEVICE, "path": "/none" })).await;
        let request = driver.request().await;
        driver.reply(&request, json!({ "ok": false, "error": "no such file" })).await;
        assert_eq!(user.answer(&id).await.unwrap()["ok"], false);
    }
}

#[tokio::test]
async fn too_many_transfers_are_refused() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    for _ in 0..base::limits::transfer::PER_SOCKET_MAX {
        open(&mut user, &mut driver, "fs.push").await;
    }
    let args = json!({ "target": DEVICE, "path": "/f" });
    assert_eq!(user.call("fs.pull", args).await.unwrap_err().code, 429);
}

#[tokio::test]
async fn the_other_side_is_told_when_one_disconnects() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let id = open(&mut user, &mut driver, "fs.pull").await;
    drop(driver);
    assert_eq!(user.binary().await, transfer::message(id, b""), "the receiver's data ends");
    let (_, trailer) = transfer::split(&user.binary().await).map(|(id, rest)| (id, rest.to_vec())).unwrap();
    assert!(String::from_utf8(trailer).unwrap().contains("disconnected"));
}

#[tokio::test]
async fn a_sender_that_ignores_the_window_loses_the_transfer_and_nobody_else_is_harmed() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let id = open(&mut user, &mut driver, "fs.pull").await;
    driver.send_binary(transfer::message(id, &vec![7; base::limits::transfer::CHUNK_MAX_BYTES + 1])).await;
    let told = driver.binary().await;
    assert!(String::from_utf8_lossy(&told[4..]).contains("window"));
    assert!(user.call("sys.device.list", json!({})).await.is_ok());
}
