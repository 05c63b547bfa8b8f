//! The bytes of `fs.pull` and `fs.push`, both ends: window, acknowledgements, digest.
//!
//! After `fs.pull` or `fs.push` was answered, either end opens a [`Link`] with the transfer's id. The file's
//! side calls [`send`], the other side [`receive`], then [`Link::stored`] or [`Link::fail`]:
//!
//! ```no_run
//! # use client::{Connection, transfer::{self, Link}};
//! # use tokio::io::AsyncWriteExt;
//! # async fn pull(connection: &Connection, opened: protocol::fs::PullOpened) -> Result<(), transfer::Error> {
//! // Pull: the bytes from `offset` (here 0) on come to this side.
//! let mut link = Link::open(connection, opened.transfer_id);
//! let mut file = Vec::new();
//! let sha256 = transfer::receive(&mut link, &mut file, 0, opened.size, Default::default(), |_| {}).await?;
//! link.stored(&sha256).await
//! # }
//! # async fn push(connection: &Connection, opened: protocol::fs::PushOpened) -> Result<(), transfer::Error> {
//! // Push: the file, read up to `opened.offset` for its digest, goes to the other side.
//! let (mut file, size) = (&b"content"[..], 7);
//! let hash = transfer::hash(&mut file, opened.offset).await?;
//! let mut link = Link::open(connection, opened.transfer_id);
//! transfer::send(&mut link, &mut file, opened.offset, size, hash, |_sent| {}).await?;
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

use base::limits;
use bytes::Bytes;
use protocol::transfer::{Control, Trailer, message};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Digest;
pub use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::Connection;

/// Why a transfer ended early. What was stored so far can be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The other end gave up, or the gateway did; in its words.
    #[error("{0}")]
    Peer(String),
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
        /// What it is.
        found: String,
    },
    /// The other end does not keep to the protocol.
    #[error("unexpected message in the transfer: {0}")]
    Unexpected(String),
}

/// One end of a transfer. Dropping it forgets the transfer.
pub struct Link {
    connection: Connection,
    id: u32,
    messages: mpsc::Receiver<Bytes>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.connection.transfer_done(self.id);
    }
}

impl Link {
    /// Registers the transfer on the connection.
    pub fn open(connection: &Connection, id: u32) -> Link {
        Link { messages: connection.transfer(id), connection: connection.clone(), id }
    }

    /// Receiver: says that the file is complete, checked and in place.
    pub async fn stored(&self, sha256: &str) -> Result<(), Error> {
        self.say(&Control::Stored { stored: sha256.to_string() }).await
    }

    /// Receiver: gives up and says why. A connection that is lost too makes no difference.
    pub async fn fail(&self, error: &str) {
        drop(self.say(&Control::Failed { error: error.to_string() }).await);
    }

    /// Sender: gives up and says why. A connection that is lost too makes no difference.
    pub async fn fail_sending(&self, error: &str) {
        if self.put(&[]).await.is_ok() {
            drop(self.say(&Trailer::Failed { error: error.to_string() }).await);
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
            match timeout(limits::TRANSFER_SIGN_OF_LIFE, &mut work).await {
                Ok(done) => return Ok(done),
                Err(_) => self.say(&Control::Ack { ack: received }).await?,
            }
        }
    }

    async fn put(&self, payload: &[u8]) -> Result<(), Error> {
        let sent = self.connection.send_binary(Bytes::from(message(self.id, payload))).await;
        sent.map_err(|_| Error::Closed)
    }

    async fn say<T: Serialize>(&self, words: &T) -> Result<(), Error> {
        self.put(protocol::frame::to_json(words).as_bytes()).await
    }

    async fn next(&mut self) -> Result<Bytes, Error> {
        match timeout(limits::TRANSFER_IDLE, self.messages.recv()).await {
            Ok(Some(payload)) => Ok(payload),
            Ok(None) => Err(Error::Closed),
            Err(_) => Err(Error::Idle(limits::TRANSFER_IDLE.as_secs())),
        }
    }
}

/// Reads `bytes` bytes into a digest: the part of a file that the other end has already.
pub async fn hash<R: AsyncRead + Unpin>(file: &mut R, bytes: u64) -> Result<Sha256, Error> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; limits::TRANSFER_CHUNK_BYTES_MAX];
    let mut left = bytes;
    while left > 0 {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let got = file.read(&mut buffer[..wanted]).await?;
        if got == 0 {
            return Err(Error::Shrunk);
        }
        hash.update(&buffer[..got]);
        left -= got as u64;
    }
    Ok(hash)
}

/// As [`hash`], for the receiver's own beginning of a file: tells the sender meanwhile that it is not forgotten.
pub async fn hash_before_receiving<R: AsyncRead + Unpin>(
    link: &Link,
    file: &mut R,
    bytes: u64,
) -> Result<Sha256, Error> {
    link.say_alive_during(0, hash(file, bytes)).await?
}

/// Sends a file's bytes from `offset` up to `size`, then its digest, and waits until the other end has stored
/// them. `file` stands at `offset`, `hash` holds everything before it. `progress` gets the position in the
/// file. Returns the digest in hex. On an error of this end the other end has been told.
pub async fn send<R: AsyncRead + Unpin>(
    link: &mut Link,
    file: &mut R,
    offset: u64,
    size: u64,
    hash: Sha256,
    mut progress: impl FnMut(u64),
) -> Result<String, Error> {
    let sha256 = match send_bytes(link, file, offset, size, hash, &mut progress).await {
        Ok(sha256) => sha256,
        Err(error) => {
            if !matches!(error, Error::Closed | Error::Peer(_)) {
                link.fail_sending(&error.to_string()).await;
            }
            return Err(error);
        }
    };
    link.put(&[]).await?;
    link.say(&Trailer::Done { sha256: sha256.clone() }).await?;
    loop {
        match control(&link.next().await?)? {
            Control::Ack { .. } => {}
            Control::Stored { stored } if stored.eq_ignore_ascii_case(&sha256) => return Ok(sha256),
            Control::Stored { stored } => return Err(Error::Corrupt { expected: sha256, found: stored }),
            Control::Failed { error } => return Err(Error::Peer(error)),
        }
    }
}

