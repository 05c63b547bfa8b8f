//! Tests of `sys.token.*`: making, listing, revoking, and what a token opens.

use serde_json::json;
use testkit::Gateway;
use testkit::gateway::USER;

#[tokio::test]
async fn arguments_are_checked_with_the_documented_texts() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let cases = [
        (json!({}), 400, "sys.token.create requires kind"),
        (json!({ "kind": "x" }), 400, "kind must be one of: node, service, user"),
        (
            json!({ "kind": "user", "allowedRole": "x" }),
            400,
            "allowedRole must be one of: driver, service, user",
        ),
        (
            json!({ "kind": "user", "allowedRole": "driver" }),
            400,
            "Invalid allowedRole for kind=user: expected user",
        ),
        (
            json!({ "kind": "user", "allowedDeviceId": "d" }),
            400,
            "allowedDeviceId is only valid for driver-bound tokens",
        ),
        (json!({ "kind": "user", "expiresAt": 1 }), 400, "expiresAt must be in the future"),
        (
            json!({ "kind": "user", "expiresAt": 1e300 }),
            400,
            "expiresAt must be a unix timestamp in milliseconds",
        ),
        (
            json!({ "kind": "user", "uid": 0 }),
            403,
            "Permission denied: cannot create tokens for another user",
        ),
    ];
    for (args, code, message) in cases {
        let refused = user.call("sys.token.create", args.clone()).await.unwrap_err();
        assert_eq!(refused.pair(), (code, message), "{args}");
    }
    let foreign = user.call("sys.token.list", json!({ "uid": 0 })).await.unwrap_err();
    assert_eq!(foreign.pair(), (403, "Permission denied: cannot list tokens for another user"));
    let nothing = user.call("sys.token.revoke", json!({})).await.unwrap_err();
    assert_eq!(nothing.pair(), (400, "sys.token.revoke requires tokenId"));
    let unknown = gateway.root().await.call("sys.token.create", json!({ "kind": "user", "uid": 77 })).await;
    assert_eq!(unknown.unwrap_err().pair(), (404, "Unknown uid: 77"));
}

#[tokio::test]
async fn a_token_logs_in_until_it_is_revoked_and_then_its_sockets_close() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let args = json!({ "kind": "user", "label": "gsv-cli@linux", "allowedRole": "user" });
    let created = user.call("sys.token.create", args).await.unwrap()["token"].clone();
    let raw = created["token"].as_str().unwrap();
    assert!(raw.starts_with("gsv_user_") && created["tokenPrefix"] == raw[..16]);
    let mut session = gateway.login_token("user", USER, raw).await;
    assert!(session.call("sys.device.list", json!({})).await.is_ok());

    let listed = user.call("sys.token.list", json!({})).await.unwrap();
    let row =
        listed["tokens"].as_array().unwrap().iter().find(|row| row["tokenId"] == created["tokenId"]).unwrap();
    assert!(row.get("token").is_none() && row["label"] == "gsv-cli@linux" && row["revokedAt"].is_null());
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 2, "the device's token is there too");

    let args = json!({ "tokenId": created["tokenId"], "reason": "lost" });
    assert_eq!(user.call("sys.token.revoke", args.clone()).await.unwrap(), json!({ "revoked": true }));
    assert_eq!(session.ended().await.unwrap().0, 1008);
    assert_eq!(
        user.call("sys.token.revoke", args).await.unwrap(),
        json!({ "revoked": true }),
        "again is fine"
    );
    let mut again = gateway.peer().await;
    let auth = json!({ "auth": { "username": USER, "token": raw } });
    assert_eq!(again.connect("user", "x", auth).await.unwrap_err().pair(), (401, "Authentication failed"));
    let none = user.call("sys.token.revoke", json!({ "tokenId": "no-such" })).await.unwrap();
    assert_eq!(none, json!({ "revoked": false }));
}

#[tokio::test]
async fn a_token_opens_only_what_it_is_for() {
    let gateway = Gateway::set_up().await;
    gateway.add_user("bob").await;
    let mut user = gateway.user().await;
    let raw =
        user.call("sys.token.create", json!({ "kind": "user" })).await.unwrap()["token"]["token"].clone();
    let failed = (401, "Authentication failed");
    let mut peer = gateway.peer().await;
    for (role, username) in [("user", "bob"), ("user", "root"), ("driver", USER), ("service", USER)] {
        let auth = json!({ "auth": { "username": username, "token": raw } });
        assert_eq!(peer.connect(role, "x", auth).await.unwrap_err().pair(), failed, "{role} {username}");
    }
    let mut other = gateway.peer().await;
    let refused = other.connect("driver", "another-device", gateway.driver_args("i")).await.unwrap_err();
    // Whoever holds the token may know what it is for.
    assert_eq!(refused.pair(), (401, "Authentication failed: the token is for the device laptop"));
    assert_eq!(refused.details["deviceId"], "laptop");
    // Nobody else may: neither under another name nor once it is revoked.
    let mut args = gateway.driver_args("i");
    args["auth"]["username"] = json!("bob");
    let refused = other.connect("driver", "another-device", args).await.unwrap_err();
    assert_eq!((refused.pair(), refused.details.get("deviceId")), (failed, None));
    let tokens = user.call("sys.token.list", json!({})).await.unwrap();
    let bound =
        tokens["tokens"].as_array().unwrap().iter().find(|token| token["allowedDeviceId"] == "laptop");
    let args = json!({ "tokenId": bound.unwrap()["tokenId"] });
    user.call("sys.token.revoke", args).await.unwrap();
    let refused = other.connect("driver", "another-device", gateway.driver_args("i")).await.unwrap_err();
    assert_eq!((refused.pair(), refused.details.get("deviceId")), (failed, None));
    let foreign =
        gateway.login("bob", testkit::gateway::PASSWORD).await.call("sys.token.list", json!({})).await;
    assert_eq!(foreign.unwrap(), json!({ "tokens": [] }));
}
