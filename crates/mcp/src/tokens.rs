//! Tokens of the accounts that servers are signed in with: read from the store, renewed before they end and once when a
//! server refuses them. Renewing itself is the area of accounts' work, one at a time.

use std::sync::Arc;

use gateway::Origin;
use http::HeaderValue;
use protocol::sys::oauth::{Account, ConnectionKind};
use serde_json::json;
use store::mcp::ServerRow;

use crate::area::Mcp;
use crate::failure::Failure;
use crate::held::Held;

/// The token of a server's account, renewed if it ends soon. `None` without an account.
pub(crate) async fn current(
    area: &Arc<Mcp>,
    row: &ServerRow,
) -> Result<Option<(HeaderValue, Held)>, Failure> {
    let Some(account) = account(area, row).await? else { return Ok(None) };
    let held = held(&account);
    if held.is_ending(area.gateway.now_ms()) {
        // One that cannot be renewed may still be good for a moment; the server will say.
        if let Err(error) = renew(area, row, &account).await {
            tracing::info!(server = row.server_id, %error, "a token for an MCP server could not be renewed");
        }
    }
    read(area, row).await
}

/// Another token than the one that was refused; `None` when there is no other.
pub(crate) async fn other_than(
    area: &Arc<Mcp>,
    row: &ServerRow,
    refused: Option<&Held>,
) -> Result<Option<(HeaderValue, Held)>, Failure> {
    let Some(account) = account(area, row).await? else { return Ok(None) };
    let is_known = |account: &Account| refused.is_some_and(|refused| *refused == held(account));
    if is_known(&account)
        && let Err(error) = renew(area, row, &account).await
    {
        tracing::info!(server = row.server_id, %error, "a refused token for an MCP server could not be renewed");
        return Ok(None);
    }
    read(area, row).await
}

fn held(account: &Account) -> Held {
    Held {
        account_id: account.account_id.clone(),
        updated_at: account.updated_at,
        expires_at: account.expires_at,
    }
}

async fn account(area: &Mcp, row: &ServerRow) -> Result<Option<Account>, Failure> {
    let oauth = area.gateway.store().oauth();
    Ok(oauth.account(row.uid, ConnectionKind::McpServer, &row.server_id, "default").await?)
}

async fn read(area: &Mcp, row: &ServerRow) -> Result<Option<(HeaderValue, Held)>, Failure> {
    let Some(account) = account(area, row).await? else { return Ok(None) };
    // A token is for the server that it was asked for, and for no other.
    if !account.resource.as_deref().is_none_or(|resource| crate::sign_in::covers(resource, &row.url)) {
        return Ok(None);
    }
    let oauth = area.gateway.store().oauth();
    let Some(tokens) = oauth.use_account(&account.account_id, area.gateway.now_ms()).await? else {
        return Ok(None);
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {}", tokens.access_token.0))
        .map_err(|_| Failure::Unexpected("the token of the sign-in cannot be sent".to_string()))?;
    value.set_sensitive(true);
    Ok(Some((value, held(&account))))
}

async fn renew(area: &Arc<Mcp>, row: &ServerRow, account: &Account) -> Result<(), protocol::error::Error> {
    let caller = area.gateway.on_behalf_of(row.uid, Origin::Inside).await?;
    let args = json!({ "accountId": account.account_id, "uid": row.uid }).to_string();
    area.gateway.call(caller, &area.gateway.random().uuid(), "sys.oauth.refresh", &args).await.map(|_| ())
}
