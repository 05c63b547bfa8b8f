//! A session with an MCP server, whichever generation it speaks: a request out, its result in.

use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::link::{Bounds, Link, SESSION};
use crate::message;
use crate::mirror;
use crate::sse_session::SseSession;

/// The revision without sessions.
pub(crate) const MODERN: &str = "2026-07-28";
/// The newest revision that begins with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";
/// All of these.
pub(crate) const LEGACY_KNOWN: [&str; 4] = [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];

const VERSION_HEADER: &str = "mcp-protocol-version";

/// A session.
pub(crate) struct Session {
    pub(crate) link: Link,
    pub(crate) kind: Kind,
    ids: AtomicU64,
    version: String,
}

/// What differs between the generations.
pub(crate) enum Kind {
    /// 2026-07-28: every request says all there is to say.
    Modern,
    /// Streamable HTTP with `initialize`, and a session where the server gave one.
    Legacy { version: String, session: Option<HeaderValue> },
    /// HTTP+SSE.
    Sse(Box<SseSession>),
}

impl Session {
    /// `version` is ours, which servers are told.
    pub(crate) fn new(link: Link, kind: Kind, version: &str) -> Session {
        Session { link, kind, ids: AtomicU64::new(0), version: version.to_string() }
    }

    /// Asks, with headers that mirror arguments where the generation has such.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        mirrored: HeaderMap,
        bounds: Bounds,
    ) -> Result<Value, Failure> {
        let id = self.next_id();
        let result = match &self.kind {
            Kind::Modern => {
                let (message, headers) = self.modern(id, method, params, mirrored);
                self.link.ask(&message, id, headers, bounds).await?.result
            }
            Kind::Legacy { version, session } => {
                let headers = legacy_headers(version, session.as_ref());
                let message = message::request(id, method, &params);
                let bounds = Bounds { resume: true, ..bounds };
                match self.link.ask(&message, id, headers.clone(), bounds).await {
                    Ok(answered) => answered.result,
                    Err(failure @ Failure::TimedOut(_)) => {
                        self.cancel(id, headers).await;
                        Err(failure)
                    }
                    Err(failure) => Err(failure),
                }
            }
            Kind::Sse(sse) => sse.ask(&message::request(id, method, &params), id, bounds.total).await,
        }?;
        match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => Ok(result),
            Some("input_required") => Err(Failure::Unexpected(
                "the server asks a question back, which this gateway cannot put to a person yet".to_string(),
            )),
            Some(_) => Err(Failure::Unexpected("the server answered in a way that is not known".to_string())),
        }
    }

    /// A request as 2026-07-28 has it, with its headers.
    pub(crate) fn modern(
        &self,
        id: u64,
        method: &str,
        mut params: Map<String, Value>,
        mut headers: HeaderMap,
    ) -> (Value, HeaderMap) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": client_info(&self.version),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params.insert("_meta".to_string(), meta);
        headers.insert(VERSION_HEADER, HeaderValue::from_static(MODERN));
        if let Ok(method) = HeaderValue::from_str(method) {
            headers.insert("mcp-method", method);
        }
        let named = match method {
            "tools/call" | "prompts/get" => params.get("name"),
            "resources/read" => params.get("uri"),
            _ => None,
        };
        if let Some(name) = named.and_then(Value::as_str).and_then(mirror::encoded) {
            headers.insert("mcp-name", name);
        }
        (message::request(id, method, &params), headers)
    }

    /// The headers of a stream of changes, where the generation opens one with `GET`.
    pub(crate) fn stream_headers(&self) -> Option<HeaderMap> {
        match &self.kind {
            Kind::Legacy { version, session } => Some(legacy_headers(version, session.as_ref())),
            Kind::Modern | Kind::Sse(_) => None,
        }
    }

    /// A number for a request.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether nothing can be asked over it any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(&self.kind, Kind::Sse(sse) if sse.is_over())
    }

    /// Tells the server that the session is over, where it has one.
    pub(crate) async fn close(&self) {
        if let Kind::Legacy { version, session: Some(session) } = &self.kind {
            self.link.delete(legacy_headers(version, Some(session))).await;
        }
    }

    /// Tells the server that nobody waits for an answer any more.
    async fn cancel(&self, id: u64, headers: HeaderMap) {
        let params = json!({ "requestId": id, "reason": "it took too long" });
        let message = message::notification("notifications/cancelled", Some(params));
        self.link.send(self.link.url.clone(), &message, headers).await;
    }
}

/// What servers are told of this client.
pub(crate) fn client_info(version: &str) -> Value {
    json!({ "name": "gsv", "title": "GSV", "version": version })
}

/// The headers of requests after `initialize`.
pub(crate) fn legacy_headers(version: &str, session: Option<&HeaderValue>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(version) = HeaderValue::from_str(version) {
        headers.insert(VERSION_HEADER, version);
    }
    if let Some(session) = session {
        headers.insert(SESSION, session.clone());
    }
    headers
}
