//! The way to providers: one pool of connections, http and https, with limits on time and size.
//! Redirects are not followed, so that a key goes only where it was meant to go.

mod guard;

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;

use crate::failure::{Cause, Failure};
use crate::secret::Secret;
use guard::Guard;
pub use guard::PrivateHosts;

type Pool = legacy::Client<HttpsConnector<HttpConnector<Guard>>, Full<Bytes>>;

/// What all providers share: connections, limits and the clock. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    /// Made when it is first needed: certificates of private authorities may have to be read.
    pool: Arc<OnceLock<Pool>>,
    hosts: PrivateHosts,
    pub(crate) limits: Arc<Limits>,
    pub(crate) clock: Clock,
}

/// How long and how much; the defaults are those of `base::limits`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How often one request is sent in all.
    pub attempts_max: u32,
    /// Pause before the second attempt.
    pub retry_pause_first: Duration,
    /// The longest wait a provider may ask for.
    pub retry_after_max: Duration,
    /// How long a provider may be silent.
    pub idle_timeout: Duration,
    /// Bytes of one answer.
    pub response_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            attempts_max: limits::MODEL_ATTEMPTS_MAX,
            retry_pause_first: limits::MODEL_RETRY_PAUSE_FIRST,
            retry_after_max: limits::MODEL_RETRY_AFTER_MAX,
            idle_timeout: limits::MODEL_IDLE_TIMEOUT,
            response_bytes_max: limits::MODEL_RESPONSE_BYTES_MAX,
        }
    }
}

impl Client {
    /// A client with no connection yet.
    pub fn new(clock: Clock, hosts: PrivateHosts) -> Client {
        Client::with_limits(clock, hosts, Limits::default())
    }

    /// A client with limits of its own.
    pub fn with_limits(clock: Clock, hosts: PrivateHosts, limits: Limits) -> Client {
        Client { pool: Arc::default(), hosts, limits: Arc::new(limits), clock }
    }

    fn pool(&self) -> &Pool {
        self.pool.get_or_init(|| pool(self.hosts))
    }

    /// Sends a call and waits for the head of its answer; an error status is a failure.
    pub(crate) async fn send(&self, call: &Call) -> Result<Response<Incoming>, Failure> {
        let request = call.request()?;
        self.hosts.check_literal(request.uri())?;
        let answer = tokio::time::timeout(self.limits.idle_timeout, self.pool().request(request)).await;
        let response = match answer {
            Err(_) => return Err(self.silent()),
            Ok(Err(error)) => return Err(unreachable(&error, &call.url)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response, call.key.as_ref()).await)
    }

    /// The next bytes of a body; `None` at its end.
    pub(crate) async fn next(&self, body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = tokio::time::timeout(self.limits.idle_timeout, body.frame()).await;
            match frame {
                Err(_) => return Err(self.silent()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a provider's answer broke off");
                    return Err(Failure::broken_off());
                }
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data()
                        && !data.is_empty()
                    {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Reads what little follows the last event of an answer, so that the connection can be used again.
    pub(crate) fn drain(&self, mut body: Incoming) {
        let client = self.clone();
        tokio::spawn(async move {
            let rest = async {
                let mut seen = 0;
                while let Ok(Some(piece)) = client.next(&mut body).await {
                    seen += piece.len();
                    if seen > limits::MODEL_ERROR_BYTES_MAX {
                        return;
                    }
                }
            };
            // A server that does not end its answer loses the connection.
            if tokio::time::timeout(limits::MODEL_DRAIN_TIMEOUT, rest).await.is_err() {
                tracing::debug!("a provider said its answer was over, and did not end it");
            }
        });
    }

    /// A whole body of at most `bytes_max`.
    pub(crate) async fn whole(&self, mut body: Incoming, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        while let Some(piece) = self.next(&mut body).await? {
            if out.len() + piece.len() > bytes_max {
                let text = format!("The provider's answer exceeds {bytes_max} bytes");
                return Err(Failure::new(Cause::Provider, text));
            }
            out.extend_from_slice(&piece);
        }
        Ok(out)
    }

    fn silent(&self) -> Failure {
        let text = format!("The provider was silent for {}ms", self.limits.idle_timeout.as_millis());
        Failure::new(Cause::Timeout, text)
    }

    async fn refusal(&self, response: Response<Incoming>, key: Option<&Secret>) -> Failure {
        let (head, mut body) = response.into_parts();
        let after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let mut bytes = Vec::new();
        while bytes.len() < limits::MODEL_ERROR_BYTES_MAX {
            match self.next(&mut body).await {
                Ok(Some(piece)) => bytes.extend_from_slice(&piece),
                // What came of the error text is all there is to say.
                Ok(None) | Err(_) => break,
            }
        }
        bytes.truncate(limits::MODEL_ERROR_BYTES_MAX);
        let text = error_text(&String::from_utf8_lossy(&bytes));
        Failure::of_status(head.status, &presentable(&text, key), after)
    }
}

fn pool(hosts: PrivateHosts) -> Pool {
    let mut plain = HttpConnector::new_with_resolver(Guard::new(hosts));
    plain.enforce_http(false);
    plain.set_nodelay(true);
    plain.set_connect_timeout(Some(limits::MODEL_CONNECT_TIMEOUT));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls::ClientConfig::clone(&tls::config()))
        .https_or_http()
        .enable_http1()
        .wrap_connector(plain);
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits::MODEL_IDLE_CONNECTION_KEPT)
        .pool_max_idle_per_host(limits::MODEL_IDLE_CONNECTIONS_MAX)
        .build(connector)
}

/// A provider's text as it may be shown: without the key, on one line, and not too long.
pub(crate) fn presentable(text: &str, key: Option<&Secret>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.scrub(text));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(limits::MODEL_ERROR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// One request to a provider.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
    /// Kept only to take it out of error texts.
    pub key: Option<Secret>,
}

impl Call {
    pub fn get(url: String) -> Call {
        Call { method: Method::GET, url, headers: Vec::new(), body: Bytes::new(), key: None }
    }

