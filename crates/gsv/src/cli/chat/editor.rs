//! Typed lines: with editing and history at the prompt, and short answers to questions.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::limits;
use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline,
    Signal,
};
use tokio::task::JoinHandle;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::Output;

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
    pub fn new(context: &Context) -> Editor {
        let mut editor = Reedline::create().with_ansi_colors(context.output.colour).use_bracketed_paste(true);
        if let Some(path) = history_path() {
            match FileBackedHistory::with_file(limits::CLI_HISTORY_LINES_MAX, path) {
                Ok(history) => editor = editor.with_history(Box::new(history)),
                Err(error) => context.output.note(&format!("warning: no history: {error}")),
            }
        }
        Editor { editor: Some(editor) }
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
pub fn question(context: &Context, sign: &str) -> Typing {
    Typing::start(Reedline::create().with_ansi_colors(context.output.colour), sign)
}

impl Typing {
    fn start(editor: Reedline, sign: &str) -> Typing {
        crate::hangup::watch(|| std::process::exit(1));
        let withdraw = Arc::new(AtomicBool::new(false));
        let mut editor = editor.with_break_signal(withdraw.clone());
        let sign = Sign(sign.to_string());
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

/// Where typed lines are kept, readable by their owner only.
fn history_path() -> Option<PathBuf> {
    let directory = dirs::state_dir().or_else(dirs::data_local_dir)?.join("gsv");
    std::fs::create_dir_all(&directory).ok()?;
    let path = directory.join("chat_history");
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).ok()?;
    Some(path)
}

struct Sign(String);

impl Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = matches!(search.status, PromptHistorySearchStatus::Failing);
        Cow::Owned(format!("({}search: {}) ", if failing { "failing " } else { "" }, search.term))
    }
}
