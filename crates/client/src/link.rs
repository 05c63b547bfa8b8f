//! Client end of a file transfer: a [`transfer::Link`] over the connection's binary messages.
//!
//! ```no_run
//! # use client::Connection;
//! # async fn pull(connection: &Connection, opened: protocol::fs::PullOpened) -> Result<(), transfer::Error> {
//! // Pull: the bytes from `offset` (here 0) on come to this side.
//! let mut link = connection.link(opened.transfer_id);
//! let mut file = Vec::new();
//! let sha256 = transfer::receive(&mut link, &mut file, 0, opened.size, Default::default(), |_| {}).await?;
//! link.stored(&sha256).await
//! # }
//! # async fn push(connection: &Connection, opened: protocol::fs::PushOpened) -> Result<(), transfer::Error> {
//! // Push: the file, read up to `opened.offset` for its digest, goes to the other side.
//! let (mut file, size) = (&b"content"[..], 7);
//! let hash = transfer::hash(&mut file, opened.offset).await?;
//! let mut link = connection.link(opened.transfer_id);
//! transfer::send(&mut link, &mut file, opened.offset, size, hash, |_sent| {}).await?;
//! # Ok(())
//! # }
//! ```

use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;
use transfer::{Closed, Wire};

use crate::Connection;

/// One end of a transfer over a connection. Dropping it forgets the transfer.
pub type Link = transfer::Link<Line>;

/// What of a connection belongs to one transfer.
pub struct Line {
    connection: Connection,
    id: u32,
    messages: mpsc::Receiver<Bytes>,
}

impl Connection {
    /// This side's end of a transfer.
    pub fn link(&self, id: u32) -> Link {
        let line = Line { messages: self.transfer(id), connection: self.clone(), id };
        Link::new(line, id)
    }
}

impl Wire for Line {
    async fn send(&self, message: Bytes) -> Result<(), Closed> {
        self.connection.send_binary(message).await.map_err(|_| Closed)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.messages.poll_recv(cx)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.connection.transfer_done(self.id);
    }
}
