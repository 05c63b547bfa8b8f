//! The older HTTP+SSE transport (2024-11-05): answers come over one stream of events, requests are posted to the address
//! that the stream begins with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::limits;
use base::sync::lock;
use http::HeaderMap;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use url::Url;

use crate::failure::Failure;
use crate::link::{Bounds, Link};
use crate::message::{self, Incoming};
use crate::sse::Events;

/// A session over such a stream. It ends with the stream, and the stream with it.
pub(crate) struct SseSession {
    link: Link,
    /// Where requests are posted.
    endpoint: Url,
    waiting: Waiting,
    reader: AbortHandle,
}

/// Who waits for which answer; `None` once the stream is over.
type Waiting = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<Result<Value, Failure>>>>>>;

impl Drop for SseSession {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl SseSession {
    /// Opens the stream and waits for the address to post to.
    pub(crate) async fn open(link: &Link) -> Result<SseSession, Failure> {
        let bounds = Bounds {
            total: limits::mcp::LISTEN_TOTAL,
            bytes: limits::mcp::LISTEN_MAX_BYTES as usize,
            resume: false,
        };
        let opening = async {
            let mut events = Events::new(link.get(link.url.clone(), HeaderMap::new(), bounds).await?);
            let first = events.next().await?;
            Ok::<_, Failure>((events, first))
        };
        let wait = limits::mcp::CONNECT_REQUEST_TIMEOUT;
        let opened =
            link.clock.timeout(wait, opening).await.map_err(|_| Failure::TimedOut(wait.as_secs()))?;
        let (events, first) = opened?;
        let first = first.filter(|event| event.name == "endpoint");
        let no_endpoint = || Failure::Unexpected("the stream does not say where to post to".to_string());
        let first = first.ok_or_else(no_endpoint)?;
        let endpoint = link.url.join(first.data.trim()).map_err(|_| no_endpoint())?;
        if endpoint.origin() != link.url.origin() {
            return Err(Failure::Unexpected("the server wants requests posted to another host".to_string()));
        }
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let task = read(link.clone(), endpoint.clone(), events, waiting.clone());
        let reader = tokio::spawn(task).abort_handle();
        Ok(SseSession { link: link.clone(), endpoint, waiting, reader })
    }

    /// Sends a request and waits for its answer on the stream.
    pub(crate) async fn ask(&self, message: &Value, id: u64, total: Duration) -> Result<Value, Failure> {
        let (answer, answered) = oneshot::channel();
        match &mut *lock(&self.waiting) {
            Some(waiting) => waiting.insert(id, answer),
            None => return Err(Failure::SessionGone),
        };
        let bounds = Bounds { total, bytes: limits::mcp::SMALL_ANSWER_MAX_BYTES, resume: false };
        let work = async {
            let (_, body) = self.link.post(self.endpoint.clone(), message, HeaderMap::new(), bounds).await?;
            body.drain();
            answered.await.unwrap_or_else(|_| Err(closed()))
        };
        let result = self.link.clock.timeout(total, work).await;
        if let Some(waiting) = &mut *lock(&self.waiting) {
            waiting.remove(&id);
        }
        result.unwrap_or(Err(Failure::TimedOut(total.as_secs())))
    }

    /// Sends what has no answer.
    pub(crate) async fn send(&self, message: &Value) {
        self.link.send(self.endpoint.clone(), message, HeaderMap::new()).await;
    }

    /// Whether its stream is over.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.waiting).is_none()
    }
}

fn closed() -> Failure {
    Failure::Unreachable("the server closed the connection before it answered".to_string())
}

/// Reads the stream to its end and hands the answers out.
async fn read(link: Link, endpoint: Url, mut events: Events, waiting: Waiting) {
    while let Ok(Some(event)) = events.next().await {
        let Ok(messages) = message::parse(event.data.as_bytes()) else { continue };
        for message in messages {
            match message {
                Incoming::Answer(id, result) => {
                    let waits = lock(&waiting).as_mut().and_then(|waiting| waiting.remove(&id));
                    // Whoever does not wait any more does not miss it.
                    if let Some(waits) = waits
                        && waits.send(result).is_err()
                    {
                        tracing::debug!("an answer of an MCP server came too late");
                    }
                }
                Incoming::Told(method) => link.tell(&method),
                Incoming::Asked { id, method } => {
                    let reply = message::reply(&id, &method);
                    link.send(endpoint.clone(), &reply, HeaderMap::new()).await;
                }
            }
        }
    }
    let left = lock(&waiting).take();
    for (_, waits) in left.into_iter().flatten() {
        if waits.send(Err(closed())).is_err() {
            tracing::debug!("nobody waited for an answer any more");
        }
    }
    link.tell(STREAM_ENDED);
}

/// What is told when the stream is over: not a notification of MCP.
pub(crate) const STREAM_ENDED: &str = "gsv/stream-ended";
