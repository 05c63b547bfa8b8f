//! Global flags: which gateway, who logs in, and how answers are printed.

use clap::Args;

/// The flags that every client command has.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Gateway and login")]
pub struct Globals {
    /// The gateway [default: ws://localhost:8787/ws].
    #[arg(long, global = true, env = "GSV_URL", value_name = "URL")]
    pub url: Option<String>,
    /// Log in as this user.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub user: Option<String>,
    /// Log in with this password.
    #[arg(short, long, global = true, value_name = "PASSWORD", conflicts_with = "token")]
    pub password: Option<String>,
    /// Log in with this token [env: GSV_TOKEN].
    #[arg(short, long, global = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Send a password to another machine even when the connection is not encrypted.
    #[arg(long, global = true, env = "GSV_INSECURE", value_parser = clap::builder::FalseyValueParser::new())]
    pub insecure: bool,
    /// Print the raw JSON of the answer, and errors as JSON.
    #[arg(long, global = true)]
    pub json: bool,
}

impl std::fmt::Debug for Globals {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Globals").field("url", &self.url).field("user", &self.user).finish_non_exhaustive()
    }
}
