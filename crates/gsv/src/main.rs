//! Entry point of the `gsv` program: gateway, device driver and command line in one binary. Here it only parses,
//! dispatches and tells how it went.

mod cli;
mod config_file;
mod context;
mod credentials;
mod exposure;
mod follow;
mod git_url;
mod globals;
mod heap;
mod kept_session;
mod keyring;
mod log;
mod open_files;
mod prompt;
mod quote;
mod session;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;
use context::Context;

fn main() -> ExitCode {
    // A confined command is started by this very program; before anything else, and on its only thread.
    sandbox::run_if_helper();
    // So is a child that runs code that is not ours.
    server::run_if_guest();
    let cli = Cli::parse();
    let context = Context::new(cli.globals);
    // What holds a login is closed to other programs of this user, what agents run among them. The gateway has a user of
    // its own, or nobody's agents beside it.
    if !matches!(cli.command, cli::Command::Serve(_))
        && let Err(error) = device::unreadable::shut()
    {
        let failure = terminal::failure::Failure::new(format!("cannot close itself to others: {error}"));
        return context.output.failure(&failure);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return context
                .output
                .failure(&terminal::failure::Failure::new(format!("cannot start: {error}")));
        }
    };
    let outcome = runtime.block_on(cli::dispatch(&context, cli.command));
    // What still runs in the background (a thread that reads stdin, say) must not keep the program alive.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => context.output.failure(&failure),
    }
}
