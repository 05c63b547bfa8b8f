//! Receiver of a sliding-window transfer: takes the bytes in, acknowledges, and checks the digest.

use std::time::Duration;

use base::limits;
use bytes::Bytes;
use protocol::transfer::{Control, Trailer};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::link::{Error, Link, Wire, parse};
use crate::{hash, hex};

/// As [`hash`], for the receiver's own beginning of a file: tells the sender meanwhile that it is not forgotten.
pub async fn hash_before_receiving<W: Wire, R: AsyncRead + Unpin>(
    link: &Link<W>,
    file: &mut R,
    bytes: u64,
) -> Result<Sha256, Error> {
    link.say_alive_during(0, hash(file, bytes)).await?
}

/// Takes in a file's bytes from `offset` up to `size`, acknowledging, and checks the digest that follows.
/// `hash` holds everything before `offset`. `progress` gets the position in the file. Returns the digest in
/// hex. The file is flushed but not synced; afterwards the caller says [`Link::stored`]. On an error of this
/// end the other end has been told.
pub async fn receive<W: Wire, F: AsyncWrite + Unpin>(
    link: &mut Link<W>,
    file: &mut F,
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
        link.fail(error).await;
    }
    received
}

/// The same without a word to the other end when it fails.
pub(crate) async fn receive_bytes<W: Wire, F: AsyncWrite + Unpin>(
    link: &mut Link<W>,
    file: &mut F,
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
        if received - acknowledged >= limits::transfer::ACK_BYTES {
            link.say(&Control::Ack { ack: received }).await?;
            acknowledged = received;
        }
    }
    file.flush().await?;
    match parse::<Trailer>(&link.next().await?)? {
        Trailer::Failed(why) => Err(Error::Peer(why)),
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
async fn next_with_signs_of_life<W: Wire>(link: &mut Link<W>, received: u64) -> Result<Bytes, Error> {
    let mut waited = Duration::ZERO;
    loop {
        match timeout(limits::transfer::SIGN_OF_LIFE, link.wait()).await {
            Ok(payload) => return payload,
            Err(_) => waited += limits::transfer::SIGN_OF_LIFE,
        }
        let limit = if received == 0 { limits::transfer::FIRST } else { limits::transfer::IDLE };
        if waited >= limit {
            return Err(Error::Idle(waited.as_secs()));
        }
        link.say(&Control::Ack { ack: received }).await?;
    }
}
