//! Credential storage of a login: the tokens of a session, in the system's keyring and in the settings file.
//!
//! Where there is a keyring there are two: one that may answer approvals, in the keyring, and one that may not, in the file,
//! for whoever cannot ask the keyring. Where there is none, one token in the file does both.

use std::fmt;

use client::{Answer, Session};
use protocol::sys::token::{Create, NewToken};
use terminal::failure::Result;
use terminal::times;

use crate::config_file::{self, ConfigFile, StoredSession};
use crate::context::Context;
use crate::{credentials, keyring};

/// How long a session lasts when nobody says.
pub const SESSION_HOURS: u32 = 8;

/// How a session is to be kept.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// How long.
    pub hours: u32,
    /// Whether it may answer approvals; as the login when absent.
    pub approve: Option<bool>,
    /// Whether the system's keyring is asked.
    pub keyring: bool,
}

impl Default for Keeping {
    fn default() -> Keeping {
        Keeping { hours: SESSION_HOURS, approve: None, keyring: true }
    }
}

/// What was kept.
pub struct KeptSession {
    /// When it ends, in milliseconds.
    pub until_ms: i64,
    /// Where what may answer approvals is.
    pub place: Vault,
}

/// Where a token is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vault {
    Keyring,
    File,
}

impl Vault {
    fn name(self) -> &'static str {
        match self {
            Vault::Keyring => "keyring",
            Vault::File => "file",
        }
    }
}

impl fmt::Display for Vault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Vault::Keyring => "kept in the system's keyring",
            Vault::File => "kept in the settings file",
        })
    }
}

/// Makes session tokens and keeps them, so that later commands need no password.
pub async fn keep(context: &Context, session: &Session, keeping: &Keeping) -> Result<Answer<KeptSession>> {
    let until_ms = context.clock.now_ms() + times::hours_ms(keeping.hours);
    let made = create(session, until_ms, keeping.approve).await?;
    forget_earlier(session).await?;
    let place = match keeping.keyring && made.approve && keyring::is_possible() {
        true => put(context, session, &made).await,
        false => Vault::File,
    };
    let (in_file, keyring_token_id) = match place {
        Vault::Keyring => (create(session, until_ms, Some(false)).await?, Some(made.token_id.to_string())),
        Vault::File => (made.clone(), None),
    };
    let until_ms = made.expires_at.unwrap_or(until_ms);
    config_file::update(|file| {
        file.pin_device()?;
        if !credentials::same_gateway(file, &session.url) {
            file.set("gateway.url", &session.url)?;
        }
        file.set("gateway.username", session.username())?;
        file.put_session(&StoredSession {
            url: session.url.clone(),
            username: session.username().to_string(),
            token: in_file.token.clone(),
            token_id: Some(in_file.token_id.to_string()),
            expires_at_ms: Some(until_ms),
            keyring_token_id,
        })
    })?;
    let raw = serde_json::json!({
        "username": session.username(), "url": session.url, "tokenId": made.token_id, "expiresAt": until_ms,
        "approve": made.approve, "keptIn": place.name(),
    });
    Ok(Answer { raw: raw.to_string(), value: KeptSession { until_ms, place } })
}

/// The token of a session that may answer approvals, unless it is the one in the file, or the keyring is locked or gone.
pub async fn approving_token(session: &StoredSession) -> Option<String> {
    let id = session.keyring_token_id.as_deref().filter(|_| keyring::is_possible())?;
    match keyring::find(id).await {
        Ok(token) => token,
        Err(error) => {
            tracing::debug!(%error, "the keyring has no token for this session");
            None
        }
    }
}

/// Takes the token of a session out of the keyring, where that is possible.
pub async fn forget(session: &StoredSession) {
    let Some(id) = session.keyring_token_id.as_deref().filter(|_| keyring::is_possible()) else { return };
    if let Err(error) = keyring::remove(id).await {
        tracing::debug!(%error, "a token that is over stays in the keyring");
    }
}

async fn create(session: &Session, until_ms: i64, approve: Option<bool>) -> Result<NewToken> {
    let call = Create {
        uid: None,
        kind: "user".to_string(),
        label: Some(format!("gsv-cli@{}", std::env::consts::OS)),
        allowed_role: Some("user".to_string()),
        allowed_device_id: None,
        expires_at: Some(until_ms as f64),
        approve,
    };
    Ok(session.call(&call).await?.value.token)
}

async fn put(context: &Context, session: &Session, token: &NewToken) -> Vault {
    let label = format!("GSV login of {} at {}", session.username(), session.url);
    match keyring::put(token.token_id.as_str(), &label, &token.token).await {
        Ok(()) => Vault::Keyring,
        Err(error) => {
            context.output.note(&format!("note: the system's keyring cannot be used: {error}"));
            Vault::File
        }
    }
}

/// A session that is about to be replaced leaves nothing in the keyring.
async fn forget_earlier(session: &Session) -> Result<()> {
    let sessions = ConfigFile::load()?.sessions();
    for earlier in sessions.iter().filter(|earlier| earlier.is_of(&session.url, session.username())) {
        forget(earlier).await;
    }
    Ok(())
}
