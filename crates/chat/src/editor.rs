//! Typed lines: with editing and history at the prompt, and short answers to questions.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{Reedline, Signal};
use terminal::failure::{Failure, Result};
use terminal::line_editor::{self, Sign};
use terminal::output::Output;
use tokio::task::JoinHandle;

/// Whether somebody can be asked: their terminal is there, even if stdin is a pipe.
pub fn can_ask(output: &Output) -> bool {
    let reachable =
        || std::io::stdin().is_terminal() || (cfg!(unix) && std::fs::File::open("/dev/tty").is_ok());
    !output.json && std::io::stderr().is_terminal() && reachable()
}

/// What somebody typed.
#[derive(Debug, PartialEq)]
pub enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
    /// Nothing: the question was withdrawn.
    Withdrawn,
}

/// A prompt with history.
pub struct Editor {
    editor: Option<Reedline>,
}

/// A line that is being typed.
pub struct Typing {
    task: JoinHandle<(Reedline, std::io::Result<Signal>)>,
    withdraw: Arc<AtomicBool>,
}

impl Editor {
    /// The editor for messages.
    pub fn new(output: &Output) -> Editor {
        let editor = Reedline::create().with_ansi_colors(output.colour).use_bracketed_paste(true);
        Editor { editor: Some(line_editor::remembering(editor, "chat_history", output)) }
    }

    /// Begins to read a line, in a thread of its own.
    pub fn read(&mut self, sign: &str) -> Typing {
        Typing::start(self.editor.take().unwrap_or_else(Reedline::create), sign)
    }

    /// The line, once it is there.
    pub async fn typed(&mut self, typing: &mut Typing) -> Result<Typed> {
        let (editor, typed) = typing.end().await?;
        self.editor = Some(editor);
        Ok(typed)
    }
}

/// Begins to read an answer to a question.
pub fn question(output: &Output, sign: &str) -> Typing {
    Typing::start(Reedline::create().with_ansi_colors(output.colour), sign)
}

impl Typing {
    fn start(editor: Reedline, sign: &str) -> Typing {
        terminal::hangup::watch(|| std::process::exit(1));
        let withdraw = Arc::new(AtomicBool::new(false));
        let mut editor = editor.with_break_signal(withdraw.clone());
        let sign = Sign { left: sign.to_string(), right: String::new(), more: "… " };
        let task = tokio::task::spawn_blocking(move || {
            let typed = editor.read_line(&sign);
            (editor, typed.map_err(std::io::Error::other))
        });
        Typing { task, withdraw }
    }

    /// The answer is no longer needed.
    pub fn withdraw(&self) {
        self.withdraw.store(true, Ordering::Relaxed);
    }

    /// The answer, once it is there. Safe to cancel.
    pub async fn typed(&mut self) -> Result<Typed> {
        Ok(self.end().await?.1)
    }

    async fn end(&mut self) -> Result<(Reedline, Typed)> {
        let (editor, signal) =
            (&mut self.task).await.map_err(|error| Failure::new(format!("the prompt broke: {error}")))?;
        let typed = match signal? {
            Signal::Success(line) => Typed::Line(line),
            Signal::CtrlC => Typed::Interrupt,
            Signal::CtrlD => Typed::End,
            _ => Typed::Withdrawn,
        };
        Ok((editor, typed))
    }
}
