//! Upload to a machine: a file is taken in, checked, put in its place, and the sender told.

use std::fs::File;

use tokio::sync::Notify;

use crate::link::{Error, Link, Wire};
use crate::receive::{hash_before_receiving, receive_bytes};

/// An upload whose partial file is open and locked.
pub struct Intake {
    /// The partial file, at its beginning.
    pub file: File,
    /// How much is in it already.
    pub offset: u64,
    /// How much it shall be.
    pub size: u64,
    /// SHA-256 of the whole, in hex.
    pub sha256: String,
}

/// Where an upload goes at its end. Both are done on a thread that may wait.
pub trait Destination: Send + 'static {
    /// Puts the whole file, now checked, in its place, durably; fails with words for the sender.
    fn store(self, file: File) -> Result<(), String>;

    /// Throws the partial file away: it is not the beginning of what was meant.
    fn discard(self);
}

/// Takes an upload in to its end. What arrived before it broke off stays for the next attempt; `ended` is told
/// when a newer upload of the same file takes over.
pub async fn take_in<W: Wire>(
    mut link: Link<W>,
    intake: Intake,
    destination: impl Destination,
    ended: &Notify,
) {
    let Intake { file, offset, size, sha256 } = intake;
    let mut file = tokio::fs::File::from_std(file);
    let received = async {
        let hash = hash_before_receiving(&link, &mut file, offset).await?;
        receive_bytes(&mut link, &mut file, offset, size, hash, &mut |_| {}).await
    };
    let received = tokio::select! {
        received = received => received,
        () = ended.notified() => return link.fail("a newer transfer of the same file has begun").await,
    };
    let found = match received {
        Ok(found) if found.eq_ignore_ascii_case(&sha256) => found,
        Ok(found) => return discard(&link, destination, &Error::Corrupt { expected: sha256, found }).await,
        Err(error @ Error::Corrupt { .. }) => return discard(&link, destination, &error).await,
        Err(error) => {
            tracing::debug!(%error, "a file was not taken in to its end");
            if !matches!(error, Error::Closed) {
                link.fail(&error).await;
            }
            return;
        }
    };
    let file = file.into_std().await;
    // A slow disk may take its time to make the bytes durable.
    let storing = tokio::task::spawn_blocking(move || destination.store(file));
    let told = match link.say_alive_during(size - offset, storing).await {
        Ok(Ok(Ok(()))) => link.stored(&found).await,
        Ok(Ok(Err(words))) => return link.fail(words).await,
        Ok(Err(error)) => return link.fail(format!("Internal error: {error}")).await,
        Err(error) => Err(error),
    };
    if let Err(error) = told {
        tracing::debug!(%error, "a stored file could not be reported");
    }
}

/// The sender is told at last: it may try again at once, and must not find what is thrown away.
async fn discard<W: Wire>(link: &Link<W>, destination: impl Destination, why: &Error) {
    if let Err(error) = tokio::task::spawn_blocking(move || destination.discard()).await {
        tracing::warn!(%error, "a partial file could not be removed");
    }
    link.fail(why).await;
}
