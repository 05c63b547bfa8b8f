//! Sign-in to an MCP server: finds out where people sign in and what this gateway is known as there, then starts a flow of
//! the area of accounts for the server's owner.

mod metadata;

use std::sync::Arc;

use base::limits;
use bytes::Bytes;
use gateway::Origin;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use outgoing::{Redirects, Request};
use protocol::config;
use serde_json::{Value, json};
use store::mcp::{Client, ServerRow, SignIn};
use url::Url;

pub(crate) use metadata::covers;
use metadata::{AuthorizationServer, Resource};

use crate::area::Mcp;
use crate::checks::is_safe;
use crate::failure::{Challenge, Failure};

/// Where the area of accounts describes this gateway, and where it takes people back.
const CLIENT_DOCUMENT: &str = "/.well-known/oauth-client/gsv.json";
const CALLBACK: &str = "/oauth/callback";
/// A link that works for less than that is not shown again.
const LINK_LEFT_MS: i64 = 60_000;

/// Starts a sign-in, or goes on with the one that waits, and notes where the person goes.
pub(crate) async fn begin(area: &Arc<Mcp>, row: &ServerRow, challenge: &Challenge) -> Result<(), Failure> {
    let now_ms = area.gateway.now_ms();
    let waits = row.sign_in.as_ref().is_some_and(|sign_in| sign_in.expires_at > now_ms + LINK_LEFT_MS);
    if waits && !challenge.is_insufficient {
        return Ok(());
    }
    let sign_in = start(area, row, challenge).await?;
    area.gateway.store().mcp().set_sign_in(&row.server_id, Some(&sign_in), now_ms).await?;
    Ok(())
}

async fn start(area: &Arc<Mcp>, row: &ServerRow, challenge: &Challenge) -> Result<SignIn, Failure> {
    let origin = own_origin(area, row).await?;
    let redirect_uri = format!("{origin}{CALLBACK}");
    let server =
        Url::parse(&row.url).map_err(|_| Failure::Inside("the server's URL is broken".to_string()))?;
    let resource = resource(area, &server, challenge).await?;
    let issuer = resource.issuer.clone().unwrap_or_else(|| server.origin().ascii_serialization());
    let service = authorization_server(area, &issuer, resource.issuer.is_some()).await?;
    let client_id = client_id(area, row, &service, &origin, &redirect_uri).await?;
    let scope = service.scope(challenge.scope.as_deref().or(resource.scope.as_deref()));
    let mut args = json!({
        "uid": row.uid,
        "kind": "mcp-server",
        "provider": row.server_id,
        "label": row.name,
        "authorizationEndpoint": service.authorization_endpoint,
        "tokenEndpoint": service.token_endpoint,
        "clientId": client_id,
        "redirectUri": redirect_uri,
        "resource": resource.resource.unwrap_or_else(|| metadata::canonical(&server)),
    });
    if let Some(scope) = scope {
        args["scope"] = Value::from(scope);
    }
    if let Some(issuer) = &service.issuer {
        args["issuer"] = Value::from(issuer.as_str());
    }
    let inside =
        |error: protocol::error::Error| Failure::Unexpected(format!("no sign-in: {}", error.message));
    let caller = area.gateway.on_behalf_of(row.uid, Origin::Inside).await.map_err(inside)?;
    let id = area.gateway.random().uuid();
    let answer =
        area.gateway.call(caller, &id, "sys.oauth.start", &args.to_string()).await.map_err(inside)?;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let url = answer["authorizationUrl"].as_str();
    let url = url.ok_or_else(|| Failure::Inside("no sign-in was started".to_string()))?;
    Ok(SignIn { url: url.to_string(), expires_at: answer["flow"]["expiresAt"].as_i64().unwrap_or_default() })
}

/// The origin that people come back to.
async fn own_origin(area: &Mcp, row: &ServerRow) -> Result<String, Failure> {
    let public = area.gateway.store().config().setting(config::SERVER_PUBLIC_URL).await?;
    if let Ok(public) = Url::parse(public.trim()) {
        return Ok(public.origin().ascii_serialization());
    }
    row.callback_host.clone().ok_or_else(|| {
        Failure::Unexpected(
            "the server wants a sign-in, and this gateway does not know its own address: set \
             config/server/public_url, or add the server with callbackHost"
                .to_string(),
        )
    })
}

