//! `sys.config.*`: who reads and writes what.

use serde_json::json;
use testkit::Gateway;

#[tokio::test]
async fn users_write_their_own_ai_keys_and_nothing_else() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let set = |key: &str, value: serde_json::Value| json!({ "key": key, "value": value });
    let done = user.call("sys.config.set", set("users/1000/ai/model", json!("m"))).await.unwrap();
    assert_eq!(done, json!({ "ok": true }));
    let cases = [
        ("config/ai/model", 403, "Permission denied: only root can set system config (config/ai/model)"),
        (
            "users/1001/ai/model",
            403,
            "Permission denied: cannot write another user's config (users/1001/ai/model)",
        ),
        (
            "users/1000/pkg/x",
            403,
            "Permission denied: key \"pkg/x\" is not user-overridable (allowed prefixes: ai/)",
        ),
        ("", 400, "sys.config.set requires a key"),
    ];
    for (key, code, message) in cases {
        assert_eq!(
            user.call("sys.config.set", set(key, json!("v"))).await.unwrap_err().pair(),
            (code, message)
        );
    }
    let null = user.call("sys.config.set", set("users/1000/ai/x", json!(null))).await.unwrap_err();
    assert_eq!(null.pair(), (400, "sys.config.set requires a value"));
    user.call("sys.config.set", set("users/1000/ai/api_key", json!("own-secret"))).await.unwrap();
    user.call("sys.config.set", set("users/1000/ai/limit", json!(7))).await.unwrap();
    let own = user.call("sys.config.get", json!({ "key": "users/1000" })).await.unwrap();
    assert_eq!(
        own["entries"],
        json!([
            { "key": "users/1000/ai/api_key", "value": "own-secret" },
            { "key": "users/1000/ai/limit", "value": "7" },
            { "key": "users/1000/ai/model", "value": "m" },
        ])
    );
    user.call("sys.config.set", set("users/1000/ai/model", json!(""))).await.unwrap();
    let gone = user.call("sys.config.get", json!({ "key": "users/1000/ai/model" })).await.unwrap();
    assert_eq!(gone["entries"], json!([]));
    let bytes = std::fs::read(gateway.data().join("gsv.db-wal")).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"own-secret"), "secrets are encrypted at rest");
}

#[tokio::test]
async fn others_see_neither_secrets_nor_foreign_keys() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    for (key, value) in [("config/ai/api_key", "s1"), ("config/ai/model", "m"), ("users/1000/ai/token", "s2")]
    {
        root.call("sys.config.set", json!({ "key": key, "value": value })).await.unwrap();
    }
    let mut bob = gateway.add_user("bob").await;
    let all = bob.call("sys.config.get", json!({})).await.unwrap();
    let keys: Vec<&str> =
        all["entries"].as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap()).collect();
    assert!(keys.contains(&"config/ai/model") && keys.contains(&"config/server/version"));
    assert!(!keys.contains(&"config/ai/api_key") && !keys.iter().any(|key| key.starts_with("users/1000")));
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(keys, sorted);
    let denied = bob.call("sys.config.get", json!({ "key": "users/1000/ai/token" })).await.unwrap_err();
    assert_eq!(denied.code, 403);
    let prefix = bob.call("sys.config.get", json!({ "key": "users/1000/ai" })).await.unwrap();
    assert_eq!(prefix["entries"], json!([]));
    let everything = root.call("sys.config.get", json!({})).await.unwrap();
    assert!(everything["entries"].as_array().unwrap().len() > keys.len());
}

#[tokio::test]
async fn known_keys_take_only_values_that_fit() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let key = "config/routing/timeout_ms";
    let refused = root.call("sys.config.set", json!({ "key": key, "value": "soon" })).await.unwrap_err();
    assert_eq!(refused.code, 400);
    root.call("sys.config.set", json!({ "key": key, "value": 2000 })).await.unwrap();
    let found = root.call("sys.config.get", json!({ "key": key })).await.unwrap();
    assert_eq!(found["entries"][0]["value"], "2000");
    root.call("sys.config.set", json!({ "key": key, "value": "" })).await.unwrap();
    let found = root.call("sys.config.get", json!({ "key": key })).await.unwrap();
    assert_eq!(found["entries"][0]["value"], "60000", "removing a value shows the default again");
}
