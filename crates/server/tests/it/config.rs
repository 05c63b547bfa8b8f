//! Tests of `sys.config.*`: who reads and writes what.

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
    let absent = user.call("sys.config.set", json!({ "key": "users/1000/ai/model" })).await.unwrap_err();
    assert_eq!(absent.pair(), (400, "sys.config.set requires value"));
    user.call("sys.config.set", set("users/1000/ai/api_key", json!("own-secret"))).await.unwrap();
    user.call("sys.config.set", set("users/1000/ai/max_tokens", json!(7))).await.unwrap();
    let own = user.call("sys.config.get", json!({ "key": "users/1000" })).await.unwrap();
    assert_eq!(
        own["entries"],
        json!([
            { "key": "users/1000/ai/api_key", "value": "own-secret" },
            { "key": "users/1000/ai/max_tokens", "value": "7" },
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
    for (key, value) in
        [("config/ai/api_key", "s1"), ("config/ai/model", "m"), ("users/1000/ai/api_key", "s2")]
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
    let denied = bob.call("sys.config.get", json!({ "key": "users/1000/ai/api_key" })).await.unwrap_err();
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

#[tokio::test]
async fn unknown_keys_are_refused_with_the_nearest_name() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let set = |key: &str| json!({ "key": key, "value": "1" });
    let cases = [
        ("config/ai/modle", "did you mean config/ai/model?"),
        ("config/routing/timeout", "did you mean config/routing/timeout_ms?"),
        ("users/1000/ai/max_token", "did you mean users/1000/ai/max_tokens?"),
        ("users/1000/ai/private_endpoints", "did you mean config/ai/private_endpoints?"),
        ("config/ai/context.d", "there is no setting config/ai/context.d"),
        ("crash/1", "`gsv config get` lists those there are"),
    ];
    for (key, says) in cases {
        let refused = root.call("sys.config.set", set(key)).await.unwrap_err();
        assert!(refused.code == 400 && refused.message.contains(says), "{key}: {refused:?}");
        assert_eq!(refused.details["reason"], "bad_argument");
    }
    let own = user.call("sys.config.set", set("users/1000/ai/modle")).await.unwrap_err();
    assert!(own.code == 400 && own.message.contains("users/1000/ai/model?"), "{own:?}");
    for key in [
        "config/ai/context.d/50-house.md",
        "config/ai/profile/task/context.d/a.md",
        "config/ai/profile/task/skills.d/pour/SKILL.md",
    ] {
        root.call("sys.config.set", set(key)).await.unwrap();
    }
    assert_eq!(root.call("sys.config.set", set("config/server/version")).await.unwrap_err().code, 400);
}

#[tokio::test]
async fn broken_policies_are_refused_with_what_is_wrong() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let cases = [
        ("ask me", "must be JSON"),
        ("[]", "must be an object, got an array"),
        (r#"{"default":"never"}"#, "default must be one of auto, ask, deny; got \"never\""),
        (r#"{"rules":[{"match":"fs.*","action":"ask","if":{}}]}"#, "rules[0].if is not known here"),
        (r#"{"rules":[{"match":"fs.raed","action":"ask"}]}"#, "rules[0].match: there is no call fs.raed"),
    ];
    for (policy, says) in cases {
        for key in ["config/ai/tools/approval", "config/ai/profile/task/tools/approval"] {
            let args = json!({ "key": key, "value": policy });
            let refused = root.call("sys.config.set", args).await.unwrap_err();
            assert!(refused.code == 400 && refused.message.contains(says), "{key} {policy}: {refused:?}");
        }
        let args = json!({ "key": "users/1000/ai/tools/approval", "value": policy });
        assert!(user.call("sys.config.set", args).await.unwrap_err().message.contains(says));
    }
    let policy = r#"{"default":"ask","rules":[{"match":"fs.*","action":"auto","when":{"target":"gsv"}}]}"#;
    let args = json!({ "key": "users/1000/ai/tools/approval", "value": policy });
    user.call("sys.config.set", args).await.unwrap();
}

#[tokio::test]
async fn keys_can_be_removed() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let file = "config/ai/context.d/20-discovery.md";
    let get = json!({ "key": file });
    root.call("sys.config.set", json!({ "key": file, "value": "" })).await.unwrap();
    let found = root.call("sys.config.get", get.clone()).await.unwrap();
    assert_eq!(found["entries"], json!([{ "key": file, "value": "" }]), "an empty file is a file");
    root.call("sys.config.set", json!({ "key": file, "value": null })).await.unwrap();
    assert_eq!(root.call("sys.config.get", get).await.unwrap()["entries"], json!([]));
    let name = "config/server/name";
    root.call("sys.config.set", json!({ "key": name, "value": "tower" })).await.unwrap();
    root.call("sys.config.set", json!({ "key": name, "value": null })).await.unwrap();
    let found = root.call("sys.config.get", json!({ "key": name })).await.unwrap();
    assert_eq!(found["entries"][0]["value"], "gsv", "the built-in value is back");
    // One that is left from a time when any key could be set.
    root.call("sys.config.set", json!({ "key": "config/ai/modle", "value": null })).await.unwrap();
}
