//! Bearer token of a connected account in the place of a provider's key: found in the store, renewed when it is about to
//! end.

use protocol::config::{AI_API_KEY, AI_OAUTH_ACCOUNT};
use protocol::ids::Uid;
use protocol::sys::oauth::{Account, ConnectionKind};

use crate::config::Config;
use crate::world::World;

/// How long a setup is good at least, in milliseconds, however short its token lives: a run must come to its next turn.
const GOOD_MIN_MS: i64 = 5_000;

/// A token that ends within so many milliseconds is renewed before it is used.
const MARGIN_MS: i64 = 60_000;

/// An account whose token stands for the key.
pub(crate) struct AccountKey {
    /// What to do when the provider refuses it.
    pub(crate) hint: String,
    /// Until when the token is good, in milliseconds.
    pub(crate) good_until_ms: Option<i64>,
}

/// Puts the token of the account that the user has chosen into the config, as the user's own key: it goes where that
/// would go and nowhere else.
pub(crate) async fn use_account(
    world: &World,
    uid: Uid,
    config: &mut Config,
) -> Result<Option<AccountKey>, String> {
    let name = config.text(AI_OAUTH_ACCOUNT).trim().to_string();
    if name.is_empty() || config.user(AI_API_KEY).is_some_and(|key| !key.trim().is_empty()) {
        return Ok(None);
    }
    let found = find(world, uid, &name).await?;
    let account = found.ok_or_else(|| {
        let key = config.place(AI_OAUTH_ACCOUNT);
        format!("{key} is {name}, but no such account is connected: sign in with sys.oauth.start (kind ai-provider)")
    })?;
    let ends_soon = |account: &Account| account.expires_at.is_some_and(|at| at <= world.now_ms() + MARGIN_MS);
    let account = if ends_soon(&account) {
        world.gateway.renew_account(uid, &account.account_id).await.map_err(|error| error.message)?;
        find(world, uid, &name).await?.ok_or_else(|| format!("the account {name} is gone"))?
    } else {
        account
    };
    let used = world.store.oauth().use_account(&account.account_id, world.now_ms()).await;
    let tokens =
        used.map_err(|error| error.to_string())?.ok_or_else(|| format!("the account {name} is gone"))?;
    config.set_own(AI_API_KEY, tokens.access_token.0);
    let hint = format!("The token is from the connected account {name}; sign in again if it was revoked.");
    let good_until_ms = account.expires_at.map(|at| (at - MARGIN_MS / 2).max(world.now_ms() + GOOD_MIN_MS));
    Ok(Some(AccountKey { hint, good_until_ms }))
}

/// An account by its provider, or by provider and key.
async fn find(world: &World, uid: Uid, name: &str) -> Result<Option<Account>, String> {
    let (provider, key) = name.split_once('/').unwrap_or((name, "default"));
    let found = world.store.oauth().account(uid, ConnectionKind::AiProvider, provider, key).await;
    found.map_err(|error| error.to_string())
}
