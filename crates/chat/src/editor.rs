//! Line editor on a thread of its own: messages with history, and short answers to questions that can be cancelled.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{Reedline, Signal};
use terminal::failure::{Failure, Result};
use terminal::line_editor::{self, PromptText};
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
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
    /// Nothing: it was cancelled.
    Cancelled,
}

/// A prompt with history.
pub struct Editor {
    editor: Option<Reedline>,
}

/// A line that is being typed.
pub struct Typing {
    task: JoinHandle<(Reedline, std::io::Result<Signal>)>,
    cancel: Arc<AtomicBool>,
}

impl Editor {
    /// The editor for messages.
    pub fn new(output: &Output) -> Editor {
        let editor = Reedline::create().with_ansi_colors(output.colour).use_bracketed_paste(true);
        Editor { editor: Some(line_editor::with_history(editor, "chat_history", output)) }
    }

    /// Begins to read a line, in a thread of its own.
    pub fn read(&mut self, prompt: &str) -> Typing {
        Typing::start(self.editor.take().unwrap_or_else(Reedline::create), prompt)
    }

    /// The line, once it is there.
    pub async fn typed(&mut self, typing: &mut Typing) -> Result<Typed> {
        let (editor, typed) = typing.end().await?;
        self.editor = Some(editor);
        Ok(typed)
    }
}

/// Begins to read an answer to a question.
pub fn question(output: &Output, prompt: &str) -> Typing {
    Typing::start(Reedline::create().with_ansi_colors(output.colour), prompt)
}

impl Typing {
    fn start(editor: Reedline, prompt: &str) -> Typing {
        terminal::hangup::watch(|| std::process::exit(1));
        let cancel = Arc::new(AtomicBool::new(false));
        let mut editor = editor.with_break_signal(cancel.clone());
        let prompt = PromptText { left: prompt.to_string(), right: String::new(), more: "… " };
        let task = tokio::task::spawn_blocking(move || {
            let typed = editor.read_line(&prompt);
            (editor, typed.map_err(std::io::Error::other))
        });
        Typing { task, cancel }
    }

    /// The answer is no longer needed.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// The answer, once it is there. Safe to cancel.
    pub async fn typed(&mut self) -> Result<Typed> {
        Ok(self.end().await?.1)
    }

    async fn end(&mut self) -> Result<(Reedline, Typed)> {
        let (editor, signal) =
            (&mut self.task).await.map_err(|error| Failure::new(format!("the prompt failed: {error}")))?;
        let typed = match signal? {
            Signal::Success(line) => Typed::Line(line),
            Signal::CtrlC => Typed::Interrupt,
            Signal::CtrlD => Typed::End,
            _ => Typed::Cancelled,
        };
        Ok((editor, typed))
    }
}
