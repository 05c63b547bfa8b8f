//! Handlers of `sys.oauth.*`.

use base::limits;
use gateway::{Caller, Cx};
use protocol::config;
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::sys::oauth::{Flow, Forget, Forgotten, List, Listed, Refresh, Refreshed, Start, Started};
use store::oauth::{NewFlow, Secret};

use crate::area::OAuth;
use crate::endpoints::{self, endpoint, optional, required};
use crate::renewal;
use crate::request::{Secrets, authorization_url, state_hash};

pub(crate) async fn start(cx: Cx<OAuth>, args: Start) -> Result<Started, Error> {
    let uid = whose(&cx.caller, args.uid, "start OAuth")?;
    let gateway = &cx.area.gateway;
    let public_url = gateway.store().config().setting(config::SERVER_PUBLIC_URL).await?;
    let authorization = endpoint("authorizationEndpoint", &args.authorization_endpoint)?;
    let extra = endpoints::extra(&args)?;
    let now_ms = gateway.now_ms();
    let issuer = optional("issuer", args.issuer.as_deref(), 2_048)?;
    if let Some(issuer) = &issuer {
        endpoint("issuer", issuer)?;
    }
    let flow = Flow {
        flow_id: gateway.random().uuid(),
        uid,
        kind: args.kind,
        provider: required("provider", &args.provider, 200)?,
        account_key: optional("accountKey", args.account_key.as_deref(), 200)?
            .unwrap_or_else(|| "default".to_string()),
        label: optional("label", args.label.as_deref(), 200)?,
        authorization_endpoint: authorization.to_string(),
        token_endpoint: endpoint("tokenEndpoint", &args.token_endpoint)?.to_string(),
        client_id: required("clientId", &args.client_id, 512)?,
        // As it was given: services compare it as a text.
        redirect_uri: endpoints::redirect(&args.redirect_uri, &public_url)
            .map(|_| args.redirect_uri.trim().to_string())?,
        scope: optional("scope", args.scope.as_deref(), 1_000)?,
        resource: optional("resource", args.resource.as_deref(), 2_048)?,
        created_at: now_ms,
        expires_at: now_ms + limits::oauth::FLOW_KEPT.as_millis() as i64,
        issuer,
    };
    let secrets = Secrets::new(gateway.random());
    let authorization_url = authorization_url(&authorization, &flow, &secrets, &extra);
    let new = NewFlow {
        flow: flow.clone(),
        state_hash: state_hash(&secrets.state),
        extra_params: extra,
        code_verifier: Secret(secrets.verifier),
    };
    if !gateway.store().oauth().add_flow(new, limits::oauth::FLOWS_MAX).await? {
        let most = limits::oauth::FLOWS_MAX;
        let why = format!("{most} connections wait for you already: finish one, or wait ten minutes");
        return Err(Error::new(429, why));
    }
    Ok(Started { authorization_url, flow })
}

pub(crate) async fn list(cx: Cx<OAuth>, args: List) -> Result<Listed, Error> {
    let uid = match args.uid {
        None if cx.caller.is_root() => None,
        uid => Some(whose(&cx.caller, uid, "list OAuth accounts")?),
    };
    let store = cx.area.gateway.store().oauth();
    let flows = match args.include_pending {
        Some(true) => Some(store.flows(uid, cx.area.gateway.now_ms()).await?),
        _ => None,
    };
    Ok(Listed { accounts: store.accounts(uid).await?, flows })
}

pub(crate) async fn forget(cx: Cx<OAuth>, args: Forget) -> Result<Forgotten, Error> {
    let Some(uid) = within_reach(&cx.caller, args.uid) else { return Ok(Forgotten { forgotten: false }) };
    let forgotten = cx.area.gateway.store().oauth().remove_account(&args.account_id, uid).await?;
    Ok(Forgotten { forgotten })
}

pub(crate) async fn refresh(cx: Cx<OAuth>, args: Refresh) -> Result<Refreshed, Error> {
    let Some(uid) = within_reach(&cx.caller, args.uid) else { return Ok(Refreshed { account: None }) };
    let found = cx.area.gateway.store().oauth().account_by_id(&args.account_id).await?;
    let found = found.filter(|account| uid.is_none_or(|uid| account.uid == uid));
    match found {
        Some(account) => Ok(Refreshed { account: Some(renewal::renew(&cx.area, account).await?) }),
        None => Ok(Refreshed { account: None }),
    }
}

/// The user that is meant: oneself, or for root anybody.
fn whose(caller: &Caller, uid: Option<Uid>, what: &str) -> Result<Uid, Error> {
    match uid {
        Some(uid) if uid != caller.uid() && !caller.is_root() => {
            Err(Error::forbidden(format!("Permission denied: cannot {what} for another user")))
        }
        uid => Ok(uid.unwrap_or(caller.uid())),
    }
}

/// Whose accounts are meant, everybody's where the inner one is none; nothing where they are out of reach.
fn within_reach(caller: &Caller, uid: Option<Uid>) -> Option<Option<Uid>> {
    match uid {
        None if caller.is_root() => Some(None),
        None => Some(Some(caller.uid())),
        Some(uid) if uid == caller.uid() || caller.is_root() => Some(Some(uid)),
        Some(_) => None,
    }
}
