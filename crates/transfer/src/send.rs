//! Sender of a sliding-window transfer: sends the bytes of a file within the window, then the digest, and waits until
//! they are stored.

use base::limits;
use protocol::transfer::{Control, Trailer};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::hex;
use crate::link::{Error, Link, Wire, parse};

/// Sends a file that a machine offers, from `offset` up to the `size` it had when it was opened.
pub async fn give<W: Wire, R: AsyncRead + Unpin>(mut link: Link<W>, mut file: R, offset: u64, size: u64) {
    let hash = match hash(&mut file, offset).await {
        Ok(hash) => hash,
        Err(error) => return link.fail_sending(&error).await,
    };
    if let Err(error) = send(&mut link, &mut file, offset, size, hash, |_| {}).await {
        tracing::debug!(%error, "a file was not sent to its end");
    }
}

/// Reads `bytes` bytes into a digest: the part of a file that the other end has already.
pub async fn hash<R: AsyncRead + Unpin>(file: &mut R, bytes: u64) -> Result<Sha256, Error> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; limits::transfer::CHUNK_MAX_BYTES];
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

/// Sends a file's bytes from `offset` up to `size`, then its digest, and waits until the other end has stored
/// them. `file` stands at `offset`, `hash` holds everything before it. `progress` gets the position in the
/// file. Returns the digest in hex. On an error of this end the other end has been told.
pub async fn send<W: Wire, R: AsyncRead + Unpin>(
    link: &mut Link<W>,
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
                link.fail_sending(&error).await;
            }
            return Err(error);
        }
    };
    link.put(&[]).await?;
    link.say(&Trailer::Done { sha256: sha256.clone() }).await?;
    loop {
        match parse::<Control>(&link.next().await?)? {
            Control::Ack { .. } => {}
            Control::Stored { stored } if stored.eq_ignore_ascii_case(&sha256) => return Ok(sha256),
            Control::Stored { stored } => return Err(Error::Corrupt { expected: sha256, found: stored }),
            Control::Failed(why) => return Err(Error::Peer(why)),
        }
    }
}

async fn send_bytes<W: Wire, R: AsyncRead + Unpin>(
    link: &mut Link<W>,
    file: &mut R,
    offset: u64,
    size: u64,
    mut hash: Sha256,
    progress: &mut impl FnMut(u64),
) -> Result<String, Error> {
    let mut buffer = vec![0; limits::transfer::CHUNK_MAX_BYTES];
    let (mut sent, mut acknowledged) = (0u64, 0u64);
    progress(offset);
    while offset + sent < size {
        // News is taken in as it comes; without room in the window it is waited for.
        loop {
            let payload = match link.take()? {
                Some(payload) => payload,
                None if sent - acknowledged >= limits::transfer::WINDOW_BYTES => link.next().await?,
                None => break,
            };
            match parse::<Control>(&payload)? {
                Control::Ack { ack } => acknowledged = acknowledged.max(ack.min(sent)),
                Control::Failed(why) => return Err(Error::Peer(why)),
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
