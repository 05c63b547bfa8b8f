//! Choice of the model endpoint: the provider, its address, its key and the model's name, from config, from the
//! environment or from what is found on this machine.
//!
//! A key goes only where whoever gave it meant it to go: everybody's key is not sent to an address, or to a provider,
//! that a user has chosen alone.

use model::{Endpoint, ProviderKind, Secret};
use protocol::config::{self, Key};

use crate::config::Config;
use crate::discovery::ModelDiscovery;

/// A provider and the name of a model.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) endpoint: Endpoint,
    pub(crate) model: String,
}

/// What config says of a place: that of the chat model, or one for speech.
pub(crate) struct ConfiguredEndpoint<'a> {
    pub(crate) base_url: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    /// Whether the user has chosen the address, so that only the user's own key may go there.
    pub(crate) own: bool,
}

/// The keys of such an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct EndpointKeys {
    pub(crate) base_url: Key<String>,
    pub(crate) api_key: Key<String>,
}

/// Where the chat model is.
const CHAT: EndpointKeys = EndpointKeys { base_url: config::AI_BASE_URL, api_key: config::AI_API_KEY };

/// Reads the address and the key. `elsewhere` says that the user has chosen another provider.
pub(crate) fn configured_endpoint(
    config: &Config,
    keys: EndpointKeys,
    elsewhere: bool,
) -> ConfiguredEndpoint<'_> {
    let everybodys_url = filled(config.system(keys.base_url)).filter(|_| !elsewhere);
    let base_url = config.user(keys.base_url).map_or(everybodys_url, |own| filled(Some(own)));
    let own = elsewhere || base_url.map(trimmed) != everybodys_url.map(trimmed);
    let key = match config.user(keys.api_key) {
        Some(own_key) => filled(Some(own_key)),
        None => filled(config.system(keys.api_key)).filter(|_| !own),
    };
    ConfiguredEndpoint { base_url, key, own }
}

/// Provider and model of a run: what is configured, else what can be found.
pub(crate) async fn choose(config: &Config, discovery: &ModelDiscovery) -> Result<Chosen, String> {
    let everybodys = filled(config.system(config::AI_PROVIDER));
    let provider = config.user(config::AI_PROVIDER).map_or(everybodys, |own| filled(Some(own)));
    let elsewhere = !same_provider(provider, everybodys);
    let place = configured_endpoint(config, CHAT, elsewhere);
    let model = match config.user(config::AI_MODEL) {
        Some(own) => filled(Some(own)),
        None => filled(config.system(config::AI_MODEL)).filter(|_| !elsewhere),
    };
    let kind = match (provider, place.base_url) {
        (Some(name), _) => name.parse::<ProviderKind>().map_err(|_| unknown_provider(config, name))?,
        (None, Some(_)) => ProviderKind::OpenaiChat,
        (None, None) if place.key.is_some() => return Err(whose_key(config)),
        (None, None) => return Ok(discovered(config, discovery, model).await),
    };
    let endpoint = endpoint(config, discovery, kind, &place)?;
    let model = match model {
        Some(model) => model.to_string(),
        None => usual_model(config, discovery, &endpoint).await?,
    };
    Ok(Chosen { endpoint, model })
}

/// Where the chat model is, with its key.
pub(crate) async fn chat_endpoint(config: &Config, discovery: &ModelDiscovery) -> Result<Endpoint, String> {
    Ok(choose(config, discovery).await?.endpoint)
}

async fn discovered(config: &Config, discovery: &ModelDiscovery, model: Option<&str>) -> Chosen {
    let choice = discovery.discover(config.private_hosts()).await;
    tracing::debug!(found = choice.found, model = choice.model, "no model is configured; one was looked for");
    let named = model.filter(|_| choice.endpoint.kind != ProviderKind::Demo);
    let mut endpoint = choice.endpoint;
    let source = endpoint.key.as_ref().map(|_| in_environment(choice.found));
    endpoint.key_hint = Some(key_hint(config, config::AI_API_KEY, source.as_deref()));
    Chosen { model: named.map_or(choice.model, str::to_string), endpoint }
}

