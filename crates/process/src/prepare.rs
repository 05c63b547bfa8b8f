//! Resolution of a run's setup from config, account, devices and the user's texts, when a run first needs it.

mod account;
mod endpoint;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use model::{Client, Model, Prices, PrivateHosts, Reasoning};
use protocol::ai::{ToolsResult, WindowSource};
use protocol::config::{self as keys, Key};
use protocol::identity::ProcessIdentity;
use serde_json::{Map, Value};
use store::processes::ProcessRow;
use vfs::{VPath, View};

use crate::config::Config;
use crate::setup::cache::Fingerprint;
use crate::setup::{RunLimits, Setup};
use crate::world::World;
use crate::{pressure, profile, prompt};
use policy::Policy;

pub(crate) use account::use_account;
pub(crate) use endpoint::{
    Chosen, EndpointKeys, chat_endpoint, check_address, choose, configured_endpoint, is_usual, key_hint,
    trimmed,
};

/// Resolves all of it, or finds it as it was resolved before if nothing has changed since. The error is for the person
/// who waits for the run: it becomes the run's end.
pub(crate) async fn prepare(world: &World, process: &ProcessRow) -> Result<Arc<Setup>, String> {
    let identity = world.gateway.identity(process).await.map_err(|error| error.message)?;
    let identity = Arc::new(identity);
    let view = world.gateway.view(process, identity.clone());
    let fingerprint = fingerprint_of(world, process, &view);
    if let Some(setup) = fingerprint.as_ref().and_then(|fingerprint| world.setups.find(fingerprint)) {
        return Ok(setup);
    }
    let setup = Arc::new(resolve(world, process, identity, &view).await?);
    // A token of an account ends by itself, which no fingerprint tells.
    if let Some(fingerprint) = fingerprint.filter(|_| setup.good_until_ms.is_none()) {
        world.setups.keep(fingerprint, &setup);
    }
    Ok(setup)
}

/// What a setup would be made of now; nothing when changes of it could not be told.
fn fingerprint_of(world: &World, process: &ProcessRow, view: &View) -> Option<Fingerprint> {
    let now = world.clock.instant();
    let generations = world.gateway.generations();
    let roots: Option<Vec<VPath>> =
        prompt::places(view).iter().map(|place| VPath::absolute(place).ok()).collect();
    Some(Fingerprint::new(process, generations, view.fingerprint(&roots?)?, now))
}

async fn resolve(
    world: &World,
    process: &ProcessRow,
    identity: Arc<ProcessIdentity>,
    view: &View,
) -> Result<Setup, String> {
    let profile = known_profile(&process.profile)?;
    let mut config = Config::read(&world.store, process.uid).await?;
    let account = account::use_account(world, process.uid, &mut config).await?;
    let mut chosen = choose(&config, &world.discovery).await?;
    if let Some(account) = &account {
        chosen.endpoint.key_hint = Some(account.hint.clone());
    }
    let offered = offered(world, process).await?;
    let parts = prompt::Parts {
        profile,
        identity: &identity,
        config: &config,
        devices: &offered.devices,
        mcp_servers: &offered.mcp_servers,
        process_files: &process.context_files,
    };
    let system = prompt::assemble(&parts, view).await;
    let known = known_model(&config, &chosen);
    let setup = Setup {
        provider: client(world, &config).provider(chosen.endpoint),
        max_tokens: max_tokens(&config, &known.model),
        model: known.model,
        window_source: known.window_source,
        reasoning: reasoning(&config),
        timeout: Duration::from_millis(config.number(keys::AI_GENERATION_TIMEOUT_MS)),
        streaming: config.streams(),
        prompt_chars: pressure::prompt_chars(&system, &offered.tools),
        system: system.into(),
        tools: Arc::new(offered.tools.into()),
        devices: offered.devices,
        policy: Policy::parse(policy_text(&config, profile).unwrap_or_default()),
        hosts: hosts(config.text(keys::AGENTS_NETWORK)),
        interactive: profile::is_interactive(&process.profile),
        limits: limits(&config),
        good_until_ms: account.and_then(|account| account.good_until_ms),
        identity,
    };
    tracing::debug!(
        pid = %process.pid,
        provider = %setup.model.provider,
        model = setup.model.id,
        window_source = ?setup.window_source,
        tools = setup.tools.len(),
        devices = setup.devices.len(),
        prompt_bytes = setup.system.len(),
        "a run is set up"
    );
    Ok(setup)
}

/// The client that leads to models, as far out and in as root allows.
pub(crate) fn client<'a>(world: &'a World, config: &Config) -> &'a Client {
    match config.private_hosts() {
        PrivateHosts::Allow => &world.client,
        PrivateHosts::Deny => world.discovery.outward_client(),
    }
}

/// The profile whose texts a process gets. One that is not known is a task; those of packages must be there.
pub(crate) fn known_profile(profile: &str) -> Result<&str, String> {
    if profile.contains('#') {
        return Err(format!("Unknown package profile: {profile}"));
    }
    let known = profile::SYSTEM_PROFILES.iter().any(|known| known.id == profile);
    Ok(if known { profile } else { "task" })
}

async fn offered(world: &World, process: &ProcessRow) -> Result<ToolsResult, String> {
    let id = world.random.uuid();
    let answer = world.gateway.call(process, &id, "ai.tools", "{}").await;
    let answer = answer.map_err(|error| format!("The tools could not be listed: {}", error.message))?;
    serde_json::from_str(&answer).map_err(|error| format!("The list of tools is unreadable: {error}"))
}

