//! Speech-to-text client, for any server that has OpenAI's `/audio/transcriptions`.

use std::time::Duration;

use base::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use protocol::ai::{Transcribe, Transcription, TranscriptionMode};
use serde_json::Value;

use crate::cancel::Cancel;
use crate::failure::{Cause, Failure};
use crate::http::{Call, Client};
use crate::provider::Endpoint;

/// Who writes speech down, and how much of it.
#[derive(Clone, Debug)]
pub struct Transcriber {
    /// Where to ask; its API is OpenAI's.
    pub endpoint: Endpoint,
    /// The model's name, such as `whisper-1`.
    pub model: String,
    /// The largest sound.
    pub bytes_max: usize,
    /// How long it may take.
    pub timeout: Duration,
}

impl Transcriber {
    /// With the usual limits.
    pub fn new(endpoint: Endpoint, model: impl Into<String>) -> Transcriber {
        let model = model.into();
        Transcriber {
            endpoint,
            model,
            bytes_max: limits::model::TRANSCRIPTION_MAX_BYTES,
            timeout: limits::model::TRANSCRIPTION_TIMEOUT,
        }
    }
}

const UNAVAILABLE: &str = "Transcription unavailable";

impl Client {
    /// Writes speech down. A failure of cause `Request` is the caller's own fault.
    pub async fn transcribe(
        &self,
        by: &Transcriber,
        args: Transcribe,
        cancel: &Cancel,
    ) -> Result<Transcription, Failure> {
        let sound = sound(&args, by.bytes_max)?;
        let call = call(by, &args, &sound)?;
        let asked = self.fetch(&call, self.limits.response_bytes_max);
        let body = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::aborted()),
            answer = tokio::time::timeout(by.timeout, asked) => answer
                .map_err(|_| timed_out(by.timeout))
                .and_then(|answer| answer.map_err(|failure| unavailable(&by.endpoint.hinted(failure))))?,
        };
        let value: Value =
            serde_json::from_slice(&body).map_err(|error| unavailable(&Failure::unreadable(error)))?;
        let Some(text) = value["text"].as_str() else {
            return Err(unavailable(&Failure::unreadable("an answer without text")));
        };
        Ok(Transcription {
            text: text.trim().to_owned(),
            language: value["language"].as_str().map(str::to_owned).or(args.language),
            duration: value["duration"].as_f64(),
            segments: value["segments"].as_array().filter(|list| !list.is_empty()).cloned(),
            provider: by.endpoint.kind.as_str().to_owned(),
            model: by.model.clone(),
        })
    }
}

fn timed_out(limit: Duration) -> Failure {
    Failure::new(Cause::Timeout, format!("Transcription timed out after {}ms", limit.as_millis()))
}

fn unavailable(failure: &Failure) -> Failure {
    Failure::new(failure.cause_of_service(), format!("{UNAVAILABLE}: {failure}"))
}

/// The bytes of the sound, from base 64 or a data URL.
fn sound(args: &Transcribe, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let bad = |text: String| Failure::new(Cause::Request, text);
    let data = args.audio.data.trim();
    if data.is_empty() {
        return Err(bad("audio.data is required".to_owned()));
    }
    if !args.audio.mime_type.trim().to_ascii_lowercase().starts_with("audio/") {
        return Err(bad("audio.mimeType must be an audio MIME type".to_owned()));
    }
    let coded = match data.strip_prefix("data:") {
        Some(url) => url.split_once(',').map(|(_, coded)| coded).unwrap_or_default(),
        None => data,
    };
    let too_large = || bad(format!("audio.data exceeds transcription limit ({bytes_max} bytes)"));
    if coded.len() / 4 * 3 > bytes_max.saturating_add(3) {
        return Err(too_large());
    }
    let coded: String = coded.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(coded).map_err(|_| bad("audio.data is not base 64".to_owned()))?;
    match bytes.len() {
        0 => Err(bad("audio.data is empty".to_owned())),
        length if length > bytes_max => Err(too_large()),
        _ => Ok(bytes),
    }
}

