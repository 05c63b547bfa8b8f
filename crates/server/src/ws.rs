//! WebSocket endpoint `GET /ws`: the upgrade, and one task per socket that moves messages between it and the kernel.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::clock::Sleep;
use base::limits;
use base64::Engine;
use bytes::Bytes;
use futures_util::{Sink, Stream};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kernel::{Close, Connection, Excerpt, Kernel, Outgoing, Source};
use tokio::net::TcpStream;
use tokio_websockets::{CloseCode, Limits, Message, ServerBuilder, WebSocketStream};

use crate::http::{Shared, not_found};
use crate::inlet::Inlet;
use crate::outlet::Opcode;

/// Messages read before those that wait are written, so that neither side starves.
const READS_AT_ONCE: usize = 64;
/// Bytes gathered before they are handed to the machine.
const FLUSH_BYTES: usize = 256 * 1024;
/// With so much unsent, nothing further is read: it could only ask for more.
const OUTLET_BYTES_HIGH: usize = 2 * 1024 * 1024;

/// Answers the upgrade request. Browsers must come from a page of this very host; programs send no origin.
pub(crate) async fn upgrade(State(shared): State<Shared>, mut request: Request<Body>) -> Response {
    let headers = request.headers();
    let Some(accept) = accept_key(request.method(), headers) else { return not_found().await };
    let source = shared.source(&request);
    if !is_same_origin(headers, shared.is_direct(&request)) {
        return (StatusCode::FORBIDDEN, "This origin may not connect").into_response();
    }
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else { return not_found().await };
    tokio::spawn(run(shared.kernel, upgrade, source));
    let headers = [
        (header::CONNECTION, "Upgrade".to_string()),
        (header::UPGRADE, "websocket".to_string()),
        (header::SEC_WEBSOCKET_ACCEPT, accept),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

fn accept_key(method: &Method, headers: &HeaderMap) -> Option<String> {
    let text = |name: header::HeaderName| headers.get(name)?.to_str().ok();
    let upgrades = text(header::UPGRADE)?.eq_ignore_ascii_case("websocket");
    let version = text(header::SEC_WEBSOCKET_VERSION)? == "13";
    let key = text(header::SEC_WEBSOCKET_KEY)?;
    if method != Method::GET || !upgrades || !version {
        return None;
    }
    let mut digest = sha1_smol::Sha1::new();
    digest.update(key.as_bytes());
    digest.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    Some(base64::engine::general_purpose::STANDARD.encode(digest.digest().bytes()))
}

fn is_same_origin(headers: &HeaderMap, is_direct: bool) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.zip(host).is_some_and(|((_, origin), host)| origin.eq_ignore_ascii_case(host))
        && (!is_direct || names_this_machine(headers))
}

/// Whether the request was made for this machine under its own name: a page elsewhere whose name was made to
/// point here comes under its own name instead.
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

async fn run(kernel: Arc<Kernel>, upgrade: OnUpgrade, source: Source) {
    let Ok(upgraded) = upgrade.await else { return };
    let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else { return };
    let marker = kernel.random().tagged("oversized_");
    let limit = limits::socket::PENDING_MAX_BYTES;
    let inlet =
        Inlet::new(parts.io.into_inner(), limit, marker.clone(), &parts.read_buf, kernel.clock().clone());
    // The inlet has let nothing larger through.
    let sizes = Limits::default().max_payload_len(Some(limits::frame::MAX_BYTES));
    let stream = ServerBuilder::new().limits(sizes).serve(inlet);
    let connection = kernel.opened(source);
    let mut socket =
        Socket { stream, kernel, connection, marker, limit, stall: None, closing: None, close_sent: false };
    poll_fn(|cx| socket.poll(cx)).await;
}

struct Socket {
    stream: WebSocketStream<Inlet<TcpStream>>,
    kernel: Arc<Kernel>,
    connection: Arc<Connection>,
    marker: String,
    /// Largest message for now.
    limit: usize,
    /// Runs while the other side takes nothing.
    stall: Option<Stall>,
    /// Runs once the socket is to be closed; then it is over, whatever still waits.
    closing: Option<Sleep>,
    close_sent: bool,
}

/// What is written waits for the other side.
struct Stall {
    /// How much had been written when it last took something, and when that was.
    written: u64,
    since: Instant,
    /// To look then whether it took anything since.
    look: Sleep,
}

/// Whatever ends the task, the kernel hears of it.
impl Drop for Socket {
    fn drop(&mut self) {
        self.kernel.closed(&self.connection);
    }
}

/// How far reading got.
enum Reading {
    /// Nothing more for now.
    Waiting,
    /// The kernel must catch up first.
    Blocked,
    /// There may be more at once.
    More,
    /// The socket is closed.
    Ended,
}

impl Socket {
    /// Ready when the socket is done with.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.connection.outbox.awake();
        let reading = self.read(cx);
        if matches!(reading, Reading::Ended) {
            return Poll::Ready(());
        }
        loop {
            let Ok(()) = self.write(cx) else { return Poll::Ready(()) };
            let stalled = self.stall.is_some();
            if !self.connection.outbox.rest(cx.waker()) || stalled || self.close_sent {
                break;
            }
        }
        if self.connection.outbox.is_closing() {
            let deadline = || self.kernel.clock().sleep(limits::socket::CLOSE_TIMEOUT);
            return Pin::new(self.closing.get_or_insert_with(deadline)).poll(cx);
        }
        let go_on = match reading {
            Reading::More => true,
            Reading::Blocked => !self.is_blocked(),
            Reading::Waiting | Reading::Ended => false,
        };
        if go_on {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Whether the kernel, or the other side, must catch up before more is read.
    fn is_blocked(&mut self) -> bool {
        self.stream.get_mut().outlet().pending() > OUTLET_BYTES_HIGH || !self.connection.may_read()
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Reading {
        let mut was_heard = false;
        for _ in 0..READS_AT_ONCE {
            let closing = self.connection.outbox.is_closing();
            if !closing && self.is_blocked() {
                return Reading::Blocked;
            }
            self.raise_limit();
            match Pin::new(&mut self.stream).poll_next(cx) {
                Poll::Pending => {
                    if self.stream.get_ref().is_flooded() {
                        if !closing {
                            self.take_oversized();
                        }
                        self.connection.close(Close::TOO_LARGE);
                    }
                    return Reading::Waiting;
                }
                Poll::Ready(None) => return Reading::Ended,
                // What arrives on a socket that is being closed no longer counts.
                Poll::Ready(Some(Ok(message))) if !closing => {
                    if !std::mem::replace(&mut was_heard, true) {
                        self.connection.heard();
                    }
                    self.take(message);
                }
                Poll::Ready(Some(Ok(_))) => {}
                // The library answers with a close frame where it can, and says `None` next.
                Poll::Ready(Some(Err(error))) => tracing::debug!(%error, "a socket failed"),
            }
        }
        Reading::More
    }

    /// Who has logged in may send larger messages.
    fn raise_limit(&mut self) {
        if self.limit < limits::frame::MAX_BYTES && self.connection.login().is_some() {
            self.limit = limits::frame::MAX_BYTES;
            self.stream.get_mut().raise_limit(self.limit, &self.connection);
        }
    }

    fn take(&mut self, message: Message) {
        if message.is_binary() {
            self.kernel.receive_binary(&self.connection, message.into_payload().into());
        } else if let Some(text) = message.as_text() {
            if text == self.marker {
                self.take_oversized();
            } else {
                let (whole, arrived) = (message.as_payload(), self.stream.get_ref().arrived());
                self.kernel.receive_text(&self.connection, arrived, text, || whole.clone().into());
            }
        }
    }

    /// Tells the kernel of a message that was too large, by some bytes of it: those that a marker stands for, or the
    /// beginning of one that came in pieces.
    fn take_oversized(&mut self) {
        let Some(excerpt) = self.stream.get_mut().take_excerpt() else { return };
        let excerpt = Excerpt {
            bytes: &excerpt.bytes,
            is_beginning: excerpt.is_beginning,
            size: excerpt.size,
            limit_bytes: self.limit,
        };
        self.kernel.receive_too_large(&self.connection, &excerpt);
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), tokio_websockets::Error> {
        loop {
            self.fill()?;
            if Pin::new(&mut self.stream).poll_flush(cx)?.is_pending() {
                return self.watch_stall(cx);
            }
            self.stall = None;
            if self.connection.outbox.is_empty() {
                return Ok(());
            }
        }
    }

    /// Moves what waits into the outlet, up to a batch; then the close frame, if the socket is to be closed.
    fn fill(&mut self) -> Result<(), tokio_websockets::Error> {
        let outlet = self.stream.get_mut().outlet();
        while outlet.pending() < FLUSH_BYTES {
            match self.connection.outbox.take() {
                Some(Outgoing::Texts(texts)) => {
                    texts.iter().for_each(|text| outlet.text(text));
                    self.connection.outbox.give_back(texts);
                }
                Some(Outgoing::Text(text)) => outlet.message(Opcode::Text, [text.into()]),
                Some(Outgoing::Relay(head, value)) => {
                    outlet.message(Opcode::Text, [head.into(), value, Bytes::from_static(b"}")]);
                }
                Some(Outgoing::Signal(text)) => outlet.message(Opcode::Text, [text]),
                Some(Outgoing::Binary(bytes, _)) => outlet.message(Opcode::Binary, [bytes]),
                Some(Outgoing::Ping) => outlet.message(Opcode::Ping, [Bytes::from_static(b"gsv")]),
                None => {
                    if let Some(close) = self.connection.outbox.closing().filter(|_| !self.close_sent) {
                        self.close_sent = true;
                        Pin::new(&mut self.stream).start_send(close_message(close))?;
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Fails once the other side has taken nothing for too long.
    fn watch_stall(&mut self, cx: &mut Context<'_>) -> Result<(), tokio_websockets::Error> {
        let written = self.stream.get_mut().outlet().written();
        let clock = self.kernel.clock();
        let stall = self.stall.get_or_insert_with(|| Stall {
            written,
            since: clock.instant(),
            look: clock.sleep(limits::socket::SEND_TIMEOUT),
        });
        if stall.written != written {
            (stall.written, stall.since) = (written, clock.instant());
        }
        while Pin::new(&mut stall.look).poll(cx).is_ready() {
            let waited = clock.instant().saturating_duration_since(stall.since);
            let left = limits::socket::SEND_TIMEOUT.saturating_sub(waited);
            if left.is_zero() {
                return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
            }
            stall.look = clock.sleep(left);
        }
        Ok(())
    }
}

fn close_message(close: Close) -> Message {
    Message::close(CloseCode::try_from(close.code).ok(), close.reason)
}
