//! Discovery of a model when nothing is configured: a key in the environment, a local server, else the demo.

use std::future::Future;

use base::limits;
use serde_json::{Value, json};

use crate::http::{Call, Client};
use crate::provider::{Endpoint, ProviderKind};
use crate::secret::Secret;
use crate::wire::ollama;

/// A provider and a model to use.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Where to ask.
    pub endpoint: Endpoint,
    /// The model's name.
    pub model: String,
    /// Why this one, for the log: the variable, the address, or nothing found.
    pub found: &'static str,
}

/// A variable with a key, whose key it is, and the model to take.
struct Key {
    variable: &'static str,
    kind: ProviderKind,
    base_url: Option<&'static str>,
    model: &'static str,
}

const fn key(
    variable: &'static str,
    kind: ProviderKind,
    base_url: Option<&'static str>,
    model: &'static str,
) -> Key {
    Key { variable, kind, base_url, model }
}

/// In the order in which they are looked for.
const KEYS: &[Key] = &[
    key("ANTHROPIC_API_KEY", ProviderKind::Anthropic, None, "claude-sonnet-4-6"),
    key("OPENAI_API_KEY", ProviderKind::Openai, None, "gpt-5.2"),
    key("GEMINI_API_KEY", ProviderKind::Gemini, None, "gemini-2.5-pro"),
    key("OPENROUTER_API_KEY", ProviderKind::Openrouter, None, "anthropic/claude-sonnet-4.6"),
    key(
        "GROQ_API_KEY",
        ProviderKind::OpenaiChat,
        Some("https://api.groq.com/openai/v1"),
        "openai/gpt-oss-120b",
    ),
    key(
        "MISTRAL_API_KEY",
        ProviderKind::OpenaiChat,
        Some("https://api.mistral.ai/v1"),
        "mistral-large-latest",
    ),
    key("XAI_API_KEY", ProviderKind::OpenaiChat, Some("https://api.x.ai/v1"), "grok-4"),
    key("DEEPSEEK_API_KEY", ProviderKind::OpenaiChat, Some("https://api.deepseek.com/v1"), "deepseek-chat"),
];

/// A server on this machine, or one that config names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its address with the version path.
    pub base_url: String,
    /// The models it has, the best first.
    pub models: Vec<String>,
}

/// Chooses a provider and a model. `env` reads a variable of the environment; `probe` looks whether a local server
/// answers at an address, and what it has.
pub async fn discover<F>(env: impl Fn(&str) -> Option<String>, probe: impl FnOnce(String) -> F) -> Choice
where
    F: Future<Output = Option<LocalServer>>,
{
    for key in KEYS {
        let secret = Secret::new(env(key.variable).unwrap_or_default());
        if !secret.is_empty() {
            let base_url = key.base_url.map(str::to_owned);
            let endpoint = Endpoint { base_url, key: Some(secret), ..Endpoint::new(key.kind) };
            return Choice { endpoint, model: key.model.to_owned(), found: key.variable };
        }
    }
    let address = ollama_address(env("OLLAMA_HOST").as_deref());
    if let Some(server) = probe(address).await
        && let Some(model) = server.models.into_iter().next()
    {
        let endpoint = Endpoint { base_url: Some(server.base_url), ..Endpoint::new(ProviderKind::Ollama) };
        return Choice { endpoint, model, found: "Ollama" };
    }
    Choice { endpoint: Endpoint::new(ProviderKind::Demo), model: "demo".to_owned(), found: "nothing" }
}

/// `OLLAMA_HOST` may be a host, a host with a port, or an address; servers listen on `0.0.0.0`, clients do not.
fn ollama_address(host: Option<&str>) -> String {
    let host = host.map(str::trim).filter(|host| !host.is_empty()).unwrap_or("127.0.0.1");
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let place = rest.trim_end_matches('/').replace("0.0.0.0", "127.0.0.1");
    let ported = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if ported || scheme == "https" { "" } else { ":11434" };
    format!("{scheme}://{place}{port}/v1")
}

