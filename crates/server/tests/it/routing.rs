//! Tests of calls to devices: who may, in which order it is checked, and what happens when the device does not play
//! along.

use serde_json::json;
use testkit::Gateway;
use testkit::gateway::DEVICE;

#[tokio::test]
async fn a_call_reaches_the_device_without_its_target_and_the_answer_comes_back() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let args = json!({ "target": DEVICE, "path": "/x", "unknown": [1.50, { "target": "kept" }] });
    let id = user.send_call("fs.read", args).await;
    let request = driver.request().await;
    assert_eq!(request["call"], "fs.read");
    assert_eq!(request["args"], json!({ "path": "/x", "unknown": [1.50, { "target": "kept" }] }));
    assert_ne!(request["id"], id.as_str(), "ids on the device's side are the gateway's own");
    driver.reply(&request, json!({ "ok": false, "error": "no such file" })).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!({ "ok": false, "error": "no such file" }));
}

#[tokio::test]
async fn checks_come_in_order_access_online_implements() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let read = json!({ "target": DEVICE, "path": "/x" });
    let denied = (403, "Access denied to device: laptop");
    assert_eq!(
        user.call("fs.read", read.clone()).await.unwrap_err().pair(),
        denied,
        "unknown and foreign are alike"
    );
    assert_eq!(root.call("fs.read", read.clone()).await.unwrap_err().pair(), (404, "Unknown device: laptop"));

    let mut driver = gateway.peer().await;
    let mut args = gateway.driver_args("a");
    args["driver"]["implements"] = json!(["fs.read"]);
    driver.connect("driver", DEVICE, args).await.unwrap();
    assert_eq!(bob.call("fs.read", read.clone()).await.unwrap_err().pair(), denied);
    let write = json!({ "target": DEVICE, "path": "/x", "content": "" });
    let refused = user.call("fs.write", write.clone()).await.unwrap_err();
    assert_eq!(refused.pair(), (400, "Device laptop does not implement fs.write"));

    driver.close().await;
    user.signal("device.status").await;
    assert_eq!(user.signal("device.status").await["event"], "disconnected");
    assert_eq!(
        user.call("fs.write", write.clone()).await.unwrap_err().pair(),
        (503, "Device offline: laptop")
    );
    assert_eq!(bob.call("fs.write", write).await.unwrap_err().pair(), denied);
    let wrong = user.call("fs.read", json!({ "target": 7, "path": "/x" })).await.unwrap_err();
    assert_eq!(wrong.code, 400);
}

#[tokio::test]
async fn the_native_target_is_named_gsv_or_left_out() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    for args in [
        json!({ "path": "/x" }),
        json!({ "path": "/x", "target": "gsv" }),
        json!({ "path": "/x", "target": null }),
    ] {
        let answer = user.call("fs.read", args).await.unwrap();
        assert_eq!(answer, json!({ "ok": false, "error": "Not found: /x" }));
    }
}

#[tokio::test]
async fn calls_of_many_clients_with_equal_ids_do_not_mix() {
    let gateway = Gateway::set_up().await;
    let mut driver = gateway.driver().await;
    let mut users = Vec::new();
    for n in 0..8 {
        let mut user = gateway.user().await;
        user.send(json!({
            "type": "req", "id": "same", "call": "fs.read", "args": { "target": DEVICE, "path": n.to_string() },
        }))
        .await;
        users.push(user);
    }
    let mut requests = Vec::new();
    for _ in 0..8 {
        requests.push(driver.request().await);
    }
    for request in requests.iter().rev() {
        driver.reply(request, json!({ "echo": request["args"]["path"] })).await;
    }
    for (n, user) in users.iter_mut().enumerate() {
        assert_eq!(user.answer("same").await.unwrap(), json!({ "echo": n.to_string() }));
    }
}

#[tokio::test]
async fn only_the_device_that_was_asked_can_answer_and_only_once() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user, mut root) =
        (gateway.driver().await, gateway.user().await, gateway.root().await);
    let mut other = gateway.peer().await;
    let token =
        root.call("sys.token.create", json!({ "kind": "node" })).await.unwrap()["token"]["token"].clone();
    let auth = json!({ "username": "root", "token": token });
    let args = json!({ "auth": auth, "driver": { "implements": ["fs.*"], "instance": "o" } });
    other.connect("driver", "other", args).await.unwrap();

    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "/x" })).await;
    let request = driver.request().await;
    let mut stranger = gateway.peer().await;
    let forged = json!({ "type": "res", "id": request["id"], "ok": true, "data": "forged" });
    for peer in [&mut other, &mut root, &mut stranger] {
        peer.send(forged.clone()).await;
        // Their next answer shows that the forged one has been looked at.
        peer.call("sys.nothing", json!({})).await.unwrap_err();
    }
    driver.reply(&request, json!("real")).await;
    driver.reply(&request, json!("again")).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!("real"));
    assert!(user.saw_no(|frame| frame["type"] == "res").await);
}

