//! Redirection endpoint `GET /oauth/callback`, and the client metadata document by which services know this gateway.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base::sync::lock;
use gateway::Origin;
use http::StatusCode;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HOST};
use protocol::config;
use protocol::sys::oauth::{Account, ConnectionKind};
use serde_json::{Map, Value, json};
use store::oauth::{NewAccount, OpenFlow};
use url::{Url, form_urlencoded};

use crate::area::OAuth;
use crate::endpoints::{CALLBACK_PATH, is_from, is_loopback};
use crate::request::state_hash;
use crate::token::{self, TokenError};
use crate::{page, renewal};

/// Where the client metadata document is.
const METADATA_PATH: &str = "/.well-known/oauth-client/gsv.json";

/// The routes.
pub(crate) fn router(area: Arc<OAuth>) -> axum::Router {
    axum::Router::new()
        .route(CALLBACK_PATH, get(callback))
        .route(METADATA_PATH, get(metadata))
        .with_state(area)
}

/// What a service sends along with the person.
#[derive(Default)]
struct Returned {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    iss: Option<String>,
}

impl Returned {
    /// What is in the query; of a parameter that stands there twice nothing is believed.
    fn read(query: &str) -> Option<Returned> {
        let mut returned = Returned::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match name.as_ref() {
                "state" => &mut returned.state,
                "code" => &mut returned.code,
                "error" => &mut returned.error,
                "error_description" => &mut returned.error_description,
                "iss" => &mut returned.iss,
                _ => continue,
            };
            if field.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        Some(returned)
    }
}

/// Why nothing is connected.
struct Failure(StatusCode, String);

impl Failure {
    fn bad(why: impl Into<String>) -> Failure {
        Failure(StatusCode::BAD_REQUEST, why.into())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        Failure(StatusCode::SERVICE_UNAVAILABLE, protocol::error::Error::from(error).message)
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Failure {
        Failure(StatusCode::BAD_GATEWAY, error.to_string())
    }
}

async fn callback(State(area): State<Arc<OAuth>>, request: Request) -> Response {
    let Some(returned) = Returned::read(request.uri().query().unwrap_or_default()) else {
        return page::failed(StatusCode::BAD_REQUEST, "The same parameter came twice; start again");
    };
    match area.take(returned).await {
        Ok(account) => page::connected(account.label.as_deref().unwrap_or(&account.provider)),
        Err(Failure(status, why)) => page::failed(status, &why),
    }
}

/// Holds a flow while its code is exchanged: a code is worth one request, and a browser that asks twice gets one answer.
struct Exchanging<'a> {
    area: &'a OAuth,
    flow_id: String,
}

impl<'a> Exchanging<'a> {
    fn begin(area: &'a OAuth, flow_id: &str) -> Option<Exchanging<'a>> {
        let flow_id = flow_id.to_string();
        lock(&area.exchanging).insert(flow_id.clone()).then_some(Exchanging { area, flow_id })
    }
}

impl Drop for Exchanging<'_> {
    fn drop(&mut self) {
        lock(&self.area.exchanging).remove(&self.flow_id);
    }
}

