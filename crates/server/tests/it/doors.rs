//! Logins, tokens and what strangers may do: who comes in, for how long, and at whose cost.

use base::clock::Clock;
use base::limits;
use serde_json::{Value, json};
use testkit::gateway::{DEVICE, PASSWORD, ROOT_PASSWORD, USER};
use testkit::{Gateway, Peer};

/// The raw value of a fresh token.
async fn token(peer: &mut Peer, args: Value) -> Value {
    peer.call("sys.token.create", args).await.unwrap()["token"].clone()
}

fn in_ms(milliseconds: i64) -> i64 {
    Clock::system().now_ms() + milliseconds
}

#[tokio::test]
async fn service_tokens_are_for_root_and_the_group_services() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let only = (403, "Permission denied: service tokens are for root and members of the group services");
    let refused = user.call("sys.token.create", json!({ "kind": "service" })).await.unwrap_err();
    assert_eq!(refused.pair(), only);
    let refused = root.call("sys.token.create", json!({ "kind": "service", "uid": 1000 })).await.unwrap_err();
    assert_eq!(refused.pair(), only, "also when root makes it for somebody");
    let join = json!({ "username": USER, "groups": ["services"] });
    root.call("sys.user.update", join).await.unwrap();
    let raw = token(&mut user, json!({ "kind": "service" })).await["token"].clone();
    let auth = json!({ "auth": { "username": USER, "token": raw }, "channel": "test" });
    let mut service = gateway.peer().await;
    service.connect("service", "svc", auth.clone()).await.unwrap();
    // Whoever leaves the group loses the socket, and the token opens nothing any more.
    let leave = json!({ "username": USER, "groups": [] });
    root.call("sys.user.update", leave).await.unwrap();
    assert_eq!(service.ended().await, Some((1008, "Login revoked".into())));
    let mut again = gateway.peer().await;
    for _ in 0..limits::login::FAILURES_MAX + 1 {
        let refused = again.connect("service", "svc", auth.clone()).await.unwrap_err();
        assert_eq!(refused.pair(), only, "a token that is good otherwise is no guess");
    }
}

#[tokio::test]
async fn a_socket_ends_with_its_token() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let made = token(&mut user, json!({ "kind": "user", "expiresAt": in_ms(1_500) })).await;
    let mut session = gateway.login_token("user", USER, made["token"].as_str().unwrap()).await;
    session.call("sys.device.list", json!({})).await.unwrap();
    assert_eq!(session.ended().await, Some((1008, "Token expired".into())));
    user.call("sys.device.list", json!({})).await.expect("other sockets of the user go on");
}

#[tokio::test]
async fn a_token_makes_none_that_outlives_it() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let end = in_ms(3_600_000);
    let made = token(&mut user, json!({ "kind": "user", "expiresAt": end })).await;
    let mut session = gateway.login_token("user", USER, made["token"].as_str().unwrap()).await;
    for (args, expires) in [
        (json!({ "kind": "user" }), end),
        (json!({ "kind": "node", "allowedDeviceId": "desk" }), end),
        (json!({ "kind": "user", "expiresAt": end + 1 }), end),
        (json!({ "kind": "user", "expiresAt": end - 1 }), end - 1),
    ] {
        let child = token(&mut session, args.clone()).await;
        assert_eq!(child["expiresAt"], expires, "{args}");
    }
    assert_eq!(token(&mut user, json!({ "kind": "user" })).await["expiresAt"], Value::Null);
    // Nor does it when the gateway's own shell makes the call.
    let args = json!({ "input": "gsv call sys.token.create --kind user", "closeStdin": true });
    let said = session.call("shell.exec", args).await.unwrap();
    assert!(said["output"].as_str().unwrap().contains("Permission denied"), "{said}");
}