#[tokio::test]
async fn errors_of_devices_pass_through_and_minus_one_becomes_500() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    for (sent, code) in [(418, 418), (-1, 500)] {
        let id = user.send_call("shell.exec", json!({ "target": DEVICE, "input": "x" })).await;
        let request = driver.request().await;
        let error = json!({ "code": sent, "message": "teapot" });
        driver.send(json!({ "type": "res", "id": request["id"], "ok": false, "error": error })).await;
        assert_eq!(user.answer(&id).await.unwrap_err().pair(), (code, "teapot"));
    }
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    let request = driver.request().await;
    driver.send(json!({ "type": "res", "id": request["id"], "ok": false, "error": "not an object" })).await;
    assert_eq!(user.answer(&id).await.unwrap_err().code, 500);
}

#[tokio::test]
async fn a_device_that_does_not_answer_times_out_and_its_late_answer_is_dropped() {
    let gateway = Gateway::set_up().await;
    let set = json!({ "key": "config/routing/timeout_ms", "value": "1000" });
    gateway.root().await.call("sys.config.set", set).await.unwrap();
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    let request = driver.request().await;
    let refused = user.answer(&id).await.unwrap_err();
    assert_eq!(refused.pair(), (504, "Syscall fs.read timed out (device: laptop)"));
    driver.reply(&request, json!("late")).await;
    driver.call("sys.nothing", json!({})).await.unwrap_err();
    assert!(user.saw_no(|frame| frame["type"] == "res").await);
}

#[tokio::test]
async fn a_device_that_goes_away_fails_its_calls_at_once() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    driver.request().await;
    drop(driver);
    assert_eq!(user.answer(&id).await.unwrap_err().pair(), (503, "Device disconnected: laptop"));
}

#[tokio::test]
async fn the_same_driver_on_a_new_socket_may_still_answer() {
    let gateway = Gateway::set_up().await;
    let (mut old, mut user) = (gateway.driver().await, gateway.user().await);
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    let request = old.request().await;
    let mut new = gateway.driver().await;
    assert_eq!(old.ended().await, Some((1000, "Replaced by newer connection".into())));
    new.reply(&request, json!("from the new socket")).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!("from the new socket"));
    let listed = user.call("sys.device.list", json!({})).await.unwrap();
    assert_eq!(
        listed["devices"][0]["online"], true,
        "the old socket's end does not take the new one offline"
    );
    assert!(user.saw_no(|frame| frame["payload"]["event"] == "disconnected").await);
}

#[tokio::test]
async fn another_driver_program_of_the_same_device_fails_the_old_ones_calls() {
    let gateway = Gateway::set_up().await;
    let (mut old, mut user) = (gateway.driver().await, gateway.user().await);
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    old.request().await;
    let mut new = gateway.peer().await;
    new.connect("driver", DEVICE, gateway.driver_args("restarted")).await.unwrap();
    assert_eq!(user.answer(&id).await.unwrap_err().pair(), (503, "Device disconnected: laptop"));
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "y" })).await;
    let request = new.request().await;
    new.reply(&request, json!(1)).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!(1));
}

#[tokio::test]
async fn a_driver_that_names_no_instance_gets_its_first_request_late_but_surely() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let mut driver = gateway.peer().await;
    let mut args = gateway.driver_args("x");
    args["driver"].as_object_mut().unwrap().remove("instance");
    driver.connect("driver", DEVICE, args).await.unwrap();
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!(2)).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!(2));
}

#[tokio::test]
async fn a_device_id_belongs_to_whoever_had_it_first() {
    let gateway = Gateway::set_up().await;
    let _driver = gateway.driver().await;
    let mut bob = gateway.add_user("bob").await;
    let token =
        bob.call("sys.token.create", json!({ "kind": "node" })).await.unwrap()["token"]["token"].clone();
    let mut thief = gateway.peer().await;
    let args = json!({ "auth": { "username": "bob", "token": token }, "driver": { "implements": ["fs.*"] } });
    let refused = thief.connect("driver", DEVICE, args.clone()).await.unwrap_err();
    assert_eq!(refused.pair(), (403, "Device id belongs to another user: laptop"));
    for bad in ["", "  ", "gsv", "a\u{7}b"] {
        assert_eq!(thief.connect("driver", bad, args.clone()).await.unwrap_err().code, 103, "{bad:?}");
    }
    let listed = gateway.user().await.call("sys.device.list", json!({})).await.unwrap();
    assert_eq!(
        (&listed["devices"][0]["ownerUid"], &listed["devices"][0]["online"]),
        (&json!(1000), &json!(true))
    );
}

