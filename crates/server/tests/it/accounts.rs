//! Root's calls: users, groups, capabilities, and that changes take effect at once.

use serde_json::json;
use testkit::Gateway;
use testkit::gateway::{DEVICE, PASSWORD, USER};

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
    assert_eq!(removed, json!({ "removed": true }));
    assert!(peer.ended().await.is_some());
    let removed = root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    assert_eq!(removed, json!({ "removed": false }));
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
