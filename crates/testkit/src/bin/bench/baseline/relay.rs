//! Two-hop relay server: what a client sends goes to the one driver, what the driver sends goes to the client.
//!
//! One driver socket serves all clients, as in the gateway. A message on the driver's connection starts with eight hex
//! digits that name the client; nothing else is looked at. Answers are sliced, not copied.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_websockets::{Message, WebSocketStream};

use super::{accept, server};

/// Bytes of the client's name before each message on the driver's connection.
pub(crate) const NAME_BYTES: usize = 8;
/// Messages that may wait between two sockets; above anything the load keeps in flight.
const QUEUE_MAX: usize = 4_096;

/// What clients tell the driver's task.
enum RelayEvent {
    /// A client came; its answers go here.
    Joined(u32, Sender<Bytes>),
    /// A message, its sender's name in front.
    Message(Bytes),
    /// A client left.
    Left(u32),
}

/// Serves on a listener: the driver connects to `/driver`, first and once, clients to any other path.
pub(crate) async fn serve(listener: TcpListener) -> Result<()> {
    let (to_driver, events) = mpsc::channel(QUEUE_MAX);
    let events = Arc::new(tokio::sync::Mutex::new(Some(events)));
    let names = Arc::new(AtomicU32::new(0));
    loop {
        let stream = accept(&listener).await?;
        let (to_driver, events, names) = (to_driver.clone(), events.clone(), names.clone());
        tokio::spawn(async move {
            if let Err(error) = welcome(stream, to_driver, &events, &names).await {
                eprintln!("relay: {error:#}");
            }
        });
    }
}

async fn welcome(
    stream: TcpStream,
    to_driver: Sender<RelayEvent>,
    events: &tokio::sync::Mutex<Option<Receiver<RelayEvent>>>,
    names: &AtomicU32,
) -> Result<()> {
    let (request, socket) = server().accept(stream).await?;
    if request.uri().path() == "/driver" {
        let events = events.lock().await.take().context("there is a driver already")?;
        return serve_driver(socket, events).await;
    }
    let name = names.fetch_add(1, Ordering::Relaxed);
    let served = serve_client(socket, name, &to_driver).await;
    to_driver.send(RelayEvent::Left(name)).await.context("the driver is gone")?;
    served
}

async fn serve_driver(
    mut socket: WebSocketStream<TcpStream>,
    mut events: Receiver<RelayEvent>,
) -> Result<()> {
    let mut clients: HashMap<u32, Sender<Bytes>> = HashMap::new();
    loop {
        tokio::select! {
            event = events.recv() => {
                let mut ready = event;
                while let Some(event) = ready {
                    match event {
                        RelayEvent::Joined(name, answers) => drop(clients.insert(name, answers)),
                        RelayEvent::Message(message) => socket.feed(Message::text(message)).await?,
                        RelayEvent::Left(name) => drop(clients.remove(&name)),
                    }
                    ready = events.try_recv().ok();
                }
                socket.flush().await?;
            }
            message = socket.next() => {
                let mut ready = Some(message);
                while let Some(Some(message)) = ready {
                    let message = message?;
                    if message.is_text() {
                        hand_over(message.into_payload().into(), &clients).await?;
                    }
                    ready = socket.next().now_or_never();
                }
                if let Some(None) = ready {
                    return Ok(());
                }
            }
        }
    }
}

async fn hand_over(message: Bytes, clients: &HashMap<u32, Sender<Bytes>>) -> Result<()> {
    let Some(name) = message.get(..NAME_BYTES) else { bail!("the driver named no client") };
    let name = u32::from_str_radix(std::str::from_utf8(name)?, 16).context("the driver named no client")?;
    // A client that is gone gets nothing; that is no fault of the driver.
    if let Some(client) = clients.get(&name) {
        client.send(message.slice(NAME_BYTES..)).await.unwrap_or_default();
    }
    Ok(())
}

async fn serve_client(
    mut socket: WebSocketStream<TcpStream>,
    name: u32,
    to_driver: &Sender<RelayEvent>,
) -> Result<()> {
    let (answers_sender, mut answers) = mpsc::channel(QUEUE_MAX);
    to_driver.send(RelayEvent::Joined(name, answers_sender)).await?;
    loop {
        tokio::select! {
            answer = answers.recv() => {
                let mut ready = answer;
                while let Some(answer) = ready {
                    socket.feed(Message::text(answer)).await?;
                    ready = answers.try_recv().ok();
                }
                socket.flush().await?;
            }
            message = socket.next() => {
                let mut ready = Some(message);
                while let Some(Some(message)) = ready {
                    let message = message?;
                    if message.is_text() {
                        to_driver.send(RelayEvent::Message(named(name, message.as_payload()))).await?;
                    }
                    ready = socket.next().now_or_never();
                }
                if let Some(None) = ready {
                    return Ok(());
                }
            }
        }
    }
}

fn named(name: u32, message: &[u8]) -> Bytes {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = Vec::with_capacity(NAME_BYTES + message.len());
    out.extend((0..NAME_BYTES).rev().map(|place| DIGITS[(name >> (4 * place)) as usize & 15]));
    out.extend_from_slice(message);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_eight_hex_digits() {
        assert_eq!(named(0x1f, b"text"), Bytes::from_static(b"0000001ftext"));
        assert_eq!(named(u32::MAX, b""), Bytes::from_static(b"ffffffff"));
    }
}
