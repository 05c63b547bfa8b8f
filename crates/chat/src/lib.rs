//! Terminal client for agents, `gsv chat`: one message and its answer, or a prompt.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use client::Session;
use protocol::ids::{ConversationId, Pid};
use protocol::outcome::Outcome;
use protocol::proc::conversation::Open;
use protocol::proc::history::Read;
use protocol::signal::run::FinishStatus;
use protocol::signal::stream::Usage;
use terminal::failure::{Failure, Result};
use terminal::layout::Style;
use terminal::output::Output;

pub mod approval;
mod commands;
pub mod cost;
mod diff;
mod editor;
mod following;
mod gateway;
mod input;
pub mod look;
mod markdown;
pub mod question;
pub mod rehearsal;
pub mod tools;
pub mod transcript;
mod view;
pub mod watch;

use editor::{Editor, Typed};
use following::Ended;
use gateway::Gateway;
use input::Input;
use look::Look;

/// Arguments of `gsv chat`.
#[derive(Args, Debug)]
pub struct ChatArgs {
    /// What to say; a prompt when absent. Standard input, if it is a pipe or a file, goes below it.
    message: Option<String>,
    /// The process [default: your init process].
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
    /// The conversation [default: default].
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Begin a new conversation.
    #[arg(long, conflicts_with = "conversation")]
    new: bool,
    /// Send a picture along; may be repeated. Paths of pictures in the message are sent too.
    #[arg(long = "image", value_name = "PATH")]
    images: Vec<PathBuf>,
    /// Print the last answer only, when it is complete.
    #[arg(long)]
    no_stream: bool,
    /// Approve every tool call that asks, without asking you.
    #[arg(long)]
    yes: bool,
}

/// A conversation with an agent.
struct Chat<'a> {
    output: &'a Output,
    gateway: Gateway<'a>,
    pid: Option<Pid>,
    conversation: Option<ConversationId>,
    stream: bool,
    yes: bool,
}

/// Says something, or asks what to say. `log_in` is asked for a connection once it is known what to say.
pub async fn run(
    output: &Output,
    args: ChatArgs,
    log_in: impl AsyncFnOnce() -> Result<Session>,
) -> Result<u8> {
    let interactive = args.message.is_none() && std::io::stdin().is_terminal();
    if interactive && output.json {
        return Err(Failure::usage("--json needs a message"));
    }
    if interactive && !args.images.is_empty() {
        return Err(Failure::usage("--image needs a message"));
    }
    let input = if interactive { None } else { Some(gather(&args)?) };
    let gateway = Gateway::open(output, log_in().await?).await?;
    let mut chat = Chat {
        output,
        gateway,
        pid: args.pid.map(Pid),
        conversation: args.conversation.map(ConversationId),
        stream: !args.no_stream,
        yes: args.yes,
    };
    if args.new {
        chat.open_conversation().await?;
    }
    let code = match input {
        Some(input) => chat.say_once(input).await,
        None => chat.converse().await,
    };
    chat.gateway.close().await;
    code
}

fn gather(args: &ChatArgs) -> Result<Input> {
    let input = input::gather(args.message.clone(), &args.images)?;
    if input.message.trim().is_empty() && input.media.is_empty() {
        return Err(Failure::usage("there is nothing to say").with_hint("gsv chat MESSAGE"));
    }
    Ok(input)
}