impl Client {
    /// Looks whether Ollama answers at an address, and which models it has: those that can use tools first, and among
    /// them the newest.
    pub async fn probe_ollama(&self, base_url: String) -> Option<LocalServer> {
        let root = ollama::root(&base_url).to_owned();
        let asked = async {
            let tags = self.ask_json(Call::get(format!("{root}/api/tags"))).await?;
            let (mut able, mut others) = (Vec::new(), Vec::new());
            for (number, name) in newest_first(&tags)?.into_iter().enumerate() {
                let able_too = number < limits::model::PROBES_MAX && self.can_use_tools(&root, &name).await;
                if able_too { able.push(name) } else { others.push(name) }
            }
            able.append(&mut others);
            Some(able)
        };
        let models = tokio::time::timeout(limits::model::PROBE_TIMEOUT, asked).await.ok()??;
        Some(LocalServer { base_url, models })
    }

    async fn can_use_tools(&self, root: &str, name: &str) -> bool {
        let body = json!({ "model": name }).to_string();
        let description =
            self.ask_json(Call::post(format!("{root}/api/show"), "application/json", body)).await;
        let abilities = description.as_ref().and_then(|description| description["capabilities"].as_array());
        abilities.is_some_and(|abilities| abilities.iter().any(|ability| ability == "tools"))
    }

    async fn ask_json(&self, call: Call) -> Option<Value> {
        let bytes = self.fetch(&call, limits::model::PROBE_MAX_BYTES).await.ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// The models of a list that can talk.
fn newest_first(tags: &Value) -> Option<Vec<String>> {
    let models = tags["models"].as_array()?.iter();
    let mut dated: Vec<(&str, &str)> = models
        .filter_map(|model| {
            Some((model["modified_at"].as_str().unwrap_or_default(), model["name"].as_str()?))
        })
        .filter(|(_, name)| !name.contains("embed"))
        .collect();
    dated.sort_by(|a, b| b.cmp(a));
    Some(dated.into_iter().map(|(_, name)| name.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    async fn nobody(_: String) -> Option<LocalServer> {
        None
    }

    #[tokio::test]
    async fn keys_go_in_order() {
        let both = [("OPENAI_API_KEY", "b"), ("ANTHROPIC_API_KEY", "a")];
        let choice = discover(env(&both), nobody).await;
        assert_eq!((choice.endpoint.kind, choice.found), (ProviderKind::Anthropic, "ANTHROPIC_API_KEY"));
        let blank = [("ANTHROPIC_API_KEY", " "), ("GROQ_API_KEY", "g")];
        let choice = discover(env(&blank), nobody).await;
        assert_eq!(choice.endpoint.base_url.as_deref(), Some("https://api.groq.com/openai/v1"));
    }

    #[tokio::test]
    async fn then_a_local_server_then_the_demo() {
        let here = |base_url: String| async move {
            assert_eq!(base_url, "http://127.0.0.1:11434/v1");
            Some(LocalServer { base_url, models: vec!["qwen3:8b".to_owned()] })
        };
        let choice = discover(env(&[]), here).await;
        assert_eq!((choice.endpoint.kind, choice.model.as_str()), (ProviderKind::Ollama, "qwen3:8b"));
        let empty = |base_url| async move { Some(LocalServer { base_url, models: vec![] }) };
        assert_eq!(discover(env(&[]), empty).await.endpoint.kind, ProviderKind::Demo);
        assert_eq!(discover(env(&[]), nobody).await.model, "demo");
    }

    #[test]
    fn ollamas_host_is_understood() {
        assert_eq!(ollama_address(Some("0.0.0.0")), "http://127.0.0.1:11434/v1");
        assert_eq!(ollama_address(Some("box:1234")), "http://box:1234/v1");
        assert_eq!(ollama_address(Some("https://o.example.org/")), "https://o.example.org/v1");
    }
}
