//! Tests of two protocol generations on one gateway: each connection is told the same in its own frames.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use gateway::{OutgoingSignal, SignalBody};
use protocol::error::Error;
use serde_json::{Value, json};

use super::{kernel, next, send, with_driver};
use crate::codec::{Aliased, Codec, Memory};
use crate::connections::Connection;
use crate::{Kernel, signals};

/// Frames like those of the older generation.
struct Older;

impl Codec for Older {
    fn generation(&self) -> &'static str {
        "older"
    }

    fn response_head(&self, out: &mut String, id: &str, _room: usize) {
        out.push_str(&format!(r#"{{"type":"res","id":{},"ok":true,"payload":"#, json!(id)));
    }

    fn response(&self, out: &mut String, id: &str, data: Option<&str>) {
        self.response_head(out, id, 0);
        out.push_str(data.unwrap_or("null"));
        out.push('}');
    }

    fn failure(&self, id: &str, error: &Error) -> String {
        let error = json!({ "code": error.code, "message": error.message, "retryable": false });
        json!({ "type": "res", "id": id, "ok": false, "error": error }).to_string()
    }

    fn request_head(&self, id: &str, call: &str, _room: usize) -> String {
        let (id, call) = (json!(id), json!(call));
        format!(r#"{{"type":"evt","event":"tool.invoke","payload":{{"callId":{id},"tool":{call},"args":"#)
    }

    fn request_tail(&self, out: &mut String, _memory: Memory) {
        out.push_str("}}");
    }

    fn signal_head(&self, name: &str, _room: usize) -> String {
        format!(r#"{{"type":"evt","event":{},"payload":"#, json!(name))
    }

    fn signal_tail(&self, out: &mut String, _seq: Option<u64>) {
        out.push('}');
    }
}

fn open(kernel: &Arc<Kernel>) -> Arc<Connection> {
    kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

async fn log_in(kernel: &Arc<Kernel>, connection: &Arc<Connection>, id: &str) -> Value {
    let auth = json!({ "username": "ann", "password": "ann-password" });
    let args = json!({ "protocol": 1, "client": { "id": id, "role": "user" }, "auth": auth });
    send(kernel, connection, json!({ "type": "req", "id": "in", "call": "sys.connect", "args": args }));
    next(connection).await
}

#[tokio::test]
async fn connections_of_two_generations_get_the_same_each_in_its_own_frames() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let (new, old, older) = (open(&kernel), open(&kernel), open(&kernel));
    assert!(old.speak(&Older) && older.speak(&Older));
    assert!(!old.speak(&Aliased), "once");
    assert!(log_in(&kernel, &new, "new").await["data"]["identity"].is_object());
    for (connection, id) in [(&old, "old"), (&older, "older")] {
        let welcome = log_in(&kernel, connection, id).await;
        assert!(welcome["payload"]["identity"].is_object() && welcome.get("data").is_none(), "{welcome}");
    }
    assert!(!new.speak(&Older), "too late: it has logged in");

    // Answers of the gateway's own, and errors.
    for (call, args) in [("fs.write", json!({ "path": "x", "content": "y" })), ("no.such", json!({}))] {
        let request = json!({ "type": "req", "id": "a\"b", "call": call, "args": args });
        send(&kernel, &new, request.clone());
        send(&kernel, &old, request);
        let (told_new, told_old) = (next(&new).await, next(&old).await);
        assert_eq!((&told_new["type"], &told_new["id"]), (&json!("res"), &json!("a\"b")));
        assert_eq!((&told_new["id"], &told_new["ok"]), (&told_old["id"], &told_old["ok"]));
        assert_eq!(told_new.get("data"), told_old.get("payload"));
        assert_eq!(told_new["error"]["message"], told_old["error"]["message"]);
        assert_eq!(told_old["error"].get("retryable").is_some(), told_new["ok"] == false);
    }

    // What is no frame.
    kernel.receive_text(&old, kernel.clock.instant(), "{", || "{".into());
    assert_eq!(next(&old).await["error"]["retryable"], false);

    // Answers of a device, small ones and large ones, which are passed on in pieces.
    for size in [3, 5_000, 40_000] {
        let content = "z".repeat(size);
        for (connection, member) in [(&new, "data"), (&old, "payload")] {
            let args = json!({ "target": "desk", "path": "/x" });
            send(&kernel, connection, json!({ "type": "req", "id": "r", "call": "fs.read", "args": args }));
            let asked = next(&driver).await;
            assert_eq!((&asked["call"], &asked["args"]), (&json!("fs.read"), &json!({ "path": "/x" })));
            let read = json!({ "ok": true, "content": content });
            let answer = json!({ "type": "res", "id": asked["id"], "ok": true, "data": read });
            send(&kernel, &driver, answer);
            assert_eq!(next(connection).await[member]["content"], content.as_str(), "{size} {member}");
        }
    }

    // Signals: each generation's text is written once.
    let uid = new.login().unwrap().identity().uid;
    let body = SignalBody::Text(json!({ "pid": "p" }).to_string());
    signals::send(&kernel, OutgoingSignal { uid, run_id: None, name: "proc.changed", body });
    let frame = next(&new).await;
    assert_eq!((&frame["type"], &frame["signal"]), (&json!("sig"), &json!("proc.changed")));
    assert_eq!((&frame["payload"], frame["seq"].is_u64()), (&json!({ "pid": "p" }), true));
    for connection in [&old, &older] {
        let frame = next(connection).await;
        assert_eq!(frame, json!({ "type": "evt", "event": "proc.changed", "payload": { "pid": "p" } }));
    }
}

#[tokio::test]
async fn a_driver_of_another_generation_is_asked_and_told_in_its_frames() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let setup = open(&kernel);
    let args = json!({ "username": "ann", "password": "ann-password", "node": { "deviceId": "desk" } });
    send(&kernel, &setup, json!({ "type": "req", "id": "1", "call": "sys.setup", "args": args }));
    let token = next(&setup).await["data"]["nodeToken"]["token"].clone();
    let driver = open(&kernel);
    assert!(driver.speak(&Older));
    let args = json!({
        "protocol": 1, "client": { "id": "desk", "role": "driver" },
        "driver": { "implements": ["fs.*"], "instance": "i" }, "auth": { "username": "ann", "token": token },
    });
    send(&kernel, &driver, json!({ "type": "req", "id": "2", "call": "sys.connect", "args": args }));
    assert_eq!(next(&driver).await["payload"]["identity"]["device"], "desk");
    let told = next(&driver).await;
    assert_eq!((&told["event"], &told["payload"]["event"]), (&json!("device.status"), &json!("connected")));
    let client = open(&kernel);
    log_in(&kernel, &client, "c").await;
    let args = json!({ "target": "desk", "path": "/x" });
    send(&kernel, &client, json!({ "type": "req", "id": "r", "call": "fs.read", "args": args }));
    let asked = next(&driver).await;
    assert_eq!((&asked["type"], &asked["event"]), (&json!("evt"), &json!("tool.invoke")));
    assert_eq!(asked["payload"]["tool"], "fs.read");
    assert_eq!(asked["payload"]["args"], json!({ "path": "/x" }));
    // Receiving is the same for all.
    let answer =
        json!({ "type": "res", "id": asked["payload"]["callId"], "ok": true, "data": { "ok": true } });
    send(&kernel, &driver, answer);
    assert_eq!(next(&client).await, json!({ "type": "res", "id": "r", "ok": true, "data": { "ok": true } }));
}
