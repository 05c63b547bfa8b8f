//! What is not a proper frame gets a clear error, and the socket lives on.

use serde_json::json;
use testkit::Gateway;

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
    peer.send_text("x".repeat(base::limits::FRAME_BYTES_MAX + 1)).await;
    let frame = peer.next().await;
    assert_eq!((&frame["id"], &frame["error"]["code"]), (&json!("?"), &json!(413)));
    let long = format!("{{\"pad\":\"{}\"}}", "y".repeat(base::limits::FRAME_BYTES_MAX - 100));
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
