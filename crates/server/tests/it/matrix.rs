//! Access matrix: every syscall, asked by every kind of caller, answers as the tables say.

use protocol::spec::{Access, Route};
use serde_json::json;
use testkit::gateway::{DEVICE, USER};
use testkit::{Gateway, Peer};

async fn refused(peer: &mut Peer, call: &str) -> (i64, String) {
    match peer.call(call, json!({})).await {
        Ok(_) => (0, String::new()),
        Err(refused) => (refused.code, refused.message),
    }
}

#[tokio::test]
async fn every_call_by_every_kind_of_caller() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let mut nobody = gateway.peer().await;
    let mut driver = gateway.driver().await;
    let token =
        root.call("sys.token.create", json!({ "kind": "service" })).await.unwrap()["token"]["token"].clone();
    let mut service = gateway.peer().await;
    let auth = json!({ "auth": { "username": "root", "token": token }, "channel": "test" });
    service.connect("service", "svc", auth).await.unwrap();
    let mut bare = gateway.add_user("bare").await;
    root.call("sys.user.update", json!({ "username": "bare", "groups": [] })).await.unwrap();
    for row in root.call("sys.capability.list", json!({ "gid": 100 })).await.unwrap()["capabilities"]
        .as_array()
        .unwrap()
    {
        root.call("sys.capability.revoke", row.clone()).await.unwrap();
    }
    for spec in protocol::calls() {
        let denied = (403, format!("Permission denied: {}", spec.name));
        if spec.access == Access::Open {
            continue;
        }
        let first = (403, "Must call sys.connect first".to_string());
        assert_eq!(refused(&mut nobody, spec.name).await, first, "{} before login", spec.name);
        assert_eq!(refused(&mut bare, spec.name).await, denied, "{} without capability", spec.name);
        assert_eq!(refused(&mut driver, spec.name).await, denied, "{} by a driver", spec.name);
        let by_service = refused(&mut service, spec.name).await;
        if spec.domain() == "adapter" && spec.access != Access::User {
            assert_ne!(by_service, denied, "{} by a service", spec.name);
        } else {
            assert_eq!(by_service, denied, "{} by a service", spec.name);
        }
        let by_root = refused(&mut root, spec.name).await;
        match spec.access {
            Access::Program | Access::Service => assert_eq!(by_root, denied, "{} by root", spec.name),
            Access::Kernel => assert_eq!(by_root.0, 403, "{} by root", spec.name),
            _ => assert_ne!(by_root.0, 403, "{} by root: {by_root:?}", spec.name),
        }
    }
    assert_eq!(refused(&mut root, "no.such.call").await, (404, "Unknown syscall: no.such.call".into()));
    assert_eq!(refused(&mut bare, "no.such.call").await, (403, "Permission denied: no.such.call".into()));
    assert_eq!(refused(&mut root, "proc.setidentity").await, (403, "proc.setidentity is kernel-only".into()));
}

#[tokio::test]
async fn another_users_device_and_tokens_stay_closed() {
    let gateway = Gateway::set_up().await;
    let _driver = gateway.driver().await;
    let mut bob = gateway.add_user("bob").await;
    for spec in protocol::calls().filter(|spec| spec.route == Route::Target) {
        let answer = bob.call(spec.name, json!({ "target": DEVICE })).await.unwrap_err();
        assert_eq!(answer.pair(), (403, "Access denied to device: laptop"), "{}", spec.name);
    }
    for call in ["sys.token.create", "sys.token.list", "sys.token.revoke"] {
        let answer =
            bob.call(call, json!({ "uid": 1000, "kind": "user", "tokenId": "x" })).await.unwrap_err();
        assert_eq!(answer.code, 403, "{call}");
    }
}

#[tokio::test]
async fn every_call_by_another_user_about_somebody_elses_things_gives_and_changes_nothing() {
    let gateway = Gateway::set_up().await;
    let _driver = gateway.driver().await;
    let mut alice = gateway.user().await;
    let secret = json!({ "key": "users/1000/ai/api_key", "value": "hers-alone" });
    alice.call("sys.config.set", secret).await.unwrap();
    let before = alice.call("sys.token.list", json!({})).await.unwrap();
    let mut bob = gateway.add_user("bob").await;
    let foreign = json!({
        "uid": 1000, "ownerUid": 1000, "username": USER, "target": DEVICE, "deviceId": DEVICE, "description": "bob's",
        "pid": "init:1000", "key": "users/1000/ai/api_key", "value": "bob's", "kind": "user", "path": "/home/alice",
        "tokenId": before["tokens"][0]["tokenId"], "input": "id", "sessionId": "", "gid": 1000, "allow": true,
        "name": USER, "capability": "fs.read", "password": "bobs-password", "content": "", "query": "x",
    });
    for spec in protocol::calls().filter(|spec| spec.access != Access::Open) {
        let answer = match bob.call(spec.name, foreign.clone()).await {
            Ok(data) => data.to_string(),
            Err(refused) => {
                assert!((400..=501).contains(&refused.code), "{}: {refused:?}", spec.name);
                refused.details.to_string()
            }
        };
        for hers in ["hers-alone", DEVICE, "gsv_user_", "\"uid\":1000"] {
            assert!(!answer.contains(hers), "{} tells {answer}", spec.name);
        }
    }
    assert_eq!(alice.call("sys.token.list", json!({})).await.unwrap(), before);
    let key = json!({ "key": "users/1000/ai/api_key" });
    assert_eq!(alice.call("sys.config.get", key).await.unwrap()["entries"][0]["value"], "hers-alone");
    let device = alice.call("sys.device.get", json!({ "deviceId": DEVICE })).await.unwrap();
    assert_eq!(device["device"]["description"], "");
    gateway.login(USER, testkit::gateway::PASSWORD).await;
}

#[tokio::test]
async fn root_only_calls_stay_roots_even_when_granted() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    root.call("sys.capability.grant", json!({ "gid": 100, "capability": "*" })).await.unwrap();
    for spec in protocol::calls().filter(|spec| spec.access == Access::Root) {
        assert_eq!(refused(&mut user, spec.name).await, (403, format!("Permission denied: {}", spec.name)));
    }
}

#[tokio::test]
async fn calls_without_a_handler_say_so_and_no_others() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let token =
        root.call("sys.token.create", json!({ "kind": "service" })).await.unwrap()["token"]["token"].clone();
    let mut service = gateway.peer().await;
    let auth = json!({ "auth": { "username": "root", "token": token }, "channel": "test" });
    service.connect("service", "svc", auth).await.unwrap();
    let mut missing = Vec::new();
    for spec in protocol::calls() {
        let outside = matches!(spec.access, Access::Open | Access::Program | Access::Kernel);
        if outside || spec.route == Route::Local {
            continue;
        }
        let peer = if spec.access == Access::Service { &mut service } else { &mut root };
        let answer = refused(peer, spec.name).await;
        if answer == (501, format!("Not implemented: {}", spec.name)) {
            missing.push(spec.name);
        }
    }
    let assist = Gateway::fresh().await.peer().await.call("sys.setup.assist", json!({})).await.unwrap_err();
    if assist.code == 501 {
        missing.push("sys.setup.assist");
    }
    let mut expected = kernel::not_implemented();
    expected.retain(|name| {
        protocol::spec(name).is_some_and(|spec| !matches!(spec.access, Access::Program | Access::Kernel))
    });
    missing.sort_unstable();
    expected.sort_unstable();
    assert_eq!(missing, expected);
}
