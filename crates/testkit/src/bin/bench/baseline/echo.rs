//! Echo server over WebSockets: every message goes back as it came.

use anyhow::Result;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_websockets::Error;

use super::{accept, server};

/// Serves on a listener.
pub(crate) async fn serve(listener: TcpListener) -> Result<()> {
    loop {
        let stream = accept(&listener).await?;
        tokio::spawn(async move {
            if let Err(error) = echo(stream).await {
                eprintln!("echo: {error}");
            }
        });
    }
}

async fn echo(stream: TcpStream) -> Result<(), Error> {
    let (_request, mut socket) = server().accept(stream).await?;
    let mut batch = Vec::new();
    while let Some(message) = socket.next().await {
        // Reading comes first: the library writes what waits with every read, which would undo the batching.
        let mut ready = Some(Some(message));
        while let Some(Some(message)) = ready {
            batch.push(message?);
            ready = socket.next().now_or_never();
        }
        for message in batch.drain(..).filter(|message| message.is_text() || message.is_binary()) {
            socket.feed(message).await?;
        }
        socket.flush().await?;
    }
    Ok(())
}
