//! HTTP/1.1 client over a connection pool: sends a request, follows its redirects hop by hop, and gives back the answer
//! with a streaming body.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use url::Url;

use crate::body::{Body, Deadline};
use crate::connect::Connector;
use crate::error::{self, Error};
use crate::request::Request;
use crate::settings::{Peer, Settings};

type Pool = legacy::Client<Connector, Full<Bytes>>;

/// Sends requests. Clones share their connections, and nothing is connected before the first request.
#[derive(Clone)]
pub struct Client {
    settings: Arc<Settings>,
    /// Made when it is first needed: certificates of private authorities may have to be read.
    pool: Arc<OnceLock<Pool>>,
}

/// What was asked on one hop, and the head of the answer.
#[derive(Clone)]
pub struct Exchange {
    /// What was asked.
    pub method: Method,
    /// Of whom.
    pub url: Url,
    /// The headers that were sent.
    pub sent: HeaderMap,
    /// The answer's status.
    pub status: StatusCode,
    /// The words after the status.
    pub reason: String,
    /// The version the other side speaks.
    pub version: Version,
    /// The answer's headers.
    pub headers: HeaderMap,
    /// Who answered.
    pub peer: Option<Peer>,
    /// How long it took until the answer began, from the beginning of this hop.
    pub first_byte_time: Duration,
}

/// An answer, and the way to it.
pub struct Response {
    /// The redirects that led here, in order.
    pub redirects: Vec<Exchange>,
    /// The last exchange: the answer itself.
    pub last: Exchange,
    /// The answer's body, as it comes.
    pub body: Body,
}

impl Client {
    /// A client with no connection yet.
    pub fn new(settings: Settings) -> Client {
        Client { settings: Arc::new(settings), pool: Arc::default() }
    }

    /// Sends a request and waits for the head of the answer. Dropping the future, or the body, closes the connection.
    pub async fn send(&self, mut request: Request) -> Result<Response, Error> {
        let deadline = Deadline::new(&request.limits);
        let mut redirects = Vec::new();
        loop {
            let (exchange, incoming) = self.exchange(&request, &deadline).await?;
            if request.follow(exchange.status, &exchange.headers, redirects.len() as u64)? {
                redirects.push(exchange);
                continue;
            }
            let body = Body::new(incoming, deadline, request.limits.body_bytes);
            return Ok(Response { redirects, last: exchange, body });
        }
    }

    async fn exchange(&self, request: &Request, deadline: &Deadline) -> Result<(Exchange, Incoming), Error> {
        let started = Clock::system().instant();
        let written = request.written()?;
        let sent = written.headers().clone();
        let pool = self.pool.get_or_init(|| pool(&self.settings));
        let answered = deadline.keep(pool.request(written)).await?;
        let (head, incoming) = answered.map_err(|error| error::of_pool(&error))?.into_parts();
        let reason = match head.extensions.get::<ReasonPhrase>() {
            Some(reason) => String::from_utf8_lossy(reason.as_bytes()).into_owned(),
            None => head.status.canonical_reason().unwrap_or_default().to_owned(),
        };
        let exchange = Exchange {
            method: request.method.clone(),
            url: request.url.clone(),
            sent,
            status: head.status,
            reason,
            version: head.version,
            headers: head.headers,
            peer: head.extensions.get().copied(),
            first_byte_time: Clock::system().instant().saturating_duration_since(started),
        };
        Ok((exchange, incoming))
    }
}

fn pool(settings: &Arc<Settings>) -> Pool {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits::outgoing::IDLE_CONNECTION_KEPT)
        .pool_max_idle_per_host(settings.idle_connections_max)
        .http1_title_case_headers(true)
        .http1_max_headers(limits::outgoing::HEADERS_MAX)
        .http1_max_buf_size(limits::outgoing::HEADER_MAX_BYTES)
        .build(Connector(settings.clone()))
}
