//! Tests of malformed frames: each gets a clear error, and the socket lives on.

use serde_json::json;
use testkit::{Gateway, Peer};

#[tokio::test]
async fn malformed_and_foreign_frames_are_answered_and_the_socket_stays() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.peer().await;
    let cases = [
        ("not json", 400, "Malformed JSON"),
        ("", 400, "Malformed JSON"),
        ("{\"type\":\"req\"", 400, "Malformed JSON"),
        ("null", 400, "Invalid frame type"),
        ("[]", 400, "Invalid frame type"),
        ("{}", 400, "Invalid frame type"),
        ("{\"type\":\"hello\",\"id\":\"1\"}", 400, "Invalid frame type"),
        ("{\"type\":\"req\",\"call\":\"fs.read\"}", 400, "Invalid frame: id"),
    ];
    for (text, code, message) in cases {
        peer.send_text(text).await;
        let frame = peer.next().await;
        assert_eq!(frame["id"], "?", "{text}");
        assert_eq!(
            (&frame["error"]["code"], &frame["error"]["message"]),
            (&json!(code), &json!(message)),
            "{text}"
        );
    }
    peer.send_text("{\"type\":\"req\",\"id\":\"x\",\"call\":\"fs.read\"}").await;
    let frame = peer.next().await;
    assert_eq!((&frame["id"], &frame["error"]["code"]), (&json!("x"), &json!(403)));
}

#[tokio::test]
async fn binary_messages_unknown_answers_and_signals_are_ignored() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.user().await;
    peer.send_binary(vec![]).await;
    peer.send_binary(vec![1, 2]).await;
    peer.send_binary(vec![1, 0, 0, 0, 9, 9]).await;
    peer.send(json!({ "type": "res", "id": "1", "ok": true, "data": {} })).await;
    peer.send(json!({ "type": "res", "id": "zz", "ok": false })).await;
    peer.send(json!({ "type": "sig", "signal": "exec.status", "payload": 3 })).await;
    let listed = peer.call("sys.device.list", json!({})).await.unwrap();
    assert_eq!(listed, json!({ "devices": [] }));
}

#[tokio::test]
async fn equal_ids_are_answered_each() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.user().await;
    for _ in 0..3 {
        peer.send(json!({ "type": "req", "id": "same", "call": "sys.device.list" })).await;
    }
    for _ in 0..3 {
        let frame = peer.next().await;
        assert_eq!((&frame["id"], &frame["ok"]), (&json!("same"), &json!(true)));
    }
}

#[tokio::test]
async fn a_message_above_the_limit_is_refused_and_the_socket_stays() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.user().await;
    peer.send_text("x".repeat(base::limits::frame::MAX_BYTES + 1)).await;
    let frame = peer.next().await;
    assert_eq!((&frame["id"], &frame["error"]["code"]), (&json!("?"), &json!(413)));
    let long = format!("{{\"pad\":\"{}\"}}", "y".repeat(base::limits::frame::MAX_BYTES - 100));
    peer.send_text(long).await;
    assert_eq!(peer.next().await["error"]["message"], "Invalid frame type");
    assert!(peer.call("sys.device.list", json!({})).await.is_ok());
}

#[tokio::test]
async fn deep_nesting_is_survived() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.user().await;
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let text = format!(r#"{{"type":"req","id":"d","call":"sys.config.get","args":{{"key":{deep}}}}}"#);
    peer.send_text(text).await;
    let frame = peer.next().await;
    assert_eq!((&frame["id"], &frame["error"]["code"]), (&json!("d"), &json!(400)));
    assert!(peer.call("sys.device.list", json!({})).await.is_ok());
}

#[tokio::test]
async fn null_and_odd_members_are_refused_by_name() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.user().await;
    let cases = [
        (r#"{"type":null,"id":"1","call":"sys.device.list"}"#, "?", "Invalid frame type"),
        (r#"{"type":"req","id":null,"call":"sys.device.list"}"#, "?", "Invalid frame: id"),
        (r#"{"type":"req","id":7,"call":"sys.device.list"}"#, "?", "Invalid frame: id"),
        (r#"{"type":"req","id":"1","call":null}"#, "1", "Invalid frame: call"),
        (r#"{"type":"req","id":"1","call":["sys.device.list"]}"#, "1", "Invalid frame: call"),
        (r#"{"type":"req","id":"1"}"#, "1", "Invalid frame: call"),
        ("{\"type\":\"req\",\"id\":\"1\",\"call\":\"sys.device.list\"}\0", "?", "Malformed JSON"),
        ("\0", "?", "Malformed JSON"),
        ("\u{feff}{}", "?", "Malformed JSON"),
    ];
    for (text, id, message) in cases {
        peer.send_text(text).await;
        let frame = peer.next().await;
        assert_eq!((&frame["id"], &frame["error"]["code"]), (&json!(id), &json!(400)), "{text}: {frame}");
        assert_eq!(frame["error"]["message"], message, "{text}");
    }
    for args in ["null", "[]", "3", "\"text\""] {
        let text = format!(r#"{{"type":"req","id":"{}","call":"sys.device.get","args":{args}}}"#, "a");
        peer.send_text(text).await;
        let frame = peer.next().await;
        assert_eq!((&frame["id"], &frame["error"]["code"]), (&json!("a"), &json!(400)), "{args}: {frame}");
    }
}

#[tokio::test]
async fn every_call_is_answered_without_arguments_and_with_odd_ones() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let deep = "[".repeat(20_000) + &"]".repeat(20_000);
    for spec in protocol::calls() {
        for (n, args) in
            ["", r#","args":null"#, r#","args":[]"#, &format!(r#","args":{{"x":{deep}}}"#)].iter().enumerate()
        {
            let id = format!("{}-{n}", spec.name);
            root.send_text(format!(r#"{{"type":"req","id":"{id}","call":"{}"{args}}}"#, spec.name)).await;
            if let Err(refused) = root.answer(&id).await {
                assert_ne!(refused.code, 500, "{id}: {refused:?}");
                assert!(!refused.message.is_empty(), "{id}");
            }
        }
    }
    assert!(root.call("sys.device.list", json!({})).await.is_ok());
}

/// The next text that has this in it. A test cannot parse what is nested too deeply.
async fn text_with(peer: &mut Peer, part: &str) -> String {
    loop {
        let text = peer.next_text().await;
        if text.contains(part) {
            return text;
        }
    }
}

#[tokio::test]
async fn deep_nesting_and_nul_reach_a_device_as_they_are_and_its_odd_answers_come_back() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let text = format!(
        r#"{{"type":"req","id":"d","call":"fs.read","args":{{"target":"laptop","path":"a\u0000b","x":{deep}}}}}"#
    );
    user.send_text(text).await;
    let request = text_with(&mut driver, "\"type\":\"req\"").await;
    assert!(
        request.contains(&deep) && request.contains(r#""path":"a\u0000b""#),
        "passed on as it is: {}",
        &request[..200.min(request.len())]
    );
    let id = request.split(r#""id":""#).nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    driver.send_text(format!(r#"{{"type":"res","id":"{id}","ok":true,"data":{deep}}}"#)).await;
    let answer = text_with(&mut user, "\"id\":\"d\"").await;
    assert!(answer.contains(&deep), "{} bytes", answer.len());
}
