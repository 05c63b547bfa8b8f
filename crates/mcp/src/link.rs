//! HTTP side of a connection to an MCP server: one message out, its answer in, as JSON or as a stream of events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use outgoing::{Body, Client, Redirects, Request};
use serde_json::Value;
use url::Url;

use crate::failure::{Challenge, Failure};
use crate::message::{self, Incoming, NOBODYS};
use crate::sse::Events;

/// Hears what servers tell of their own accord, by the name of the notification.
pub(crate) type Told = Arc<dyn Fn(&str) + Send + Sync>;

/// The way to a server.
#[derive(Clone)]
pub(crate) struct Link {
    client: Client,
    pub(crate) clock: Clock,
    pub(crate) url: Url,
    /// What its user wants sent along.
    headers: HeaderMap,
    /// What it was signed in with.
    token: Arc<Mutex<Option<HeaderValue>>>,
    told: Told,
}

/// How long an exchange may take and how much it may bring.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) total: Duration,
    pub(crate) bytes: usize,
    /// Whether an answer whose stream broke is asked for again, as servers with sessions offer.
    pub(crate) resume: bool,
}

impl Bounds {
    /// Of what is asked while a server is being connected.
    pub(crate) const CONNECT: Bounds = Bounds {
        total: limits::mcp::CONNECT_REQUEST_TIMEOUT,
        bytes: limits::mcp::ANSWER_MAX_BYTES,
        resume: false,
    };
}

/// An answer and the headers it came with.
pub(crate) struct Answered {
    pub(crate) headers: HeaderMap,
    pub(crate) result: Result<Value, Failure>,
}

impl Link {
    pub(crate) fn new(client: Client, clock: Clock, url: Url, headers: HeaderMap, told: Told) -> Link {
        Link { client, clock, url, headers, token: Arc::default(), told }
    }

    /// Puts a token in the place of the one before.
    pub(crate) fn sign_in(&self, token: Option<HeaderValue>) {
        *lock(&self.token) = token;
    }

    /// Whether requests carry a token of a sign-in.
    pub(crate) fn is_signed_in(&self) -> bool {
        lock(&self.token).is_some()
    }

    /// Whether its user gives credentials of their own.
    pub(crate) fn has_own_credentials(&self) -> bool {
        self.headers.contains_key(AUTHORIZATION)
    }

