//! `gsv auth`: setting up, logging in and out, tokens.

use clap::Subcommand;
use terminal::failure::Result;

use crate::context::Context;

pub mod git;
pub mod login;
pub mod setup;
pub mod token;

/// Verbs of `gsv auth`.
#[derive(Debug, Subcommand)]
pub enum Auth {
    /// Set up a fresh gateway: the first user and root's password.
    Setup(setup::Setup),
    /// Log in and stay logged in for a while.
    Login(login::Login),
    /// End the session of `auth login` at a gateway (--url) for a user (--user).
    Logout,
    /// Let the git program use your session, so that cloning and pushing ask for nothing.
    Git(git::Git),
    /// Answer git's questions for credentials.
    #[command(subcommand, hide = true)]
    GitCredential(git::Asked),
    /// Make, list and revoke tokens.
    #[command(subcommand)]
    Token(token::Token),
}

/// Runs one verb of `gsv auth`.
pub async fn run(context: &Context, auth: Auth) -> Result<u8> {
    match auth {
        Auth::Setup(args) => setup::run(context, args).await,
        Auth::Login(args) => login::run(context, args).await,
        Auth::Logout => login::log_out(context).await,
        Auth::Git(args) => git::set_up(context, args).await,
        Auth::GitCredential(asked) => git::answer(context, asked),
        Auth::Token(args) => token::run(context, args).await,
    }
}