impl Chat<'_> {
    async fn say_once(&mut self, input: Input) -> Result<u8> {
        let ended = self.say(input).await?;
        self.tell_usage(ended.usage.as_ref())?;
        match ended.status {
            FinishStatus::Ok => Ok(0),
            FinishStatus::Aborted => Err(Failure::new("the run was aborted")),
            FinishStatus::Error => Err(run_failure(&ended)),
        }
    }

    /// A prompt, until its end.
    async fn converse(&mut self) -> Result<u8> {
        let hint = format!("Talking to {}. /help lists commands, Ctrl-D leaves.", self.pid_or_init());
        self.output.line(&self.output.dim(&hint))?;
        let mut editor = Editor::new(self.output);
        loop {
            let line = match self.read_line(&mut editor).await? {
                Typed::Line(line) => line,
                Typed::End => return Ok(0),
                Typed::Interrupt | Typed::Cancelled => continue,
            };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            self.gateway.interrupts.reset();
            let outcome = match line {
                "/quit" | "/exit" | "/q" | "quit" | "exit" => return Ok(0),
                line if is_command(line) => self.command(line).await,
                line => self.exchange(line).await,
            };
            match outcome {
                Ok(()) => {}
                Err(failure) if failure.exit == 130 || failure.silent => return Err(failure),
                Err(failure) => {
                    // The prompt outlives a failed message; the exit code has nobody to go to.
                    self.output.failure(&failure);
                }
            }
        }
    }

    /// The next typed line. Signals are read meanwhile and forgotten: nothing of ours is under way.
    async fn read_line(&mut self, editor: &mut Editor) -> Result<Typed> {
        let mut typing = editor.read("› ");
        tokio::select! {
            typed = editor.typed(&mut typing) => return typed,
            () = self.gateway.idle() => {}
        }
        typing.cancel();
        editor.typed(&mut typing).await?;
        Err(self.gateway.interrupts.failure())
    }

    async fn exchange(&mut self, line: &str) -> Result<()> {
        let input = input::compose(line)?;
        for medium in &input.media {
            let name = medium.filename.as_deref().unwrap_or("a picture");
            self.output.note(&format!("with {name}, {} bytes", medium.size.unwrap_or(0)));
        }
        let ended = self.say(input).await?;
        self.tell_usage(ended.usage.as_ref())?;
        match ended.status {
            FinishStatus::Ok => Ok(()),
            FinishStatus::Aborted => {
                self.output.note("aborted");
                Ok(())
            }
            FinishStatus::Error => Err(run_failure(&ended)),
        }
    }

    async fn open_conversation(&mut self) -> Result<()> {
        let open = Open { pid: self.pid.clone(), ..Open::default() };
        let opened = done(self.gateway.ask(&open).await?)?;
        self.conversation = Some(opened.conversation.id);
        Ok(())
    }

    /// The number of the newest message.
    async fn newest_message(&mut self) -> Result<Option<i64>> {
        let read = Read {
            pid: self.pid.clone(),
            conversation_id: self.conversation.clone(),
            limit: Some(1),
            tail: Some(true),
            ..Read::default()
        };
        let history = done(self.gateway.ask(&read).await?)?;
        Ok(history.messages.last().and_then(|message| message.id))
    }

    fn pid_or_init(&self) -> Pid {
        self.pid.clone().unwrap_or_else(|| Pid(format!("init:{}", self.gateway.uid)))
    }

    fn look(&self) -> Look {
        let output = &self.output;
        let columns = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
        Look { colour: output.colour, columns: columns.filter(|columns| output.terminal && *columns > 0) }
    }

    /// Text for the person, wherever the answers go.
    fn tell(&self, text: &str) -> Result<()> {
        if self.output.terminal {
            return self.output.text(text);
        }
        eprint!("{text}");
        Ok(())
    }

    fn tell_usage(&self, usage: Option<&Usage>) -> Result<()> {
        match usage {
            Some(usage) if self.output.terminal && !self.output.json && usage.total_tokens > 0 => {
                let text = cost::in_words(usage);
                self.output.line(&self.look().paint(Style::DIM, &text))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a line is for the prompt itself; a path that comes first in a message is not.
fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.contains('/'))
}

fn run_failure(ended: &Ended) -> Failure {
    Failure::new(ended.error.clone().unwrap_or_else(|| "the run failed".to_string()))
}

/// The result of an operation that can fail without the call being refused.
pub fn done<T>(outcome: Outcome<T>) -> Result<T> {
    outcome.into_result().map_err(Failure::new)
}

#[cfg(test)]
mod tests {
    use super::is_command;

    #[test]
    fn commands_are_told_from_paths() {
        assert!(is_command("/new") && is_command("/model demo/demo"));
        assert!(!is_command("/etc/hosts says what?") && !is_command("what is /new?"));
    }
}
