//! Tests of `sys.setup`: its rules, its effects, and that it happens once.

use serde_json::json;
use testkit::Gateway;
use testkit::gateway::{PASSWORD, ROOT_PASSWORD, USER};

#[tokio::test]
async fn arguments_are_checked_with_the_documented_texts() {
    let gateway = Gateway::fresh().await;
    let mut peer = gateway.peer().await;
    let cases = [
        (json!({}), "username is required"),
        (json!({ "username": "  " }), "username is required"),
        (json!({ "username": "Alice" }), "username must match ^[a-z_][a-z0-9_-]{0,31}$"),
        (json!({ "username": "root", "password": PASSWORD }), "User already exists: root"),
        (json!({ "username": "a" }), "password is required"),
        (json!({ "username": "a", "password": "  short " }), "password must be at least 8 characters"),
        (
            json!({ "username": "a", "password": PASSWORD, "rootPassword": "x" }),
            "rootPassword must be at least 8 characters",
        ),
        (
            json!({ "username": "a", "password": PASSWORD, "timezone": "Nowhere" }),
            "timezone must be a valid IANA timezone",
        ),
        (json!({ "username": "a", "password": PASSWORD, "node": {} }), "node.deviceId is required"),
        (
            json!({ "username": "a", "password": PASSWORD, "node": { "deviceId": "d", "expiresAt": 5 } }),
            "node.expiresAt must be in the future",
        ),
    ];
    for (args, message) in cases {
        assert_eq!(peer.call("sys.setup", args).await.unwrap_err().pair(), (400, message));
    }
    let wrong_type = peer.call("sys.setup", json!({ "username": 3 })).await.unwrap_err();
    assert_eq!(wrong_type.code, 400);
    assert!(wrong_type.message.contains("username"), "{}", wrong_type.message);
}

#[tokio::test]
async fn the_model_is_checked_like_any_setting_and_a_refusal_leaves_nothing() {
    let gateway = Gateway::fresh().await;
    let mut peer = gateway.peer().await;
    let cases = [
        ("provider", json!("skynet")),
        ("provider", json!("ope\0nai")),
        ("model", json!("gpt\0")),
        ("apiKey", json!("sk-\0")),
    ];
    let mut refusals = Vec::new();
    for (field, value) in &cases {
        let node = json!({ "deviceId": "dev-1" });
        let mut ai = json!({ "provider": "openai", "model": "m", "apiKey": "k" });
        ai[field] = value.clone();
        let args = json!({ "username": "eve", "password": PASSWORD, "ai": ai, "node": node });
        refusals.push(peer.call("sys.setup", args).await.unwrap_err());
    }
    let probe = peer.connect("user", "x", json!({})).await.unwrap_err();
    assert_eq!(probe.code, 425, "the gateway still waits for its first user");

    let args = json!({ "username": USER, "password": PASSWORD, "rootPassword": ROOT_PASSWORD,
        "ai": { "provider": "OpenAI", "model": " ", "apiKey": "  " } });
    peer.call("sys.setup", args).await.expect("a setup after refused ones is a first setup");
    let mut root = gateway.root().await;
    let users = root.call("sys.user.list", json!({})).await.unwrap();
    assert_eq!(users["users"].as_array().unwrap().len(), 2, "{users}");
    assert_eq!(root.call("sys.token.list", json!({})).await.unwrap()["tokens"], json!([]));
    let found = root.call("sys.config.get", json!({ "key": "config/ai" })).await.unwrap();
    let value = |key: &str| {
        let entries = found["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["key"] == key).map(|entry| entry["value"].clone())
    };
    assert_eq!(value("config/ai/provider"), Some(json!("OpenAI")));
    let unset = |key: &str| value(key).is_none_or(|value| value == "");
    assert!(unset("config/ai/model") && unset("config/ai/api_key"), "{found}");

    for ((field, value), refused) in cases.iter().zip(&refusals) {
        let key = match *field {
            "apiKey" => "config/ai/api_key".to_string(),
            name => format!("config/ai/{name}"),
        };
        let set = root.call("sys.config.set", json!({ "key": key, "value": value })).await.unwrap_err();
        let told = set.message.replace("sys.config.set: value", &format!("sys.setup: ai.{field}"));
        assert_eq!((refused.code, refused.message.as_str()), (set.code, told.as_str()));
    }
}

#[tokio::test]
async fn setup_makes_the_first_user_and_then_never_again() {
    let gateway = Gateway::fresh().await;
    let mut peer = gateway.peer().await;
    let far = 4_000_000_000_000_i64;
    let args = json!({
        "username": " alice ", "password": format!(" {PASSWORD} "), "rootPassword": ROOT_PASSWORD,
        "timezone": "Europe/Berlin", "ai": { "provider": "openrouter", "model": "m", "apiKey": "secret-key" },
        "node": { "deviceId": "dev-1", "label": "lab", "expiresAt": far },
    });
    let done = peer.call("sys.setup", args.clone()).await.unwrap();
    assert_eq!((&done["user"]["uid"], &done["user"]["gids"]), (&json!(1000), &json!([100, 1000])));
    assert_eq!((&done["rootLocked"], &done["nodeToken"]["label"]), (&json!(false), &json!("lab")));
    let token = &done["nodeToken"];
    assert_eq!((&token["kind"], &token["allowedRole"]), (&json!("node"), &json!("driver")));
    assert_eq!((&token["allowedDeviceId"], &token["expiresAt"]), (&json!("dev-1"), &json!(far)));
    assert_eq!(peer.call("sys.setup", args).await.unwrap_err().pair(), (409, "System already initialized"));

    let auth = json!({ "username": USER, "password": PASSWORD });
    peer.connect("user", "x", json!({ "auth": auth })).await.expect("the same socket may log in now");
    let key = peer.call("sys.config.get", json!({ "key": "config/ai/api_key" })).await.unwrap_err();
    assert_eq!(key.code, 403, "a user does not see the system's key");
    let mut root = gateway.root().await;
    let key = root.call("sys.config.get", json!({ "key": "config/ai/api_key" })).await.unwrap();
    assert_eq!(key["entries"][0]["value"], "secret-key");
    let timezone = root.call("sys.config.get", json!({ "key": "config/server/timezone" })).await.unwrap();
    assert_eq!(timezone["entries"][0]["value"], "Europe/Berlin");
}

#[tokio::test]
async fn without_a_root_password_root_has_the_users() {
    let gateway = Gateway::fresh().await;
    let args = json!({ "username": "bob", "password": PASSWORD });
    gateway.peer().await.call("sys.setup", args).await.unwrap();
    gateway.login("root", PASSWORD).await;
}

#[tokio::test]
async fn two_setups_at_once_make_one_user() {
    let gateway = Gateway::fresh().await;
    let (mut one, mut two) = (gateway.peer().await, gateway.peer().await);
    let (first, second) = tokio::join!(
        one.call("sys.setup", json!({ "username": "ann", "password": PASSWORD })),
        two.call("sys.setup", json!({ "username": "bob", "password": PASSWORD })),
    );
    assert!(first.is_ok() != second.is_ok());
    let name = if first.is_ok() { "ann" } else { "bob" };
    let mut root = gateway.login("root", PASSWORD).await;
    let users = root.call("sys.user.list", json!({})).await.unwrap();
    let names: Vec<_> =
        users["users"].as_array().unwrap().iter().map(|user| user["username"].clone()).collect();
    assert_eq!(names, [json!("root"), json!(name)]);
}
