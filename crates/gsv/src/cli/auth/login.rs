//! `gsv auth login` and `gsv auth logout`.

use clap::Args;
use protocol::sys::Auth;
use protocol::sys::token::Revoke;
use serde_json::json;
use terminal::failure::{Failure, Result};
use terminal::times;

use crate::config_file::{self, ConfigFile, StoredSession};
use crate::context::Context;
use crate::kept_session::{self, Keeping, keep};
use crate::session;
use crate::{credentials, prompt};

/// Arguments of `gsv auth login`.
#[derive(Args, Debug)]
pub struct Login {
    /// The user to log in as; the same as --user.
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// Read the password from the first line of stdin.
    #[arg(long, conflicts_with_all = ["password", "token"])]
    password_stdin: bool,
    /// How many hours to stay logged in.
    #[arg(long, value_name = "HOURS", default_value_t = kept_session::SESSION_HOURS,
        value_parser = clap::value_parser!(u32).range(1..=8_760))]
    ttl_hours: u32,
    /// The session may not answer approvals, however you log in.
    #[arg(long)]
    no_approve: bool,
    /// Keep the session in the settings file, also where the system has a keyring.
    #[arg(long)]
    no_keyring: bool,
}

/// Logs in and keeps the session.
pub async fn run(context: &Context, args: Login) -> Result<u8> {
    let file = ConfigFile::load()?;
    let url = credentials::url(&context.globals, &file);
    if context.globals.token.is_none() {
        context.may_send_password(&url)?;
    }
    session::probe(&url).await?;
    let auth = ask(context, &file, &url, &args)?;
    let session = session::log_in(context, &url, auth).await?;
    let approve = args.no_approve.then_some(false);
    let keeping = Keeping { hours: args.ttl_hours, approve, keyring: !args.no_keyring };
    let kept = keep(context, &session, &keeping).await?;
    let (until, place) = (times::show(kept.value.until_ms), kept.value.place);
    context.output.answer(&kept.raw, || {
        format!("logged in as {} at {url} until {until}, {place}", session.username())
    })?;
    Ok(0)
}

/// Ends the session of a gateway and user: there, where it can be reached, and here in any case.
pub async fn log_out(context: &Context) -> Result<u8> {
    let file = ConfigFile::load()?;
    let url = credentials::url(&context.globals, &file);
    let username = credentials::username(&context.globals, &file, &url).unwrap_or_default();
    let Some(session) = file.sessions().into_iter().find(|session| session.is_of(&url, &username)) else {
        let raw = json!({ "loggedOut": false, "revoked": false }).to_string();
        context.output.answer(&raw, || format!("nobody was logged in at {url}"))?;
        return Ok(0);
    };
    let revoked = end(context, &session).await;
    kept_session::forget(&session).await;
    config_file::update(|file| file.remove_session(&url, &username))?;
    if let Err(failure) = &revoked {
        context
            .output
            .note(&format!("warning: the session was forgotten but not revoked: {}", failure.message));
    }
    let raw = json!({ "loggedOut": true, "revoked": revoked.is_ok(), "url": url, "username": username });
    context.output.answer(&raw.to_string(), || format!("logged out {username} at {url}"))?;
    Ok(0)
}

/// Revokes the tokens of a session, the one that is in the keyring first.
async fn end(context: &Context, session: &StoredSession) -> Result<()> {
    let own = session.token_id.clone().ok_or_else(|| Failure::new("its id is not known"))?;
    let auth =
        Auth { username: session.username.clone(), password: None, token: Some(session.token.clone()) };
    let connected = session::log_in(context, &session.url, auth).await?;
    for token_id in session.keyring_token_id.clone().into_iter().chain([own]) {
        match connected.call(&Revoke { token_id, reason: Some("logout".to_string()), uid: None }).await {
            // The gateway closes the connections of a revoked token, at times before it has answered.
            Ok(_) => {}
            Err(_) if connected.connection.is_closed() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn ask(context: &Context, file: &ConfigFile, url: &str, args: &Login) -> Result<Auth> {
    let given = args.username.clone().or_else(|| context.globals.user.clone());
    let username = match given {
        Some(username) => username,
        None if prompt::is_possible(&context.output) => {
            prompt::line("Username", credentials::username(&context.globals, file, url).as_deref())?
        }
        None => credentials::username(&context.globals, file, url)
            .ok_or_else(|| Failure::new("no user name is known").with_hint("give --username"))?,
    };
    if let Some(token) = context.globals.token.clone() {
        return Ok(Auth { username, password: None, token: Some(token) });
    }
    let password = match context.globals.password.clone() {
        Some(password) => password,
        None if args.password_stdin => prompt::password_from_stdin()?,
        None if prompt::is_possible(&context.output) => prompt::password("Password")?,
        None => {
            return Err(Failure::new("there is no password").with_hint("give --password or --password-stdin"));
        }
    };
    Ok(Auth { username, password: Some(password), token: None })
}
