//! Text-to-speech client, for any server that has OpenAI's `/audio/speech`.

mod spoken;

use std::time::Duration;

use base::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use protocol::ai::{AudioOutput, Speak, Speech, TextFormat};
use serde_json::json;

use crate::cancel::Cancel;
use crate::failure::{Cause, Failure};
use crate::http::{Call, Client};
use crate::provider::Endpoint;

pub use spoken::spoken;

/// Who says texts, and how.
#[derive(Clone, Debug)]
pub struct Speaker {
    /// Where to ask; its API is OpenAI's.
    pub endpoint: Endpoint,
    /// The model's name, unless the caller names one.
    pub model: String,
    /// The voice, unless the caller names one.
    pub voice: String,
    /// The encoding, unless the caller names one.
    pub encoding: String,
    /// The longest text, in characters.
    pub chars_max: usize,
    /// How long it may take.
    pub timeout: Duration,
}

impl Speaker {
    /// With the usual limits, as MP3.
    pub fn new(endpoint: Endpoint, model: impl Into<String>, voice: impl Into<String>) -> Speaker {
        Speaker {
            endpoint,
            model: model.into(),
            voice: voice.into(),
            encoding: "mp3".to_owned(),
            chars_max: limits::model::SPEECH_MAX_CHARS,
            timeout: limits::model::SPEECH_TIMEOUT,
        }
    }
}

const UNAVAILABLE: &str = "Speech synthesis unavailable";

impl Client {
    /// Says a text. A failure of cause `Request` is the caller's own fault.
    pub async fn speak(&self, by: &Speaker, args: Speak, cancel: &Cancel) -> Result<Speech, Failure> {
        let Some(text) = speakable(by, &args)? else { return Ok(silence()) };
        let encoding = args.encoding.as_deref().unwrap_or(&by.encoding).to_ascii_lowercase();
        let container = args.container.as_deref().map(str::to_ascii_lowercase);
        let format = Format::of(&encoding, container.as_deref())?;
        let model = args.model.unwrap_or_else(|| by.model.clone());
        let voice = args.voice.unwrap_or_else(|| by.voice.clone());
        let body = json!({ "model": model, "input": text, "voice": voice, "response_format": format.name })
            .to_string();
        let call = Call::post(format!("{}/audio/speech", by.endpoint.base()), "application/json", body);
        let key = match by.endpoint.is_usual() {
            true => Some(by.endpoint.required_key()?),
            false => by.endpoint.secret(),
        };
        let call = match key {
            Some(key) => call.key(AUTHORIZATION, "Bearer ", key)?,
            None => call,
        };
        let asked = self.fetch(&call, limits::model::SPEECH_MAX_BYTES);
        let sound = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::aborted()),
            answer = tokio::time::timeout(by.timeout, asked) => answer
                .map_err(|_| timed_out(by.timeout))
                .and_then(|answer| answer.map_err(|failure| unavailable(&by.endpoint.hinted(failure))))?,
        };
        if sound.is_empty() {
            return Err(unavailable(&Failure::unreadable("an answer without sound")));
        }
        Ok(Speech {
            audio: AudioOutput {
                data: format!("data:{};base64,{}", format.mime_type, STANDARD.encode(&sound)),
                mime_type: format.mime_type.to_owned(),
                size: sound.len() as u64,
            },
            provider: by.endpoint.kind.as_str().to_owned(),
            model,
            voice: Some(voice),
            encoding: Some(encoding),
            container,
            skipped: None,
        })
    }
}

fn timed_out(limit: Duration) -> Failure {
    Failure::new(Cause::Timeout, format!("Speech synthesis timed out after {}ms", limit.as_millis()))
}

fn unavailable(failure: &Failure) -> Failure {
    Failure::new(failure.cause_of_service(), format!("{UNAVAILABLE}: {failure}"))
}

/// What is to be said; `None` when nothing of the text can be.
fn speakable(by: &Speaker, args: &Speak) -> Result<Option<String>, Failure> {
    if args.text.trim().is_empty() {
        return Err(Failure::new(Cause::Request, "text is required"));
    }
    let too_long =
        || Failure::new(Cause::Request, format!("text exceeds speech limit ({} chars)", by.chars_max));
    // Marks take room that is not said, but not without end.
    if args.text.len() > by.chars_max.saturating_mul(16) {
        return Err(too_long());
    }
    let text = match args.text_format {
        Some(TextFormat::Plain) => args.text.trim().to_owned(),
        Some(TextFormat::Markdown) | None => spoken(&args.text),
    };
    if text.chars().count() > by.chars_max {
        return Err(Failure::new(
            Cause::Request,
            format!("text exceeds speech limit ({} chars)", by.chars_max),
        ));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn silence() -> Speech {
    Speech {
        audio: AudioOutput { data: String::new(), mime_type: String::new(), size: 0 },
        provider: "none".to_owned(),
        model: "none".to_owned(),
        voice: None,
        encoding: None,
        container: None,
        skipped: Some(true),
    }
}

/// How the sound is to be written.
struct Format {
    /// The provider's name for it.
    name: &'static str,
    mime_type: &'static str,
}

impl Format {
    fn of(encoding: &str, container: Option<&str>) -> Result<Format, Failure> {
        let (name, mime_type) = match (encoding, container) {
            ("mp3", _) => ("mp3", "audio/mpeg"),
            ("aac", _) => ("aac", "audio/aac"),
            ("flac", _) => ("flac", "audio/flac"),
            // What this API calls opus is always in an Ogg file.
            ("opus", Some("ogg") | None) => ("opus", "audio/ogg"),
            ("linear16" | "wav", Some("wav")) | ("wav", _) => ("wav", "audio/wav"),
            ("linear16" | "pcm", _) => ("pcm", "audio/L16"),
            _ => {
                let text = format!(
                    "The encoding `{encoding}` is not available; use mp3, aac, flac, opus or linear16"
                );
                return Err(Failure::new(Cause::Request, text));
            }
        };
        Ok(Format { name, mime_type })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_types() {
        let of = |encoding, container| Format::of(encoding, container).map(|format| format.mime_type);
        assert_eq!(of("mp3", None), Ok("audio/mpeg"));
        assert_eq!(of("opus", Some("ogg")), Ok("audio/ogg"));
        assert_eq!(of("linear16", Some("wav")), Ok("audio/wav"));
        assert_eq!(of("linear16", None), Ok("audio/L16"));
        assert!(of("mulaw", None).is_err());
    }
}
