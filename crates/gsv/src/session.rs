//! Login of one command: finds credentials, asks for them where that is possible, and opens the connection.

use base::limits;
use client::{Connection, Session};
use protocol::sys::{Auth, Client, Connect};
use terminal::failure::{Failure, Result};
use terminal::times;

use crate::cli::auth::setup;
use crate::cli::version::VERSION;
use crate::config_file::{self, ConfigFile};
use crate::context::Context;
use crate::credentials::{self, Credentials};
use crate::kept_session::{self, Keeping, KeptSession, keep};
use crate::prompt;

/// Logs in with whatever credentials there are.
pub async fn open(context: &Context) -> Result<Session> {
    let file = ConfigFile::load()?;
    let url = credentials::url(&context.globals, &file);
    match credentials::resolve(&context.globals, &file, &url, context.clock.now_ms()) {
        Credentials::Known { auth, cached } => {
            match log_in(context, &url, best(&file, &url, &auth, cached).await).await {
                Err(failure) if failure.has_code(425) => set_up(context, &url, failure).await,
                Err(failure) if failure.has_code(401) && cached => {
                    config_file::update(|file| file.remove_session(&url, &auth.username))?;
                    let username = Some(auth.username);
                    ask(
                        context,
                        &url,
                        username,
                        failure.with_hint("the saved session is over: `gsv auth login`"),
                    )
                    .await
                }
                other => other,
            }
        }
        Credentials::Missing { username, why } => {
            // A gateway that is not set up is the more useful thing to say.
            if let Err(failure) = probe(&url).await {
                return set_up(context, &url, failure).await;
            }
            if let Some(why) = why {
                context.output.note(&format!("warning: {why}"));
            }
            let missing = Failure::new("not logged in")
                .with_hint("run `gsv auth login`, or give --user with --password or --token (GSV_TOKEN)");
            ask(context, &url, username, missing).await
        }
    }
}

/// The saved session, with the token that may answer approvals where the system's keyring has it and is not locked.
async fn best(file: &ConfigFile, url: &str, auth: &Auth, cached: bool) -> Auth {
    let sessions = file.sessions();
    let session = sessions.iter().rev().find(|session| cached && session.is_of(url, &auth.username));
    let token = match session {
        Some(session) => kept_session::approving_token(session).await,
        None => None,
    };
    Auth { token: token.or_else(|| auth.token.clone()), ..auth.clone() }
}

/// Logs in to make something that is to last until then, or for ever: a saved session makes nothing that outlives it, so
/// that a person who can be asked gives the password.
pub async fn open_to_last(context: &Context, until_ms: Option<i64>) -> Result<Session> {
    let file = ConfigFile::load()?;
    let url = credentials::url(&context.globals, &file);
    let resolved = credentials::resolve(&context.globals, &file, &url, context.clock.now_ms());
    if let Credentials::Known { auth, cached: true } = resolved
        && prompt::is_possible(&context.output)
        && ends_before(&file, &url, &auth.username, until_ms)
    {
        context.output.note("what is to outlast your session needs your password");
        context.may_send_password(&url)?;
        let password = prompt::password(&format!("Password for {}", auth.username))?;
        return log_in(context, &url, Auth { password: Some(password), token: None, ..auth }).await;
    }
    open(context).await
}

/// Whether a saved session ends before then.
fn ends_before(file: &ConfigFile, url: &str, username: &str, until_ms: Option<i64>) -> bool {
    let sessions = file.sessions();
    let session = sessions.iter().rev().find(|session| session.is_of(url, username));
    let end_ms = session.and_then(|session| session.expires_at_ms);
    end_ms.is_some_and(|end_ms| until_ms.is_none_or(|until_ms| until_ms > end_ms))
}

/// The gateway a command talks to.
pub fn url(context: &Context) -> Result<String> {
    Ok(credentials::url(&context.globals, &ConfigFile::load()?))
}

/// A socket on which nobody is logged in, for the calls that need no login.
pub async fn open_anonymous(context: &Context) -> Result<(Connection, String)> {
    let url = url(context)?;
    let (connection, _events) = Connection::open(&url).await?;
    Ok((connection, url))
}

/// Fails when the gateway cannot be reached or is not set up.
pub async fn probe(url: &str) -> Result<()> {
    let (connection, _events) = Connection::open(url).await?;
    let outcome = connection.connect(&handshake(&new_client_id(), None)).await;
    connection.close().await;
    match outcome {
        Err(client::Error::Gateway(error)) if error.code != 425 => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// Asks a person who they are, and keeps the session if that changes nothing for later commands; where nobody
/// can be asked, fails as told.
async fn ask(context: &Context, url: &str, username: Option<String>, otherwise: Failure) -> Result<Session> {
    if !prompt::is_possible(&context.output) {
        return Err(otherwise);
    }
    context.may_send_password(url)?;
    // Whoever was named is not asked for: a password typed there would be seen.
    let (username, label) = match context.globals.user.clone().filter(|name| !name.is_empty()) {
        Some(username) => {
            let label = format!("Password for {username}");
            (username, label)
        }
        None => (prompt::line("Username", username.as_deref())?, "Password".to_string()),
    };
    for attempt in 1.. {
        let auth =
            Auth { username: username.clone(), password: Some(prompt::password(&label)?), token: None };
        match log_in(context, url, auth).await {
            Err(failure) if failure.has_code(401) && attempt < limits::cli::PASSWORD_ATTEMPTS_MAX => {
                context.output.note(&failure.message);
            }
            Err(failure) => return Err(failure),
            Ok(session) if !credentials::may_keep(&context.globals, &ConfigFile::load()?, &username, url) => {
                context.output.note(&format!("logged in as {username} for this command only"));
                return Ok(session);
            }
            Ok(session) => {
                let kept = keep(context, &session, &Keeping::default()).await?;
                let KeptSession { until_ms, place } = kept.value;
                context
                    .output
                    .note(&format!("logged in as {username} until {}, {place}", times::show(until_ms)));
                return Ok(session);
            }
        }
    }
    Err(otherwise)
}

/// Offers to set up a gateway that asked for it; any other failure stays what it is.
async fn set_up(context: &Context, url: &str, failure: Failure) -> Result<Session> {
    if !failure.has_code(425) || !prompt::is_possible(&context.output) {
        return Err(failure);
    }
    context.output.note(&format!("The gateway at {url} is not set up yet."));
    if !prompt::confirm("Set it up now?", true)? {
        return Err(failure);
    }
    let auth = setup::wizard(context).await?;
    log_in(context, url, auth).await
}

/// Connects with these credentials. A password goes only where it may.
pub async fn log_in(context: &Context, url: &str, auth: Auth) -> Result<Session> {
    if auth.password.is_some() {
        context.may_send_password(url)?;
    }
    Ok(Session::open(url, handshake(&new_client_id(), Some(auth))).await?)
}

fn handshake(client_id: &str, auth: Option<Auth>) -> Connect {
    let client = Client {
        id: client_id.to_string(),
        version: VERSION.to_string(),
        platform: std::env::consts::OS.to_string(),
        role: "user".to_string(),
        channel: None,
        features: vec![protocol::sys::FEATURE_SESSIONS.to_string()],
    };
    Connect { protocol: 1, client, driver: None, auth, resume: None, streams: None }
}

fn new_client_id() -> String {
    format!("client-{}", base::random::uuid())
}
