//! Provider trait and endpoints: the kinds of providers, where one of them is, and what all of them can do.

mod remote;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::cancel::Cancel;
use crate::demo::Demo;
use crate::failure::{Cause, Failure};
use crate::http::Client;
use crate::message::Request;
use crate::secret::Secret;
use crate::stream::EventStream;
use crate::wire::{self, Wire};
use remote::Remote;

/// Somebody who answers requests.
pub trait Provider: Send + Sync {
    /// Begins an answer. What goes wrong is the last event of the stream; dropping the stream ends everything.
    fn stream(&self, request: Request, cancel: Cancel) -> EventStream;
}

/// Which API a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// Anthropic, by its Messages API.
    Anthropic,
    /// OpenAI, by its Responses API.
    Openai,
    /// Anybody who speaks OpenAI's Chat Completions.
    OpenaiChat,
    /// Google's Gemini.
    Gemini,
    /// OpenRouter, by Chat Completions with its additions.
    Openrouter,
    /// Ollama, by its own API.
    Ollama,
    /// The built-in interpreter of plain requests.
    Demo,
}

impl ProviderKind {
    /// In the order in which errors list them.
    pub const ALL: [ProviderKind; 7] = [
        ProviderKind::Anthropic,
        ProviderKind::Openai,
        ProviderKind::OpenaiChat,
        ProviderKind::Gemini,
        ProviderKind::Openrouter,
        ProviderKind::Ollama,
        ProviderKind::Demo,
    ];

    /// Its name in config.
    pub const fn as_str(self) -> &'static str {
        match self {
            ProviderKind::Anthropic => "anthropic",
            ProviderKind::Openai => "openai",
            ProviderKind::OpenaiChat => "openai-chat",
            ProviderKind::Gemini => "gemini",
            ProviderKind::Openrouter => "openrouter",
            ProviderKind::Ollama => "ollama",
            ProviderKind::Demo => "demo",
        }
    }

    /// Where it is unless config says otherwise.
    pub fn default_base_url(self) -> &'static str {
        match self {
            ProviderKind::Anthropic => "https://api.anthropic.com/v1",
            ProviderKind::Openai | ProviderKind::OpenaiChat => "https://api.openai.com/v1",
            ProviderKind::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            ProviderKind::Openrouter => "https://openrouter.ai/api/v1",
            ProviderKind::Ollama => "http://127.0.0.1:11434/v1",
            ProviderKind::Demo => "",
        }
    }

    /// The environment variable that holds its key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            ProviderKind::Anthropic => Some("ANTHROPIC_API_KEY"),
            ProviderKind::Openai | ProviderKind::OpenaiChat => Some("OPENAI_API_KEY"),
            ProviderKind::Gemini => Some("GEMINI_API_KEY"),
            ProviderKind::Openrouter => Some("OPENROUTER_API_KEY"),
            ProviderKind::Ollama | ProviderKind::Demo => None,
        }
    }

    fn wire(self) -> Option<&'static dyn Wire> {
        match self {
            ProviderKind::Anthropic => Some(&wire::anthropic::Messages),
            ProviderKind::Openai => Some(&wire::responses::Responses),
            ProviderKind::OpenaiChat => Some(&wire::chat::Chat::PLAIN),
            ProviderKind::Openrouter => Some(&wire::chat::Chat::OPENROUTER),
            ProviderKind::Gemini => Some(&wire::gemini::Gemini),
            ProviderKind::Ollama => Some(&wire::ollama::Ollama),
            ProviderKind::Demo => None,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProviderKind {
    type Err = Failure;

    fn from_str(text: &str) -> Result<ProviderKind, Failure> {
        let name = text.trim().to_ascii_lowercase();
        let kind = ProviderKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        let alias = (name == "google").then_some(ProviderKind::Gemini);
        kind.or(alias).ok_or_else(|| Failure::new(Cause::Request, format!("Unknown model provider: {text}")))
    }
}

/// Where a provider is, and the key to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub kind: ProviderKind,
    /// Its address with the version path; the kind's usual one when absent.
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    /// What to do when the key is refused: where it is from, and how to set another. It is told with the failure.
    pub key_hint: Option<String>,
}

impl Endpoint {
    /// The usual address of a kind of provider, without a key.
    pub fn new(kind: ProviderKind) -> Endpoint {
        Endpoint { kind, base_url: None, key: None, key_hint: None }
    }

    /// The address without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        let set = self.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty());
        set.unwrap_or(self.kind.default_base_url()).trim_end_matches('/')
    }

    /// True when the address is the kind's usual one.
    pub(crate) fn is_usual(&self) -> bool {
        self.base() == self.kind.default_base_url()
    }

    /// The key, where there is one.
    pub(crate) fn secret(&self) -> Option<&Secret> {
        self.key.as_ref().filter(|key| !key.is_empty())
    }

    /// A failure with the hint about the key, if that is what it is about.
    pub(crate) fn hinted(&self, failure: Failure) -> Failure {
        match &self.key_hint {
            Some(hint) if failure.cause == Cause::Key => {
                let message = failure.message.trim_end_matches('.');
                Failure { message: format!("{message}. {hint}"), ..failure }
            }
            _ => failure,
        }
    }

    /// The key, or the failure that names who wants one.
    pub(crate) fn required_key(&self) -> Result<&Secret, Failure> {
        let missing = || Failure::new(Cause::Key, format!("No API key for provider: {}", self.kind));
        self.secret().ok_or_else(missing)
    }
}

impl Client {
    /// The provider at an endpoint. Nothing is connected before the first request.
    pub fn provider(&self, endpoint: Endpoint) -> Arc<dyn Provider> {
        match endpoint.kind.wire() {
            Some(wire) => Arc::new(Remote::new(self.clone(), endpoint, wire)),
            None => Arc::new(Demo::new(self.clock.clone())),
        }
    }
}