#[tokio::test]
async fn a_token_is_revoked_with_what_was_made_with_it() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let thief = token(&mut user, json!({ "kind": "user" })).await;
    let mut stolen = gateway.login_token("user", USER, thief["token"].as_str().unwrap()).await;
    let child = token(&mut stolen, json!({ "kind": "user", "label": "backup" })).await;
    let mut second = gateway.login_token("user", USER, child["token"].as_str().unwrap()).await;
    let device = token(&mut second, json!({ "kind": "node", "allowedDeviceId": "spy" })).await;
    let auth = json!({ "username": USER, "token": device["token"] });
    let spy = json!({ "auth": auth, "driver": { "implements": ["fs.*"] } });
    let mut driver = gateway.peer().await;
    driver.connect("driver", "spy", spy.clone()).await.unwrap();
    let other = token(&mut user, json!({ "kind": "user" })).await;
    let mut other = gateway.login_token("user", USER, other["token"].as_str().unwrap()).await;

    let revoke = json!({ "tokenId": thief["tokenId"], "reason": "stolen" });
    assert_eq!(user.call("sys.token.revoke", revoke).await.unwrap()["revoked"], true);
    for peer in [&mut stolen, &mut second, &mut driver] {
        assert_eq!(peer.ended().await, Some((1008, "Login revoked".into())));
    }
    for raw in [&thief["token"], &child["token"]] {
        let auth = json!({ "auth": { "username": USER, "token": raw } });
        assert_eq!(gateway.peer().await.connect("user", "x", auth).await.unwrap_err().code, 401);
    }
    assert_eq!(gateway.peer().await.connect("driver", "spy", spy).await.unwrap_err().code, 401);
    for peer in [&mut other, &mut user] {
        peer.call("sys.device.list", json!({})).await.expect("what was made otherwise goes on");
    }
    let listed = root.call("sys.token.list", json!({ "uid": 1000 })).await.unwrap();
    let reason = |id: &Value| {
        let rows = listed["tokens"].as_array().unwrap();
        rows.iter().find(|row| row["tokenId"] == *id).unwrap()["revokedReason"].clone()
    };
    assert_eq!(reason(&thief["tokenId"]), "stolen");
    assert_eq!(reason(&device["tokenId"]), "made with a token that was revoked");
}

#[tokio::test]
async fn a_new_password_ends_the_sessions_of_the_old_one() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user, mut driver) =
        (gateway.root().await, gateway.user().await, gateway.driver().await);
    let made = token(&mut user, json!({ "kind": "user" })).await;
    let raw = made["token"].as_str().unwrap();
    let mut session = gateway.login_token("user", USER, raw).await;

    let keep = json!({ "username": USER, "password": "another-password", "keepSessions": true });
    root.call("sys.user.update", keep).await.unwrap();
    for peer in [&mut user, &mut session] {
        peer.call("sys.device.list", json!({})).await.expect("it was told to keep them");
    }

    root.call("sys.user.update", json!({ "username": USER, "password": PASSWORD })).await.unwrap();
    for mut peer in [user, session] {
        assert_eq!(peer.ended().await, Some((1008, "Password changed".into())));
    }
    let auth = json!({ "auth": { "username": USER, "token": raw } });
    let refused = gateway.peer().await.connect("user", "x", auth).await.unwrap_err();
    assert_eq!(refused.code, 401, "its user tokens are revoked");
    let mut user = gateway.user().await;
    let listed = user.call("sys.token.list", json!({})).await.unwrap();
    let of =
        |kind: &str| listed["tokens"].as_array().unwrap().iter().find(|row| row["kind"] == kind).cloned();
    assert_eq!(of("user").unwrap()["revokedReason"], "password changed");
    assert_eq!(of("node").unwrap()["revokedAt"], Value::Null, "devices have tokens of their own");
    let id = user.send_call("fs.read", json!({ "target": DEVICE, "path": "x" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!(1)).await;
    assert_eq!(user.answer(&id).await.unwrap(), json!(1));
    root.call("sys.user.list", json!({})).await.expect("nobody else is touched");
}

#[tokio::test]
async fn whoever_changes_its_own_password_stays() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut other) = (gateway.root().await, gateway.root().await);
    let made = token(&mut root, json!({ "kind": "user" })).await;
    let mut own = gateway.login_token("user", "root", made["token"].as_str().unwrap()).await;
    let change = json!({ "username": "root", "password": ROOT_PASSWORD });
    own.call("sys.user.update", change).await.unwrap();
    assert_eq!(other.ended().await, Some((1008, "Password changed".into())));
    own.call("sys.user.list", json!({})).await.expect("it asked for the change");
    gateway.login_token("user", "root", made["token"].as_str().unwrap()).await;
    // A hash that is written where it is kept is a new password too.
    let shadow = own.call("fs.read", json!({ "path": "/etc/shadow" })).await.unwrap();
    let text = shadow["content"].as_str().unwrap();
    assert!(text.contains("alice:"), "{shadow}");
    let mut user = gateway.user().await;
    let set = "sed -i 's/^alice:[^:]*:/alice:!:/' /etc/shadow || { sed 's/^alice:[^:]*:/alice:!:/' /etc/shadow > s && cat s > /etc/shadow; }";
    own.call("shell.exec", json!({ "input": set, "closeStdin": true })).await.unwrap();
    assert_eq!(user.ended().await, Some((1008, "Password changed".into())));
}

