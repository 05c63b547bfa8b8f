//! Tests of `sys.token.*`: making, listing, revoking, and what a token opens.

use serde_json::{Value, json};
use testkit::fake_model::Turn;
use testkit::gateway::USER;
use testkit::{Gateway, Peer};

use crate::agents::{self, finished};

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
        (json!({ "kind": "node", "approve": true }), 400, "approve is only valid for user tokens"),
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

/// A connection with a token that was made so, and whether the token may approve.
async fn with_token(gateway: &Gateway, maker: &mut Peer, args: Value) -> (Peer, bool) {
    let created = maker.call("sys.token.create", args).await.unwrap()["token"].clone();
    let peer = gateway.login_token("user", USER, created["token"].as_str().unwrap()).await;
    (peer, created["approve"].as_bool().unwrap())
}

#[tokio::test]
async fn a_token_may_approve_as_whoever_makes_it_or_less() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let (mut as_maker, may) = with_token(&gateway, &mut user, json!({ "kind": "user" })).await;
    assert!(may, "made by a login with a password");
    let (mut less, may) = with_token(&gateway, &mut user, json!({ "kind": "user", "approve": false })).await;
    assert!(!may);
    let (_, may) = with_token(&gateway, &mut as_maker, json!({ "kind": "user" })).await;
    assert!(may, "as the token it was made with");
    let (_, may) = with_token(&gateway, &mut less, json!({ "kind": "user" })).await;
    assert!(!may);
    let more = less.call("sys.token.create", json!({ "kind": "user", "approve": true })).await.unwrap_err();
    assert_eq!((more.code, &more.details["reason"]), (403, &json!("approving_login_required")));
    for kind in ["node", "service"] {
        let made = gateway.root().await.call("sys.token.create", json!({ "kind": kind })).await.unwrap();
        assert_eq!(made["token"]["approve"], false);
    }
    let listed = user.call("sys.token.list", json!({})).await.unwrap();
    let approving = listed["tokens"].as_array().unwrap().iter().filter(|row| row["approve"] == true);
    assert_eq!(approving.count(), 2);
}

#[tokio::test]
async fn only_a_login_that_may_approve_answers_approvals_and_changes_policies() {
    let delete = json!({ "path": "/home/alice/old.txt" });
    let agents = agents::saying(vec![Turn::tool("t1", "Delete", delete), Turn::text("gone")]).await;
    let gateway = &agents.gateway;
    let mut user = gateway.user().await;
    let (mut less, _) = with_token(gateway, &mut user, json!({ "kind": "user", "approve": false })).await;
    let (mut as_maker, _) = with_token(gateway, &mut user, json!({ "kind": "user" })).await;
    user.call("fs.write", json!({ "path": "/home/alice/old.txt", "content": "x" })).await.unwrap();
    let sent = user.call("proc.send", json!({ "message": "delete it" })).await.unwrap();
    let asked = user.signal("proc.run.hil.requested").await;
    let answer = json!({ "pid": "init:1000", "requestId": asked["requestId"], "decision": "approve" });
    let hint =
        "log in with your password, or make a token with `gsv auth token create --kind user --approve`";
    let refused = less.call("proc.hil", answer.clone()).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["reason"]), (403, &json!("approving_login_required")));
    assert!(refused.message.ends_with(hint), "{}", refused.message);
    // What it runs inside the gateway has no more rights than it.
    let typed = format!(
        "gsv call proc.hil --pid init:1000 --request-id {} --decision approve",
        asked["requestId"].as_str().unwrap()
    );
    let ran = less.call("shell.exec", json!({ "input": typed })).await.unwrap();
    assert!(ran["exitCode"] == 1 && ran.to_string().contains("needs a login that may"), "{ran}");
    let auto = json!({ "key": "users/1000/ai/tools/approval", "value": r#"{"default":"auto"}"# });
    let refused = less.call("sys.config.set", auto).await.unwrap_err();
    assert_eq!(refused.details["reason"], "approving_login_required");
    assert_eq!(as_maker.call("proc.hil", answer).await.unwrap()["ok"], true);
    assert_eq!(finished(&mut user, sent["runId"].as_str().unwrap()).await["text"], "gone");
}
