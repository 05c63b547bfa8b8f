//! Opening a session: which generation a server speaks, and what it says of itself.
//!
//! The newest is tried first. Its answer counts only where it lists the revisions that the server supports: sloppy old
//! servers answer anything with an empty object. Everything else that comes from a server means the older `initialize`,
//! and where that is not taken either, the older HTTP+SSE.

use std::time::Duration;

use http::HeaderMap;
use protocol::sys::mcp::TransportType;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::link::{Bounds, Link, SESSION};
use crate::message;
use crate::session::{Kind, LEGACY, LEGACY_KNOWN, MODERN, Session, client_info, legacy_headers};
use crate::sse_session::SseSession;

/// How long a server may take to say that it is a modern one, before it is taken for an old one.
const PROBE_TIMEOUT: Duration = Duration::from_secs(8);

/// What a server says of itself.
pub(crate) struct Hello {
    pub(crate) capabilities: Map<String, Value>,
    pub(crate) instructions: Option<String>,
}

impl Hello {
    fn of(result: &Value) -> Hello {
        Hello {
            capabilities: result["capabilities"].as_object().cloned().unwrap_or_default(),
            instructions: result["instructions"].as_str().map(str::to_string),
        }
    }
}

/// Opens a session. `version` is ours.
pub(crate) async fn open(
    link: &Link,
    transport: TransportType,
    version: &str,
) -> Result<(Session, Hello), Failure> {
    if transport == TransportType::Sse {
        return over_sse(link, version).await;
    }
    if let Some(opened) = modern(link, version).await? {
        return Ok(opened);
    }
    match legacy(link, version).await {
        Err(failure @ (Failure::Status(400 | 404 | 405) | Failure::Rpc { .. }))
            if transport == TransportType::Auto =>
        {
            // What the first answer was says more than that there is no stream either.
            over_sse(link, version).await.map_err(|other| match other {
                Failure::Unauthorized(challenge) => Failure::Unauthorized(challenge),
                _ => failure,
            })
        }
        opened => opened,
    }
}

/// Asks a server whether it is a modern one. `None` when it is not known to be.
async fn modern(link: &Link, version: &str) -> Result<Option<(Session, Hello)>, Failure> {
    let session = Session::new(link.clone(), Kind::Modern, version);
    let bounds = Bounds { total: PROBE_TIMEOUT, ..Bounds::CONNECT };
    let result = match session.ask("server/discover", Map::new(), HeaderMap::new(), bounds).await {
        Ok(result) => result,
        Err(failure @ (Failure::Unauthorized(_) | Failure::Unreachable(_) | Failure::Inside(_))) => {
            return Err(failure);
        }
        Err(Failure::Rpc { code: -32022, data, message }) => {
            let supported = data.as_ref().and_then(|data| data["supported"].as_array());
            let is_old = |version: &Value| version.as_str().is_some_and(|it| LEGACY_KNOWN.contains(&it));
            if supported.is_some_and(|supported| !supported.is_empty() && !supported.iter().any(is_old)) {
                return Err(Failure::Unexpected(format!(
                    "the server speaks no revision of MCP that is known here: {message}"
                )));
            }
            return Ok(None);
        }
        Err(_) => return Ok(None),
    };
    let supported = result["supportedVersions"].as_array();
    let speaks = supported.is_some_and(|versions| versions.iter().any(|it| it.as_str() == Some(MODERN)));
    Ok(speaks.then(|| (session, Hello::of(&result))))
}

fn initialize(version: &str) -> Map<String, Value> {
    let params = json!({
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client_info(version),
    });
    params.as_object().cloned().unwrap_or_default()
}

/// The revision that a server chose.
fn chosen(result: &Value) -> Result<String, Failure> {
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    match LEGACY_KNOWN.contains(&version) {
        true => Ok(version.to_string()),
        false => {
            Err(Failure::Unexpected("the server speaks no revision of MCP that is known here".to_string()))
        }
    }
}

async fn legacy(link: &Link, version: &str) -> Result<(Session, Hello), Failure> {
    let message = message::request(1, "initialize", &initialize(version));
    let answered = link.ask(&message, 1, HeaderMap::new(), Bounds::CONNECT).await?;
    let result = answered.result?;
    let chosen = chosen(&result)?;
    let id = answered.headers.get(SESSION).cloned();
    let headers = legacy_headers(&chosen, id.as_ref());
    link.send(link.url.clone(), &message::notification("notifications/initialized", None), headers).await;
    let session = Session::new(link.clone(), Kind::Legacy { version: chosen, session: id }, version);
    session.next_id();
    Ok((session, Hello::of(&result)))
}

async fn over_sse(link: &Link, version: &str) -> Result<(Session, Hello), Failure> {
    let sse = SseSession::open(link).await?;
    let message = message::request(1, "initialize", &initialize(version));
    let result = sse.ask(&message, 1, Bounds::CONNECT.total).await?;
    chosen(&result)?;
    sse.send(&message::notification("notifications/initialized", None)).await;
    let session = Session::new(link.clone(), Kind::Sse(Box::new(sse)), version);
    session.next_id();
    Ok((session, Hello::of(&result)))
}