/// A model as config sees it.
pub(crate) struct KnownModel {
    pub(crate) model: Model,
    pub(crate) window_source: WindowSource,
}

/// What is known about the model: a user's own window goes before the table of models, everybody's after it.
pub(crate) fn known_model(config: &Config, chosen: &Chosen) -> KnownModel {
    const WINDOW: Key<u64> = keys::AI_CONTEXT_WINDOW_TOKENS;
    let mut model = Model::find(chosen.endpoint.kind, &chosen.model);
    let (window, window_source) = match (config.own_number(WINDOW), model.context_window_tokens) {
        (Some(own), _) => (own, WindowSource::Config),
        (None, Some(known)) => (known, WindowSource::Model),
        (None, None) => (config.number(WINDOW), WindowSource::Config),
    };
    model.context_window_tokens = Some(window);
    model.prices = prices(config, &model).or(model.prices);
    // What is set says more than a table that ages.
    match config.text(keys::AI_INPUT).trim() {
        "" => {}
        input => model.images = input.split(',').any(|kind| kind.trim().eq_ignore_ascii_case("image")),
    }
    KnownModel { model, window_source }
}

/// Prices from config, where it names the model.
fn prices(config: &Config, model: &Model) -> Option<Prices> {
    let text = config.system_text(keys::AI_PRICES);
    if text.trim().is_empty() {
        return None;
    }
    let table: Map<String, Value> = match serde_json::from_str(text) {
        Ok(table) => table,
        Err(error) => {
            tracing::warn!(%error, key = keys::AI_PRICES.name(), "prices are no JSON object and are not used");
            return None;
        }
    };
    let name = format!("{}/{}", model.provider, model.id);
    let changed = table.get(&name).or_else(|| table.get(&model.id))?;
    let prices = changed_prices(model.prices.unwrap_or_default(), changed);
    if prices.is_none() {
        tracing::warn!(
            name,
            key = keys::AI_PRICES.name(),
            "what is set of a model are no prices; they are not used"
        );
    }
    prices
}

/// What is not named keeps its price.
fn changed_prices(known: Prices, changed: &Value) -> Option<Prices> {
    let mut value = serde_json::to_value(known).ok()?;
    let changed = changed.as_object()?.iter().map(|(name, price)| (name.clone(), price.clone()));
    value.as_object_mut()?.extend(changed);
    let prices: Prices = serde_json::from_value(value).ok()?;
    let all = [prices.input, prices.output, prices.cache_read, prices.cache_write];
    all.iter().all(|price| price.is_finite() && *price >= 0.0).then_some(prices)
}

pub(crate) fn max_tokens(config: &Config, model: &Model) -> u64 {
    config.number(keys::AI_MAX_TOKENS).min(model.max_output_tokens.unwrap_or(u64::MAX)).max(1)
}

/// The entries of a list of hosts.
fn hosts(text: &str) -> Vec<String> {
    let entries = text.split(|separator: char| separator == ',' || separator.is_whitespace());
    entries.filter(|entry| !entry.is_empty()).map(str::to_string).collect()
}

pub(crate) fn reasoning(config: &Config) -> Reasoning {
    let text = config.text(keys::AI_REASONING);
    if text.trim().is_empty() {
        return Reasoning::Off;
    }
    text.parse().unwrap_or_else(|error: String| {
        tracing::warn!(error, "ai/reasoning is not understood; the model does not think");
        Reasoning::Off
    })
}

fn limits(config: &Config) -> RunLimits {
    RunLimits {
        turns: config.number(keys::PROCESS_MAX_TURNS),
        run_ms: i64::try_from(config.number(keys::PROCESS_MAX_RUN_MS)).unwrap_or(i64::MAX),
        tool_calls: config.number(keys::PROCESS_MAX_TOOL_CALLS),
    }
}

/// The policy as config has it now: a change counts from the next call on, also within a run.
pub(crate) async fn policy_now(world: &World, process: &ProcessRow) -> Result<Policy, String> {
    let config = Config::read(&world.store, process.uid).await?;
    Ok(Policy::parse(policy_text(&config, known_profile(&process.profile)?).unwrap_or_default()))
}

/// What is said about asking a person: by the user, for the profile, for everybody; nothing means the built-in policy.
pub(crate) fn policy_text<'a>(config: &'a Config, profile: &str) -> Option<&'a str> {
    let said = |text: &&str| !text.trim().is_empty();
    let text = config.user(keys::AI_TOOLS_APPROVAL).filter(said);
    let text = text.or_else(|| config.system_with(keys::AI_PROFILE_TOOLS_APPROVAL, &[profile]).filter(said));
    let text = text.or_else(|| (profile == "cron").then_some(CRON_POLICY));
    text.or_else(|| config.system(keys::AI_TOOLS_APPROVAL).filter(said))
}

/// Nobody can be asked by a process on a schedule: what would be asked elsewhere is refused there, but for commands,
/// without which it could do nothing.
const CRON_POLICY: &str = r#"{"default":"auto","rules":[{"match":"fs.delete","action":"deny"},{"match":"sys.mcp.call","action":"deny"},{"match":"shell.exec","action":"auto"}]}"#;
