//! HTTP exchange with a provider, over `outgoing`: what a call is, and what a refusal or a lost connection means.
//! Redirects are not followed, so that a key goes only where it was meant to go.

use std::sync::Arc;
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use bytes::Bytes;
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use outgoing::{Body, Error, PrivateHosts, Response, Settings, Stage};
use serde_json::Value;

use crate::failure::{Cause, Failure};
use crate::secret::Secret;

/// What all providers share: connections, limits and the clock. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    outgoing: outgoing::Client,
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
            attempts_max: limits::model::ATTEMPTS_MAX,
            retry_pause_first: limits::model::RETRY_PAUSE_FIRST,
            retry_after_max: limits::model::RETRY_AFTER_MAX,
            idle_timeout: limits::model::IDLE_TIMEOUT,
            response_bytes_max: limits::model::RESPONSE_MAX_BYTES,
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
        let outgoing = outgoing::Client::new(Settings::new(hosts));
        Client { outgoing, limits: Arc::new(limits), clock }
    }

    /// Sends a call and waits for the head of its answer; an error status is a failure.
    pub(crate) async fn send(&self, call: &Call) -> Result<Body, Failure> {
        let request = self.request(call)?;
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let answer = self.outgoing.send(request).await.map_err(|error| unanswered(&error, &host))?;
        if answer.last.status.is_success() {
            return Ok(answer.body);
        }
        Err(refusal(answer, call.key.as_ref()).await)
    }

    /// Sends a call and reads its whole answer, of at most `bytes_max`.
    pub(crate) async fn fetch(&self, call: &Call, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        let body = self.send(call).await?;
        body.limited(bytes_max as u64).whole().await.map_err(|error| lost(&error))
    }

    fn request(&self, call: &Call) -> Result<outgoing::Request, Failure> {
        let url = outgoing::parse_url(&call.url).map_err(|error| unanswered(&error, ""))?;
        let mut request = outgoing::Request::new(call.method.clone(), url);
        request.headers = call.headers.clone();
        request.body = call.body.clone();
        request.limits.idle = self.limits.idle_timeout;
        request.limits.body_bytes = self.limits.response_bytes_max as u64;
        Ok(request)
    }
}

async fn refusal(answer: Response, key: Option<&Secret>) -> Failure {
    let Response { last, mut body, .. } = answer;
    let after = last.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    let mut bytes = Vec::new();
    while bytes.len() < limits::model::ERROR_MAX_BYTES {
        match body.next().await {
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            // What came of the error text is all there is to say.
            Ok(None) | Err(_) => break,
        }
    }
    bytes.truncate(limits::model::ERROR_MAX_BYTES);
    let text = error_text(&String::from_utf8_lossy(&bytes));
    Failure::of_status(last.status, &presentable(&text, key), after)
}

/// What it means that no answer came. The address is not shown whole, it may hold a password.
fn unanswered(error: &Error, host: &str) -> Failure {
    match error {
        Error::BadUrl(_) => Failure::new(Cause::Request, "The base URL of the model provider is no URL"),
        Error::Scheme(_) => Failure::new(
            Cause::Request,
            "The base URL of the model provider must begin with http:// or https://",
        ),
        Error::Refused { .. } => {
            Failure::new(Cause::Request, "Model providers at private addresses are not allowed here")
        }
        Error::Untrusted { .. } => Failure::new(Cause::Network, error.to_string()),
        Error::TimedOut { stage: Stage::Silence | Stage::Total, .. } => lost(error),
        Error::Connect { why, .. } => {
            Failure::passing(Cause::Network, format!("{host} could not be reached: {why}"))
        }
        Error::Unresolved { .. } | Error::TimedOut { stage: Stage::Connecting, .. } => {
            Failure::passing(Cause::Network, format!("{host} could not be reached: {error}"))
        }
        _ => Failure::passing(Cause::Network, format!("{host} did not answer: {error}")),
    }
}

/// What it means that an answer did not come to its end.
pub(crate) fn lost(error: &Error) -> Failure {
    match error {
        Error::TimedOut { stage: Stage::Silence, limit } => {
            Failure::new(Cause::Timeout, format!("The provider was silent for {}ms", limit.as_millis()))
        }
        Error::TimedOut { .. } => Failure::new(Cause::Timeout, error.to_string()),
        Error::BodyTooLarge(most) => {
            Failure::new(Cause::Provider, format!("The model's answer exceeds {most} bytes"))
        }
        _ => {
            tracing::debug!(%error, "a provider's answer broke off");
            Failure::broken_off()
        }
    }
}

/// A provider's text as it may be shown: without the key, on one line, and not too long.
pub(crate) fn presentable(text: &str, key: Option<&Secret>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.scrub(text));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(limits::model::ERROR_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// One request to a provider.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub method: Method,
    pub url: String,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    /// Kept only to take it out of error texts.
    pub key: Option<Secret>,
}

impl Call {
    pub fn get(url: String) -> Call {
        let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static("gsv"))]);
        Call { method: Method::GET, url, headers, body: None, key: None }
    }

    pub fn post(url: String, content_type: &str, body: impl Into<Bytes>) -> Call {
        let call = Call { method: Method::POST, body: Some(body.into()), ..Call::get(url) };
        call.header(http::header::CONTENT_TYPE, content_type)
    }

    /// Adds a header; one that cannot be sent is left out.
    pub fn header(mut self, name: HeaderName, value: &str) -> Call {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(name, value);
        }
        self
    }

    /// Adds the key as a header of its own, or as a bearer token.
    pub fn key(mut self, name: HeaderName, prefix: &str, key: &Secret) -> Result<Call, Failure> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()))
            .map_err(|_| Failure::new(Cause::Key, "The API key has characters that no key has"))?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        self.key = Some(key.clone());
        Ok(self)
    }
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
        assert!(
            long.starts_with("[key] [key]") && long.chars().count() == limits::model::ERROR_MAX_CHARS + 1
        );
    }

    #[test]
    fn a_call_shows_no_key() {
        let call = Call::post("https://x/v1".to_owned(), "application/json", "{}")
            .key(http::header::AUTHORIZATION, "Bearer ", &Secret::new("sk-hidden"))
            .expect("a good key");
        assert!(!format!("{call:?}").contains("hidden"));
    }
}
