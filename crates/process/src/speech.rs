//! Speech-to-text and text-to-speech clients, with the servers that config names.

use std::time::Duration;

use base::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::speech::Speaker;
use model::transcription::Transcriber;
use model::{Cancel, Client, Endpoint, ProviderKind, Secret};
use protocol::ai::{AudioInput, Transcribe};
use protocol::config::{self, Key};
use protocol::ids::Uid;

use crate::config::Config;
use crate::prepare::{
    EndpointKeys, chat_endpoint, check_address, client, configured_endpoint, is_usual, key_hint, trimmed,
};
use crate::world::World;

/// What is said in a sound that came with a message, where a transcriber is configured. The message is good without:
/// what goes wrong is for the log, and it does not wait longer than its sender would.
pub(crate) async fn transcribe_quietly(
    world: &World,
    uid: Uid,
    bytes: &[u8],
    mime_type: &str,
    filename: Option<&str>,
) -> Option<String> {
    let (client, mut by) = transcriber(world, uid).await.ok()?;
    if bytes.len() > by.bytes_max {
        return None;
    }
    by.timeout = by.timeout.min(limits::process::ANSWER_TIMEOUT / 2);
    let audio = AudioInput {
        data: STANDARD.encode(bytes),
        mime_type: mime_type.to_string(),
        filename: filename.map(str::to_string),
        size: None,
    };
    let args = Transcribe { audio, language: None, prompt: None, mode: None };
    match client.transcribe(&by, args, &Cancel::new()).await {
        Ok(written) => Some(written.text).filter(|text| !text.trim().is_empty()),
        Err(failure) => {
            tracing::warn!(%uid, %failure, "a sound was kept without a transcript");
            None
        }
    }
}

/// Who writes a user's speech down. The error says what is missing in config.
pub(crate) async fn transcriber(world: &World, uid: Uid) -> Result<(Client, Transcriber), String> {
    let config = Config::read(&world.store, uid).await?;
    let model = model(&config, config::AI_TRANSCRIPTION_MODEL, "Transcription unavailable", "whisper-1")?;
    let keys = EndpointKeys {
        base_url: config::AI_TRANSCRIPTION_BASE_URL,
        api_key: config::AI_TRANSCRIPTION_API_KEY,
    };
    let endpoint = endpoint(world, &config, keys).await?;
    let bytes_max = config.number(config::AI_TRANSCRIPTION_MAX_BYTES);
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let by = Transcriber { bytes_max, ..Transcriber::new(endpoint, model) };
    Ok((client(world, &config).clone(), by))
}

/// Who says texts for a user. The error says what is missing in config.
pub(crate) async fn speaker(world: &World, uid: Uid) -> Result<(Client, Speaker), String> {
    let config = Config::read(&world.store, uid).await?;
    let model = model(&config, config::AI_SPEECH_MODEL, "Speech synthesis unavailable", "gpt-4o-mini-tts")?;
    let keys = EndpointKeys { base_url: config::AI_SPEECH_BASE_URL, api_key: config::AI_SPEECH_API_KEY };
    let endpoint = endpoint(world, &config, keys).await?;
    let filled = |key: Key<String>| {
        let set = config.text(key).trim();
        if set.is_empty() { config.system_text(key).trim() } else { set }.to_string()
    };
    let by = Speaker {
        encoding: filled(config::AI_SPEECH_ENCODING),
        chars_max: usize::try_from(config.number(config::AI_SPEECH_MAX_CHARS)).unwrap_or(usize::MAX),
        timeout: Duration::from_millis(config.number(config::AI_SPEECH_TIMEOUT_MS)),
        ..Speaker::new(endpoint, model, filled(config::AI_SPEECH_SPEAKER))
    };
    Ok((client(world, &config).clone(), by))
}

fn model(config: &Config, key: Key<String>, what: &str, such_as: &str) -> Result<String, String> {
    let model = config.text(key).trim();
    if model.is_empty() {
        let names = config.names(key);
        return Err(format!("{what}: no model is configured. Set {names}, to {such_as} for instance."));
    }
    Ok(model.to_string())
}

/// Where to ask: the place config names, or OpenAI's, with a key that may go there.
async fn endpoint(world: &World, config: &Config, keys: EndpointKeys) -> Result<Endpoint, String> {
    let place = configured_endpoint(config, keys, false);
    if let Some(url) = place.base_url {
        check_address(config, keys.base_url, url)?;
    }
    let usual = is_usual(ProviderKind::Openai, place.base_url);
    let kind = if usual { ProviderKind::Openai } else { ProviderKind::OpenaiChat };
    let key = match place.key {
        Some(key) => Some(Secret::new(key)),
        None => chat_key(world, config, place.base_url, usual).await,
    };
    if usual && key.is_none() {
        return Err(format!("No API key for OpenAI. Set {}.", config.names(keys.api_key)));
    }
    let source = match (place.key, &key) {
        (Some(_), _) => Some(config.place(keys.api_key)),
        (None, Some(_)) => Some("the chat model or the gateway's environment".to_string()),
        (None, None) => None,
    };
    let key_hint = Some(key_hint(config, keys.api_key, source.as_deref()));
    Ok(Endpoint { kind, base_url: place.base_url.map(str::to_string), key, key_hint })
}

/// The key of the chat model, where that is of OpenAI's kind and at the same address; else the environment's, which goes
/// only to OpenAI itself.
async fn chat_key(world: &World, config: &Config, base_url: Option<&str>, usual: bool) -> Option<Secret> {
    let environment = || world.discovery.variable("OPENAI_API_KEY").filter(|_| usual).map(Secret::new);
    let Ok(chat) = chat_endpoint(config, &world.discovery).await else { return environment() };
    let of_kind = matches!(chat.kind, ProviderKind::Openai | ProviderKind::OpenaiChat);
    let address =
        |url: Option<&str>| url.map_or(ProviderKind::Openai.default_base_url(), trimmed).to_string();
    let same = address(chat.base_url.as_deref()) == address(base_url);
    chat.key.filter(|_| of_kind && same).or_else(environment)
}