/// The description of the protected resource (RFC 9728); an empty one for servers from before it.
async fn resource(area: &Mcp, server: &Url, challenge: &Challenge) -> Result<Resource, Failure> {
    let named = challenge.resource_metadata.as_deref();
    for place in metadata::resource_places(server, named) {
        if let Some(json) = fetch(area, place).await? {
            return Resource::read(&json, server);
        }
    }
    Ok(Resource::default())
}

/// The description of the authorization server (RFC 8414, or of OpenID Connect).
async fn authorization_server(
    area: &Mcp,
    issuer: &str,
    is_named: bool,
) -> Result<AuthorizationServer, Failure> {
    let url = Url::parse(issuer).ok().filter(is_safe);
    let url = url.ok_or_else(|| {
        Failure::Unexpected("the server names an authorization server that is no https URL".to_string())
    })?;
    for place in metadata::server_places(&url) {
        if let Some(json) = fetch(area, place).await? {
            return AuthorizationServer::read(&json, is_named.then_some(issuer));
        }
    }
    match is_named {
        true => {
            Err(Failure::Unexpected(format!("the authorization server {issuer} does not describe itself")))
        }
        // As 2025-03-26 had it: the endpoints are where they always are.
        false => Ok(AuthorizationServer::usual(&url)),
    }
}

/// What the authorization server knows this gateway as: the address of a document, or a client that is registered there.
/// A client of one server is never shown to another.
async fn client_id(
    area: &Mcp,
    row: &ServerRow,
    service: &AuthorizationServer,
    origin: &str,
    redirect_uri: &str,
) -> Result<String, Failure> {
    if service.takes_documents && origin.starts_with("https://") {
        return Ok(format!("{origin}{CLIENT_DOCUMENT}"));
    }
    let issuer = service.issuer.clone().unwrap_or_else(|| service.authorization_endpoint.clone());
    let known = row.client.as_ref();
    if let Some(known) = known.filter(|known| known.issuer == issuer && known.redirect_uri == redirect_uri) {
        return Ok(known.client_id.clone());
    }
    let Some(endpoint) = &service.registration_endpoint else {
        return Err(Failure::Unexpected(
            "the server's sign-in takes no new clients: give it a token of your own with a header"
                .to_string(),
        ));
    };
    let url = Url::parse(endpoint).ok().filter(is_safe);
    let url = url.ok_or_else(|| Failure::Unexpected("the place to register is no https URL".to_string()))?;
    let mut request = bounded(Request::new(Method::POST, url));
    request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let document = json!({
        "client_name": "GSV",
        "application_type": if origin.starts_with("https://") { "web" } else { "native" },
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    request.body = Some(Bytes::from(document.to_string()));
    let answer = area.client().await?.send(request).await?;
    let status = answer.last.status;
    let json: Value = serde_json::from_slice(&answer.body.whole().await?).unwrap_or_default();
    let given = json["client_id"].as_str().filter(|id| !id.is_empty() && id.len() <= 512);
    let Some(client_id) = given.filter(|_| status.is_success()) else {
        return Err(Failure::Unexpected(format!(
            "the server's sign-in did not register this gateway (HTTP status {})",
            status.as_u16()
        )));
    };
    let client = Client { issuer, redirect_uri: redirect_uri.to_string(), client_id: client_id.to_string() };
    area.gateway.store().mcp().set_client(&row.server_id, &client).await?;
    Ok(client.client_id)
}

/// A document, if there is one.
async fn fetch(area: &Mcp, place: Url) -> Result<Option<Value>, Failure> {
    if !is_safe(&place) {
        return Ok(None);
    }
    let mut request = bounded(Request::new(Method::GET, place));
    request.redirects = Redirects::SameOrigin { max: 3 };
    let answer = area.client().await?.send(request).await?;
    if !answer.last.status.is_success() {
        return Ok(None);
    }
    let body = answer.body.whole().await?;
    Ok(serde_json::from_slice::<Value>(&body).ok().filter(Value::is_object))
}

fn bounded(mut request: Request) -> Request {
    request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    request.limits.total = limits::mcp::CONNECT_REQUEST_TIMEOUT;
    request.limits.idle = limits::mcp::CONNECT_REQUEST_TIMEOUT;
    request.limits.body_bytes = limits::mcp::METADATA_MAX_BYTES as u64;
    request
}
