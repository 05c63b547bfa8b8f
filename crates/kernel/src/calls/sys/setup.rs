//! Handler of `sys.setup`: the first user of a fresh gateway.

use std::sync::Arc;

use base::limits;
use base::random::Random;
use base::sync::lock;
use protocol::args::Members;
use protocol::error::Error;
use protocol::ids::{DeviceId, Gid, TokenId, Uid};
use protocol::sys::token::TokenKind;
use protocol::sys::{Setup, SetupDone};
use protocol::{args, config};
use serde_json::Value;
use store::accounts::{NewAccount, Setup as SetupRows};
use store::tokens::NewToken;

use super::token;
use crate::connections::Connection;
use crate::ticket::Ticket;
use crate::{Kernel, homes, settings, tasks};

/// What is answered to everything else until the system is set up; elsewhere it says that a code is needed for that.
pub(crate) fn required(connection: &Connection) -> Error {
    let error = Error::setup_required();
    match (connection.is_local, error.details.clone()) {
        (false, Some(Value::Object(mut details))) => {
            details.insert("codeRequired".to_string(), Value::Bool(true));
            error.with_details(Value::Object(details))
        }
        _ => error,
    }
}

/// Whether whoever is at the other end may set the system up: anybody on this machine, elsewhere who knows the code that
/// the gateway printed.
pub(crate) fn check_code(kernel: &Kernel, connection: &Connection, raw: &str) -> Result<(), Error> {
    if connection.is_local {
        return Ok(());
    }
    let members = Members::parse(raw);
    let given = members.as_ref().and_then(|members| members.text("code"));
    let code = lock(&kernel.setup_code);
    // Without one the setup has just been done.
    let code = code.as_ref().ok_or_else(Error::already_initialized)?;
    kernel.authenticator.check_setup_code(code, given.as_deref(), connection.peer)
}

/// Handles the request; the gate has checked that the system is in setup mode, and the code.
pub(crate) fn begin(kernel: &Arc<Kernel>, ticket: Ticket, raw: &str) {
    let request = args::decode::<Setup>(raw);
    let kernel = kernel.clone();
    tasks::run(async move {
        let result = match request {
            Ok(request) => setup(&kernel, request).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(done) => {
                let text = ticket.head() + &protocol::frame::to_json(&done);
                ticket.answer(Ok(text));
            }
            Err(error) => ticket.fail(error),
        }
    });
}

async fn setup(kernel: &Kernel, request: Setup) -> Result<SetupDone, Error> {
    if request.bootstrap.is_some() {
        return Err(Error::bad("bootstrap is not available on this gateway: leave it out"));
    }
    let username = check_username(&request.username)?;
    if kernel.store.accounts().by_name(username).await?.is_some() {
        return Err(Error::bad(format!("User already exists: {username}")));
    }
    let password = check_password("password", &request.password)?;
    let root_password = request.root_password.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let root_password = root_password.map(|text| check_password("rootPassword", text)).transpose()?;
    let config = config_of(&request)?;
    let now_ms = kernel.clock.now_ms();
    let (raw, new_token) = node_token(&request, kernel.gateway.random(), now_ms)?.unzip();
    let hash = kernel.authenticator.passwords().hash(password).await?;
    let root_hash = match root_password {
        Some(root_password) => kernel.authenticator.passwords().hash(root_password).await?,
        None => hash.clone(),
    };
    let account = NewAccount { username: username.to_string(), hash, groups: vec![Gid::USERS], now_ms };
    let rows = SetupRows { account, root_hash: root_hash.clone(), config, token: new_token };
    let written = kernel.store.setup(rows).await?;
    let (account, token_row) = written.ok_or_else(Error::already_initialized)?;
    kernel.leave_setup_mode();
    tracing::info!(username, uid = %account.uid, "the system was set up");
    homes::add_home(&kernel.tree, account.clone(), false).await;
    Ok(SetupDone {
        user: account.identity(),
        root_locked: auth::is_unset(&root_hash),
        bootstrap: None,
        node_token: raw.zip(token_row).map(|(raw, row)| token::with_secret(&row, raw)),
    })
}

fn config_of(request: &Setup) -> Result<Vec<(String, String)>, Error> {
    let mut config = Vec::new();
    let trimmed = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_string)
    };
    if let Some(timezone) = trimmed(&request.timezone) {
        if !settings::is_timezone(&timezone) {
            return Err(Error::bad("timezone must be a valid IANA timezone"));
        }
        config.push((config::SERVER_TIMEZONE.name().to_string(), timezone));
    }
    if let Some(ai) = &request.ai {
        let key = ai.api_key.clone().filter(|key| !key.trim().is_empty());
        let given = [
            ("ai.provider", config::AI_PROVIDER, trimmed(&ai.provider)),
            ("ai.model", config::AI_MODEL, trimmed(&ai.model)),
            ("ai.apiKey", config::AI_API_KEY, key),
        ];
        for (field, key, value) in given {
            let Some(value) = value else { continue };
            settings::check_given("sys.setup", field, key.name(), &value)?;
            config.push((key.name().to_string(), value));
        }
    }
    Ok(config)
}

fn node_token(request: &Setup, random: &Random, now_ms: i64) -> Result<Option<(String, NewToken)>, Error> {
    let Some(node) = &request.node else { return Ok(None) };
    let device_id = node.device_id.trim();
    if device_id.is_empty() {
        return Err(Error::bad("node.deviceId is required"));
    }
    if DeviceId::parse(device_id).is_none() {
        return Err(Error::bad(format!("node.deviceId is not a device id: {}", DeviceId::RULE)));
    }
    let expires_at = token::check_expiry("node.expiresAt", node.expires_at, now_ms)?;
    let label = node.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
    let label = token::check_label("node.label", label)?.unwrap_or_else(|| format!("node:{device_id}"));
    let raw = auth::tokens::new(TokenKind::Node, random);
    let new = NewToken {
        token_id: TokenId(random.uuid()),
        uid: Uid::ROOT,
        kind: TokenKind::Node,
        label: Some(label),
        hash: auth::tokens::hash(&raw),
        prefix: auth::tokens::prefix(&raw),
        allowed_device_id: Some(device_id.to_string()),
        created_at: now_ms,
        expires_at,
        approve: false,
        parent_id: None,
    };
    Ok(Some((raw, new)))
}

/// `^[a-z_][a-z0-9_-]{0,31}$`, trimmed.
pub(crate) fn check_username(username: &str) -> Result<&str, Error> {
    let username = username.trim();
    if username.is_empty() {
        return Err(Error::bad("username is required"));
    }
    let first = username.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let rest = username.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if first && rest && username.len() <= 32 {
        Ok(username)
    } else {
        Err(Error::bad("username must match ^[a-z_][a-z0-9_-]{0,31}$"))
    }
}

/// Trimmed, at least 8 characters.
pub(crate) fn check_password<'a>(field: &str, password: &'a str) -> Result<&'a str, Error> {
    let password = password.trim();
    if password.is_empty() {
        return Err(Error::bad(format!("{field} is required")));
    }
    if password.chars().count() < 8 {
        return Err(Error::bad(format!("{field} must be at least 8 characters")));
    }
    if password.len() > limits::login::PASSWORD_MAX_BYTES {
        return Err(Error::bad(format!(
            "{field} must be at most {} bytes",
            limits::login::PASSWORD_MAX_BYTES
        )));
    }
    Ok(password)
}
