//! Line editor settings that interactive commands share: the prompt's text, and the history files.

use std::borrow::Cow;
use std::path::PathBuf;

use base::limits;
use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline,
};

use crate::output::Output;

/// What a prompt says around the text that is typed.
pub struct PromptText {
    /// Before what is typed.
    pub left: String,
    /// At the other end of the line.
    pub right: String,
    /// Before further lines.
    pub more: &'static str,
}

impl Prompt for PromptText {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.left)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.right)
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.more)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = matches!(search.status, PromptHistorySearchStatus::Failing);
        Cow::Owned(format!("({}search: {}) ", if failing { "failing " } else { "" }, search.term))
    }
}

/// An editor that remembers typed lines in a file of that name; without them, and saying so, when it cannot.
pub fn with_history(editor: Reedline, name: &str, output: &Output) -> Reedline {
    let Some(path) = history_path(name) else { return editor };
    match FileBackedHistory::with_file(limits::cli::HISTORY_LINES_MAX, path) {
        Ok(history) => editor.with_history(Box::new(history)),
        Err(error) => {
            output.note(&format!("warning: no history: {error}"));
            editor
        }
    }
}

/// Where the command line keeps what it remembers between commands, which may not exist yet.
pub fn state_directory() -> Option<PathBuf> {
    Some(dirs::state_dir().or_else(dirs::data_local_dir)?.join("gsv"))
}

/// Where typed lines are kept, readable by their owner only.
fn history_path(name: &str) -> Option<PathBuf> {
    let directory = state_directory()?;
    std::fs::create_dir_all(&directory).ok()?;
    let path = directory.join(name);
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).ok()?;
    Some(path)
}