fn call(by: &Transcriber, args: &Transcribe, sound: &[u8]) -> Result<Call, Failure> {
    let translate = args.mode == Some(TranscriptionMode::Translate);
    let place = if translate { "translations" } else { "transcriptions" };
    let mut form = Form::new();
    form.file("file", &filename(args), &args.audio.mime_type, sound);
    form.field("model", &by.model);
    // Only Whisper gives times and the length; newer models refuse to be asked.
    let wordy = by.model.to_ascii_lowercase().contains("whisper");
    form.field("response_format", if wordy { "verbose_json" } else { "json" });
    if let Some(language) = args.language.as_deref().filter(|_| !translate) {
        form.field("language", language);
    }
    if let Some(prompt) = args.prompt.as_deref() {
        form.field("prompt", prompt);
    }
    let (content_type, body) = form.finish();
    let call = Call::post(format!("{}/audio/{place}", by.endpoint.base()), &content_type, body);
    let key = match by.endpoint.is_usual() {
        true => Some(by.endpoint.required_key()?),
        false => by.endpoint.secret(),
    };
    match key {
        Some(key) => call.key(AUTHORIZATION, "Bearer ", key),
        None => Ok(call),
    }
}

/// Servers tell the format by the name's ending.
fn filename(args: &Transcribe) -> String {
    let named = args.audio.filename.as_deref().map(|name| name.rsplit(['/', '\\']).next().unwrap_or(name));
    if let Some(name) = named.filter(|name| name.contains('.')) {
        return name.to_owned();
    }
    let kind = args.audio.mime_type.trim().to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim_start_matches("audio/").trim().to_owned();
    let ending = match kind.as_str() {
        "mpeg" | "mp3" => "mp3",
        "mp4" | "x-m4a" | "m4a" | "aac" => "m4a",
        "wav" | "x-wav" | "wave" => "wav",
        "webm" => "webm",
        "flac" | "x-flac" => "flac",
        _ => "ogg",
    };
    format!("audio.{ending}")
}

/// A multipart form.
struct Form {
    border: String,
    body: Vec<u8>,
}

impl Form {
    fn new() -> Form {
        Form { border: base::random::tagged("gsv-"), body: Vec::new() }
    }

    fn part(&mut self, head: &str, bytes: &[u8]) {
        let open = format!("--{}\r\ncontent-disposition: form-data; {head}\r\n\r\n", self.border);
        self.body.extend_from_slice(open.as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    fn field(&mut self, name: &str, value: &str) {
        self.part(&format!("name=\"{name}\""), value.as_bytes());
    }

    fn file(&mut self, name: &str, filename: &str, mime_type: &str, bytes: &[u8]) {
        // Neither may end the line it stands in.
        let plain = |text: &str| text.replace(['"', '\r', '\n', '\\'], "_");
        let (filename, mime_type) = (plain(filename), plain(mime_type));
        let head = format!("name=\"{name}\"; filename=\"{filename}\"\r\ncontent-type: {mime_type}");
        self.part(&head, bytes);
    }

    fn finish(mut self) -> (String, Vec<u8>) {
        self.body.extend_from_slice(format!("--{}--\r\n", self.border).as_bytes());
        (format!("multipart/form-data; boundary={}", self.border), self.body)
    }
}

#[cfg(test)]
mod tests {
    use protocol::ai::AudioInput;

    use super::*;

    fn args(data: &str, mime_type: &str) -> Transcribe {
        let (data, mime_type) = (data.to_owned(), mime_type.to_owned());
        let audio = AudioInput { data, mime_type, filename: None, size: None };
        Transcribe { audio, language: None, prompt: None, mode: None }
    }

    #[test]
    fn bad_sounds_are_named() {
        let text = |data: &str, kind: &str| match sound(&args(data, kind), 4) {
            Ok(bytes) => format!("{bytes:?}"),
            Err(failure) => failure.message,
        };
        assert_eq!(text("", "audio/ogg"), "audio.data is required");
        assert_eq!(text("AAAA", "video/mp4"), "audio.mimeType must be an audio MIME type");
        assert_eq!(text("data:audio/ogg;base64,", "audio/ogg"), "audio.data is empty");
        assert_eq!(text("AAAAAAAA", "audio/ogg"), "audio.data exceeds transcription limit (4 bytes)");
        assert_eq!(text("data:audio/ogg;base64,AQI=", "audio/ogg"), "[1, 2]");
        assert_eq!(text("%%%", "audio/ogg"), "audio.data is not base 64");
    }

    #[test]
    fn names_have_endings() {
        assert_eq!(filename(&args("", "audio/ogg; codecs=opus")), "audio.ogg");
        assert_eq!(filename(&args("", "audio/mpeg")), "audio.mp3");
        let mut named = args("", "audio/mpeg");
        named.audio.filename = Some("/tmp/a\"b.wav".to_owned());
        assert_eq!(filename(&named), "a\"b.wav");
    }
}