async fn send_bytes<R: AsyncRead + Unpin>(
    link: &mut Link,
    file: &mut R,
    offset: u64,
    size: u64,
    mut hash: Sha256,
    progress: &mut impl FnMut(u64),
) -> Result<String, Error> {
    let mut buffer = vec![0; limits::TRANSFER_CHUNK_BYTES_MAX];
    let (mut sent, mut acknowledged) = (0u64, 0u64);
    progress(offset);
    while offset + sent < size {
        // News is taken in as it comes; without room in the window it is waited for.
        loop {
            let payload = match link.messages.try_recv() {
                Ok(payload) => payload,
                Err(_) if sent - acknowledged >= limits::TRANSFER_WINDOW_BYTES => link.next().await?,
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) => return Err(Error::Closed),
            };
            match control(&payload)? {
                Control::Ack { ack } => acknowledged = acknowledged.max(ack.min(sent)),
                Control::Failed { error } => return Err(Error::Peer(error)),
                Control::Stored { .. } => return Err(Error::Unexpected("stored before the end".to_string())),
            }
        }
        let wanted = buffer.len().min(usize::try_from(size - offset - sent).unwrap_or(usize::MAX));
        let got = fill(file, &mut buffer[..wanted]).await?;
        if got == 0 {
            return Err(Error::Shrunk);
        }
        hash.update(&buffer[..got]);
        link.put(&buffer[..got]).await?;
        sent += got as u64;
        progress(offset + sent);
    }
    Ok(hex(hash))
}

/// Takes in a file's bytes from `offset` up to `size`, acknowledging, and checks the digest that follows.
/// `hash` holds everything before `offset`. `progress` gets the position in the file. Returns the digest in
/// hex. The file is flushed but not synced; afterwards the caller says [`Link::stored`]. On an error of this
/// end the other end has been told.
pub async fn receive<W: AsyncWrite + Unpin>(
    link: &mut Link,
    file: &mut W,
    offset: u64,
    size: u64,
    hash: Sha256,
    mut progress: impl FnMut(u64),
) -> Result<String, Error> {
    let received = receive_bytes(link, file, offset, size, hash, &mut progress).await;
    // Also when the other end failed first: the gateway between learns from this that the transfer is over.
    if let Err(error) = &received
        && !matches!(error, Error::Closed)
    {
        link.fail(&error.to_string()).await;
    }
    received
}

async fn receive_bytes<W: AsyncWrite + Unpin>(
    link: &mut Link,
    file: &mut W,
    offset: u64,
    size: u64,
    mut hash: Sha256,
    progress: &mut impl FnMut(u64),
) -> Result<String, Error> {
    let (mut received, mut acknowledged) = (0u64, 0u64);
    progress(offset);
    loop {
        let payload = next_with_signs_of_life(link, received).await?;
        if payload.is_empty() {
            break;
        }
        if payload.len() as u64 > size.saturating_sub(offset + received) {
            return Err(Error::Unexpected("more bytes than the file has".to_string()));
        }
        file.write_all(&payload).await?;
        hash.update(&payload);
        received += payload.len() as u64;
        progress(offset + received);
        if received - acknowledged >= limits::TRANSFER_ACK_BYTES {
            link.say(&Control::Ack { ack: received }).await?;
            acknowledged = received;
        }
    }
    file.flush().await?;
    match parse::<Trailer>(&link.next().await?)? {
        Trailer::Failed { error } => Err(Error::Peer(error)),
        Trailer::Done { .. } if offset + received < size => {
            Err(Error::Unexpected("the end came too early".into()))
        }
        Trailer::Done { sha256 } => {
            let found = hex(hash);
            if found.eq_ignore_ascii_case(&sha256) {
                Ok(found)
            } else {
                Err(Error::Corrupt { expected: sha256, found })
            }
        }
    }
}

/// The other end may have to read a long beginning of its file before it sends: until then this end repeats
/// its acknowledgement, so that nobody between takes the transfer for dead. The limit grows with the file.
async fn next_with_signs_of_life(link: &mut Link, received: u64) -> Result<Bytes, Error> {
    let mut waited = Duration::ZERO;
    loop {
        match timeout(limits::TRANSFER_SIGN_OF_LIFE, link.messages.recv()).await {
            Ok(Some(payload)) => return Ok(payload),
            Ok(None) => return Err(Error::Closed),
            Err(_) => waited += limits::TRANSFER_SIGN_OF_LIFE,
        }
        let limit = if received == 0 { limits::TRANSFER_FIRST } else { limits::TRANSFER_IDLE };
        if waited >= limit {
            return Err(Error::Idle(waited.as_secs()));
        }
        link.say(&Control::Ack { ack: received }).await?;
    }
}

/// Reads until the buffer is full or the file ends: full chunks keep the number of messages small.
async fn fill<R: AsyncRead + Unpin>(file: &mut R, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]).await? {
            0 => break,
            got => filled += got,
        }
    }
    Ok(filled)
}

/// A digest in hex.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn control(payload: &[u8]) -> Result<Control, Error> {
    parse(payload)
}

fn parse<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(payload).map_err(|error| Error::Unexpected(error.to_string()))
}
