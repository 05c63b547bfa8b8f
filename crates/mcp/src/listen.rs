//! Listening to a server's changes: a stream that stays open, with `GET` for sessions and `subscriptions/listen` for
//! servers without. Servers that do not offer it are asked when somebody refreshes them.

use std::sync::Arc;

use base::limits::mcp as limits;
use http::HeaderMap;
use outgoing::Body;
use serde_json::{Map, Value, json};

use crate::area::Mcp;
use crate::connection::{Connection, Listener};
use crate::failure::Failure;
use crate::link::Bounds;
use crate::message::{self, Incoming};
use crate::session::{Kind, Session};
use crate::sse::Events;
use crate::sse_session::STREAM_ENDED;

const BOUNDS: Bounds =
    Bounds { total: limits::LISTEN_TOTAL, bytes: limits::LISTEN_MAX_BYTES as usize, resume: false };

/// Listens, where the server tells of changes and there is a place left.
pub(crate) fn begin(
    area: &Mcp,
    connection: &Connection,
    session: &Arc<Session>,
    capabilities: &Map<String, Value>,
) {
    let wanted = wanted(capabilities);
    // The older transport tells everything over the one stream it has.
    if wanted.is_empty() || matches!(session.kind, Kind::Sse(_)) {
        return;
    }
    let Ok(place) = area.listening.clone().try_acquire_owned() else { return };
    let task = tokio::spawn(listen(session.clone(), wanted)).abort_handle();
    connection.live().listener = Some(Listener { task, _place: place });
}

/// What the server tells of, in the words of a subscription.
fn wanted(capabilities: &Map<String, Value>) -> Map<String, Value> {
    let tells = |what: &str| capabilities.get(what).is_some_and(|it| it["listChanged"] == true);
    let all = ["tools", "resources", "prompts"].into_iter().filter(|what| tells(what));
    all.map(|what| (format!("{what}ListChanged"), Value::from(true))).collect()
}

async fn listen(session: Arc<Session>, wanted: Map<String, Value>) {
    let mut pause = limits::RECONNECT_MIN;
    loop {
        let heard = match open(&session, &wanted).await {
            Ok(body) => hear(&session, body).await,
            Err(Failure::SessionGone) => return session.link.tell(STREAM_ENDED),
            Err(failure) if failure.is_passing() => false,
            // It does not offer this.
            Err(failure) => return tracing::debug!(%failure, "an MCP server is not listened to"),
        };
        pause = if heard { limits::RECONNECT_MIN } else { (pause * 2).min(limits::RECONNECT_MAX) };
        session.link.clock.sleep(pause).await;
    }
}

async fn open(session: &Session, wanted: &Map<String, Value>) -> Result<Body, Failure> {
    let link = &session.link;
    if let Some(headers) = session.stream_headers() {
        return link.get(link.url.clone(), headers, BOUNDS).await;
    }
    let mut params = Map::new();
    params.insert("notifications".to_string(), json!(wanted));
    let (message, headers) =
        session.modern(session.next_id(), "subscriptions/listen", params, HeaderMap::new());
    let (_, body) = link.post(link.url.clone(), &message, headers, BOUNDS).await?;
    Ok(body)
}

/// Passes on what is told until the stream ends. True when there was anything.
async fn hear(session: &Session, body: Body) -> bool {
    let mut events = Events::new(body);
    let mut heard = false;
    while let Ok(Some(event)) = events.next().await {
        let Ok(messages) = message::parse(event.data.as_bytes()) else { continue };
        for message in messages {
            heard = true;
            match message {
                Incoming::Told(method) => session.link.tell(&method),
                Incoming::Asked { id, method } => {
                    let headers = session.stream_headers().unwrap_or_default();
                    let reply = message::reply(&id, &method);
                    session.link.send(session.link.url.clone(), &reply, headers).await;
                }
                Incoming::Answer(..) => {}
            }
        }
    }
    heard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_tells_of_is_wanted() {
        let capabilities =
            json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": { "listChanged": false } });
        let wanted = wanted(capabilities.as_object().unwrap());
        assert_eq!(Value::Object(wanted), json!({ "toolsListChanged": true }));
    }
}
