//! Tests of root's calls: users, groups, capabilities, and that changes take effect at once.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::gateway::{DEVICE, PASSWORD, USER};
use testkit::{Gateway, Peer};

#[tokio::test]
async fn root_adds_lists_locks_and_removes_users() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let args = json!({ "username": "bob", "password": PASSWORD, "groups": ["services"] });
    let created = root.call("sys.user.create", args.clone()).await.unwrap();
    assert_eq!(created["user"]["gids"], json!([100, 102, 1001]));
    assert_eq!(created["user"]["groups"], json!(["users", "services", "bob"]));
    assert_eq!(root.call("sys.user.create", args).await.unwrap_err().code, 409);
    let unknown = json!({ "username": "eve", "password": PASSWORD, "groups": ["nope"] });
    assert_eq!(root.call("sys.user.create", unknown).await.unwrap_err().pair(), (404, "Unknown group: nope"));

    let mut bob = gateway.login("bob", PASSWORD).await;
    root.call("sys.user.update", json!({ "username": "bob", "locked": true })).await.unwrap();
    assert_eq!(bob.ended().await.unwrap().0, 1008);
    let mut peer = gateway.peer().await;
    let auth = json!({ "auth": { "username": "bob", "password": PASSWORD } });
    assert_eq!(peer.connect("user", "x", auth.clone()).await.unwrap_err().code, 401);
    root.call("sys.user.update", json!({ "username": "bob", "locked": false })).await.unwrap();
    peer.connect("user", "x", auth).await.expect("the password was kept");

    root.call("sys.user.update", json!({ "username": "bob", "password": "another-password" })).await.unwrap();
    gateway.login("bob", "another-password").await;
    let removed = root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    assert_eq!(removed, json!({ "removed": true, "filesKept": "/home/bob" }));
    assert!(peer.ended().await.is_some());
    let removed = root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    assert_eq!(removed, json!({ "removed": false, "filesKept": null }));
    assert_eq!(root.call("sys.user.remove", json!({ "username": "root" })).await.unwrap_err().code, 403);
    let lock = json!({ "username": "root", "locked": true });
    assert_eq!(root.call("sys.user.update", lock).await.unwrap_err().code, 403);
}

#[tokio::test]
async fn capabilities_take_effect_on_live_sockets_and_stay_revoked() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    assert!(user.call("sys.device.list", json!({})).await.is_ok());
    let default = json!({ "gid": 100, "capability": "sys.device.list" });
    let revoked = root.call("sys.capability.revoke", default.clone()).await.unwrap();
    assert_eq!(revoked, json!({ "changed": true }));
    let refused = user.call("sys.device.list", json!({})).await.unwrap_err();
    assert_eq!(refused.pair(), (403, "Permission denied: sys.device.list"));

    drop((root, user));
    let gateway = gateway.restart().await;
    let mut user = gateway.user().await;
    assert_eq!(user.call("sys.device.list", json!({})).await.unwrap_err().code, 403, "also after a restart");
    let mut root = gateway.root().await;
    assert_eq!(root.call("sys.capability.grant", default).await.unwrap(), json!({ "changed": true }));
    assert!(user.call("sys.device.list", json!({})).await.is_ok());
    let bad = json!({ "gid": 100, "capability": "Not Valid" });
    let refused = root.call("sys.capability.grant", bad).await.unwrap_err();
    assert_eq!(refused.pair(), (400, "Invalid capability format: Not Valid"));
    let all = json!({ "gid": 0, "capability": "*" });
    assert_eq!(root.call("sys.capability.revoke", all).await.unwrap_err().code, 403);
}

#[tokio::test]
async fn a_group_opens_a_device_to_its_members() {
    let gateway = Gateway::set_up().await;
    let _driver = gateway.driver().await;
    let mut root = gateway.root().await;
    let mut bob = gateway.add_user("bob").await;
    let get = json!({ "deviceId": DEVICE });
    assert_eq!(bob.call("sys.device.get", get.clone()).await.unwrap(), json!({ "device": null }));
    let group = root.call("sys.group.create", json!({ "name": "team" })).await.unwrap();
    let gid = group["group"]["gid"].clone();
    let access =
        root.call("sys.device.access", json!({ "deviceId": DEVICE, "gid": gid, "allow": true })).await;
    assert_eq!(access.unwrap()["gids"], json!([1000, gid]));
    root.call("sys.user.update", json!({ "username": "bob", "groups": ["team"] })).await.unwrap();
    let seen = bob.call("sys.device.get", get.clone()).await.unwrap();
    assert_eq!(seen["device"]["deviceId"], DEVICE);
    let describe = json!({ "deviceId": DEVICE, "description": "mine now" });
    let refused = bob.call("sys.device.update", describe.clone()).await.unwrap_err();
    assert_eq!(refused.pair(), (403, "Permission denied: device metadata is owner-managed"));
    let owner = gateway.user().await.call("sys.device.update", describe).await.unwrap();
    assert_eq!(owner["device"]["description"], "mine now");

    assert_eq!(
        root.call("sys.group.remove", json!({ "name": "team" })).await.unwrap(),
        json!({ "removed": true })
    );
    assert_eq!(bob.call("sys.device.get", get).await.unwrap(), json!({ "device": null }));
    for kept in ["users", "root", USER] {
        assert_eq!(
            root.call("sys.group.remove", json!({ "name": kept })).await.unwrap_err().code,
            403,
            "{kept}"
        );
    }
}