#[tokio::test]
async fn setup_from_elsewhere_needs_the_code_and_from_here_none() {
    let gateway = Gateway::fresh_at("127.0.0.1:0", &["127.0.0.1"]).await;
    let code = gateway.setup_code.clone().expect("it is behind a proxy");
    let mut far = Peer::open_with(&gateway.url(), &[("x-forwarded-for", "203.0.113.9")]).await;
    let args = json!({ "username": "eve", "password": PASSWORD });
    let probe = far.connect("user", "x", json!({})).await.unwrap_err();
    assert_eq!((probe.code, &probe.details["setupMode"]), (425, &json!(true)));
    assert_eq!(probe.details["codeRequired"], true);
    for call in ["sys.setup", "sys.setup.assist"] {
        let refused = far.call(call, args.clone()).await.unwrap_err();
        assert_eq!((refused.code, &refused.details["reason"]), (403, &json!("setup_code_required")));
    }
    let wrong = json!({ "username": "eve", "password": PASSWORD, "code": "guess" });
    let refused = far.call("sys.setup", wrong.clone()).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["reason"]), (403, &json!("setup_code_wrong")));
    while far.call("sys.setup", wrong.clone()).await.unwrap_err().code != 429 {}
    // Another address is not held up by that one's guesses.
    let mut owner = Peer::open_with(&gateway.url(), &[("x-forwarded-for", "203.0.113.10")]).await;
    let good = json!({ "username": USER, "password": PASSWORD, "code": code.to_uppercase() });
    owner.call("sys.setup", good.clone()).await.unwrap();
    let again = owner.call("sys.setup", good).await.unwrap_err();
    assert_eq!(again.pair(), (409, "System already initialized"));

    let here = Gateway::fresh().await;
    assert_eq!(here.setup_code, None, "nobody else reaches it");
    let mut proxied = Peer::open_with(&here.url(), &[("x-forwarded-for", "127.0.0.1")]).await;
    let refused = proxied.call("sys.setup", args.clone()).await.unwrap_err();
    assert_eq!(refused.code, 403, "what a proxy passes on is not from here");
    let probe = here.peer().await.connect("user", "x", json!({})).await.unwrap_err();
    assert_eq!((probe.code, probe.details.get("codeRequired")), (425, None));
    here.peer().await.call("sys.setup", args).await.expect("from this machine none is needed");
}

#[tokio::test]
async fn a_gateway_that_others_reach_has_a_code_and_a_new_one_after_each_start() {
    let gateway = Gateway::fresh_at("0.0.0.0:0", &[]).await;
    let first = gateway.setup_code.clone().expect("others reach it");
    let gateway = gateway.restart().await;
    let second = gateway.setup_code.clone().expect("still nobody has set it up");
    assert_ne!(first, second);
    // This connection is from this machine; the address it listens on does not matter.
    let here = format!("ws://127.0.0.1:{}/ws", gateway.address.port());
    let args = json!({ "username": USER, "password": PASSWORD });
    Peer::open(&here).await.call("sys.setup", args).await.unwrap();
    assert_eq!(gateway.restart().await.setup_code, None, "it is set up");
}

