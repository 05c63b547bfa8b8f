//! Conservative reading of a script's syntax tree: the simple commands it would run, with the words that are known
//! beforehand.
//! Whoever has to judge a command judges this instead of its text. What cannot be told is never left out: the script
//! is then not clear.

mod arithmetic;
mod builtins;
mod marks;
mod walk;
mod words;

use base::limits;
use bashkit::parser::{ParseOptions, Parser};

/// A script as far as it can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command in it, wherever it stands: in functions, substitutions, branches and pipelines.
    pub commands: Vec<Simple>,
    /// False when something in it may run that is not among the commands.
    pub is_clear: bool,
}

/// A simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    /// The program and its arguments. Empty when there are only assignments and redirections.
    pub words: Vec<Word>,
    /// Variables that are set for it, or for the script.
    pub assignments: Vec<(String, Word)>,
    /// Files it reads and writes.
    pub redirections: Vec<Redirection>,
    /// Its standard input, when that is written in the script: a here-document or a here-string.
    pub input: Option<Word>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What the command gets, when that is known.
    pub text: Option<String>,
    /// For a pattern of file names: how it was written.
    pub pattern: Option<String>,
    /// What it begins with for sure.
    pub start: String,
    /// Whether it may become several words that begin otherwise, or none.
    pub splits: bool,
}

/// A file that a command reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What is done with it.
    pub kind: RedirectionKind,
    /// Its path.
    pub target: Word,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionKind {
    /// `<`
    Read,
    /// `>` and everything else that replaces what was there.
    Write,
    /// `>>`
    Append,
}

impl Word {
    /// A word whose text is known.
    pub fn known(text: impl Into<String>) -> Word {
        let text = text.into();
        Word { text: Some(text.clone()), pattern: None, start: text, splits: false }
    }

    /// Any number of words that nothing is known of.
    pub fn unknown() -> Word {
        Word { text: None, pattern: None, start: String::new(), splits: true }
    }

    /// Whether a program may take it, or something it becomes, for an option.
    pub fn may_be_option(&self) -> bool {
        self.start.starts_with('-') || (self.text.is_none() && (self.start.is_empty() || self.splits))
    }
}

/// Reads a script.
pub fn read(text: &str) -> Script {
    let (text, is_plain) = words::plain(text);
    if text.len() > limits::approval::SCRIPT_MAX_BYTES {
        return Script::default();
    }
    let parser = Parser::with_limits(
        &text,
        limits::approval::SYNTAX_DEPTH_MAX,
        limits::approval::SCRIPT_MAX_BYTES.saturating_mul(2),
    )
    // Without `shopt -s extglob`, `!(x)` is no pattern: it runs x.
    .with_options(ParseOptions::default());
    let Ok(script) = parser.parse() else { return Script::default() };
    let mut walk = walk::Walk::new(&text);
    walk.list(&script.commands);
    let mut script = walk.finish();
    script.is_clear &= is_plain && !text.contains("extglob");
    script
}

#[cfg(test)]
mod tests;
