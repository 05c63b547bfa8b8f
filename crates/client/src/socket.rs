//! Connection task: one reader and one writer per socket, which dispatch responses, signals and transfer data.

use std::sync::Arc;
use std::time::Duration;

use base::limits;
use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use protocol::frame::{self, Frame};
use protocol::transfer::HEADER_BYTES;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as RawFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::pending::Pending;
use crate::signals::Subscription;
use crate::transfers::{Placed, Transfers};
use crate::{Ended, Error, Event, Signal};

type Failure = tokio_tungstenite::tungstenite::Error;

/// What the task and the handles share.
#[derive(Default)]
pub(crate) struct ConnectionShared {
    pub(crate) pending: Pending,
    pub(crate) transfers: Transfers,
    pub(crate) subscription: Subscription,
}

/// Something to send. The permit stands for its bytes while they wait.
pub(crate) enum Out {
    Message(Message, OwnedSemaphorePermit),
    Close,
}

/// Runs until the socket ends, then tells everybody why.
pub(crate) async fn run<S>(
    socket: S,
    outgoing: mpsc::Receiver<Out>,
    state: Arc<ConnectionShared>,
    events: mpsc::Sender<Event>,
    ended: watch::Sender<bool>,
) where
    S: Sink<Message, Error = Failure> + Stream<Item = Result<Message, Failure>> + Unpin,
{
    let (sink, stream) = socket.split();
    let read = read(stream, &state, &events);
    tokio::pin!(read);
    let how = tokio::select! {
        how = &mut read => how,
        written = write(sink, outgoing) => match written {
            Err(why) => Ended::because(why),
            Ok(()) => {
                // The other side may take a moment to answer the close frame; what it says is no news.
                drop(timeout(limits::socket::CLOSE_TIMEOUT, read).await);
                Ended::because("closed by this side")
            }
        },
    };
    state.pending.close(&how.why);
    state.transfers.close();
    state.subscription.close();
    ended.send_replace(true);
    // Whoever does not read its events any more does not need to know either.
    drop(timeout(limits::socket::CLOSE_TIMEOUT, events.send(Event::Closed(how))).await);
}

async fn read<S>(mut stream: S, state: &ConnectionShared, events: &mpsc::Sender<Event>) -> Ended
where
    S: Stream<Item = Result<Message, Failure>> + Unpin,
{
    loop {
        let event = match stream.next().await {
            None => return Ended::because("the gateway closed the socket"),
            Some(Err(error)) => return Ended::because(error.to_string()),
            Some(Ok(Message::Text(text))) => take_text(state, &text),
            Some(Ok(Message::Binary(message))) => take_binary(state, message),
            Some(Ok(Message::Pong(payload))) => Some(Event::Pong(payload)),
            Some(Ok(Message::Close(close))) => {
                let why =
                    match close.as_ref().map(|close| close.reason.as_str()).filter(|why| !why.is_empty()) {
                        Some(why) => format!("the gateway closed the socket: {why}"),
                        None => "the gateway closed the socket".to_string(),
                    };
                return Ended { why, code: close.map(|close| close.code.into()) };
            }
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => None,
        };
        // A dropped receiver means that nobody cares for events; answers still matter.
        match (event, state.subscription.sender()) {
            (None, _) => {}
            (Some(Event::Signal(signal)), Some(subscriber)) => drop(subscriber.send(signal).await),
            (Some(event), _) => drop(events.send(event).await),
        }
    }
}

fn take_text(state: &ConnectionShared, text: &str) -> Option<Event> {
    match frame::parse(text) {
        Ok(Frame::Request(request)) => Some(Event::Request {
            id: request.id.into_owned(),
            call: request.call.into_owned(),
            args: request.args.to_string(),
            durable: request.durable,
            again: request.again,
        }),
        Ok(Frame::Signal(signal)) => Some(Event::Signal(Signal {
            name: signal.signal.into_owned(),
            payload: signal.payload.to_string(),
            seq: signal.seq,
        })),
        Ok(Frame::Response(response)) => {
            if response.ok {
                state.pending.answer(&response.id, Ok(response.data.unwrap_or("null").to_string()));
            } else if response.id == frame::UNKNOWN_ID {
                state.pending.refuse_unnamed(response.to_error());
            } else {
                state.pending.answer(&response.id, Err(Error::Gateway(response.to_error())));
            }
            None
        }
        // A text that is no frame has no addressee.
        Err(_) => None,
    }
}

fn take_binary(state: &ConnectionShared, message: Bytes) -> Option<Event> {
    let Some((id, _)) = protocol::transfer::split(&message) else { return Some(Event::Binary(message)) };
    match state.transfers.place(id, message.slice(HEADER_BYTES..)) {
        Placed::Taken => None,
        Placed::Left => Some(Event::Binary(message)),
    }
}

async fn write<S>(mut sink: S, mut outgoing: mpsc::Receiver<Out>) -> Result<(), String>
where
    S: Sink<Message, Error = Failure> + Unpin,
{
    // All handles dropped means the same as an explicit close.
    while let Some(Out::Message(message, _permit)) = outgoing.recv().await {
        let limit = limits::socket::SEND_TIMEOUT
            + Duration::from_secs(message.len() as u64 / limits::client::SEND_MIN_BYTES_PER_SECOND);
        match timeout(limit, send(&mut sink, message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("the gateway does not read".to_string()),
        }
    }
    let close = timeout(limits::socket::CLOSE_TIMEOUT, sink.send(Message::Close(None))).await;
    if matches!(close, Ok(Ok(()))) { Ok(()) } else { Err("closed by this side".to_string()) }
}

/// Sends a message, large ones in fragments: receivers refuse single frames above 16 MiB.
async fn send<S>(sink: &mut S, message: Message) -> Result<(), Failure>
where
    S: Sink<Message, Error = Failure> + Unpin,
{
    if message.len() <= limits::frame::FRAGMENT_MAX_BYTES {
        return sink.send(message).await;
    }
    let (kind, payload) = match message {
        Message::Text(text) => (Data::Text, Bytes::from(text)),
        Message::Binary(bytes) => (Data::Binary, bytes),
        other => return sink.send(other).await,
    };
    let mut opcode = OpCode::Data(kind);
    let mut rest = payload;
    while !rest.is_empty() {
        let part = rest.split_to(rest.len().min(limits::frame::FRAGMENT_MAX_BYTES));
        let fragment = RawFrame::message(part, opcode, rest.is_empty());
        sink.send(Message::Frame(fragment)).await?;
        opcode = OpCode::Data(Data::Continue);
    }
    Ok(())
}
