//! Lexer state of the rewriting: at the beginning of a command or of a word, in which brackets, before which
//! documents.

use base::limits;

/// What ends a run of plain characters.
pub(super) const ENDS_PLAIN: [char; 18] =
    [' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')', '"', '\'', '\\', '$', '`', '{', '[', '#'];

/// Words after which a command begins.
const BEFORE_COMMANDS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "}", "in"];

pub(super) fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Where one is.
#[derive(Default)]
pub(super) struct Cursor {
    /// The word so far, as far as it is plain; nothing at the beginning of one.
    word: String,
    has_word: bool,
    /// The first word of the command.
    command: Option<String>,
    brackets: Vec<Bracket>,
    pub(super) documents: Vec<Document>,
    /// Whether something is piped into the command.
    pub(super) is_piped: bool,
}

#[derive(PartialEq)]
enum Bracket {
    Round,
    /// `case`, which has closing brackets of its own.
    Case,
}

/// A here-document that follows the line.
pub(super) struct Document {
    pub(super) end: String,
    pub(super) is_quoted: bool,
    pub(super) is_indented: bool,
}

impl Document {
    /// From `<<`.
    pub(super) fn read(text: &str) -> Option<Document> {
        let text = &text[2..];
        let is_indented = text.starts_with('-');
        let text = text[usize::from(is_indented)..].trim_start_matches([' ', '\t']);
        let length = text.find([' ', '\t', '\n', ';', '&', '|', '<', '>', ')']).unwrap_or(text.len());
        let word = &text[..length];
        let end = word.replace(['"', '\'', '\\'], "");
        (!end.is_empty()).then(|| Document { is_quoted: end != word, end, is_indented })
    }
}

impl Cursor {
    pub(super) fn is_at_word(&self) -> bool {
        !self.has_word
    }

    pub(super) fn is_at_start(&self) -> bool {
        !self.has_word && self.command.is_none()
    }

    /// Whether two brackets here may be those of arithmetic.
    pub(super) fn may_be_arithmetic(&self) -> bool {
        self.is_at_start() || (!self.has_word && self.command.as_deref() == Some("for"))
    }

    /// Whether the words here are run later, as they stand.
    pub(super) fn is_handler(&self) -> bool {
        matches!(self.command.as_deref(), Some("trap" | "eval"))
    }

    /// A command begins.
    pub(super) fn begin(&mut self) {
        self.end_word();
        self.command = None;
        self.is_piped = false;
    }

    /// A part of a word that is not plain.
    pub(super) fn word(&mut self) {
        self.has_word = true;
        self.word.push('\0');
    }

    pub(super) fn plain(&mut self, text: &str) {
        self.has_word = true;
        self.word.push_str(text);
    }

    pub(super) fn end_word(&mut self) {
        if !std::mem::take(&mut self.has_word) {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let is_first = self.command.is_none();
        match word.as_str() {
            "case" if is_first => self.brackets.push(Bracket::Case),
            "esac" if is_first && self.brackets.last() == Some(&Bracket::Case) => drop(self.brackets.pop()),
            _ => {}
        }
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| name.chars().all(is_name));
        let goes_on = BEFORE_COMMANDS.contains(&word.as_str()) || is_assignment;
        if word == "in" && self.command.as_deref() == Some("case") {
            self.command = None;
        } else if is_first && !goes_on {
            self.command = Some(word);
        }
    }

    /// A bracket that opens a subshell or the like. `None` when there are too many.
    pub(super) fn open(&mut self) -> Option<()> {
        self.brackets.push(Bracket::Round);
        self.begin();
        (self.brackets.len() <= limits::native_shell::SCAN_DEPTH_MAX).then_some(())
    }

    /// Whether a closing bracket here ends all of it.
    pub(super) fn closes(&self, close: Option<char>) -> bool {
        close.is_some() && self.brackets.is_empty()
    }

    /// A bracket that closes another, or a pattern of `case`. `None` when there is nothing to close.
    pub(super) fn close(&mut self) -> Option<()> {
        if self.brackets.last()? == &Bracket::Round {
            self.brackets.pop();
        }
        self.begin();
        Some(())
    }

    /// Whether all that was opened is closed.
    pub(super) fn is_whole(&self) -> bool {
        self.brackets.is_empty() || (self.brackets == [Bracket::Case] && self.word == "esac")
    }
}
