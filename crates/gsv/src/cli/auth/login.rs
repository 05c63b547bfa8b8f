//! `gsv auth login` and `gsv auth logout`.

use clap::Args;
use protocol::sys::Auth;
use protocol::sys::token::Revoke;
use serde_json::json;
use terminal::failure::{Failure, Result};
use terminal::times;

use crate::config_file::{self, ConfigFile};
use crate::context::Context;
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
    #[arg(long, value_name = "HOURS", default_value_t = session::SESSION_HOURS,
        value_parser = clap::value_parser!(u32).range(1..=8_760))]
    ttl_hours: u32,
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
    let kept = session::keep(context, &session, args.ttl_hours).await?;
    let until = times::show(kept.value);
    context
        .output
        .answer(&kept.raw, || format!("logged in as {} at {url} until {until}", session.username()))?;
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
    let revoked = match session.token_id {
        Some(id) => {
            let auth = Auth { username: username.clone(), password: None, token: Some(session.token) };
            revoke(context, &session.url, auth, id).await
        }
        None => Err(Failure::new("its id is not known")),
    };
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

async fn revoke(context: &Context, url: &str, auth: Auth, token_id: String) -> Result<()> {
    let session = session::log_in(context, url, auth).await?;
    match session.call(&Revoke { token_id, reason: Some("logout".to_string()), uid: None }).await {
        // The gateway closes the connections of a revoked token, at times before it has answered.
        Ok(_) => Ok(()),
        Err(_) if session.connection.is_closed() => Ok(()),
        Err(error) => Err(error.into()),
    }
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