fn endpoint(
    config: &Config,
    discovery: &ModelDiscovery,
    kind: ProviderKind,
    place: &ConfiguredEndpoint<'_>,
) -> Result<Endpoint, String> {
    if let Some(url) = place.base_url {
        check_address(config, config::AI_BASE_URL, url)?;
    }
    let usual = is_usual(kind, place.base_url);
    let key = place.key.map(str::to_string).or_else(|| {
        let variable = kind.key_variable().filter(|_| usual || !place.own)?;
        discovery.variable(variable)
    });
    if key.is_none() && needs_key(kind, usual) {
        let variable = kind.key_variable().map(|name| format!(", or {name} in the gateway's environment"));
        return Err(format!(
            "No API key for provider: {kind}. Set {}{}.",
            config.names(config::AI_API_KEY),
            variable.unwrap_or_default()
        ));
    }
    let source = match (place.key, &key) {
        (Some(_), _) => Some(config.place(config::AI_API_KEY)),
        (None, Some(_)) => kind.key_variable().map(in_environment),
        (None, None) => None,
    };
    let key_hint = Some(key_hint(config, config::AI_API_KEY, source.as_deref()));
    let base_url = place.base_url.map(str::to_string);
    Ok(Endpoint { kind, base_url, key: key.map(Secret::new), key_hint })
}

fn in_environment(variable: &str) -> String {
    format!("{variable} in the gateway's environment")
}

/// What to do when a key is refused: where it is from, and how a user sets another.
pub(crate) fn key_hint(config: &Config, key: Key<String>, source: Option<&str>) -> String {
    let own = config.own_name(key);
    match source {
        Some(source) => format!("The key is from {source}. Set another with: gsv config set {own} KEY"),
        None => format!("No key was sent. Set one with: gsv config set {own} KEY"),
    }
}

/// An address must be one before a key is sent there. It is not repeated: it may hold a password.
pub(crate) fn check_address(config: &Config, key: Key<String>, url: &str) -> Result<(), String> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(());
    }
    let place = config.place(key);
    Err(format!("{place} is no address of a server: it must begin with http:// or https://"))
}

/// True when the address is the provider's own.
pub(crate) fn is_usual(kind: ProviderKind, base_url: Option<&str>) -> bool {
    base_url.is_none_or(|url| trimmed(url) == kind.default_base_url())
}

/// Servers that only speak like OpenAI may be open to everybody.
fn needs_key(kind: ProviderKind, usual: bool) -> bool {
    match kind {
        ProviderKind::Anthropic | ProviderKind::Openai | ProviderKind::Gemini => true,
        ProviderKind::OpenaiChat | ProviderKind::Openrouter => usual,
        ProviderKind::Ollama | ProviderKind::Demo => false,
    }
}

/// The model when only a provider is named: what goes with its key, or what the local server has.
async fn usual_model(
    config: &Config,
    discovery: &ModelDiscovery,
    endpoint: &Endpoint,
) -> Result<String, String> {
    match endpoint.kind {
        ProviderKind::Demo => Ok("demo".to_string()),
        ProviderKind::Ollama => local_model(config, discovery, endpoint).await,
        kind => {
            let only = |name: &str| (Some(name) == kind.key_variable()).then(|| "key".to_string());
            let choice = model::discover(only, |_| async { None }).await;
            if choice.endpoint.kind == kind {
                return Ok(choice.model);
            }
            Err(format!(
                "No model is configured for provider {kind}. Set {}.",
                config.names(config::AI_MODEL)
            ))
        }
    }
}

async fn local_model(
    config: &Config,
    discovery: &ModelDiscovery,
    endpoint: &Endpoint,
) -> Result<String, String> {
    let url = endpoint.base_url.as_deref().unwrap_or(ProviderKind::Ollama.default_base_url());
    let Some(server) = discovery.ollama(config.private_hosts(), url.to_string()).await else {
        let place = config.names(config::AI_BASE_URL);
        return Err(format!("Ollama does not answer. Start it, or set its address in {place}."));
    };
    let none = || "Ollama has no model. Pull one, with `ollama pull qwen3` for instance.".to_string();
    server.models.into_iter().next().ok_or_else(none)
}

fn unknown_provider(config: &Config, name: &str) -> String {
    let known = ProviderKind::ALL.map(ProviderKind::as_str).join(", ");
    format!("Unknown model provider: {name}. Set {} to one of: {known}.", config.place(config::AI_PROVIDER))
}

fn whose_key(config: &Config) -> String {
    let (key, provider) = (config.place(config::AI_API_KEY), config.names(config::AI_PROVIDER));
    format!("{key} is set, but not whose key it is. Set {provider}.")
}

fn same_provider(a: Option<&str>, b: Option<&str>) -> bool {
    let kind = |name: Option<&str>| {
        name.map(|name| name.parse::<ProviderKind>().map_err(|_| name.to_ascii_lowercase()))
    };
    match (kind(a), kind(b)) {
        (Some(Ok(a)), Some(Ok(b))) => a == b,
        (Some(Err(a)), Some(Err(b))) => a == b,
        (None, None) => true,
        _ => false,
    }
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// An address without the slash that may end it.
pub(crate) fn trimmed(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}
