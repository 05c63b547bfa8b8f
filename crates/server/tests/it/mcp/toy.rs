//! A small MCP server for tests, with a sign-in of its own. It speaks the wire format as real ones do, and misbehaves on
//! demand.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::sync::broadcast;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Sessions with `initialize`.
    Legacy,
    /// 2026-07-28.
    Modern,
    /// Sessions, and an empty answer to whatever is not known.
    Sloppy,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub headers: HeaderMap,
    pub body: Value,
}

#[derive(Clone)]
pub struct Toy(Arc<Mutex<Inner>>);

pub struct Inner {
    mode: Mode,
    pub base: String,
    pub requests: Vec<Seen>,
    pub sessions: HashSet<String>,
    next: u64,
    pub description: String,
    pub breaks_off: bool,
    pub floods: bool,
    tells: broadcast::Sender<String>,
    pub wants_token: bool,
    /// The one token, and the one refresh token, that are good.
    pub token: String,
    pub refresh: String,
    pub codes: Vec<String>,
    pub grants: Vec<String>,
    pub registered: u64,
    /// Who the authorization server says it is, in place of itself.
    pub issuer: Option<String>,
}

impl Toy {
    pub async fn start(mode: Mode) -> (Toy, String) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let toy = Toy(Arc::new(Mutex::new(Inner {
            mode,
            base: base.clone(),
            requests: Vec::new(),
            sessions: HashSet::new(),
            next: 0,
            description: "Says it again.".into(),
            breaks_off: false,
            floods: false,
            tells: broadcast::channel(16).0,
            wants_token: false,
            token: String::new(),
            refresh: String::new(),
            codes: Vec::new(),
            grants: Vec::new(),
            registered: 0,
            issuer: None,
        })));
        let router = axum::Router::new()
            .route("/mcp", post(message).get(stream).delete(|| async { StatusCode::OK }))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(authorization_server))
            .route("/register", post(register))
            .route("/token", post(token))
            .with_state(toy.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (toy, base)
    }

    pub fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }

    /// Tells all who listen, once somebody does.
    pub async fn tell(&self, method: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": method }).to_string();
        while self.with(|inner| inner.tells.send(format!("data: {message}\n\n"))).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Inner {
    fn refused(&self, headers: &HeaderMap) -> Option<Response> {
        let given = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_good = given == format!("Bearer {}", self.token) && !self.token.is_empty();
        (self.wants_token && !is_good).then(|| {
            let place = format!("{}/.well-known/oauth-protected-resource/mcp", self.base);
            let challenge = format!("Bearer resource_metadata=\"{place}\", scope=\"tools:use\"");
            (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response()
        })
    }

    fn tools(&self, cursor: Option<&str>) -> Value {
        let tool = |name: &str, description: &str, properties: Value| {
            let schema = json!({ "type": "object", "properties": properties });
            json!({ "name": name, "description": description, "inputSchema": schema })
        };
        let echo = tool("echo", &self.description, json!({ "say": { "type": "string" } }));
        let region = json!({ "where": { "type": "string", "x-mcp-header": "Where" } });
        match cursor {
            None => json!({ "tools": [echo, tool("fail", "Fails.", json!({}))], "nextCursor": "2" }),
            Some(_) => {
                json!({ "tools": [tool("région", "A place.", region), tool("plain", "", json!({})), 5, {}] })
            }
        }
    }
}

async fn message(State(toy): State<Toy>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut inner = toy.0.lock().unwrap();
    inner.requests.push(Seen { headers: headers.clone(), body: body.clone() });
    if let Some(refused) = inner.refused(&headers) {
        return refused;
    }
    let (method, id, mode) =
        (body["method"].as_str().unwrap_or_default().to_string(), body["id"].clone(), inner.mode);
    let session = headers.get("mcp-session-id").and_then(|it| it.to_str().ok()).unwrap_or_default();
    if mode != Mode::Modern && method != "initialize" {
        if session.is_empty() && mode == Mode::Sloppy {
            return json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string().into_response();
        }
        if session.is_empty() {
            return (StatusCode::BAD_REQUEST, "no session").into_response();
        }
        if !inner.sessions.contains(session) {
            return StatusCode::NOT_FOUND.into_response();
        }
    }
    if id.is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let params = &body["params"];
    let capabilities = json!({ "tools": { "listChanged": true }, "resources": {} });
    let result = match method.as_str() {
        "initialize" => {
            inner.next += 1;
            let session = format!("session-{}", inner.next);
            inner.sessions.insert(session.clone());
            let result = json!({
                "protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                "serverInfo": { "name": "toy", "version": "1" }, "instructions": "Be kind.",
            });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
            return ([("mcp-session-id", session), ("content-type", "application/json".into())], answer)
                .into_response();
        }
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "resultType": "complete",
        }),
        "tools/list" => inner.tools(params["cursor"].as_str()),
        "resources/list" => json!({ "resources": [1, 2, 3] }),
        "tools/call" if inner.breaks_off => return events("data: {\"jso".to_string()),
        "tools/call" if inner.floods => {
            return events(format!("data: {}\n\n", "x".repeat(9 * 1024 * 1024)));
        }
        "tools/call" => match params["name"].as_str() {
            Some("fail") => json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),
            Some("echo" | "région") => json!({
                "content": [{ "type": "text", "text": params["arguments"].to_string() }],
                "structuredContent": params["arguments"],
            }),
            _ => {
                let error = json!({ "code": -32602, "message": "no such tool" });
                return json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_response();
            }
        },
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_response();
        }
    };
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    match method.as_str() {
        // Answers come as events too, with something of the server's own before them.
        "tools/call" => {
            let ping = json!({ "jsonrpc": "2.0", "id": "p1", "method": "ping" });
            events(format!(": hello\n\ndata: {ping}\n\nevent: message\ndata: {answer}\n\n"))
        }
        _ => ([("content-type", "application/json")], answer.to_string()).into_response(),
    }
}

