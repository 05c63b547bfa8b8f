//! Tests of `sys.connect`: the order of its checks, roles, replacement, throttling.

use serde_json::{Value, json};
use testkit::Gateway;
use testkit::gateway::{DEVICE, PASSWORD, USER};

fn args(more: Value) -> Value {
    let mut args =
        json!({ "protocol": 1, "client": { "id": "c", "version": "1", "platform": "x", "role": "user" } });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

fn client(role: &str) -> Value {
    json!({ "id": "c", "version": "1", "platform": "x", "role": role })
}

#[tokio::test]
async fn checks_come_in_the_documented_order() {
    let gateway = Gateway::set_up().await;
    let token = gateway.node_token.as_str();
    let cases = [
        (json!({}), 102, "Unsupported protocol version"),
        (json!({ "protocol": 2, "client": client("user") }), 102, "Unsupported protocol version"),
        (json!({ "protocol": "1", "client": client("user") }), 102, "Unsupported protocol version"),
        (json!({ "protocol": 1 }), 103, "Invalid client role"),
        (args(json!({ "client": client("boss") })), 103, "Invalid client role"),
        (args(json!({})), 401, "Authentication required"),
        (args(json!({ "auth": {} })), 401, "Username required"),
        (args(json!({ "auth": { "username": USER } })), 401, "Password or token required"),
        (
            args(json!({ "auth": { "username": USER, "password": "a", "token": "b" } })),
            401,
            "Provide either password or token",
        ),
        (
            args(json!({ "client": client("driver"), "auth": { "username": USER, "password": PASSWORD } })),
            401,
            "Token required for machine connections",
        ),
        (args(json!({ "auth": { "username": USER, "password": "wrong" } })), 401, "Authentication failed"),
        (
            args(json!({ "auth": { "username": "nobody", "password": "wrong" } })),
            401,
            "Authentication failed",
        ),
        (args(json!({ "auth": { "username": USER, "token": token } })), 401, "Authentication failed"),
        (
            args(json!({ "client": client("driver"), "auth": { "username": USER, "token": token } })),
            401,
            "Authentication failed: the token is for the device laptop",
        ),
        (
            args(
                json!({ "client": { "id": DEVICE, "role": "driver" }, "auth": { "username": USER, "token": token } }),
            ),
            103,
            "Driver role requires implements list",
        ),
        (
            args(json!({
                "client": { "id": DEVICE, "role": "driver" },
                "auth": { "username": USER, "token": token }, "driver": { "implements": ["FS"] },
            })),
            103,
            "Invalid implements pattern: FS",
        ),
    ];
    let mut peer = gateway.peer().await;
    for (args, code, message) in cases {
        let refused = peer.call("sys.connect", args.clone()).await.unwrap_err();
        assert_eq!(refused.pair(), (code, message), "{args}");
        let is_for_another = message.contains("the token is for");
        let details = refused.details.as_object().unwrap();
        assert!(details["reason"].is_string(), "{details:?}");
        let told = if is_for_another { json!("laptop") } else { Value::Null };
        assert_eq!(details.get("deviceId").cloned().unwrap_or_default(), told);
        assert_eq!(details.len(), 1 + usize::from(is_for_another), "nothing but that: {details:?}");
    }
    let auth = json!({ "username": USER, "password": PASSWORD });
    assert!(
        peer.call("sys.connect", args(json!({ "auth": auth }))).await.is_ok(),
        "after all that it still works"
    );
    let again = peer.call("sys.connect", args(json!({ "auth": auth }))).await.unwrap_err();
    assert_eq!(again.pair(), (409, "Already connected"));
    let setup = peer.call("sys.setup", json!({})).await.unwrap_err();
    assert_eq!(setup.pair(), (409, "Already connected"));
}

#[tokio::test]
async fn setup_mode_is_told_to_every_first_call() {
    let gateway = Gateway::fresh().await;
    let mut peer = gateway.peer().await;
    for call in ["sys.connect", "fs.read", "no.such.call"] {
        let refused = peer.call(call, args(json!({}))).await.unwrap_err();
        assert_eq!(refused.pair(), (425, "Setup required"), "{call}");
        assert_eq!(
            refused.details,
            json!({ "reason": "setup_required", "setupMode": true, "next": "sys.setup" })
        );
    }
}

#[tokio::test]
async fn a_user_learns_what_it_may_call_and_will_hear() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.peer().await;
    let auth = json!({ "username": USER, "password": PASSWORD });
    let connected = peer.connect("user", "me", json!({ "auth": auth })).await.unwrap();
    assert_eq!(connected["protocol"], 1);
    assert!(connected["server"]["connectionId"].as_str().unwrap().starts_with("conn-"));
    let process = json!({
        "uid": 1000, "gid": 1000, "gids": [100, 1000], "username": USER, "home": "/home/alice",
        "cwd": "/home/alice", "workspaceId": null,
    });
    assert_eq!(
        (&connected["identity"]["role"], &connected["identity"]["process"]),
        (&json!("user"), &process)
    );
    let capabilities = connected["identity"]["capabilities"].as_array().unwrap();
    assert!(capabilities.contains(&json!("fs.*")) && !capabilities.contains(&json!("*")));
    let calls = connected["syscalls"].as_array().unwrap();
    assert!(calls.contains(&json!("fs.read")) && calls.contains(&json!("shell.exec")));
    for hidden in
        ["fs.*", "sys.user.create", "ai.config", "proc.setidentity", "adapter.inbound", "sys.connect"]
    {
        assert!(!calls.contains(&json!(hidden)), "{hidden}");
    }
    let signals = [
        "proc.changed",
        "proc.run.started",
        "proc.run.stream",
        "proc.run.output",
        "proc.run.tool.started",
        "proc.run.tool.finished",
        "proc.run.hil.requested",
        "proc.run.finished",
        "process.exit",
        "device.status",
        "adapter.status",
        "pkg.changed",
    ];
    assert_eq!(connected["signals"], json!(signals));
}

