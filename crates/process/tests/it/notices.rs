//! What a person is told beside an answer: whose key was refused, and what to do about it.

use model::fake::Reply;
use serde_json::json;

use crate::scene::{Ground, Scene};

#[tokio::test]
async fn a_key_that_is_refused_comes_with_the_way_to_another() {
    let refused =
        |_: &_| Reply::json(401, json!({ "error": { "message": "Incorrect key: sk-secret-12345" } }));
    let scene = Scene::on(Ground::replying(refused).await, |_, _| Ok(json!({})));
    let uid = scene.ground.identity.uid;
    let own = format!("users/{uid}/ai/api_key");
    let run = scene.send("hi").await;
    let error = scene.finished(&run).await["error"].as_str().unwrap().to_string();
    assert!(error.contains(&format!("No key was sent. Set one with: gsv config set {own} KEY")), "{error}");
    scene.ground.set(&own, "sk-secret-12345").await;
    let run = scene.send("hi").await;
    let error = scene.finished(&run).await["error"].as_str().unwrap().to_string();
    assert!(
        error.contains(&format!("The key is from {own}. Set another with: gsv config set {own} KEY")),
        "{error}"
    );
    assert!(error.contains("401 Incorrect key: [key]") && !error.contains("secret"), "{error}");
}
