//! HTTP listener and its plain routes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kernel::Kernel;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

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

/// Accepts connections for as long as it is polled.
pub(crate) async fn accept(listener: TcpListener, kernel: &Arc<Kernel>) {
    let service = TowerToHyperService::new(router(kernel.clone()));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                tokio::spawn(serve_connection(stream, peer, service.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                kernel.clock().sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, peer: SocketAddr, service: TowerToHyperService<Router>) {
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

fn router(kernel: Arc<Kernel>) -> Router {
    let own = Router::new()
        .route("/", get(home))
        .route("/health", any(health))
        .route("/metrics", get(metrics))
        .route("/ws", any(ws::upgrade))
        .fallback(not_found)
        .with_state(kernel.clone());
    kernel.http().into_iter().fold(own, Router::merge)
}

pub(crate) async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "Not Found").into_response()
}

async fn health() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"healthy"}"#).into_response()
}

async fn home(State(kernel): State<Arc<Kernel>>) -> Html<String> {
    let next = if kernel.in_setup_mode() {
        "<p>Nobody has set it up yet. On a machine that reaches this address, run:</p>\
         <pre>gsv auth setup</pre>"
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
async fn metrics(State(kernel): State<Arc<Kernel>>, request: Request<Body>) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip().to_canonical());
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let headers = request.headers();
    let is_local = peer.is_loopback() && !ws::is_proxied(headers) && ws::names_this_machine(headers);
    if !is_local {
        match credentials::caller(&kernel, headers, peer).await {
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
