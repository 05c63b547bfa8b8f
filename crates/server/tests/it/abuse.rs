//! Abuse tests: hostile and clumsy clients; nothing dies, nobody else is harmed.

use std::time::Duration;

use base::limits;
use serde_json::json;
use testkit::gateway::DEVICE;
use testkit::{Gateway, Peer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[tokio::test]
async fn a_client_that_does_not_read_is_closed_and_others_go_on() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut other) = (gateway.driver().await, gateway.user().await);
    let mut deaf = gateway.user().await;
    // Never read: every answer is large, and the gateway may keep only so much.
    let big = "x".repeat(4 * 1024 * 1024);
    let mut asked = 0;
    while asked < limits::socket::OUTBOX_MAX_BYTES / big.len() + 8 {
        let id = deaf.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
        drop(id);
        let request = tokio::time::timeout(Duration::from_millis(500), driver.request()).await;
        // Once enough waits unread the gateway takes no further requests from this client.
        let Ok(request) = request else { break };
        driver.reply(&request, json!({ "content": big })).await;
        asked += 1;
    }
    assert!(asked >= 2, "the first answers fit");
    assert!(
        asked < limits::socket::OUTBOX_MAX_BYTES / big.len(),
        "the gateway stopped reading long before its limit"
    );
    assert!(other.call("sys.device.list", json!({})).await.is_ok());
    let id = other.send_call("fs.read", json!({ "target": DEVICE, "path": "y" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!(1)).await;
    assert_eq!(other.answer(&id).await.unwrap(), json!(1));
}

#[tokio::test]
async fn large_requests_that_are_not_answered_hold_up_their_sender_only() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user, mut other) =
        (gateway.driver().await, gateway.user().await, gateway.user().await);
    let content = "x".repeat(30 * 1024 * 1024);
    let fit = limits::socket::REQUEST_IN_FLIGHT_MAX_BYTES / content.len() + 1;
    let mut requests = Vec::new();
    for _ in 0..fit {
        user.send_call("fs.write", json!({ "target": DEVICE, "path": "x", "content": content })).await;
        requests.push(driver.request().await);
    }
    let late = user.send_call("fs.read", json!({ "target": DEVICE, "path": "late" })).await;
    // Whatever else comes, the late one does not: it is not read.
    let id = other.send_call("fs.read", json!({ "target": DEVICE, "path": "other" })).await;
    let request = driver.request().await;
    assert_eq!(request["args"]["path"], "other");
    driver.reply(&request, json!(1)).await;
    assert_eq!(other.answer(&id).await.unwrap(), json!(1));
    driver.reply(&requests[0], json!(2)).await;
    let request = driver.request().await;
    assert_eq!(request["args"]["path"], "late", "it goes on when there is room");
    driver.reply(&request, json!(3)).await;
    assert_eq!(user.answer(&late).await.unwrap(), json!(3));
}

#[tokio::test]
async fn a_flood_of_requests_is_answered_one_by_one() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    for _ in 0..5_000 {
        user.send_call("sys.device.list", json!({})).await;
    }
    for n in 2..=5_001 {
        assert!(user.answer(&format!("req-{n}")).await.is_ok());
    }
}

#[tokio::test]
async fn a_driver_that_floods_with_answers_and_garbage_harms_nobody() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    for n in 0..2_000 {
        driver.send(json!({ "type": "res", "id": format!("{n:x}"), "ok": true, "data": "junk" })).await;
        driver.send_binary(vec![n as u8; 64]).await;
    }
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!("real")).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!("real"));
}

#[tokio::test]
async fn ten_thousand_sockets_that_never_send_make_room_for_each_other() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let mut idle = std::collections::VecDeque::new();
    for n in 0..10_000 {
        idle.push_back(Peer::open(&gateway.url()).await);
        if idle.len() > limits::socket::PENDING_SOCKETS_PER_ADDRESS_MAX {
            let end = idle.pop_front().unwrap().ended().await;
            assert_eq!(end.map(|end| end.0), Some(1008), "the oldest was closed for number {n}");
        }
    }
    gateway.user().await.call("sys.device.list", json!({})).await.unwrap();
    user.call("sys.device.list", json!({})).await.unwrap();
}

#[tokio::test]
async fn a_driver_that_does_not_read_harms_only_its_own_calls() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let wait = json!({ "key": "config/routing/timeout_ms", "value": 1_000 });
    root.call("sys.config.set", wait).await.unwrap();
    let deaf = gateway.driver().await;
    let (mut user, mut other) = (gateway.user().await, gateway.user().await);
    let content = "x".repeat(8 * 1024 * 1024);
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(
            user.send_call("fs.write", json!({ "target": DEVICE, "path": "x", "content": content })).await,
        );
    }
    for id in ids {
        let code = user.answer(&id).await.unwrap_err().code;
        assert!([503, 504].contains(&code), "{code}");
    }
    assert!(other.call("sys.device.list", json!({})).await.is_ok());
    assert!(user.call("sys.device.list", json!({})).await.is_ok());
    drop(deaf);
    let mut driver = gateway.driver().await;
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "y" })).await;
    let request = driver.request().await;
    assert_eq!(request["call"], "fs.read", "what was not taken is not sent to a later driver");
    driver.reply(&request, json!(1)).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!(1));
}

#[tokio::test]
async fn half_a_request_and_half_a_frame_hold_nothing_up() {
    let gateway = Gateway::set_up().await;
    let mut halves = Vec::new();
    for text in ["GET /ws HT", "GET / HTTP/1.1\r\nHost:", "\x00\x01\x02", "POST /ws HTTP/1.1\r\n"] {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        halves.push(stream);
    }
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let upgrade = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(upgrade.as_bytes()).await.unwrap();
    // A frame head that promises 32 MiB, and nothing behind it.
    stream.write_all(&[0x81, 0xff, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4, b'x']).await.unwrap();
    gateway.user().await.call("sys.device.list", json!({})).await.unwrap();
}

