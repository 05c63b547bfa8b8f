//! Transport interface of a transfer: one end of it, over whatever carries its messages.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use base::limits;
use bytes::Bytes;
use protocol::transfer::{Control, FailReason, Failed, Trailer, message};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Why a transfer ended early. What was stored so far can be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The other end gave up, or the gateway did; in its words.
    #[error("{0}")]
    Peer(Failed),
    /// The file on this end could not be read or written.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// The file on this end ended before all of it was read.
    #[error("the file became shorter while it was sent")]
    Shrunk,
    /// Nothing came for too long.
    #[error("the other end said nothing for {0} seconds")]
    Idle(u64),
    /// The connection ended, or the other end sent more than the window.
    #[error("the connection was lost during the transfer")]
    Closed,
    /// The bytes are not those that were meant.
    #[error("the digest does not match: {expected} was meant, {found} arrived")]
    Corrupt {
        /// What it should be.
        expected: String,
        found: String,
    },
    /// The other end does not keep to the protocol.
    #[error("unexpected message in the transfer: {0}")]
    Unexpected(String),
}

impl From<&Error> for Failed {
    fn from(error: &Error) -> Failed {
        match error {
            Error::Peer(why) => why.clone(),
            Error::Corrupt { .. } => Failed::because(FailReason::DigestMismatch, error.to_string()),
            _ => error.to_string().into(),
        }
    }
}

/// Nothing can be sent any more.
#[derive(Debug)]
pub struct Closed;

/// What carries the messages of one transfer: a client's connection, or the gateway for its own end.
pub trait Wire: Send + Sync {
    /// Sends one message, the transfer's id first; waits for room.
    fn send(&self, message: Bytes) -> impl Future<Output = Result<(), Closed>> + Send;

    /// The next message that arrived, without the id; `None` once there will be no more.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// One end of a transfer.
pub struct Link<W> {
    wire: W,
    id: u32,
}

impl<W: Wire> Link<W> {
    /// The end of the transfer with this id.
    pub fn new(wire: W, id: u32) -> Link<W> {
        Link { wire, id }
    }

    /// Receiver: says that the file is complete, checked and in place.
    pub async fn stored(&self, sha256: &str) -> Result<(), Error> {
        self.say(&Control::Stored { stored: sha256.to_string() }).await
    }

    /// Receiver: gives up and says why. A connection that is lost too makes no difference.
    pub async fn fail(&self, why: impl Into<Failed>) {
        drop(self.say(&Control::Failed(why.into())).await);
    }

    /// Sender: gives up and says why. A connection that is lost too makes no difference.
    pub async fn fail_sending(&self, why: impl Into<Failed>) {
        if self.put(&[]).await.is_ok() {
            drop(self.say(&Trailer::Failed(why.into())).await);
        }
    }

    /// Receiver: repeats that `received` bytes have arrived for as long as the work takes, so that nobody takes
    /// the transfer for dead.
    pub async fn say_alive_during<T>(
        &self,
        received: u64,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        tokio::pin!(work);
        loop {
            match timeout(limits::transfer::SIGN_OF_LIFE, &mut work).await {
                Ok(done) => return Ok(done),
                Err(_) => self.say(&Control::Ack { ack: received }).await?,
            }
        }
    }

    pub(crate) async fn put(&self, payload: &[u8]) -> Result<(), Error> {
        let sent = self.wire.send(Bytes::from(message(self.id, payload))).await;
        sent.map_err(|Closed| Error::Closed)
    }

    pub(crate) async fn say<T: Serialize>(&self, words: &T) -> Result<(), Error> {
        self.put(protocol::frame::to_json(words).as_bytes()).await
    }

    /// The next message, within the limit for silence.
    pub(crate) async fn next(&mut self) -> Result<Bytes, Error> {
        match timeout(limits::transfer::IDLE, self.wait()).await {
            Ok(payload) => payload,
            Err(_) => Err(Error::Idle(limits::transfer::IDLE.as_secs())),
        }
    }

    /// The next message, however long it takes.
    pub(crate) async fn wait(&mut self) -> Result<Bytes, Error> {
        poll_fn(|cx| self.wire.poll_next(cx)).await.ok_or(Error::Closed)
    }

    /// A message that is there already.
    pub(crate) fn take(&mut self) -> Result<Option<Bytes>, Error> {
        match self.wire.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(payload)) => Ok(Some(payload)),
            Poll::Ready(None) => Err(Error::Closed),
            Poll::Pending => Ok(None),
        }
    }
}

/// What the other end said.
pub(crate) fn parse<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(payload).map_err(|error| Error::Unexpected(error.to_string()))
}
