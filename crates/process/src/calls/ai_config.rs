//! `ai.config`: the resolved setup of a process with its secrets left out.

use std::sync::Arc;

use protocol::ai::ConfigResult;
use protocol::error::Error;
use protocol::literal::Nullable;
use protocol::proc::profile::Profile;
use store::processes::ProcessRow;

use crate::config::Config;
use crate::host::Host;
use crate::prepare::{choose, known_model, known_profile, max_tokens, policy_text, reasoning, use_account};
use crate::world::World;
use crate::{prompt, skills};

impl Host {
    /// What a process works with under a profile, `task` when none is named. `apiKey` is always empty: keys do not
    /// leave the gateway.
    pub async fn ai_config(
        &self,
        process: &ProcessRow,
        profile: Option<&str>,
    ) -> Result<ConfigResult, Error> {
        redacted(&self.world, process, profile.unwrap_or("task")).await
    }
}

/// The same, for whoever has a world.
pub(super) async fn redacted(
    world: &World,
    process: &ProcessRow,
    profile: &str,
) -> Result<ConfigResult, Error> {
    let profile = known_profile(profile).map_err(Error::not_found)?;
    let identity = Arc::new(world.gateway.identity(process).await?);
    // What is wrong with the config is nobody's bad argument: there is no model as long as it stays so.
    let unavailable = |text: String| Error::new(503, text);
    let mut config = Config::read(&world.store, process.uid).await.map_err(unavailable)?;
    use_account(world, process.uid, &mut config).await.map_err(unavailable)?;
    let chosen = choose(&config, &world.discovery).await.map_err(unavailable)?;
    let known = known_model(&config, &chosen);
    let view = world.gateway.view(process, identity);
    Ok(ConfigResult {
        profile: Some(Profile(profile.to_string())),
        provider: chosen.endpoint.kind.as_str().to_string(),
        model: chosen.model,
        api_key: String::new(),
        reasoning: Some(reasoning(&config).as_str().to_string()),
        max_tokens: max_tokens(&config, &known.model),
        context_window_tokens: known.model.context_window_tokens,
        context_window_source: known.window_source,
        system_context_files: Some(prompt::system_files(&config)),
        profile_context_files: Some(prompt::profile_files(&config, profile)),
        skill_index: Some(skills::index(&view, profile).await),
        profile_approval_policy: Nullable::from(policy_text(&config, profile).map(str::to_string)),
        max_context_bytes: config.number(protocol::config::AI_MAX_CONTEXT_BYTES),
    })
}
