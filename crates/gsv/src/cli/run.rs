//! `gsv run`: one command on a target, streamed to its end.

pub mod rehearse;

use std::io::IsTerminal;

use base::limits;
use clap::Args;
use protocol::frame::to_json;
use serde_json::json;
use terminal::failure::{Failure, Result};
use terminal::interrupts::Interrupts;

use crate::context::Context;
use crate::follow::stdin::Stdin;
use crate::follow::{self, Command};
use crate::{quote, session};
use rehearse::Next;

/// Arguments of `gsv run`.
#[derive(Args, Debug)]
pub struct Run {
    /// The device to run on [default: the gateway itself].
    #[arg(long, value_name = "DEVICE")]
    target: Option<String>,
    /// The directory to run in.
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// End the command after this many seconds.
    #[arg(long, value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=limits::shell::TIMEOUT_MAX_MS / 1_000))]
    timeout: Option<u64>,
    /// Start the command, print its session id and return.
    #[arg(long)]
    detach: bool,
    /// Show what the command would do on a device: files with differences, hosts, output. Nothing changes.
    #[arg(long, conflicts_with = "detach", requires = "target")]
    rehearse: bool,
    /// With --rehearse: put exactly what was shown in place, without running the command again.
    #[arg(long, requires = "rehearse")]
    apply: bool,
    /// One word is run as shell text; several are each quoted, so that they arrive as they are.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    words: Vec<String>,
}

impl Run {
    /// A command of the gateway itself, word by word.
    pub fn native(words: Vec<String>) -> Run {
        Run { target: None, cwd: None, timeout: None, detach: false, rehearse: false, apply: false, words }
    }
}

/// Runs the command; the program's exit code is the command's.
pub async fn run(context: &Context, args: Run) -> Result<u8> {
    let command = Command {
        target: args.target,
        text: quote::command(&args.words),
        cwd: args.cwd,
        timeout_ms: args.timeout.map(|seconds| seconds * 1_000),
    };
    let mut session = session::open(context).await?;
    if args.rehearse
        && let Next::End(code) = rehearse::rehearse(context, &session, &command, args.apply).await?
    {
        session.connection.close().await;
        return Ok(code);
    }
    if args.detach {
        let started = follow::start(&session, &command).await?;
        let Some(id) = &started.session_id else {
            context.output.answer(&to_json(&started), || started.output.clone())?;
            return Ok(started.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0));
        };
        context.output.answer(&json!({ "sessionId": id }).to_string(), || id.clone())?;
        return Ok(0);
    }
    let mut interrupts = Interrupts::listen_to_all();
    let mut stdin = if std::io::stdin().is_terminal() { Stdin::empty() } else { Stdin::own() };
    let mut gathered = String::new();
    let output = &context.output;
    let mut sink = |text: &str| {
        if output.json {
            gather(&mut gathered, text);
            return Ok(());
        }
        output.text(text)
    };
    let ended =
        follow::follow(context, &mut session, &command, &mut stdin, &mut interrupts, &mut sink).await?;
    session.connection.close().await;
    let exit = ended.exit();
    if context.output.json {
        let raw = json!({ "exitCode": ended.code, "output": gathered, "error": ended.why, "cwd": ended.cwd,
            "truncated": ended.truncated });
        context.output.raw_json(&raw.to_string())?;
    } else if let Some(why) = ended.why.filter(|_| !interrupts.happened()) {
        return Err(Failure { exit: exit.max(1), ..Failure::new(why) });
    }
    Ok(exit)
}

/// Keeps the end of the output, within what one message may hold.
fn gather(gathered: &mut String, text: &str) {
    gathered.push_str(text);
    if gathered.len() > limits::frame::OUT_MAX_BYTES {
        let cut = gathered.ceil_char_boundary(gathered.len() / 2);
        gathered.drain(..cut);
    }
}