    /// Something was told.
    pub(crate) fn tell(&self, method: &str) {
        (self.told)(method);
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(
        &self,
        message: &Value,
        id: u64,
        headers: HeaderMap,
        bounds: Bounds,
    ) -> Result<Answered, Failure> {
        let work = self.ask_unbounded(message, id, &headers, bounds);
        match self.clock.timeout(bounds.total, work).await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::TimedOut(bounds.total.as_secs())),
        }
    }

    async fn ask_unbounded(
        &self,
        message: &Value,
        id: u64,
        headers: &HeaderMap,
        bounds: Bounds,
    ) -> Result<Answered, Failure> {
        let (came_with, body) = self.post(self.url.clone(), message, headers.clone(), bounds).await?;
        let result = match is_events(&came_with) {
            false => {
                let text = body.whole().await?;
                let messages = message::parse(&text)?;
                let answer = self.sort(messages, id, headers).await;
                answer.unwrap_or_else(|| {
                    Err(Failure::Unexpected("the server did not answer the request".to_string()))
                })
            }
            true => self.read_events(Events::new(body), id, headers, bounds).await,
        };
        Ok(Answered { headers: came_with, result })
    }

    /// Looks for an answer in a stream of events; a stream that breaks is taken up again where that is offered.
    async fn read_events(
        &self,
        mut events: Events,
        id: u64,
        headers: &HeaderMap,
        bounds: Bounds,
    ) -> Result<Value, Failure> {
        for _ in 0..=limits::mcp::RESUME_MAX {
            let broke = loop {
                match events.next().await {
                    Ok(Some(event)) if event.data.is_empty() => {}
                    Ok(Some(event)) => {
                        let messages = message::parse(event.data.as_bytes())?;
                        if let Some(answer) = self.sort(messages, id, headers).await {
                            return answer;
                        }
                    }
                    Ok(None) => {
                        break Failure::Unreachable("the answer ended before it was complete".to_string());
                    }
                    Err(failure) => break failure,
                }
            };
            let Some(last_id) = events.last_id().filter(|_| bounds.resume).map(str::to_string) else {
                return Err(broke);
            };
            let pause = events.retry().unwrap_or(Duration::from_secs(1)).min(limits::mcp::RESUME_PAUSE_MAX);
            self.clock.sleep(pause).await;
            let mut again = headers.clone();
            let last_id = HeaderValue::from_str(&last_id).map_err(|_| broke.clone())?;
            again.insert("last-event-id", last_id);
            let body = self.get(self.url.clone(), again, bounds).await.map_err(|_| broke)?;
            events = Events::new(body);
        }
        Err(Failure::Unreachable("the answer broke off again and again".to_string()))
    }

    /// Takes the answer to one request out of messages; passes on the rest.
    async fn sort(
        &self,
        messages: Vec<Incoming>,
        id: u64,
        headers: &HeaderMap,
    ) -> Option<Result<Value, Failure>> {
        let mut answer = None;
        for message in messages {
            match message {
                Incoming::Answer(of, result) if of == id || (of == NOBODYS && result.is_err()) => {
                    answer = Some(result);
                }
                Incoming::Answer(..) => {}
                Incoming::Told(method) => self.tell(&method),
                Incoming::Asked { id, method } => {
                    self.send(self.url.clone(), &message::reply(&id, &method), headers.clone()).await;
                }
            }
        }
        answer
    }

    /// Sends what has no answer. A server that does not take it will show so when it is asked something.
    pub(crate) async fn send(&self, to: Url, message: &Value, headers: HeaderMap) {
        match self.post(to, message, headers, Bounds::CONNECT).await {
            Ok((_, body)) => body.drain(),
            Err(failure) => tracing::debug!(%failure, "an MCP server did not take a notification"),
        }
    }

    /// Posts a message; the head of a good answer and its body.
    pub(crate) async fn post(
        &self,
        to: Url,
        message: &Value,
        headers: HeaderMap,
        bounds: Bounds,
    ) -> Result<(HeaderMap, Body), Failure> {
        let mut request = self.request(Method::POST, to, headers, bounds);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        request.body = Some(Bytes::from(message.to_string()));
        let has_session = request.headers.contains_key(SESSION);
        let response = self.client.send(request).await?;
        let (status, headers) = (response.last.status, response.last.headers);
        if status.is_success() {
            return Ok((headers, response.body));
        }
        Err(refusal(status, &headers, response.body, has_session).await)
    }

    /// Opens a stream of events.
    pub(crate) async fn get(&self, from: Url, headers: HeaderMap, bounds: Bounds) -> Result<Body, Failure> {
        let mut request = self.request(Method::GET, from, headers, bounds);
        request.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let has_session = request.headers.contains_key(SESSION);
        let response = self.client.send(request).await?;
        let (status, headers) = (response.last.status, response.last.headers);
        if !status.is_success() {
            return Err(refusal(status, &headers, response.body, has_session).await);
        }
        match is_events(&headers) {
            true => Ok(response.body),
            false => Err(Failure::Unexpected("the server has no stream of events there".to_string())),
        }
    }

    /// Ends a session, as far as the server cares.
    pub(crate) async fn delete(&self, headers: HeaderMap) {
        let request = self.request(Method::DELETE, self.url.clone(), headers, Bounds::CONNECT);
        if let Err(error) = self.client.send(request).await {
            tracing::debug!(%error, "an MCP server was not told that its session is over");
        }
    }

    fn request(&self, method: Method, url: Url, headers: HeaderMap, bounds: Bounds) -> Request {
        let mut request = Request::new(method, url);
        request.headers = self.headers.clone();
        if let Some(token) = lock(&self.token).clone() {
            request.headers.insert(AUTHORIZATION, token);
        }
        request.headers.extend(headers);
        request.redirects = Redirects::SameOrigin { max: 3 };
        request.keep_method = true;
        request.limits.total = bounds.total;
        request.limits.idle = bounds.total;
        request.limits.body_bytes = bounds.bytes as u64;
        request
    }
}

/// The header that names a session.
pub(crate) const SESSION: &str = "mcp-session-id";

fn is_events(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// What a refusal means. Its words count only where they are an error of JSON-RPC.
async fn refusal(status: StatusCode, headers: &HeaderMap, body: Body, has_session: bool) -> Failure {
    let challenge = Challenge::of(headers);
    match status {
        StatusCode::UNAUTHORIZED => return Failure::Unauthorized(challenge),
        StatusCode::FORBIDDEN if challenge.is_insufficient => return Failure::Unauthorized(challenge),
        _ => {}
    }
    let text = body.limited(limits::mcp::SMALL_ANSWER_MAX_BYTES as u64).whole().await.unwrap_or_default();
    let error = serde_json::from_slice::<Value>(&text).ok().and_then(|json| json.get("error").cloned());
    if status == StatusCode::NOT_FOUND && has_session {
        return Failure::SessionGone;
    }
    match error {
        Some(error) if error["code"].is_i64() => Failure::of_rpc(&error),
        _ => Failure::Status(status.as_u16()),
    }
}