#[tokio::test]
async fn device_status_goes_to_those_who_may_use_the_device() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let mut driver = gateway.driver().await;
    for peer in [&mut user, &mut root, &mut driver] {
        let status = peer.signal("device.status").await;
        assert_eq!((&status["event"], &status["device"]["deviceId"]), (&json!("connected"), &json!(DEVICE)));
        assert!(status["device"].get("implements").is_none() && status["device"]["disconnectedAt"].is_null());
    }
    assert!(bob.saw_no(|frame| frame["type"] == "sig").await);
    drop(driver);
    assert_eq!(user.signal("device.status").await["event"], "disconnected");
}

#[tokio::test]
async fn devices_are_offline_after_a_restart_and_keep_what_was_said_of_them() {
    let gateway = Gateway::set_up().await;
    let driver = gateway.driver().await;
    let mut user = gateway.user().await;
    let about = json!({ "deviceId": DEVICE, "description": "  my laptop " });
    user.call("sys.device.update", about).await.unwrap();
    drop((driver, user));
    let gateway = gateway.restart().await;
    let mut user = gateway.user().await;
    assert_eq!(user.call("sys.device.list", json!({})).await.unwrap(), json!({ "devices": [] }));
    let listed = user.call("sys.device.list", json!({ "includeOffline": true })).await.unwrap();
    assert_eq!(listed["devices"][0]["description"], "my laptop");
    let got = user.call("sys.device.get", json!({ "deviceId": DEVICE })).await.unwrap();
    assert_eq!(
        (&got["device"]["online"], &got["device"]["implements"]),
        (&json!(false), &json!(["fs.*", "shell.exec"]))
    );
    let long = json!({ "deviceId": DEVICE, "description": "x".repeat(501) });
    assert_eq!(user.call("sys.device.update", long).await.unwrap_err().code, 400);
    assert_eq!(
        user.call("sys.device.get", json!({ "deviceId": " " })).await.unwrap_err().pair(),
        (400, "sys.device.get requires deviceId")
    );
}

#[tokio::test]
async fn an_answer_above_the_limit_fails_its_call_at_once() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut driver) = (gateway.user().await, gateway.driver().await);
    let limit = base::limits::frame::MAX_BYTES;
    let content = "x".repeat(limit);
    for is_sorted in [false, true] {
        let other = user.send_call("fs.read", json!({ "target": DEVICE, "path": "small" })).await;
        let small = driver.request().await;
        let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "big" })).await;
        let big = driver.request().await;
        let (route, start) = (&big["id"], r#"{"type":"res","id":"#);
        let text = match is_sorted {
            true => format!(
                r#"{{"data":{{"content":"{content}","ok":true}},"id":{route},"ok":true,"type":"res"}}"#
            ),
            false => format!(r#"{start}{route},"ok":true,"data":{{"ok":true,"content":"{content}"}}}}"#),
        };
        let size = text.len();
        driver.send_text(text).await;
        let refused = user.answer(&id).await.unwrap_err();
        let wanted = format!(
            "The device's answer has {size} bytes, the limit is {limit}: ask for less, or use gsv cp"
        );
        assert_eq!(refused.pair(), (413, wanted.as_str()));
        // The device is told too, and everything else on its socket goes on.
        let told = driver.next_where(|frame| frame["id"] == "?").await;
        assert_eq!(told["error"]["code"], 413);
        driver.reply(&small, json!({ "ok": true })).await;
        assert_eq!(user.answer(&other).await.unwrap()["ok"], true);
    }
}

#[tokio::test]
async fn an_answer_in_pieces_above_the_limit_fails_its_call_before_its_socket_is_closed() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut driver) = (gateway.user().await, gateway.driver().await);
    let other = user.send_call("fs.read", json!({ "target": DEVICE, "path": "small" })).await;
    driver.request().await;
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "big" })).await;
    let route = driver.request().await["id"].clone();
    let limit = base::limits::frame::MAX_BYTES;
    let start = format!(r#"{{"type":"res","id":{route},"ok":true,"data":{{"ok":true,"content":""#);
    let half = vec![b'x'; limit / 2];
    driver.send_pieces(&[start.as_bytes(), &half, &half, b"\"}}"]).await;
    let refused = user.answer(&id).await.unwrap_err();
    let size = start.len() + limit;
    let wanted =
        format!("The device's answer has {size} bytes, the limit is {limit}: ask for less, or use gsv cp");
    assert_eq!(refused.pair(), (413, wanted.as_str()));
    assert_eq!(user.answer(&other).await.unwrap_err().code, 503, "it goes with the socket");
    assert_eq!(driver.ended().await, Some((1009, "Message too large".into())));
}