/// A command that would go on for hours; returns the poll for it.
async fn long_command(peer: &mut Peer) -> Value {
    let args = json!({ "input": "sleep 80000", "timeout": 86_000_000, "background": true });
    let running = peer.call("shell.exec", args).await.unwrap();
    assert_eq!(running["status"], "running", "{running}");
    json!({ "sessionId": running["sessionId"], "input": "" })
}

/// Longer than anything takes that goes well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until it has ended.
async fn end_of(peer: &mut Peer, poll: &Value) -> Value {
    let ended = async {
        loop {
            let answer = peer.call("shell.exec", poll.clone()).await.unwrap();
            if answer["status"] != "running" {
                return answer;
            }
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap_or_else(|_| panic!("the command goes on"))
}

/// Waits until exactly these commands run in the native shell.
async fn until_only(root: &mut Peer, sessions: &[&Value]) {
    tokio::time::timeout(PATIENCE, only(root, sessions)).await.unwrap_or_else(|_| panic!("not these run"));
}

async fn only(root: &mut Peer, sessions: &[&Value]) {
    loop {
        let read = root.call("fs.read", json!({ "path": "/sys/sessions" })).await.unwrap();
        let mut running = Vec::new();
        for id in read["files"].as_array().unwrap() {
            let path = format!("/sys/sessions/{}", id.as_str().unwrap());
            let text = root.call("fs.read", json!({ "path": path })).await.unwrap().to_string();
            if text.contains("status: running") {
                running.push(id.clone());
            }
        }
        if running.len() == sessions.len() && sessions.iter().all(|poll| running.contains(&poll["sessionId"]))
        {
            return;
        }
    }
}

const ENDED: &str = "Command ended: the account was changed";

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_somebody_who_is_locked_or_removed_end() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut alice) = (gateway.root().await, gateway.user().await);
    let mut bob = gateway.add_user("bob").await;
    let (of_alice, of_root) = (long_command(&mut alice).await, long_command(&mut root).await);
    let locked = long_command(&mut bob).await;
    root.call("sys.user.update", json!({ "username": "bob", "locked": true })).await.unwrap();
    assert!(bob.ended().await.is_some());
    until_only(&mut root, &[&of_alice, &of_root]).await;
    root.call("sys.user.update", json!({ "username": "bob", "locked": false })).await.unwrap();
    let mut bob = gateway.login("bob", PASSWORD).await;
    let ended = end_of(&mut bob, &locked).await;
    assert_eq!((&ended["error"], &ended["exitCode"]), (&json!(ENDED), &json!(143)));

    let shadow = root.call("shell.exec", json!({ "input": "cat /etc/shadow" })).await.unwrap();
    let shadow = shadow["output"].as_str().unwrap().replace("bob:$", "bob:!$");
    let of_bob = long_command(&mut bob).await;
    root.call("fs.write", json!({ "path": "/etc/shadow", "content": shadow })).await.unwrap();
    until_only(&mut root, &[&of_alice, &of_root]).await;
    root.call("sys.user.update", json!({ "username": "bob", "locked": false })).await.unwrap();
    let mut bob = gateway.login("bob", PASSWORD).await;
    assert_eq!(end_of(&mut bob, &of_bob).await["error"], ENDED);

    long_command(&mut bob).await;
    root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    until_only(&mut root, &[&of_alice, &of_root]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_somebody_who_loses_rights_end() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut alice) = (gateway.root().await, gateway.user().await);
    let mut bob = gateway.add_user("bob").await;
    let of_alice = long_command(&mut alice).await;
    for name in ["team", "crew"] {
        root.call("sys.group.create", json!({ "name": name })).await.unwrap();
    }
    let of_bob = long_command(&mut bob).await;
    let groups = |names: &[&str]| json!({ "username": "bob", "groups": names });
    root.call("sys.user.update", groups(&["team", "crew"])).await.unwrap();
    until_only(&mut root, &[&of_alice, &of_bob]).await;
    root.call("sys.user.update", groups(&["crew"])).await.unwrap();
    assert_eq!(end_of(&mut bob, &of_bob).await["error"], ENDED, "who left a group");

    let of_bob = long_command(&mut bob).await;
    root.call("sys.group.remove", json!({ "name": "crew" })).await.unwrap();
    assert_eq!(end_of(&mut bob, &of_bob).await["error"], ENDED, "whose group was removed");

    let of_bob = long_command(&mut bob).await;
    until_only(&mut root, &[&of_alice, &of_bob]).await;
    let of_root = long_command(&mut root).await;
    let capability = json!({ "gid": 100, "capability": "sys.device.list" });
    root.call("sys.capability.revoke", capability.clone()).await.unwrap();
    for (peer, poll) in [(&mut alice, &of_alice), (&mut bob, &of_bob)] {
        assert_eq!(end_of(peer, poll).await["error"], ENDED, "what a group may do was taken away");
    }
    let of_bob = long_command(&mut bob).await;
    root.call("sys.capability.revoke", capability).await.unwrap();
    until_only(&mut root, &[&of_bob, &of_root]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_makes_calls_with_the_rights_of_now() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut alice) = (gateway.root().await, gateway.user().await);
    let capability = json!({ "gid": 100, "capability": "sys.device.list" });
    root.call("sys.capability.revoke", capability.clone()).await.unwrap();
    let script = "while read word; do gsv call sys.device.list >/dev/null 2>&1 && echo yes || echo no; done";
    let running = alice.call("shell.exec", json!({ "input": script, "background": true })).await.unwrap();
    let mut next = json!({ "sessionId": running["sessionId"], "input": "go\n", "yieldMs": 30_000 });
    assert_eq!(alice.call("shell.exec", next.clone()).await.unwrap()["output"], "no\n");
    root.call("sys.capability.grant", capability).await.unwrap();
    assert_eq!(alice.call("shell.exec", next.clone()).await.unwrap()["output"], "yes\n");
    next["closeStdin"] = json!(true);
    alice.call("shell.exec", next).await.unwrap();
}

