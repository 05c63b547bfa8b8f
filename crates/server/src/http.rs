//! HTTP listener and its plain routes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kernel::{Kernel, Source};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

use crate::admission::{Admission, Admitted};
use crate::source::{TrustedProxies, is_proxied};
use crate::{credentials, ws};

/// A request's head must be here by then; also ends connections that never send.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest request head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Pause after the machine refused a further socket.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The address at the other end of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) kernel: Arc<Kernel>,
    trusted: Arc<TrustedProxies>,
}

impl Shared {
    /// Where a request comes from.
    pub(crate) fn source<B>(&self, request: &Request<B>) -> Source {
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
        self.trusted.source(peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), request.headers())
    }

    /// Whether a request comes from this machine and no proxy says that it passed it on.
    pub(crate) fn is_direct<B>(&self, request: &Request<B>) -> bool {
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip().to_canonical());
        peer.is_some_and(|peer| peer.is_loopback()) && !is_proxied(request.headers())
    }
}

/// Accepts connections for as long as it is polled.
pub(crate) async fn accept(listener: TcpListener, kernel: &Arc<Kernel>, trusted: TrustedProxies) {
    let shared = Shared { kernel: kernel.clone(), trusted: Arc::new(trusted) };
    let service = TowerToHyperService::new(router(shared.clone()));
    let admission = Admission::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // One too many is closed without a word: words cost what there is too little of.
                if let Some(place) = admission.admit(peer.ip(), shared.trusted.contains(peer.ip())) {
                    tokio::spawn(serve_connection(stream, peer, service.clone(), place));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                kernel.clock().sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    service: TowerToHyperService<Router>,
    _place: Admitted,
) {
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(10));
    let socket = SockRef::from(&stream);
    if let Err(error) = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&keepalive)) {
        tracing::debug!(%error, "socket options could not be set");
    }
    let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        service.call(request)
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "an HTTP connection ended early");
    }
}

fn router(shared: Shared) -> Router {
    let (areas, introduced) = (shared.kernel.http(), shared.clone());
    let own = Router::new()
        .route("/", get(home))
        .route("/health", any(health))
        .route("/metrics", get(metrics))
        .route("/ws", any(ws::upgrade))
        .fallback(not_found)
        .with_state(shared);
    let areas = areas.into_iter().fold(Router::new(), Router::merge);
    own.merge(areas.layer(middleware::from_fn_with_state(introduced, introduce)))
}

/// Tells the routes of areas who makes a request.
async fn introduce(State(shared): State<Shared>, mut request: Request<Body>, next: Next) -> Response {
    let visitor = credentials::visitor(&shared.kernel, request.headers(), shared.source(&request).ip);
    request.extensions_mut().insert(visitor);
    next.run(request).await
}

pub(crate) async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "Not Found").into_response()
}

async fn health() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"healthy"}"#).into_response()
}

async fn home(State(shared): State<Shared>, request: Request<Body>) -> Html<String> {
    let next = if shared.kernel.in_setup_mode() {
        match shared.source(&request).is_local {
            true => "<p>Nobody has set it up yet. On this machine, run:</p><pre>gsv auth setup</pre>",
            false => {
                "<p>Nobody has set it up yet. Run, with the setup code that the gateway printed when it started:</p>\
                 <pre>gsv auth setup --code CODE --url …</pre>"
            }
        }
    } else {
        "<p>It is set up and running. Log in, or connect a machine as a device:</p>\
         <pre>gsv auth login\ngsv devices\ngsv device run</pre>"
    };
    Html(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>GSV gateway</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;\
         color:#1b1b1b;background:#fff}}pre{{background:#f2f2f2;padding:1rem;border-radius:6px}}\
         @media(prefers-color-scheme:dark){{body{{color:#eee;background:#111}}pre{{background:#222}}}}</style>\
         <h1>This is a GSV gateway</h1>\
         <p>GSV is one computer made of all the machines a person owns. \
         This gateway routes files and shell calls between them.</p>{next}\
         <p>Clients speak to it over WebSocket at <code>/ws</code>.</p></html>"
    ))
}

/// For this machine, or for root: a proxy in front makes every request look local, so a forwarded one needs root's
/// token or password.
async fn metrics(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (kernel, source, headers) = (&shared.kernel, shared.source(&request), request.headers());
    if !source.is_local || !ws::names_this_machine(headers) {
        match credentials::caller(kernel, headers, source.ip).await {
            Some(Ok(caller)) if caller.is_root() => {}
            Some(Err(error)) => return credentials::refuse(&error),
            Some(Ok(_)) | None => {
                let text = "Metrics are for this machine, or for root: with a token of root's as a bearer token, \
                     or with root's name and password.";
                return (StatusCode::FORBIDDEN, text).into_response();
            }
        }
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], kernel.metrics()).into_response()
}
