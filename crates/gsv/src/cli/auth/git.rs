//! `gsv auth git`: git credential helper, so that `git clone` of one's own repositories asks for nothing.
//!
//! Git asks the helper for one server's credentials; it gets the session of that gateway and of no other. What git wants
//! kept is not: passwords are nowhere stored.

use std::collections::BTreeMap;
use std::io::Read;

use base::limits;
use clap::{Args, Subcommand};
use serde_json::json;
use terminal::failure::{Failure, Result};
use tokio::process::Command;

use crate::config_file::{self, ConfigFile, StoredSession};
use crate::context::Context;
use crate::{credentials, git_url, quote};

/// Arguments of `gsv auth git`.
#[derive(Args, Debug)]
pub struct Git {
    /// Take the helper out of git's settings again.
    #[arg(long)]
    remove: bool,
}

/// What git asks a credential helper to do.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Asked {
    /// Tell the credentials of a server.
    Get,
    /// Keep credentials that worked.
    Store,
    /// Forget credentials that did not work.
    Erase,
}

/// Tells git to ask this program for the credentials of the gateway.
pub async fn set_up(context: &Context, args: Git) -> Result<u8> {
    let url = credentials::url(&context.globals, &ConfigFile::load()?);
    let program = std::env::current_exe()?;
    let helper = format!("!{} auth git-credential", quote::word(&program.to_string_lossy()));
    let origins = git_url::origins(&url)?;
    for origin in &origins {
        let key = format!("credential.{origin}.helper");
        // An empty one first: helpers for all servers would keep what is good for a few hours only.
        git(&["config", "--global", "--unset-all", &key], &[0, 5]).await?;
        if !args.remove {
            git(&["config", "--global", "--add", &key, ""], &[0]).await?;
            git(&["config", "--global", "--add", &key, &helper], &[0]).await?;
        }
    }
    if !args.remove && client::is_exposed(&url) {
        let warning =
            "the connection is not encrypted: git will send your session where it can be read on the way";
        context.output.note(&format!("warning: {warning}"));
    }
    let raw = json!({ "urls": origins, "helper": (!args.remove).then_some(&helper) }).to_string();
    context.output.answer(&raw, || match args.remove {
        true => format!("git no longer asks gsv for the credentials of {}", origins.join(" and ")),
        false => format!(
            "git now uses your session at {}\nclone your home with: git clone $(gsv repo clone-url home)",
            origins.join(" and ")
        ),
    })?;
    Ok(0)
}

async fn git(args: &[&str], good: &[i32]) -> Result<()> {
    let output = Command::new("git").args(args).output().await.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::new("the git program is not on this machine").with_hint("install git first")
        }
        _ => Failure::new(format!("git does not start: {error}")),
    })?;
    if output.status.code().is_some_and(|code| good.contains(&code)) {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("`git {}` failed: {}", args.join(" "), why.trim())))
}

/// Speaks git's credential protocol on stdin and stdout.
pub fn answer(context: &Context, asked: Asked) -> Result<u8> {
    let mut text = String::new();
    let most = limits::cli::CREDENTIAL_MAX_BYTES;
    std::io::stdin().lock().take(most).read_to_string(&mut text)?;
    let described = describe(&text);
    match asked {
        Asked::Get => tell(context, &described),
        Asked::Store => Ok(0),
        Asked::Erase => forget(&described),
    }
}

type Described<'a> = BTreeMap<&'a str, &'a str>;

/// `name=value` lines up to an empty one; the last of a name counts.
fn describe(text: &str) -> Described<'_> {
    let lines = text.lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_once('=')).collect()
}

fn tell(context: &Context, described: &Described) -> Result<u8> {
    let file = ConfigFile::load()?;
    match find(context, &file, described) {
        Ok(found) => context.output.text(&found.lines())?,
        // Git goes on and asks the person.
        Err(why) => context.output.note(&format!("gsv: {why}")),
    }
    Ok(0)
}

/// What git is told.
#[derive(Debug, PartialEq)]
struct GitCredential {
    username: String,
    secret: String,
    expires_at_ms: Option<i64>,
}

impl GitCredential {
    fn lines(&self) -> String {
        let expiry = self.expires_at_ms.map(|ms| format!("password_expiry_utc={}\n", ms / 1_000));
        format!("username={}\npassword={}\n{}", self.username, self.secret, expiry.unwrap_or_default())
    }
}

fn find(
    context: &Context,
    file: &ConfigFile,
    described: &Described,
) -> std::result::Result<GitCredential, String> {
    let (Some(scheme), Some(host)) = (described.get("protocol"), described.get("host")) else {
        return Err("git names no server".to_string());
    };
    let is_meant = |url: &str| git_url::is_of(url, scheme, host);
    let is_wanted = |name: &str| described.get("username").is_none_or(|wanted| *wanted == name);
    let own = credentials::url(&context.globals, file);
    let username = credentials::username(&context.globals, file, &own);
    let given = context.globals.token.clone().or_else(credentials::token_of_environment);
    // What was given for one gateway goes to no other.
    if let (true, Some(username), Some(secret)) = (is_meant(&own), &username, given)
        && is_wanted(username)
    {
        return Ok(GitCredential { username: username.clone(), secret, expires_at_ms: None });
    }
    if !file.private {
        return Err("the saved session is ignored: others can read the settings file (chmod 600 it)".into());
    }
    let now_ms = context.clock.now_ms();
    let is_alive = |session: &StoredSession| session.expires_at_ms.is_none_or(|end| end > now_ms);
    let mut sessions = file.sessions();
    sessions.retain(|session| is_meant(&session.url) && is_wanted(&session.username) && is_alive(session));
    let preferred = sessions.iter().position(|session| Some(&session.username) == username.as_ref());
    let session = match preferred {
        Some(at) => Some(sessions.swap_remove(at)),
        None => sessions.pop(),
    };
    if let Some(StoredSession { username, token, expires_at_ms, .. }) = session {
        return Ok(GitCredential { username, secret: token, expires_at_ms });
    }
    match credentials::stored_token(file, &own) {
        Ok(Some((username, secret))) if is_meant(&own) && is_wanted(&username) => {
            Ok(GitCredential { username, secret, expires_at_ms: None })
        }
        _ => Err(format!("nobody is logged in at {scheme}://{host}; `gsv auth login` helps")),
    }
}

/// A session that the gateway refused is over; nothing else is forgotten.
fn forget(described: &Described) -> Result<u8> {
    let (Some(scheme), Some(host), Some(secret)) =
        (described.get("protocol"), described.get("host"), described.get("password"))
    else {
        return Ok(0);
    };
    let refused =
        |session: &StoredSession| git_url::is_of(&session.url, scheme, host) && session.token == *secret;
    let Some(session) = ConfigFile::load()?.sessions().into_iter().find(refused) else { return Ok(0) };
    config_file::update(|file| file.remove_session(&session.url, &session.username))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_is_lines_up_to_an_empty_one() {
        let text = "protocol=https\nhost=gsv.example\nwwwauth[]=Basic realm=\"gsv\"\nodd\n\nusername=late\n";
        let described = describe(text);
        assert_eq!((described["protocol"], described["host"]), ("https", "gsv.example"));
        assert!(!described.contains_key("username"));
        let found = GitCredential { username: "ann".into(), secret: "t".into(), expires_at_ms: Some(5_999) };
        assert_eq!(found.lines(), "username=ann\npassword=t\npassword_expiry_utc=5\n");
    }
}