impl OAuth {
    /// Takes a person who has come back: exchanges the code and keeps the account.
    async fn take(self: &Arc<Self>, returned: Returned) -> Result<Account, Failure> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let state = given(returned.state).ok_or_else(|| Failure::bad("Missing OAuth state"))?;
        let store = self.gateway.store().oauth();
        let found = store.flow(&state_hash(&state), self.gateway.now_ms()).await?;
        let open = found.ok_or_else(|| Failure::bad("OAuth flow not found or expired"))?;
        let flow = &open.flow;
        // A mix-up: another service's answer in the place of the one that was asked. Its words are not for showing.
        if !is_from(returned.iss.as_deref(), flow.issuer.as_deref(), &flow.authorization_endpoint) {
            store.remove_flow(&flow.flow_id).await?;
            return Err(Failure::bad("The answer is not from the service that was asked; start again"));
        }
        if let Some(error) = given(returned.error) {
            store.remove_flow(&flow.flow_id).await?;
            let more = given(returned.error_description).map(|more| format!(" ({more})")).unwrap_or_default();
            return Err(Failure::bad(format!("OAuth provider rejected authorization: {error}{more}")));
        }
        let code = given(returned.code).ok_or_else(|| Failure::bad("Missing OAuth authorization code"))?;
        let _exchanging = Exchanging::begin(self, &flow.flow_id).ok_or_else(|| {
            Failure(StatusCode::CONFLICT, "The code is being exchanged already".to_string())
        })?;
        let account = self.exchange(&open, &code).await?;
        renewal::note(self, &account);
        self.tell(&account);
        Ok(account)
    }

    async fn exchange(&self, open: &OpenFlow, code: &str) -> Result<Account, Failure> {
        let flow = &open.flow;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &flow.client_id),
            ("code", code),
            ("redirect_uri", &flow.redirect_uri),
            ("code_verifier", &open.code_verifier.0),
        ];
        form.extend(flow.resource.as_deref().map(|resource| ("resource", resource)));
        let client =
            self.client().await.map_err(|error| Failure(StatusCode::SERVICE_UNAVAILABLE, error.message))?;
        let granted = token::ask(client, &flow.token_endpoint, &form).await?;
        let now_ms = self.gateway.now_ms();
        let new = NewAccount {
            account_id: self.gateway.random().uuid(),
            uid: flow.uid,
            kind: flow.kind,
            provider: flow.provider.clone(),
            account_key: flow.account_key.clone(),
            label: flow.label.clone(),
            scope: granted.scope.or_else(|| flow.scope.clone()),
            resource: flow.resource.clone(),
            client_id: flow.client_id.clone(),
            token_endpoint: flow.token_endpoint.clone(),
            tokens: granted.tokens,
            expires_at: granted.expires_in_ms.map(|ms| now_ms.saturating_add(ms)),
            metadata: Map::from_iter([("authorizedAt".to_string(), Value::from(now_ms))]),
            now_ms,
        };
        let kept = self.gateway.store().oauth().keep_account(&flow.flow_id, new).await?;
        kept.ok_or_else(|| Failure::bad("OAuth flow not found or expired"))
    }

    /// Who waits for an account hears of it: an MCP server is connected anew, as its owner would do it.
    fn tell(self: &Arc<Self>, account: &Account) {
        if account.kind != ConnectionKind::McpServer {
            return;
        }
        let (area, uid) = (self.clone(), account.uid);
        let args = json!({ "serverId": account.provider }).to_string();
        tokio::spawn(async move {
            let called = async {
                let caller = area.gateway.on_behalf_of(uid, Origin::Inside).await?;
                area.gateway.call(caller, &area.gateway.random().uuid(), "sys.mcp.refresh", &args).await
            };
            if let Err(error) = called.await {
                tracing::info!(%error, "an MCP server was not connected after its sign-in");
            }
        });
    }
}

/// What services that take a URL as a client's name read there.
async fn metadata(State(area): State<Arc<OAuth>>, request: Request) -> Response {
    let public_url =
        area.gateway.store().config().setting(config::SERVER_PUBLIC_URL).await.unwrap_or_default();
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let Some(origin) = origin(&public_url, host) else {
        return (StatusCode::BAD_REQUEST, "which host was asked? set config/server/public_url\n")
            .into_response();
    };
    let document = json!({
        "client_id": format!("{origin}{METADATA_PATH}"),
        "client_name": "GSV",
        "application_type": "web",
        "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
        "redirect_uris": [format!("{origin}{CALLBACK_PATH}")],
        "code_challenge_methods_supported": ["S256"],
    });
    let headers =
        [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store"), (ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (headers, document.to_string()).into_response()
}

/// The origin that others know this gateway by: what root has set, else what was asked; a name of this machine is asked
/// without TLS, any other is taken to be behind it.
fn origin(public_url: &str, host: &str) -> Option<String> {
    if let Ok(public) = Url::parse(public_url.trim()) {
        return Some(public.origin().ascii_serialization());
    }
    let plain = Url::parse(&format!("http://{host}/"))
        .ok()
        .filter(|url| url.path() == "/" && url.query().is_none())?;
    let scheme = if is_loopback(&plain) { "http" } else { "https" };
    let url = Url::parse(&format!("{scheme}://{host}/")).ok()?;
    (url.username().is_empty() && url.password().is_none()).then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_the_one_that_root_has_set_or_that_was_asked() {
        assert_eq!(origin("https://gsv.example/", "localhost:1").as_deref(), Some("https://gsv.example"));
        assert_eq!(origin("", "localhost:8787").as_deref(), Some("http://localhost:8787"));
        assert_eq!(origin("", "gsv.example").as_deref(), Some("https://gsv.example"));
        assert_eq!(origin("", "[::1]:9").as_deref(), Some("http://[::1]:9"));
        for odd in ["", "a b", "me@host", "host/path", "host?x"] {
            assert_eq!(origin("", odd), None, "{odd}");
        }
    }
}
