//! Tests of speech against a server that speaks OpenAI's wire format.

use model::ProviderKind;
use model::fake::{Reply, Server};
use protocol::ai::AudioInput;
use serde_json::json;

use super::*;
use crate::fixture::Fixture;
use crate::speech::transcribe_quietly;

const KEY: &str = "sk-speech-secret-123";

fn sound(data: &str) -> Transcribe {
    let (data, mime_type) = (data.to_string(), "audio/ogg".to_string());
    let audio = AudioInput { data, mime_type, filename: None, size: None };
    Transcribe { audio, language: None, prompt: None, mode: None }
}

fn words(text: &str) -> Speak {
    serde_json::from_value(json!({ "text": text })).unwrap()
}

async fn fixture() -> Fixture {
    let fixture = Fixture::with("task", json!({})).await;
    fixture.set("config/ai/provider", "demo").await;
    fixture
}

#[tokio::test]
async fn without_a_model_the_key_of_config_is_named() {
    let fixture = fixture().await;
    let (host, uid) = (fixture.restarted(), fixture.process.uid);
    let error = host.transcribe(uid, sound("AAAA")).await.unwrap_err();
    assert!(error.code == 503 && error.message.starts_with("Transcription unavailable"), "{error}");
    assert!(error.message.contains("config/ai/transcription/model"), "{error}");
    assert_eq!(transcribe_quietly(&fixture.host.world, uid, &[0], "audio/ogg", None).await, None);
    let error = host.speak(uid, words("hi")).await.unwrap_err();
    assert!(error.message.starts_with("Speech synthesis unavailable"), "{error}");
    assert!(error.message.contains("config/ai/speech/model"), "{error}");
    fixture.set("config/ai/speech/model", "tts").await;
    let error = host.speak(uid, words("hi")).await.unwrap_err();
    assert!(error.message.contains("config/ai/speech/api_key"), "{error}");
}

#[tokio::test]
async fn both_directions_work_with_the_server_of_config() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/audio/transcriptions" => Reply::json(200, json!({ "text": " hello ", "language": "en" })),
        "/v1/audio/speech" => Reply::cut("audio/mpeg", "sound", 2),
        _ => Reply::json(401, json!({ "error": { "message": format!("no such key: {KEY}") } })),
    });
    let server = server.await.unwrap();
    let fixture = fixture().await;
    for kind in ["transcription", "speech"] {
        fixture.set(&format!("config/ai/{kind}/model"), "m").await;
        fixture.set(&format!("config/ai/{kind}/base_url"), &server.base_url()).await;
        fixture.set(&format!("config/ai/{kind}/api_key"), KEY).await;
    }
    fixture.set("users/<uid>/ai/speech/speaker", "luna").await;
    fixture.set("config/ai/transcription/max_bytes", "3").await;
    let (host, uid) = (fixture.restarted(), fixture.process.uid);
    let key_sent = || server.received().last().unwrap().header("authorization").to_string();

    let written = host.transcribe(uid, sound("AAAA")).await.unwrap();
    assert_eq!((written.text.as_str(), written.model.as_str()), ("hello", "m"));
    assert_eq!(key_sent(), format!("Bearer {KEY}"));
    let quiet = transcribe_quietly(&fixture.host.world, uid, &[0, 0, 0], "audio/ogg", None).await;
    assert_eq!(quiet.as_deref(), Some("hello"));
    assert_eq!(
        transcribe_quietly(&fixture.host.world, uid, &[0; 4], "audio/ogg", None).await,
        None,
        "too large"
    );
    let said = host.speak(uid, words("**hi**")).await.unwrap();
    assert_eq!((said.audio.mime_type.as_str(), said.voice.as_deref()), ("audio/mpeg", Some("luna")));
    assert_eq!((said.audio.size, key_sent()), (5, format!("Bearer {KEY}")));

    let error = host.transcribe(uid, sound("AAAAAAAA")).await.unwrap_err();
    let limit = "audio.data exceeds transcription limit (3 bytes)";
    assert_eq!((error.code, error.message.as_str()), (400, limit));
    assert_eq!(host.speak(uid, words(" ")).await.unwrap_err().message, "text is required");

    fixture.set("config/ai/transcription/base_url", &format!("{}/gone", server.base_url())).await;
    let error = host.transcribe(uid, sound("AAAA")).await.unwrap_err();
    assert!(error.code == 503 && error.message.starts_with("Transcription unavailable"), "{error}");
    assert!(!error.message.contains(KEY), "{error}");
    fixture.set("users/<uid>/ai/speech/base_url", &format!("{}/mine", server.base_url())).await;
    host.speak(uid, words("hi")).await.unwrap_err();
    assert_eq!(key_sent(), "", "everybody's key is not sent where only the user wants it");
}

#[tokio::test]
async fn the_key_of_the_chat_model_serves_where_it_is_the_same_place() {
    let fixture = fixture().await;
    let uid = fixture.process.uid;
    fixture.set("config/ai/provider", "openai").await;
    fixture.set("config/ai/api_key", KEY).await;
    fixture.set("config/ai/transcription/model", "whisper-1").await;
    let (_, by) = transcriber(&fixture.host.world, uid).await.unwrap();
    assert!(by.endpoint.key.unwrap().scrub(KEY) == "[key]" && by.endpoint.kind == ProviderKind::Openai);
    fixture.set("config/ai/transcription/base_url", "https://other.example/v1").await;
    let (_, by) = transcriber(&fixture.host.world, uid).await.unwrap();
    assert!(by.endpoint.key.is_none() && by.endpoint.kind == ProviderKind::OpenaiChat);
    fixture.set("config/ai/provider", "anthropic").await;
    fixture.set("config/ai/transcription/base_url", "").await;
    let error = transcriber(&fixture.host.world, uid).await.err().unwrap();
    assert!(error.contains("ai/transcription/api_key") && !error.contains(KEY), "{error}");
}