#[tokio::test]
async fn drivers_and_services_get_what_their_role_has() {
    let gateway = Gateway::set_up().await;
    let mut driver = gateway.peer().await;
    let connected = driver.connect("driver", DEVICE, gateway.driver_args("a")).await.unwrap();
    assert_eq!(connected["identity"]["capabilities"], json!([]));
    assert_eq!(connected["identity"]["device"], DEVICE);
    assert_eq!(connected["identity"]["implements"], json!(["fs.*", "shell.exec"]));
    assert_eq!((&connected["syscalls"], &connected["signals"]), (&json!([]), &json!(["device.status"])));

    let created = gateway.root().await.call("sys.token.create", json!({ "kind": "service" })).await.unwrap();
    let auth = json!({ "username": "root", "token": created["token"]["token"] });
    let mut service = gateway.peer().await;
    let refused = service.connect("service", "s", json!({ "auth": auth })).await.unwrap_err();
    assert_eq!(refused.pair(), (103, "Service role requires channel field"));
    let connected =
        service.connect("service", "s", json!({ "auth": auth, "channel": "telegram" })).await.unwrap();
    assert_eq!(connected["identity"]["capabilities"], json!(["adapter.*"]));
    assert_eq!(
        (&connected["identity"]["channel"], &connected["signals"]),
        (&json!("telegram"), &json!(["adapter.status"]))
    );
}

#[tokio::test]
async fn a_newer_connection_of_the_same_client_replaces_the_older() {
    let gateway = Gateway::set_up().await;
    let auth = json!({ "username": USER, "password": PASSWORD });
    let (mut first, mut second) = (gateway.peer().await, gateway.peer().await);
    first.connect("user", " tab ", json!({ "auth": auth })).await.unwrap();
    second.connect("user", "tab", json!({ "auth": auth })).await.unwrap();
    assert_eq!(first.ended().await, Some((1000, "Replaced by newer connection".into())));
    assert!(second.call("sys.device.list", json!({})).await.is_ok());

    let (mut first, mut second) = (gateway.peer().await, gateway.peer().await);
    first.connect("user", "", json!({ "auth": auth })).await.unwrap();
    second.connect("user", "", json!({ "auth": auth })).await.unwrap();
    assert!(first.call("sys.device.list", json!({})).await.is_ok(), "without an id nobody is replaced");
}

#[tokio::test]
async fn failed_logins_are_throttled_per_user_and_probes_are_not_counted() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.peer().await;
    for _ in 0..30 {
        let probe = peer.connect("user", "probe", json!({})).await.unwrap_err();
        assert_eq!(probe.pair(), (401, "Authentication required"));
    }
    let wrong = json!({ "auth": { "username": USER, "password": "wrong-password" } });
    for _ in 0..10 {
        assert_eq!(peer.connect("user", "x", wrong.clone()).await.unwrap_err().code, 401);
    }
    let refused = peer.connect("user", "x", wrong).await.unwrap_err();
    assert_eq!(refused.code, 429);
    assert!(refused.message.contains("seconds"), "{}", refused.message);
    let right = json!({ "auth": { "username": USER, "password": PASSWORD } });
    assert_eq!(peer.connect("user", "x", right).await.unwrap_err().code, 429, "also with the right password");
    let root = json!({ "auth": { "username": "root", "password": testkit::gateway::ROOT_PASSWORD } });
    assert!(peer.connect("user", "x", root).await.is_ok(), "another user is not held up");
}

