//! Adapter of the system's keyring: the Secret Service of Linux desktops, or none. Only tokens that may answer approvals are
//! kept there; SECURITY.md says whom that holds off.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod secret_service;

use std::time::Duration;

use base::limits;

#[cfg(not(target_os = "linux"))]
use absent::Absent as Service;
#[cfg(target_os = "linux")]
use secret_service::SecretService as Service;

/// How a locked keyring is treated.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// It stays locked: no command waits for a window that nobody sees.
    Quiet,
    /// The system may ask the person to unlock it, for so long.
    MayAsk(Duration),
}

/// Why the keyring cannot be used, in words that follow a colon.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyringError(String);

impl KeyringError {
    fn new(why: impl Into<String>) -> KeyringError {
        KeyringError(why.into())
    }
}

type Result<T> = std::result::Result<T, KeyringError>;

/// Whether this session of the system says that it could have a keyring, so that asking for it is worth the time.
pub fn is_possible() -> bool {
    // Only the bus that the session names: one that is found by guessing may be another session's.
    cfg!(target_os = "linux")
        && std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty())
}

/// Keeps a token under its id; the person may be asked to unlock the keyring.
pub async fn put(token_id: &str, label: &str, token: &str) -> Result<()> {
    let access = Access::MayAsk(limits::cli::KEYRING_UNLOCK_TIMEOUT);
    service().await?.put(token_id, label, token, access).await
}

/// The token with that id, if it is kept and the keyring is not locked.
pub async fn find(token_id: &str) -> Result<Option<String>> {
    service().await?.find(token_id, Access::Quiet).await
}

/// Forgets the token with that id.
pub async fn remove(token_id: &str) -> Result<()> {
    service().await?.remove(token_id, Access::Quiet).await
}

async fn service() -> Result<Service> {
    let timeout = limits::cli::KEYRING_TIMEOUT;
    match tokio::time::timeout(timeout, Service::open(timeout)).await {
        Ok(opened) => opened,
        Err(_) => Err(KeyringError::new("it does not answer")),
    }
}
