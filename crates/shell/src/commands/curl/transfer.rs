//! Adapter between `curl` and the HTTP client `outgoing`: what was ordered becomes a request, the answer and the way to
//! it become what `curl` prints, and an error gets the exit code that curl gives it.

use std::time::Duration;

use base::limits;
use http::header::{self, HeaderMap, HeaderName};
use outgoing::{Client, Error, Exchange, PrivateHosts, Redirects, Request, Settings, Stage};
use url::Url;

use super::Trouble;
use super::order::Order;

/// An answer, and the way to it.
pub(super) struct Fetched {
    pub first_url: Url,
    /// The last exchange: the answer itself.
    pub last: Exchange,
    pub body: Vec<u8>,
    /// The heads of all answers on the way, as they are printed.
    pub heads: Vec<u8>,
    /// What `-v` prints.
    pub log: Vec<u8>,
    pub redirects: usize,
    pub sent_bytes: usize,
}

/// How the connections of one `curl` are made: each serves one request, so that it ends with the command.
pub(super) fn settings(private: bool, order: &Order) -> Settings {
    let hosts = if private { PrivateHosts::Allow } else { PrivateHosts::Deny };
    Settings {
        connect_timeout: order.connect_time,
        family: order.family,
        idle_connections_max: 0,
        ..Settings::new(hosts)
    }
}

/// Sends one request, with its redirects.
pub(super) async fn fetch(client: &Client, order: &Order, url: &Url) -> Result<Fetched, Trouble> {
    let request = request(order, url);
    let answer = client.send(request).await.map_err(|error| trouble(&error))?;
    let (mut heads, mut log) = (Vec::new(), Vec::new());
    for exchange in answer.redirects.iter().chain([&answer.last]) {
        let head = head_of(exchange);
        if order.verbose {
            if let Some(peer) = exchange.peer {
                log.extend(format!("* Connected to {}\n", peer.address).into_bytes());
            }
            log.extend(prefixed("> ", &head_of_request(exchange)));
            log.extend(prefixed("< ", &head));
        }
        heads.extend(head);
    }
    let redirects = answer.redirects.len();
    let body = answer.body.whole().await.map_err(|error| trouble(&error))?;
    // A body that a redirect dropped did not arrive in the end.
    let sent =
        answer.last.sent.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let sent_bytes = sent.unwrap_or(0);
    Ok(Fetched { first_url: url.clone(), last: answer.last, body, heads, log, redirects, sent_bytes })
}

fn request(order: &Order, url: &Url) -> Request {
    let mut request = Request::new(order.method.clone(), url.clone());
    request.keep_method = order.method_named;
    request.body = order.body.clone().map(Into::into);
    request.redirects = order.redirects_max.map_or(Redirects::Return, |max| Redirects::Follow { max });
    request.limits.total = order.max_time;
    request.limits.idle = order.max_time;
    request.limits.body_bytes = limits::curl::BODY_MAX_BYTES as u64;
    if let Some(value) = order.credentials.clone().filter(|_| url.username().is_empty()) {
        request.headers.insert(header::AUTHORIZATION, value);
    }
    let mut set: Vec<&HeaderName> = Vec::new();
    for (name, value) in &order.headers {
        match set.contains(&name) {
            true => request.headers.append(name.clone(), value.clone()),
            false => request.headers.insert(name.clone(), value.clone()).is_some(),
        };
        set.push(name);
    }
    for name in &order.without {
        request.headers.remove(name);
    }
    request
}

/// An error with curl's code for it and, where the gateway is the one who refuses, what root can do.
pub(super) fn trouble(error: &Error) -> Trouble {
    match error {
        Error::Refused { host, address, purpose } => Trouble::refusal(
            7,
            format!("Refused: {host} is {address} ({purpose}; config/shell/network_private)"),
        ),
        Error::BodyTooLarge(most) => {
            Trouble::refusal(63, format!("Maximum file size exceeded ({most} bytes)"))
        }
        Error::Untrusted { refusal, .. } if refusal.of_certificate => {
            Trouble::new(60, format!("SSL certificate problem: {refusal}"))
        }
        Error::Untrusted { refusal, .. } => Trouble::new(35, format!("TLS connect error: {refusal}")),
        Error::Closed => Trouble::new(52, "Empty reply from server, or it was cut off"),
        // The time that may pass in silence is that of the whole.
        Error::TimedOut { stage: Stage::Silence, limit } => {
            trouble(&Error::TimedOut { stage: Stage::Total, limit: *limit })
        }
        other => Trouble::new(code_of(other), other.to_string()),
    }
}

fn code_of(error: &Error) -> i32 {
    match error {
        Error::Scheme(_) => 1,
        Error::BadUrl(_) | Error::BadRequest(_) => 3,
        Error::Unresolved { .. } => 6,
        Error::Connect { .. } | Error::Refused { .. } => 7,
        Error::TimedOut { .. } => 28,
        Error::Untrusted { .. } => 35,
        Error::TooManyRedirects(_) | Error::OtherOrigin(_) => 47,
        Error::Closed => 52,
        Error::HeadTooLarge | Error::Unreadable(_) => 56,
        Error::BodyTooLarge(_) => 63,
    }
}

/// The head of an answer, as it is printed: names in title case, since servers' own case is not kept.
fn head_of(exchange: &Exchange) -> Vec<u8> {
    let (status, reason) = (exchange.status.as_u16(), &exchange.reason);
    let mut out = format!("{:?} {status} {reason}\r\n", exchange.version).into_bytes();
    push_headers(&mut out, &exchange.headers);
    out
}

fn head_of_request(exchange: &Exchange) -> Vec<u8> {
    let path = match exchange.url.query() {
        Some(query) => format!("{}?{query}", exchange.url.path()),
        None => exchange.url.path().to_string(),
    };
    let mut out = format!("{} {path} HTTP/1.1\r\n", exchange.method).into_bytes();
    push_headers(&mut out, &exchange.sent);
    out
}

fn push_headers(out: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        out.extend_from_slice(title_case(name.as_str()).as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

fn title_case(name: &str) -> String {
    let word = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

fn prefixed(mark: &str, head: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(head);
    text.lines().flat_map(|line| format!("{mark}{line}\n").into_bytes()).collect()
}

impl Fetched {
    pub fn status(&self) -> u16 {
        self.last.status.as_u16()
    }

    pub fn connect_time(&self) -> Duration {
        self.last.peer.map(|peer| peer.connect_time).unwrap_or_default()
    }
}
