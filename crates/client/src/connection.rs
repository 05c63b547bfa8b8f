//! Connection handle: open, call, send and close on one socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::limits;
use bytes::Bytes;
use protocol::args::Members;
use protocol::frame;
use protocol::spec::Syscall;
use protocol::sys::{Connect, Connected};
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::opening;
use crate::socket::{self, ConnectionShared, Out};
use crate::{Error, Event, Signal};

/// A connection. Cheap to clone; the socket closes when the last clone is dropped or `close` is called.
#[derive(Clone)]
pub struct Connection {
    handle: Arc<Handle>,
}

struct Handle {
    state: Arc<ConnectionShared>,
    outgoing: mpsc::Sender<Out>,
    room: Arc<Semaphore>,
    ended: watch::Receiver<bool>,
    id_prefix: String,
    next_id: AtomicU64,
}

/// Everything that arrives unasked, in order. A reader that does not keep up slows the socket; whoever does
/// not care for events drops this.
pub struct Events {
    pub queue: mpsc::Receiver<Event>,
}

impl Connection {
    /// Opens a socket; nobody is logged in yet. Takes `ws://`, `wss://`, `http://` and `https://` URLs.
    pub async fn open(url: &str) -> Result<(Connection, Events), Error> {
        let opening = opening::open(url);
        let socket = match timeout(limits::client::CONNECT_TIMEOUT, opening).await {
            Ok(opened) => opened?,
            Err(_) => {
                let why = format!("no answer within {} seconds", limits::client::CONNECT_TIMEOUT.as_secs());
                return Err(Error::Unreachable { url: url.to_string(), why });
            }
        };
        let state = Arc::new(ConnectionShared::default());
        let (outgoing, to_send) = mpsc::channel(limits::client::OUTGOING_MAX);
        let (events, queue) = mpsc::channel(limits::client::EVENTS_MAX);
        let (ending, ended) = watch::channel(false);
        tokio::spawn(socket::run(socket, to_send, state.clone(), events, ending));
        let handle = Handle {
            state,
            outgoing,
            room: Arc::new(Semaphore::new(limits::client::OUTGOING_MAX_BYTES as usize)),
            ended,
            id_prefix: base::random::tagged("c"),
            next_id: AtomicU64::new(1),
        };
        Ok((Connection { handle: Arc::new(handle) }, Events { queue }))
    }

    /// Sends `sys.connect`.
    pub async fn connect(&self, args: &Connect) -> Result<Connected, Error> {
        let call = Connect::SPEC.name;
        decode(call, &self.call_raw(call, &frame::to_json(args), limits::client::CONNECT_TIMEOUT).await?)
    }

    /// A typed call, on the gateway itself.
    pub async fn call<S: Syscall>(&self, args: &S) -> Result<S::Result, Error> {
        self.call_on(None, args, limits::client::CALL_TIMEOUT).await
    }

    /// A typed call on a target (`None` and `gsv` are the gateway), with a limit of its own.
    pub async fn call_on<S: Syscall>(
        &self,
        target: Option<&str>,
        args: &S,
        timeout: Duration,
    ) -> Result<S::Result, Error> {
        let call = S::SPEC.name;
        let mut args = frame::to_json(args);
        if let Some(target) = target.filter(|target| *target != "gsv")
            && let Some(members) = Members::parse(&args)
        {
            args = members.rewrite(&[], &[("target", &frame::to_json(target))]);
        }
        decode(call, &self.call_raw(call, &args, timeout).await?)
    }

    /// Any call, raw JSON object in, raw JSON out (`null` when the answer has no data).
    pub async fn call_raw(&self, call: &str, args: &str, limit: Duration) -> Result<String, Error> {
        let number = self.handle.next_id.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", self.handle.id_prefix);
        let text = frame::request(&id, call, args);
        if text.len() > limits::frame::MAX_BYTES {
            return Err(Error::Gateway(protocol::error::Error::too_large(limits::frame::MAX_BYTES)));
        }
        let mut waiting = self.handle.state.pending.enter(&id)?;
        let exchange = async {
            self.send_text(text).await?;
            match (&mut waiting.answer).await {
                Ok(answer) => answer,
                Err(_) => Err(self.lost()),
            }
        };
        match timeout(limit, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout { call: call.to_string(), seconds: limit.as_secs() }),
        }
    }

    /// Sends one text message, waiting for room.
    pub async fn send_text(&self, text: String) -> Result<(), Error> {
        self.send(Message::text(text)).await
    }

    /// Sends one binary message, waiting for room.
    pub async fn send_binary(&self, message: Bytes) -> Result<(), Error> {
        self.send(Message::Binary(message)).await
    }

    /// Sends a ping, waiting for room.
    pub async fn ping(&self, payload: Bytes) -> Result<(), Error> {
        self.send(Message::Ping(payload)).await
    }

    /// From now on binary messages of this transfer arrive here (payload without the id) and not as events.
    /// Messages that came before the registration are kept for it, within a bound.
    pub fn transfer(&self, id: u32) -> mpsc::Receiver<Bytes> {
        self.handle.state.transfers.register(id)
    }

    /// Forgets a transfer.
    pub fn transfer_done(&self, id: u32) {
        self.handle.state.transfers.end(id);
    }

    /// From now on signals arrive here and not as events.
    pub(crate) fn subscribe(&self) -> mpsc::Receiver<Signal> {
        self.handle.state.subscription.subscribe()
    }

    /// Closes the socket with a close frame and waits a little for the other side.
    pub async fn close(&self) {
        let mut ended = self.handle.ended.clone();
        let closing = async {
            // An error means that the task is gone already.
            drop(self.handle.outgoing.send(Out::Close).await);
            drop(ended.wait_for(|ended| *ended).await);
        };
        drop(timeout(limits::socket::CLOSE_TIMEOUT * 2, closing).await);
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.handle.state.pending.closed().is_some()
    }

    async fn send(&self, message: Message) -> Result<(), Error> {
        // A message larger than all the room takes all of it.
        let bytes = u32::try_from(message.len()).unwrap_or(u32::MAX).min(limits::client::OUTGOING_MAX_BYTES);
        let handle = &self.handle;
        let permit = handle.room.clone().acquire_many_owned(bytes).await.map_err(|_| self.lost())?;
        handle.outgoing.send(Out::Message(message, permit)).await.map_err(|_| self.lost())
    }

    fn lost(&self) -> Error {
        let why = self.handle.state.pending.closed();
        Error::Closed(why.unwrap_or_else(|| "it is closing".to_string()))
    }
}

fn decode<T: DeserializeOwned>(call: &str, raw: &str) -> Result<T, Error> {
    serde_json::from_str(raw).map_err(|why| Error::Decode { call: call.to_string(), why: why.to_string() })
}
