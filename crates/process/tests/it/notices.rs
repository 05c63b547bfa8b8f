//! Tests of user notices: that an answer was cut, that a picture was not shown, whose key was refused.

use model::fake::{Reply, Turn};
use protocol::media::{MediaInput, MediaType};
use protocol::outcome::Outcome;
use protocol::proc::history::MessageRole::{Assistant, System, User};
use serde_json::{Value, json};

use crate::scene::{Fixture, Scene, asked, words};

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Sends a message with a picture, and waits for the end of its run.
async fn send_picture(scene: &Scene) -> Value {
    let picture = MediaInput {
        media_type: MediaType::Image,
        mime_type: "image/png".to_string(),
        data: Some(PIXEL.to_string()),
        url: None,
        filename: Some("cat.png".to_string()),
        size: None,
        duration: None,
        transcription: None,
    };
    let message = protocol::proc::Send { media: Some(vec![picture]), ..words("what is this?") };
    match scene.host.send(scene.pid(), message, None, None).await.unwrap() {
        Outcome::Done(sent) => scene.finished(&sent.run_id).await,
        Outcome::Failed(why) => panic!("not sent: {why}"),
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_at_its_length_says_so() {
    let scene = Scene::new(vec![Turn::text("half of it").cut(), Turn::text("the rest")]).await;
    let uid = scene.fixture.identity.uid;
    let run = scene.send("tell me all").await;
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["text"]), (&json!("ok"), &json!("half of it")));
    let notice = format!(
        "The answer was cut at 8192 tokens (config/ai/max_tokens). Allow longer ones with: gsv config set \
         users/{uid}/ai/max_tokens NUMBER"
    );
    assert_eq!(finished["notices"], json!([notice]));
    // It is kept, and the model reads it too.
    let said = scene.fixture.said().await;
    assert_eq!(said.iter().map(|(role, _)| *role).collect::<Vec<_>>(), [User, Assistant, System]);
    assert_eq!(said[2].1, notice);
    let run = scene.send("go on").await;
    assert!(scene.finished(&run).await.get("notices").is_none());
    let told = asked(scene.fixture.server.received().last().unwrap());
    assert!(
        told.iter().any(|message| message["content"].to_string().contains("was cut at 8192")),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_model_that_thinks_until_it_is_cut_says_so() {
    let scene = Scene::new(vec![Turn::new().think("hm, and also").cut()]).await;
    scene.fixture.set("config/ai/max_tokens", "77").await;
    let run = scene.send("hi").await;
    let finished = scene.finished(&run).await;
    assert_eq!(finished["reason"], "generation.empty");
    let error = finished["error"].as_str().unwrap();
    assert!(error.contains("was cut at 77 tokens (config/ai/max_tokens)"), "{error}");
}

#[tokio::test]
async fn a_picture_that_a_model_cannot_see_is_said_to_it_and_to_the_person() {
    let scene = Scene::new(vec![Turn::text("I cannot see it"), Turn::text("ok")]).await;
    let uid = scene.fixture.identity.uid;
    let finished = send_picture(&scene).await;
    let told = asked(&scene.fixture.server.received()[0])[0].to_string();
    assert!(told.contains("It could not be shown to you") && !told.contains("image_url"), "{told}");
    let notices = finished["notices"].to_string();
    assert!(notices.contains(&format!("gsv config set users/{uid}/ai/input text,image")), "{notices}");
    assert!(
        scene.fixture.said().await.iter().any(|(role, text)| *role == System && text.contains("picture"))
    );
    // It is said once, with the message that brought it.
    let run = scene.send("never mind").await;
    assert!(scene.finished(&run).await.get("notices").is_none());
}

#[tokio::test]
async fn a_setting_says_that_a_model_takes_pictures_or_that_it_does_not() {
    let scene = Scene::new(vec![Turn::text("a cat"), Turn::text("hm")]).await;
    let uid = scene.fixture.identity.uid;
    scene.fixture.set("config/ai/input", "text,image").await;
    let finished = send_picture(&scene).await;
    let told = asked(&scene.fixture.server.received()[0])[0].to_string();
    assert!(told.contains("image_url") && told.contains(PIXEL), "{told}");
    assert!(finished.get("notices").is_none(), "{finished}");
    scene.fixture.set(&format!("users/{uid}/ai/input"), "text").await;
    let finished = send_picture(&scene).await;
    assert!(finished["notices"].to_string().contains("ai/input"), "{finished}");
}

#[tokio::test]
async fn a_key_that_is_refused_comes_with_the_way_to_another() {
    let refused =
        |_: &_| Reply::json(401, json!({ "error": { "message": "Incorrect key: sk-secret-12345" } }));
    let scene = Scene::on(Fixture::replying(refused).await, |_, _| Ok(json!({})));
    let uid = scene.fixture.identity.uid;
    let own = format!("users/{uid}/ai/api_key");
    let run = scene.send("hi").await;
    let error = scene.finished(&run).await["error"].as_str().unwrap().to_string();
    assert!(error.contains(&format!("No key was sent. Set one with: gsv config set {own} KEY")), "{error}");
    scene.fixture.set(&own, "sk-secret-12345").await;
    let run = scene.send("hi").await;
    let error = scene.finished(&run).await["error"].as_str().unwrap().to_string();
    assert!(
        error.contains(&format!("The key is from {own}. Set another with: gsv config set {own} KEY")),
        "{error}"
    );
    assert!(error.contains("401 Incorrect key: [key]") && !error.contains("secret"), "{error}");
}
