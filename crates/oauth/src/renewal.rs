//! Token renewal: access tokens are renewed before they end, single-flight, so that a refresh token that is good for one
//! use is used once.
//!
//! A sweep looks for tokens that end soon. Whoever uses one earlier asks with `sys.oauth.refresh`. Within a gateway a
//! lock per account keeps two from asking at the same time, between gateways a lease; whoever comes second finds the
//! account changed and asks nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::limits::oauth as limits;
use base::sync::lock;
use protocol::error::Error;
use protocol::sys::oauth::Account;
use store::oauth::Renewed;

use crate::area::OAuth;
use crate::token::{self, Granted, TokenError};

/// Arms the sweep, first soon after the start.
pub(crate) fn schedule(area: &Arc<OAuth>) {
    let weak: Weak<OAuth> = Arc::downgrade(area);
    area.sweep.does(move |_| {
        let area = weak.upgrade()?;
        tokio::spawn(async move { sweep(&area).await });
        Some(limits::SWEEP_INTERVAL)
    });
    area.sweep.within(limits::SWEEP_INTERVAL);
}

/// A token is there that ends some time: the sweep is in time for it.
pub(crate) fn note(area: &OAuth, account: &Account) {
    let Some(expires_at) = account.expires_at else { return };
    let left = Duration::from_millis((expires_at - area.gateway.now_ms()).max(0) as u64);
    // What lives shorter than that is renewed when it is used, not for ever in advance.
    if left > limits::RENEWED_BEFORE {
        area.sweep.within(left.saturating_sub(limits::RENEWED_BEFORE));
    }
}

async fn sweep(area: &Arc<OAuth>) {
    let now_ms = area.gateway.now_ms();
    let soon = now_ms + limits::RENEWED_BEFORE.as_millis() as i64;
    let due = match area.gateway.store().oauth().ending_by(soon, limits::SWEEP_MAX).await {
        Ok(due) => due,
        Err(error) => return tracing::warn!(%error, "tokens that end could not be looked for"),
    };
    for account in due {
        let ends = account.expires_at.unwrap_or(now_ms);
        let ended_long_ago = ends < now_ms - limits::ENDED_MAX.as_millis() as i64;
        // One that never lived longer than the margin would be renewed by every sweep.
        let is_short = ends - account.updated_at <= limits::RENEWED_BEFORE.as_millis() as i64;
        if ended_long_ago || is_short {
            continue;
        }
        let (id, provider) = (account.account_id.clone(), account.provider.clone());
        if let Err(error) = renew(area, account).await {
            tracing::info!(account = id, provider, %error, "tokens could not be renewed");
        }
    }
}

/// Renews the tokens of an account, unless somebody else has just done so. Returns it as it is then.
pub(crate) async fn renew(area: &Arc<OAuth>, account: Account) -> Result<Account, Error> {
    let id = account.account_id.clone();
    let turn = lock(&area.renewing).entry(id.clone()).or_default().clone();
    let renewed = {
        let _turn = turn.lock().await;
        renew_alone(area, account).await
    };
    drop(turn);
    lock(&area.renewing).retain(|_, turn| Arc::strong_count(turn) > 1);
    renewed
}

async fn renew_alone(area: &Arc<OAuth>, seen: Account) -> Result<Account, Error> {
    let store = area.gateway.store();
    let name = format!("oauth:{}", seen.account_id);
    let lease = store.leases().acquire(&name, area.gateway.now_ms(), limits::RENEWAL_LEASE).await?;
    let Some(lease) = lease else {
        return Err(Error::too_busy("the tokens are being renewed, try again in a moment"));
    };
    // What was there when it was asked for may have been renewed while this waited.
    let current = store.oauth().account_by_id(&seen.account_id).await?;
    let renewed = match current {
        None => Err(gone()),
        Some(current) if current.updated_at != seen.updated_at => Ok(current),
        Some(current) => ask(area, current).await,
    };
    store.leases().release(lease).await?;
    renewed
}

async fn ask(area: &Arc<OAuth>, account: Account) -> Result<Account, Error> {
    let store = area.gateway.store().oauth();
    let now_ms = area.gateway.now_ms();
    let tokens = store.use_account(&account.account_id, now_ms).await?.ok_or_else(gone)?;
    let endpoint = store.token_endpoint(&account.account_id).await?;
    let (Some(refresh), Some(endpoint)) = (tokens.refresh_token, endpoint) else {
        return Err(sign_in_again(&account, "the service gave no refresh token"));
    };
    let mut form = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.0.as_str()),
        ("client_id", &account.client_id),
    ];
    form.extend(account.resource.as_deref().map(|resource| ("resource", resource)));
    match token::ask(area.client().await?, &endpoint, &form).await {
        Ok(granted) => keep(area, account, granted).await,
        Err(error) if error.is_final() => {
            let TokenError::Refused { error: code, .. } = &error else {
                return Err(failed(&account, &error));
            };
            let why = code.clone().unwrap_or_else(|| error.to_string());
            store.end_renewing(&account, &why, area.gateway.now_ms()).await?;
            Err(sign_in_again(&account, &why))
        }
        Err(error) => Err(failed(&account, &error)),
    }
}

async fn keep(area: &Arc<OAuth>, account: Account, granted: Granted) -> Result<Account, Error> {
    let store = area.gateway.store().oauth();
    let now_ms = area.gateway.now_ms();
    let expires_at = granted.expires_in_ms.map(|ms| now_ms.saturating_add(ms));
    let renewed = Renewed { tokens: granted.tokens, expires_at, scope: granted.scope, now_ms };
    if !store.renew_account(&account, renewed).await? {
        // The person has signed in anew meanwhile: what that gave is newer.
        tracing::info!(account = account.account_id, "an account was changed while its tokens were renewed");
    }
    let account = store.account_by_id(&account.account_id).await?.ok_or_else(gone)?;
    note(area, &account);
    Ok(account)
}

fn gone() -> Error {
    Error::not_found("The account is not connected any more")
}

fn failed(account: &Account, error: &TokenError) -> Error {
    Error { retryable: Some(true), ..Error::new(503, format!("{}: {error}", account.provider)) }
}

fn sign_in_again(account: &Account, why: &str) -> Error {
    Error::conflict(format!(
        "{} wants a new sign-in ({why}): start it with sys.oauth.start",
        account.provider
    ))
}