#[tokio::test]
async fn failures_count_for_the_address_that_a_trusted_proxy_names() {
    let mut gateway = Gateway::fresh_at("127.0.0.1:0", &["127.0.0.1"]).await;
    let code = gateway.setup_code.take().unwrap();
    let from = async |address: &str| Peer::open_with(&gateway.url(), &[("x-forwarded-for", address)]).await;
    let args = json!({ "username": USER, "password": PASSWORD, "code": code });
    from("203.0.113.1").await.call("sys.setup", args).await.unwrap();
    let wrong = json!({ "auth": { "username": USER, "password": "wrong-password" } });
    let right = json!({ "auth": { "username": USER, "password": PASSWORD } });
    let mut guesser = from("203.0.113.9, 198.51.100.1").await;
    while guesser.connect("user", "g", wrong.clone()).await.unwrap_err().code != 429 {}
    let mut same = from("10.9.9.9, 198.51.100.1").await;
    let refused = same.connect("user", "s", right.clone()).await.unwrap_err();
    assert_eq!(refused.code, 429, "what a client writes itself does not count");
    from("198.51.100.2").await.connect("user", "o", right.clone()).await.expect("another client");

    let open = Gateway::set_up().await;
    let mut guesser = Peer::open_with(&open.url(), &[("x-forwarded-for", "203.0.113.9")]).await;
    while guesser.connect("user", "g", wrong.clone()).await.unwrap_err().code != 429 {}
    let mut other = Peer::open_with(&open.url(), &[("x-forwarded-for", "203.0.113.10")]).await;
    let refused = other.connect("user", "o", right).await.unwrap_err();
    assert_eq!(refused.code, 429, "nobody is trusted to name another address");
}

#[tokio::test]
async fn half_sent_messages_of_a_user_are_bounded_over_all_its_sockets() {
    let gateway = Gateway::set_up().await;
    let bob = gateway.add_user("bob").await;
    let large = limits::frame::MAX_BYTES;
    let mut halves = Vec::new();
    for _ in 0..limits::socket::USER_RECEIVING_MAX_BYTES / large {
        let mut half = gateway.user().await;
        half.send_beginning(large, b"x").await;
        halves.push(half);
    }
    let mut user = gateway.user().await;
    user.call("sys.device.list", json!({})).await.expect("small messages need no room");
    let content = "x".repeat(1024 * 1024);
    let mut bob = bob;
    let args = json!({ "path": "f", "content": content });
    bob.call("fs.write", args.clone()).await.expect("another user has room of its own");
    let id = user.send_call("fs.write", args).await;
    drop(halves.pop());
    user.answer(&id).await.expect("it is read once there is room");
}

#[tokio::test]
async fn what_a_user_sets_is_bounded() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let value = "x".repeat(limits::config::VALUE_MAX_BYTES);
    let set = |key: &str, value: &str| json!({ "key": format!("users/1000/ai/{key}"), "value": value });
    let fit = limits::config::USER_MAX_BYTES / limits::config::VALUE_MAX_BYTES - 1;
    let keys = ["model", "base_url", "speech/model", "speech/speaker", "transcription/model"];
    for key in &keys[..fit] {
        user.call("sys.config.set", set(key, &value)).await.unwrap();
    }
    user.call("sys.config.set", set(keys[0], &value)).await.expect("the same again is no more");
    let full = user.call("sys.config.set", set(keys[fit], &value)).await.unwrap_err();
    assert_eq!(full.code, 413, "{}", full.message);
    assert!(full.message.contains("users/1000/ is full"), "{}", full.message);
    assert_eq!(root.call("sys.config.set", set(keys[fit], &value)).await.unwrap_err().code, 413);
    user.call("sys.config.set", set(keys[fit], "small")).await.expect("a small one fits");
    user.call("sys.config.set", set(keys[0], "")).await.unwrap();
    user.call("sys.config.set", set(keys[fit], &value)).await.expect("there is room again");
    for odd in ["users/01000/ai/model", "users/+1000/ai/model"] {
        let refused = user.call("sys.config.set", json!({ "key": odd, "value": "x" })).await.unwrap_err();
        assert_eq!(refused.code, 403, "{odd}");
    }
}
