//! One transfer: connect to a checked address, ask, take the answer in, follow where it leads.

use std::net::SocketAddr;
use std::time::Duration;

use base::limits;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use url::Url;

use super::Trouble;
use super::guard::Guard;
use super::order::{Order, check_scheme};

/// An answer, and the way to it.
pub(super) struct Fetched {
    pub first_url: Url,
    pub url: Url,
    pub method: Method,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The heads of all answers on the way, as they are printed.
    pub heads: Vec<u8>,
    /// What `-v` prints.
    pub log: Vec<u8>,
    pub redirects: u64,
    pub remote: SocketAddr,
    pub sent_bytes: usize,
    pub connect_time: Duration,
    pub first_byte_time: Duration,
}

/// What is asked on one hop.
struct Hop<'a> {
    guard: &'a Guard,
    order: &'a Order,
    url: Url,
    method: Method,
    body: Option<Vec<u8>>,
    /// Whether names and passwords may be sent: only to where the user sent them.
    trusted: bool,
}

/// Fetches a URL. Every redirect is a new hop with a new lookup and a new check.
pub(super) async fn fetch(guard: &Guard, order: &Order, first: &Url) -> Result<Fetched, Trouble> {
    let (mut heads, mut log, mut redirects) = (Vec::new(), Vec::new(), 0);
    let mut hop = Hop {
        guard,
        order,
        url: first.clone(),
        method: order.method.clone(),
        body: order.body.clone(),
        trusted: true,
    };
    loop {
        let mut fetched = hop.fetch(first).await?;
        heads.append(&mut fetched.heads);
        log.append(&mut fetched.log);
        let next = order.redirects_max.and_then(|most| Some((most, next_url(&fetched)?)));
        let Some((most, next)) = next else {
            return Ok(Fetched { heads, log, redirects, ..fetched });
        };
        redirects += 1;
        if redirects > most {
            return Err(Trouble::new(47, format!("Maximum ({most}) redirects followed")));
        }
        hop.turn(fetched.status, next?)?;
    }
}

/// Where an answer leads, if it does.
fn next_url(fetched: &Fetched) -> Option<Result<Url, Trouble>> {
    if !matches!(fetched.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = String::from_utf8_lossy(fetched.headers.get(header::LOCATION)?.as_bytes()).into_owned();
    Some(
        fetched
            .url
            .join(&location)
            .map_err(|why| Trouble::new(3, format!("URL rejected: {why}: {location}"))),
    )
}

impl Hop<'_> {
    /// Turns to where a redirect leads.
    fn turn(&mut self, status: u16, next: Url) -> Result<(), Trouble> {
        check_scheme(&next)?;
        self.trusted &= next.origin() == self.url.origin();
        let to_get = match status {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if to_get && !self.order.method_named {
            self.method = Method::GET;
        }
        if to_get {
            self.body = None;
        }
        self.url = next;
        Ok(())
    }

    async fn fetch(&self, first: &Url) -> Result<Fetched, Trouble> {
        let started = Instant::now();
        let (stream, remote) = self.connect().await?;
        let connect_time = started.elapsed();
        let request = self.request()?;
        let mut log = Vec::new();
        if self.order.verbose {
            log.extend(format!("* Connected to {remote}\n").into_bytes());
            log.extend(prefixed("> ", &head_of_request(&request)));
        }
        let exchange = if self.url.scheme() == "https" {
            self.exchange(self.encrypt(stream).await?, request).await
        } else {
            self.exchange(stream, request).await
        };
        let (response, body, first_byte) = exchange?;
        let heads = head_of(&response);
        if self.order.verbose {
            log.extend(prefixed("< ", &heads));
        }
        Ok(Fetched {
            first_url: first.clone(),
            url: self.url.clone(),
            method: self.method.clone(),
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body,
            heads,
            log,
            redirects: 0,
            remote,
            sent_bytes: self.body.as_ref().map_or(0, Vec::len),
            connect_time,
            first_byte_time: first_byte.duration_since(started),
        })
    }

    /// A connection to one of the addresses that were checked.
    async fn connect(&self) -> Result<(TcpStream, SocketAddr), Trouble> {
        let host = self.url.host().ok_or_else(|| Trouble::new(3, "no host"))?;
        let port = self.url.port_or_known_default().unwrap_or(80);
        let look_up = self.guard.addresses(&host, port);
        let found = tokio::time::timeout(self.order.connect_time, look_up)
            .await
            .map_err(|_| Trouble::new(28, "Resolving timed out"))??;
        let wanted = |address: &&SocketAddr| self.order.family_v6.is_none_or(|v6| address.is_ipv6() == v6);
        let mut last = None;
        for address in found.iter().filter(wanted) {
            match tokio::time::timeout(self.order.connect_time, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, *address)),
                Ok(Err(error)) => last = Some((7, error.to_string())),
                Err(_) => last = Some((28, "timed out".to_string())),
            }
        }
        let (code, why) = last.unwrap_or((7, "no address of that family".to_string()));
        Err(Trouble::new(code, format!("Failed to connect to {host} port {port}: {why}")))
    }

    async fn encrypt(&self, stream: TcpStream) -> Result<tls::TlsStream<TcpStream>, Trouble> {
        let host = self.url.host_str().unwrap_or_default();
        match tokio::time::timeout(self.order.connect_time, tls::connect(host, stream)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(tls_trouble(&error)),
            Err(_) => Err(Trouble::new(28, "SSL connection timeout")),
        }
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, Trouble> {
        let bad = |why: &dyn std::fmt::Display| Trouble::new(3, format!("bad request: {why}"));
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_string(),
        };
        let body = self.body.clone();
        let length = body.as_ref().map(Vec::len);
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(path)
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|error| bad(&error))?;
        let headers = request.headers_mut();
        let host = self.url.host_str().unwrap_or_default();
        let host = self.url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        headers.insert(header::HOST, HeaderValue::from_str(&host).map_err(|error| bad(&error))?);
        if let Some(value) = self.authorization() {
            headers
                .insert(header::AUTHORIZATION, HeaderValue::from_str(&value).map_err(|error| bad(&error))?);
        }
        if let Some(length) = length {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let secret = [header::AUTHORIZATION, header::COOKIE];
        let mut set: Vec<&header::HeaderName> = Vec::new();
        for (name, value) in &self.order.headers {
            // What belongs to a body that a redirect dropped is not sent; neither are secrets to a stranger.
            let dropped = (*name == header::CONTENT_TYPE && self.body.is_none() && self.order.body.is_some())
                || (!self.trusted && (secret.contains(name) || *name == header::HOST));
            if dropped {
                continue;
            }
            match set.contains(&name) {
                true => headers.append(name.clone(), value.clone()),
                false => headers.insert(name.clone(), value.clone()).is_some(),
            };
            set.push(name);
        }
        for name in &self.order.without {
            headers.remove(name);
        }
        Ok(request)
    }

    /// The name and password of `-u`, or of the URL itself.
    fn authorization(&self) -> Option<String> {
        let decoded = |text: &str| {
            url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        if !self.url.username().is_empty() {
            use base64::Engine;
            let password = decoded(self.url.password().unwrap_or_default());
            let pair = format!("{}:{password}", decoded(self.url.username()));
            return Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)));
        }
        self.order.credentials.clone().filter(|_| self.trusted)
    }

    /// Sends the request and takes the answer in.
    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<()>, Vec<u8>, Instant), Trouble> {
        let mut builder = hyper::client::conn::http1::Builder::new();
        builder
            .title_case_headers(true)
            .max_headers(limits::CURL_HEADERS_MAX)
            .max_buf_size(limits::CURL_HEADER_BYTES_MAX);
        let (mut sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|error| receive_trouble(&error))?;
        let ask = async {
            let response = sender.send_request(request).await.map_err(|error| receive_trouble(&error))?;
            let first_byte = Instant::now();
            let (head, body) = response.into_parts();
            let body = take_in(body).await?;
            Ok((Response::from_parts(head, ()), body, first_byte))
        };
        tokio::pin!(ask, connection);
        let mut open = true;
        loop {
            // The connection is driven here and not in a task of its own, so that it ends with this command.
            tokio::select! {
                biased;
                result = &mut ask => return result,
                _ = &mut connection, if open => open = false,
            }
        }
    }
}