#[tokio::test]
async fn a_machine_with_a_dead_token_does_not_lock_its_owner_out() {
    let gateway = Gateway::set_up().await;
    let mut driver = gateway.peer().await;
    let mut args = gateway.driver_args("i");
    args["auth"]["token"] = json!("gsv_node_revoked");
    for _ in 0..10 {
        assert_eq!(driver.connect("driver", DEVICE, args.clone()).await.unwrap_err().code, 401);
    }
    assert_eq!(
        driver.connect("driver", DEVICE, args).await.unwrap_err().code,
        429,
        "tokens are throttled too"
    );
    let right = json!({ "auth": { "username": USER, "password": PASSWORD } });
    assert!(gateway.peer().await.connect("user", "x", right).await.is_ok());
    let mut good = gateway.peer().await;
    assert!(
        good.connect("driver", DEVICE, gateway.driver_args("i")).await.is_ok(),
        "a good token always gets in"
    );
}

#[tokio::test]
async fn one_socket_logs_in_once_however_often_it_asks_at_once() {
    let gateway = Gateway::set_up().await;
    let mut peer = gateway.peer().await;
    let args = args(json!({ "auth": { "username": USER, "password": PASSWORD } }));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(peer.send_call("sys.connect", args.clone()).await);
    }
    let mut worked = 0;
    for id in &ids {
        match peer.answer(id).await {
            Ok(_) => worked += 1,
            Err(refused) => assert_eq!(refused.pair(), (409, "Already connected")),
        }
    }
    assert_eq!(worked, 1);
}

#[tokio::test]
async fn a_driver_learns_whether_itself_or_another_took_its_place() {
    let gateway = Gateway::set_up().await;
    let (mut first, mut own, mut other) = (gateway.peer().await, gateway.peer().await, gateway.peer().await);
    first.connect("driver", DEVICE, gateway.driver_args("one")).await.unwrap();
    own.connect("driver", DEVICE, gateway.driver_args("one")).await.unwrap();
    assert_eq!(first.ended().await, Some((1000, "Replaced by newer connection".into())));
    other.connect("driver", DEVICE, gateway.driver_args("two")).await.unwrap();
    assert_eq!(own.ended().await, Some((4009, "Another driver connected under this device id".into())));
}

#[tokio::test]
async fn device_ids_are_checked_where_they_come_up() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let unbound = user.call("sys.token.create", json!({ "kind": "node" })).await.unwrap();
    let mut args = gateway.driver_args("i");
    args["auth"]["token"] = unbound["token"]["token"].clone();
    let mut driver = gateway.peer().await;
    for bad in [".", "..", "x/y", "a:b", "a b", "gsv", "Gsv"] {
        let wanted = json!({ "kind": "node", "allowedDeviceId": bad });
        let refused = user.call("sys.token.create", wanted).await.unwrap_err();
        assert!(refused.code == 400 && refused.message.contains("letters"), "{bad}: {}", refused.message);
        let refused = driver.connect("driver", bad, args.clone()).await.unwrap_err();
        assert!(refused.code == 103 && refused.message.contains("letters"), "{bad}: {}", refused.message);
    }
    assert_eq!(driver.connect("driver", "  ", args.clone()).await.unwrap_err().code, 103);
    driver.connect("driver", "node-7.home_x", args).await.unwrap();
}

#[tokio::test]
async fn device_ids_that_differ_only_in_case_are_one_device() {
    let gateway = Gateway::set_up().await;
    gateway.add_user("bob").await;
    let (mut user, mut first) = (gateway.user().await, gateway.driver().await);
    let mut driver = gateway.peer().await;
    let connected = driver.connect("driver", "LapTop", gateway.driver_args("two")).await.unwrap();
    assert_eq!(connected["identity"]["device"], "laptop");
    assert_eq!(first.ended().await.unwrap().0, 4009);
    let id = user.send_call("fs.read", json!({ "target": "LAPTOP", "path": "x" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!({ "ok": true })).await;
    assert_eq!(user.answer(&id).await.unwrap()["ok"], true);
    let made = user.call("sys.token.create", json!({ "kind": "node", "allowedDeviceId": "LAPTOP" })).await;
    assert_eq!(made.unwrap()["token"]["allowedDeviceId"], "laptop");
    let found = user.call("sys.device.get", json!({ "deviceId": "LAPTOP" })).await.unwrap();
    assert_eq!(found["device"]["deviceId"], "laptop");
    let mut bob = gateway.login("bob", PASSWORD).await;
    let bobs = bob.call("sys.token.create", json!({ "kind": "node" })).await.unwrap();
    let mut args = gateway.driver_args("three");
    args["auth"] = json!({ "username": "bob", "token": bobs["token"]["token"] });
    let refused = gateway.peer().await.connect("driver", "Laptop", args).await.unwrap_err();
    assert_eq!(refused.code, 403, "{}", refused.message);
}
