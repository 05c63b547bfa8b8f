//! Tests of text-to-speech and speech-to-text against a server with OpenAI's audio API.

use std::time::Duration;

use model::fake::{Chunk, Reply, Server};
use model::speech::Speaker;
use model::transcription::Transcriber;
use model::{Cancel, Cause, Endpoint, ProviderKind, Secret};
use protocol::ai::{AudioInput, Speak, TextFormat, Transcribe, TranscriptionMode};
use serde_json::json;

use crate::hearing::{KEY, client, limits};

fn endpoint(server: &Server) -> Endpoint {
    Endpoint {
        base_url: Some(server.base_url()),
        key: Some(Secret::new(KEY)),
        ..Endpoint::new(ProviderKind::Openai)
    }
}

fn audio(mode: Option<TranscriptionMode>) -> Transcribe {
    let audio = AudioInput {
        data: "data:audio/ogg;base64,T2dnUwA=".to_owned(),
        mime_type: "audio/ogg".to_owned(),
        filename: Some("voice\"\r\nx.ogg".to_owned()),
        size: None,
    };
    Transcribe { audio, language: Some("en".to_owned()), prompt: Some("GSV".to_owned()), mode }
}

#[tokio::test]
async fn speech_is_written_down() {
    let answer = json!({"text": " Hello. ", "language": "english", "duration": 1.5, "segments": [{"id": 0}]});
    let server = Server::replying(vec![Reply::json(200, answer)]).await.expect("a free port");
    let by = Transcriber::new(endpoint(&server), "whisper-1");
    let written = client(limits()).transcribe(&by, audio(None), &Cancel::new()).await.expect("a text");
    assert_eq!((written.text.as_str(), written.language.as_deref()), ("Hello.", Some("english")));
    assert_eq!((written.duration, written.provider.as_str()), (Some(1.5), "openai"));
    let received = &server.received()[0];
    assert_eq!(received.path, "/v1/audio/transcriptions");
    assert_eq!(received.header("authorization"), format!("Bearer {KEY}"));
    let border =
        received.header("content-type").strip_prefix("multipart/form-data; boundary=").expect("a form");
    let body = String::from_utf8_lossy(&received.body).into_owned();
    assert!(body.ends_with(&format!("--{border}--\r\n")));
    for part in [
        "form-data; name=\"file\"; filename=\"voice___x.ogg\"\r\ncontent-type: audio/ogg\r\n\r\nOggS\0\r\n",
        "form-data; name=\"model\"\r\n\r\nwhisper-1\r\n",
        "form-data; name=\"response_format\"\r\n\r\nverbose_json\r\n",
        "form-data; name=\"language\"\r\n\r\nen\r\n",
        "form-data; name=\"prompt\"\r\n\r\nGSV\r\n",
    ] {
        assert!(body.contains(part), "{part:?} in {body:?}");
    }
    let by = Transcriber::new(endpoint(&server), "gpt-4o-transcribe");
    let translate = audio(Some(TranscriptionMode::Translate));
    client(limits()).transcribe(&by, translate, &Cancel::new()).await.expect("a text");
    assert_eq!(server.received()[1].path, "/v1/audio/translations");
}

#[tokio::test]
async fn what_cannot_be_written_down_is_said() {
    let down = Reply::json(503, json!({"error": {"message": format!("down for {KEY}")}}));
    let server = Server::replying(vec![down, Reply::json(200, json!({}))]).await.expect("a free port");
    let by = Transcriber::new(endpoint(&server), "whisper-1");
    let failed = client(limits()).transcribe(&by, audio(None), &Cancel::new()).await.expect_err("a failure");
    assert_eq!(failed.message, "Transcription unavailable: 503 down for [key]");
    let failed = client(limits()).transcribe(&by, audio(None), &Cancel::new()).await.expect_err("a failure");
    assert!(failed.message.starts_with("Transcription unavailable: "), "{failed}");
    let small = Transcriber { bytes_max: 2, ..by };
    let failed =
        client(limits()).transcribe(&small, audio(None), &Cancel::new()).await.expect_err("a failure");
    assert_eq!(failed.message, "audio.data exceeds transcription limit (2 bytes)");
    assert_eq!(failed.cause, Cause::Request);
}

fn speak(text: &str) -> Speak {
    Speak {
        text: text.to_owned(),
        text_format: None,
        model: None,
        voice: None,
        language: None,
        encoding: None,
        container: None,
        sample_rate: None,
        bit_rate: None,
    }
}

#[tokio::test]
async fn texts_are_said() {
    let server = Server::replying(vec![Reply::cut("audio/mpeg", "ID3", 1)]).await.expect("a free port");
    let by = Speaker::new(endpoint(&server), "tts-1", "alloy");
    let said = client(limits()).speak(&by, speak("# Hello **you**"), &Cancel::new()).await.expect("a sound");
    assert_eq!(said.audio.data, "data:audio/mpeg;base64,SUQz");
    assert_eq!((said.audio.size, said.audio.mime_type.as_str()), (3, "audio/mpeg"));
    let received = &server.received()[0];
    assert_eq!(received.path, "/v1/audio/speech");
    assert_eq!(
        received.json(),
        json!({"model": "tts-1", "input": "Hello you", "voice": "alloy", "response_format": "mp3"})
    );
    let plain = Speak {
        text_format: Some(TextFormat::Plain),
        encoding: Some("linear16".to_owned()),
        container: Some("wav".to_owned()),
        voice: Some("nova".to_owned()),
        ..speak("# as it is")
    };
    let said = client(limits()).speak(&by, plain, &Cancel::new()).await.expect("a sound");
    assert_eq!((said.audio.mime_type.as_str(), said.voice.as_deref()), ("audio/wav", Some("nova")));
    assert_eq!(server.received()[1].json()["input"], "# as it is");
}

#[tokio::test]
async fn what_cannot_be_said_is_said() {
    let hang = Reply { status: 200, headers: vec![], chunks: vec![Chunk::Hang] };
    let server = Server::replying(vec![hang]).await.expect("a free port");
    let by = Speaker {
        timeout: Duration::from_millis(100),
        chars_max: 20,
        ..Speaker::new(endpoint(&server), "m", "v")
    };
    let client = client(limits());
    let fail = async |args| client.speak(&by, args, &Cancel::new()).await.expect_err("a failure").message;
    assert_eq!(fail(speak(" ")).await, "text is required");
    assert_eq!(fail(speak("one two three four five six")).await, "text exceeds speech limit (20 chars)");
    assert_eq!(fail(speak(&"[".repeat(1_000_000))).await, "text exceeds speech limit (20 chars)");
    assert_eq!(fail(speak("hello")).await, "Speech synthesis timed out after 100ms");
    server.clients_left(1).await;
    let nothing = client.speak(&by, speak("🎉"), &Cancel::new()).await.expect("nothing to say");
    assert_eq!((nothing.skipped, nothing.provider.as_str()), (Some(true), "none"));
}