async fn take_in(mut body: hyper::body::Incoming) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|error| receive_trouble(&error))?.into_data() else { continue };
        if bytes.len() + data.len() > limits::CURL_BODY_BYTES_MAX {
            let why = format!("Maximum file size exceeded ({} bytes)", limits::CURL_BODY_BYTES_MAX);
            return Err(Trouble::refusal(63, why));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

fn receive_trouble(error: &hyper::Error) -> Trouble {
    if error.is_incomplete_message() {
        return Trouble::new(52, "Empty reply from server, or it was cut off");
    }
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    Trouble::new(56, format!("Failure when receiving data from the peer: {error}{source}"))
}

fn tls_trouble(error: &std::io::Error) -> Trouble {
    match tls::refusal(error) {
        Some(refusal) if refusal.of_certificate => {
            Trouble::new(60, format!("SSL certificate problem: {refusal}"))
        }
        Some(refusal) => Trouble::new(35, format!("TLS connect error: {refusal}")),
        None => Trouble::new(35, format!("TLS connect error: {error}")),
    }
}

/// The head of an answer, as it is printed: names in title case, since servers' own case is not kept.
fn head_of(response: &Response<()>) -> Vec<u8> {
    let reason = response.extensions().get::<hyper::ext::ReasonPhrase>();
    let reason = match reason {
        Some(reason) => String::from_utf8_lossy(reason.as_bytes()).into_owned(),
        None => response.status().canonical_reason().unwrap_or_default().to_string(),
    };
    let mut out = format!("{} {} {reason}\r\n", version(response), response.status().as_u16()).into_bytes();
    push_headers(&mut out, response.headers());
    out
}

fn head_of_request(request: &Request<Full<Bytes>>) -> Vec<u8> {
    let mut out = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri()).into_bytes();
    push_headers(&mut out, request.headers());
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

fn version(response: &Response<()>) -> &'static str {
    match response.version() {
        hyper::Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

fn prefixed(mark: &str, head: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(head);
    text.lines().flat_map(|line| format!("{mark}{line}\n").into_bytes()).collect()
}

/// Whether a status is one that says to look elsewhere.
pub(super) fn is_redirect(status: u16) -> bool {
    StatusCode::from_u16(status).is_ok_and(|status| status.is_redirection())
}
