//! `gsv shell`: a prompt whose lines run on a target, one shell each; the directory is kept between them.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::limits;
use clap::Args;
use client::Session;
use protocol::sys::device::Get;
use reedline::{Reedline, Signal};
use terminal::failure::{Failure, Result};
use terminal::interrupts::Interrupts;
use terminal::line_editor::{self, PromptText};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::follow::stdin::Stdin;
use crate::follow::{self, Command};
use crate::session;

mod directory;

use directory::{Filter, Marker};

/// Exit code of a program whose terminal went away, as if SIGHUP had ended it.
const HUNG_UP: u8 = 129;

/// Arguments of `gsv shell`.
#[derive(Args, Debug)]
pub struct Shell {
    /// The device to run on [default: the gateway itself].
    #[arg(long, value_name = "DEVICE")]
    target: Option<String>,
    /// The directory to start in.
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
}

/// Reads lines until the end, from a person or from a script on stdin.
pub async fn run(context: &Context, args: Shell) -> Result<u8> {
    let session = session::open(context).await?;
    let target = args.target.filter(|target| target != "gsv");
    let follows = match &target {
        Some(target) => is_unix(&session, target).await?,
        None => false,
    };
    let interrupts = Interrupts::listen_to_all();
    let shell = ShellPrompt { context, session, target, cwd: args.cwd, follows, interrupts };
    if std::io::stdin().is_terminal() { shell.converse().await } else { shell.run_script().await }
}

/// Whether the target's shell is a Unix one; an unknown device is an error before the first line is typed.
async fn is_unix(session: &Session, target: &str) -> Result<bool> {
    let device = session.call(&Get { device_id: target.to_string() }).await?.value.device;
    let device = device.ok_or_else(|| {
        Failure::new(format!("there is no device {target} that you may use"))
            .with_hint("`gsv devices` lists them")
    })?;
    Ok(!device.platform.to_ascii_lowercase().starts_with("win"))
}

struct ShellPrompt<'a> {
    context: &'a Context,
    session: Session,
    target: Option<String>,
    cwd: Option<String>,
    /// Whether the target's shell tells where it ends up.
    follows: bool,
    interrupts: Interrupts,
}

impl ShellPrompt<'_> {
    async fn converse(mut self) -> Result<u8> {
        let end = self.interrupts.end_sender();
        terminal::hangup::watch(move || end(HUNG_UP));
        let cancel = Arc::new(AtomicBool::new(false));
        let editor =
            Reedline::create().with_ansi_colors(self.context.output.colour).with_break_signal(cancel.clone());
        let mut editor = line_editor::with_history(editor, "shell_history", &self.context.output);
        loop {
            // The target and a dollar, and the directory at the other end of the line.
            let prompt = PromptText {
                left: format!("{}$ ", self.target.as_deref().unwrap_or("gsv")),
                right: self.cwd.clone().unwrap_or_default(),
                more: "> ",
            };
            let watching = self.interrupts.watch_prompt(cancel.clone());
            let typed = tokio::task::block_in_place(|| editor.read_line(&prompt));
            drop(watching);
            if self.interrupts.ending() {
                return Err(self.interrupts.failure());
            }
            let line = match typed? {
                Signal::Success(line) => line,
                Signal::CtrlD => return Ok(0),
                _ => continue,
            };
            match line.trim() {
                "" => {}
                ":quit" | ":exit" | ":q" => return Ok(0),
                line => match self.execute(line).await {
                    Ok(0) => {}
                    Ok(_) if self.context.output.json => {}
                    Ok(code) => {
                        self.context.output.line(&self.context.output.dim(&format!("[exit {code}]")))?
                    }
                    Err(_) if self.interrupts.ending() => return Err(self.interrupts.failure()),
                    Err(failure) => {
                        // The prompt outlives a failed line; the exit code has nobody to go to.
                        self.context.output.failure(&failure);
                    }
                },
            }
        }
    }

    async fn run_script(mut self) -> Result<u8> {
        let mut code = 0;
        let mut lines = lines_of_stdin();
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = self.interrupts.wait() => return match self.interrupts.ending() {
                    true => Err(self.interrupts.failure()),
                    false => Ok(130),
                },
            };
            let Some(line) = line.transpose()? else { return Ok(code) };
            match line.trim() {
                "" => {}
                ":quit" | ":exit" | ":q" => return Ok(code),
                line => code = self.execute(line).await?,
            }
            if self.interrupts.happened() {
                return Ok(code);
            }
        }
    }

    /// Runs one line to its end, showing its output, and remembers where its shell ended up.
    async fn execute(&mut self, line: &str) -> Result<u8> {
        self.interrupts.reset();
        follow::ensure_connected(self.context, &mut self.session, &mut self.interrupts).await?;
        let marker = Marker::new();
        // The native shell says by itself where it ends up.
        let is_native = self.target.is_none();
        let text = match (self.follows, directory::plain_cd(line)) {
            _ if is_native => line.to_string(),
            (true, _) => marker.wrap(line),
            (false, Some(_)) => format!("{line} && {}", marker.tell()),
            (false, None) => line.to_string(),
        };
        let command = Command { target: self.target.clone(), text, cwd: self.cwd.clone(), timeout_ms: None };
        let mut filter = Filter::new(&marker);
        let mut line_open = false;
        let output = &self.context.output;
        let mut collected = String::new();
        let mut show = |text: &str| {
            if output.json {
                collected.push_str(text);
                return Ok(());
            }
            if let Some(last) = text.chars().last() {
                line_open = last != '\n';
            }
            output.text(text)
        };
        let mut sink = |text: &str| show(&filter.pass(text));
        let mut stdin = Stdin::empty();
        let (session, interrupts) = (&mut self.session, &mut self.interrupts);
        let ended = follow::follow(self.context, session, &command, &mut stdin, interrupts, &mut sink).await;
        let (rest, directory) = filter.finish();
        show(&rest)?;
        // The terminal shows `^C` on a line that nobody ended.
        if (line_open || self.interrupts.happened()) && output.terminal {
            output.text("\n")?;
        }
        let ended = ended?;
        let exit = ended.exit();
        if output.json {
            let result = serde_json::json!({ "input": line, "output": collected, "exitCode": exit });
            output.raw_json(&result.to_string())?;
        }
        self.cwd = if is_native {
            ended.cwd.or_else(|| self.cwd.take())
        } else {
            directory.or_else(|| self.cwd.take()).or(ended.cwd)
        };
        if let Some(why) = ended.why.filter(|_| !self.interrupts.happened()) {
            self.context.output.note(&why);
        }
        Ok(exit)
    }
}

/// The lines of stdin, read by a thread of their own: a read cannot be given up for Ctrl-C.
fn lines_of_stdin() -> mpsc::Receiver<std::io::Result<String>> {
    let (sender, lines) = mpsc::channel(limits::cli::LINES_AHEAD_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let last = line.is_err();
            if sender.blocking_send(line).is_err() || last {
                return;
            }
        }
    });
    lines
}