#[tokio::test]
async fn the_devices_of_a_removed_user_go_with_it() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut alice) = (gateway.root().await, gateway.user().await);
    let driver = async |peer: &mut Peer| {
        let token = json!({ "kind": "node", "allowedDeviceId": "shed" });
        peer.call("sys.token.create", token).await.unwrap()["token"]["token"].clone()
    };
    let connect = async |username: &str, token: Value| {
        let mut driver = gateway.peer().await;
        let args = json!({
            "auth": { "username": username, "token": token },
            "driver": { "implements": ["fs.*"], "instance": username },
        });
        driver.connect("driver", "shed", args).await.unwrap();
        driver
    };
    let mut bob = gateway.add_user("bob").await;
    let token = driver(&mut bob).await;
    let mut shed = connect("bob", token).await;
    let alices = root.call("sys.user.list", json!({})).await.unwrap();
    let gid =
        alices["users"].as_array().unwrap().iter().find(|user| user["username"] == USER).unwrap()["gid"]
            .clone();
    let access = json!({ "deviceId": "shed", "gid": gid, "allow": true });
    root.call("sys.device.access", access).await.unwrap();
    let list = alice.call("sys.device.list", json!({})).await.unwrap();
    assert_eq!(list["devices"][0]["deviceId"], "shed", "{list}");

    root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    assert!(shed.ended().await.is_some(), "its driver is let go");
    let gone =
        |frame: &Value| frame["signal"] == "device.status" && frame["payload"]["device"]["online"] == false;
    assert_eq!(alice.next_where(gone).await["payload"]["device"]["deviceId"], "shed");
    for peer in [&mut root, &mut alice] {
        let list = peer.call("sys.device.list", json!({ "includeOffline": true })).await.unwrap();
        assert_eq!(list["devices"], json!([]));
    }
    // The name is free, and what was allowed on the old device is not allowed on the new one.
    let mut eve = gateway.add_user("eve").await;
    let token = driver(&mut eve).await;
    let shed = connect("eve", token).await;
    let refused = alice.call("fs.read", json!({ "target": "shed", "path": "a" })).await.unwrap_err();
    assert_eq!(refused.pair(), (403, "Access denied to device: shed"));
    let devices = root.call("sys.device.list", json!({})).await.unwrap();
    assert_eq!(devices["devices"][0]["ownerUid"], 1002, "{devices}");
    drop((root, alice, bob, eve, shed));
    let gateway = gateway.restart().await;
    let get = json!({ "deviceId": "shed" });
    assert_eq!(gateway.user().await.call("sys.device.get", get).await.unwrap(), json!({ "device": null }));
}