#[tokio::test]
async fn requests_of_one_socket_run_at_the_same_time() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let slow = user.send_call("fs.read", json!({ "target": DEVICE, "path": "slow" })).await;
    let request = driver.request().await;
    assert!(
        user.call("sys.device.list", json!({})).await.is_ok(),
        "a later call does not wait for an earlier one"
    );
    driver.reply(&request, json!("done")).await;
    assert_eq!(user.answer(&slow).await.unwrap(), json!("done"));
}

#[tokio::test]
async fn a_message_in_pieces_above_the_limit_closes_the_socket() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let piece = vec![b' '; limits::frame::MAX_BYTES / 2];
    user.send_pieces(&[&piece, &piece, b"{}"]).await;
    assert_eq!(user.ended().await, Some((1009, "Message too large".into())));
    let mut user = gateway.user().await;
    user.send_pieces(&[b"{\"type\":\"req\",\"id\":\"p\",", b"\"call\":\"sys.device.list\"", b"}"]).await;
    assert_eq!(user.next().await["id"], "p", "pieces below the limit are one message");
}

#[tokio::test]
async fn before_login_messages_are_small() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.peer().await;
    peer.send_text("x".repeat(limits::socket::PENDING_MAX_BYTES + 1)).await;
    assert_eq!(peer.next().await["error"]["code"], 413);
    let auth = json!({ "username": "u".repeat(30_000), "password": "p".repeat(20_000) });
    assert_eq!(peer.connect("user", "x", json!({ "auth": auth })).await.unwrap_err().code, 401);
    let auth = json!({ "auth": { "username": "alice", "password": testkit::gateway::PASSWORD } });
    assert_eq!(peer.connect("user", &"i".repeat(5_000), auth).await.unwrap_err().code, 103);
}

#[tokio::test]
async fn a_good_token_is_let_in_while_others_guess() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let token =
        user.call("sys.token.create", json!({ "kind": "user" })).await.unwrap()["token"]["token"].clone();
    let mut guesser = gateway.peer().await;
    let wrong = json!({ "auth": { "username": "alice", "token": "gsv_user_guess" } });
    while guesser.connect("user", "g", wrong.clone()).await.unwrap_err().code != 429 {}
    gateway.login_token("user", "alice", token.as_str().unwrap()).await;
}

#[tokio::test]
async fn whoever_revokes_its_own_token_still_gets_the_answer() {
    let gateway = Gateway::set_up().await;
    let made = gateway.user().await.call("sys.token.create", json!({ "kind": "user" })).await.unwrap();
    let mut own = gateway.login_token("user", "alice", made["token"]["token"].as_str().unwrap()).await;
    let revoked = own.call("sys.token.revoke", json!({ "tokenId": made["token"]["tokenId"] })).await.unwrap();
    assert_eq!(revoked, json!({ "revoked": true }));
    assert_eq!(own.ended().await, Some((1008, "Login revoked".into())));
}

#[tokio::test]
async fn a_driver_that_floods_with_status_holds_only_itself_up() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    for n in 0..20_000 {
        let payload = json!({ "sessionId": format!("s{n}"), "event": "finished" });
        driver.send(json!({ "type": "sig", "signal": "exec.status", "payload": payload })).await;
    }
    let set = json!({ "key": "users/1000/ai/model", "value": "1" });
    assert_eq!(user.call("sys.config.set", set).await.unwrap(), json!({ "ok": true }));
}

#[tokio::test]
async fn sockets_that_die_while_logging_in_leave_nothing_behind() {
    let gateway = Gateway::set_up().await;
    for _ in 0..8 {
        let mut driver = gateway.peer().await;
        let client = json!({ "id": DEVICE, "version": "1", "platform": "linux", "role": "driver" });
        let mut args = gateway.driver_args("x");
        args["protocol"] = json!(1);
        args["client"] = client;
        driver.send_call("sys.connect", args).await;
        drop(driver);
        let mut user = gateway.peer().await;
        let auth = json!({ "username": "alice", "password": testkit::gateway::PASSWORD });
        let client = json!({ "id": "gone", "version": "1", "platform": "linux", "role": "user" });
        user.send_call("sys.connect", json!({ "protocol": 1, "client": client, "auth": auth })).await;
        drop(user);
    }
    let mut user = gateway.user().await;
    let deadline = base::clock::Clock::system().instant() + Duration::from_secs(20);
    loop {
        let devices = user.call("sys.device.list", json!({})).await.unwrap();
        let page = testkit::http_get(gateway.address, "/metrics").await;
        if devices == json!({ "devices": [] })
            && page.contains("gsv_connections{role=\"user\"} 1\n")
            && page.contains("gsv_connections{role=\"driver\"} 0\n")
        {
            break;
        }
        assert!(base::clock::Clock::system().instant() < deadline, "{devices} {page}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn calls_of_callers_that_left_do_not_pile_up() {
    let gateway = Gateway::set_up().await;
    let mut driver = gateway.driver().await;
    let mut user = gateway.user().await;
    for _ in 0..50 {
        user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    }
    for _ in 0..50 {
        driver.request().await;
    }
    assert!(testkit::http_get(gateway.address, "/metrics").await.contains("gsv_routes 50\n"));
    drop(user);
    let deadline = base::clock::Clock::system().instant() + Duration::from_secs(20);
    while !testkit::http_get(gateway.address, "/metrics").await.contains("gsv_routes 0\n") {
        assert!(base::clock::Clock::system().instant() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
