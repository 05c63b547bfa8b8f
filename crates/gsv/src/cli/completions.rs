//! `gsv completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use terminal::failure::Result;

use crate::context::Context;

/// Arguments of `gsv completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell to print completions for.
    shell: Shell,
}

/// Prints the script.
pub fn run(context: &Context, args: Completions) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "gsv", &mut script);
    context.output.text(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