fn events(text: String) -> Response {
    ([("content-type", "text/event-stream")], text).into_response()
}

async fn stream(State(toy): State<Toy>, headers: HeaderMap) -> Response {
    let (refused, tells) = toy.with(|inner| (inner.refused(&headers), inner.tells.subscribe()));
    if let Some(refused) = refused {
        return refused;
    }
    let body = futures_util::stream::unfold(tells, |mut tells| async move {
        let text = tells.recv().await.ok()?;
        Some((Ok::<_, Infallible>(text), tells))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(body)).into_response()
}

async fn resource(State(toy): State<Toy>) -> String {
    let base = toy.with(|inner| inner.base.clone());
    json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }).to_string()
}

async fn authorization_server(State(toy): State<Toy>) -> String {
    let (base, issuer) = toy.with(|inner| (inner.base.clone(), inner.issuer.clone()));
    json!({
        "issuer": issuer.unwrap_or_else(|| base.clone()), "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
        "code_challenge_methods_supported": ["S256"],
    })
    .to_string()
}

async fn register(State(toy): State<Toy>) -> Response {
    let number = toy.with(|inner| {
        inner.registered += 1;
        inner.registered
    });
    (StatusCode::CREATED, json!({ "client_id": format!("registered-{number}") }).to_string()).into_response()
}

async fn token(State(toy): State<Toy>, body: Bytes) -> Response {
    let form: std::collections::HashMap<String, String> =
        url::form_urlencoded::parse(&body).into_owned().collect();
    toy.with(|inner| {
        let is_good = match form["grant_type"].as_str() {
            "authorization_code" => inner.codes.contains(&form["code"]),
            _ => form["refresh_token"] == inner.refresh,
        };
        if !is_good {
            return (StatusCode::BAD_REQUEST, json!({ "error": "invalid_grant" }).to_string()).into_response();
        }
        inner.grants.push(form["grant_type"].clone());
        inner.next += 1;
        inner.token = format!("token-{}", inner.next);
        inner.refresh = format!("refresh-{}", inner.next);
        let tokens = json!({
            "access_token": inner.token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": inner.refresh,
        });
        tokens.to_string().into_response()
    })
}