    pub fn post(url: String, content_type: &str, body: impl Into<Bytes>) -> Call {
        let call = Call { method: Method::POST, url, headers: Vec::new(), body: body.into(), key: None };
        call.header(http::header::CONTENT_TYPE, content_type)
    }

    /// Adds a header; one that can not be sent is left out.
    pub fn header(mut self, name: HeaderName, value: &str) -> Call {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Adds the key as a header of its own, or as a bearer token.
    pub fn key(mut self, name: HeaderName, prefix: &str, key: &Secret) -> Result<Call, Failure> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()))
            .map_err(|_| Failure::new(Cause::Key, "The API key has characters that no key has"))?;
        value.set_sensitive(true);
        self.headers.push((name, value));
        self.key = Some(key.clone());
        Ok(self)
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, Failure> {
        let bad = |_| Failure::new(Cause::Request, "The base URL of the model provider is no URL");
        let uri: Uri = self.url.parse::<Uri>().map_err(bad)?;
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            let text = "The base URL of the model provider must begin with http:// or https://";
            return Err(Failure::new(Cause::Request, text));
        }
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        let agent = HeaderValue::from_static("gsv");
        request.headers_mut().insert(http::header::USER_AGENT, agent);
        for (name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        Ok(request)
    }
}

/// The reason that is deepest in the chain says most; the address is not shown whole, it may hold a password.
fn unreachable(error: &legacy::Error, url: &str) -> Failure {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        reason = inner.to_string();
        source = inner.source();
    }
    let uri = url.parse::<Uri>().unwrap_or_default();
    let host = uri.host().unwrap_or("the provider");
    if guard::refused(error) {
        return Failure::new(Cause::Request, reason);
    }
    if let Some(refusal) = tls::refusal(error) {
        return Failure::new(Cause::Network, format!("{host} can not be trusted: {refusal}"));
    }
    let what = if error.is_connect() { "could not be reached" } else { "did not answer" };
    Failure::passing(Cause::Network, format!("{host} {what}: {reason}"))
}

/// What a provider says went wrong, wherever in its answer it says so.
pub(crate) fn error_text(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else { return body.trim().to_owned() };
    let value = match &value {
        Value::Array(items) => items.first().unwrap_or(&value),
        other => other,
    };
    let places = ["/error/message", "/error", "/message", "/detail"];
    let text = places.iter().find_map(|place| value.pointer(place)?.as_str());
    // OpenRouter wraps the text of the provider behind it.
    let inner = value.pointer("/error/metadata/raw").and_then(Value::as_str);
    match (text, inner) {
        (Some(text), Some(inner)) => format!("{text}: {inner}"),
        (Some(text), None) => text.to_owned(),
        _ => body.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_are_found_and_cut() {
        assert_eq!(error_text(r#"{"error":{"message":"no","type":"x"}}"#), "no");
        assert_eq!(error_text(r#"[{"error":{"message":"quota"}}]"#), "quota");
        assert_eq!(error_text(r#"{"error":"gone"}"#), "gone");
        assert_eq!(error_text("<html>bad</html>"), "<html>bad</html>");
        let long = presentable(&"key1 ".repeat(1_000), Some(&Secret::new("key1")));
        assert!(long.starts_with("[key] [key]") && long.chars().count() == limits::MODEL_ERROR_CHARS_MAX + 1);
    }

    #[test]
    fn a_call_shows_no_key() {
        let call = Call::post("https://x/v1".to_owned(), "application/json", "{}")
            .key(http::header::AUTHORIZATION, "Bearer ", &Secret::new("sk-hidden"))
            .expect("a good key");
        assert!(!format!("{call:?}").contains("hidden"));
    }
}
