//! `gsv mcp`: the native shell's `mcp`, from here. What it knows of servers is on the gateway, and so is its text.

use clap::Args;
use terminal::failure::Result;

use super::run::{self, Run};
use crate::context::Context;
use crate::{git_url, session};

/// Arguments of `gsv mcp`.
#[derive(Args, Debug)]
pub struct Mcp {
    /// `status`, `tools`, `describe`, `search`, `codemode`, `add`, `refresh`, `remove` or `call`, and what belongs to it; see
    /// `gsv run -- man mcp`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<String>,
}

/// Runs it on the gateway.
pub async fn run(context: &Context, args: Mcp) -> Result<u8> {
    let mut words = args.words;
    let has_host = words.iter().any(|word| word.starts_with("--callback-host"));
    if words.first().is_some_and(|verb| verb == "add") && !has_host {
        // A sign-in comes back to where this command reaches the gateway, unless root has set another address.
        let session = session::open(context).await?;
        words.extend(["--callback-host".to_string(), git_url::origin(&session.url)?]);
        session.connection.close().await;
    }
    words.insert(0, "mcp".to_string());
    run::run(context, Run::native(words)).await
}
