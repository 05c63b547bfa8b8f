//! Streaming Markdown renderer: a state machine that takes one character at a time, so that text can be shown while it
//! is written and it does not matter in which pieces it comes. A parser of whole documents cannot do that: what is shown
//! cannot be taken back. Unfinished and unknown markup is shown as it is.

use terminal::escape;
use terminal::layout::{CYAN, Layout, Style};

mod inline;

use inline::Inline;

/// What stands before the lines of a quotation.
const QUOTE_GUTTER: &str = "▎ ";
/// What stands before the lines of code.
const CODE_GUTTER: &str = "│ ";
/// The longest beginning of a line that is waited for, in characters.
const START_MAX: usize = 24;

/// Shows one text.
#[derive(Debug)]
pub struct Markdown {
    layout: Layout,
    state: ParserState,
    columns: usize,
}

/// Where in a text the next character is.
#[derive(Debug)]
enum ParserState {
    /// At the start of a line, with what was read of it.
    Start(String),
    /// In a line whose kind is known.
    Line { style: Style, inline: Inline },
    /// After the marks that open a block of code, with the name of its language so far.
    Opening { fence: Fence, language: String },
    /// At the start of a line of code, with what was read of it: it may be the end of the block.
    CodeStart { fence: Fence, read: String },
    /// In a line of code.
    Code(Fence),
}

/// The marks around a block of code.
#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    length: usize,
    /// Spaces before it, which its lines have too.
    indent: usize,
}

/// What a line is, once that is known.
enum LineKind {
    Undecided,
    Heading(usize),
    Bullet { indent: usize },
    Number { indent: usize, label: String },
    Quote,
    Rule,
    Fence(Fence),
    Text,
}

impl Markdown {
    /// A machine for a terminal of so many columns.
    pub fn new(columns: usize) -> Markdown {
        Markdown {
            layout: Layout::new(columns),
            state: ParserState::Start(String::new()),
            columns: columns.max(20),
        }
    }

    /// Takes a piece of the text and gives what can be shown by now.
    pub fn push(&mut self, text: &str) -> String {
        for c in text.chars().filter_map(escape::character) {
            self.step(c);
        }
        self.layout.take()
    }

    /// The text is over: gives what waited, and ends the line.
    pub fn finish(&mut self) -> String {
        match &self.state {
            ParserState::Start(read) if read.is_empty() && !self.layout.is_open() => {}
            ParserState::CodeStart { read, .. } if read.is_empty() => self.close_code(),
            ParserState::Code(_) => {
                self.step('\n');
                self.close_code();
            }
            _ => self.step('\n'),
        }
        self.layout.finish();
        self.state = ParserState::Start(String::new());
        self.layout.take()
    }

    fn step(&mut self, c: char) {
        match std::mem::replace(&mut self.state, ParserState::Start(String::new())) {
            ParserState::Start(read) => self.start(read, c),
            ParserState::Line { style, mut inline } => {
                if c == '\n' {
                    inline.end(style, &mut self.layout);
                    self.layout.end_line();
                } else {
                    inline.step(c, style, &mut self.layout);
                    self.state = ParserState::Line { style, inline };
                }
            }
            ParserState::Opening { fence, mut language } => {
                if c == '\n' {
                    let label = format!("╭ {}", escape::line(language.trim()));
                    self.layout.fixed(label.trim_end(), Style::DIM);
                    self.layout.end_line();
                    self.state = ParserState::CodeStart { fence, read: String::new() };
                } else {
                    if language.len() < START_MAX {
                        language.push(c);
                    }
                    self.state = ParserState::Opening { fence, language };
                }
            }
            ParserState::CodeStart { fence, read } => self.code_start(fence, read, c),
            ParserState::Code(fence) => self.code(fence, c),
        }
    }

    /// Reads on at the start of a line, until it is known what it is.
    fn start(&mut self, mut read: String, c: char) {
        if c != '\n' {
            read.push(c);
        }
        match kind(&read, c == '\n') {
            LineKind::Undecided => {
                self.state = ParserState::Start(read);
                return;
            }
            LineKind::Heading(level) => {
                let style = Style { bold: true, underline: level == 1, ..Style::default() };
                self.state = ParserState::Line { style, inline: Inline::default() };
            }
            LineKind::Bullet { indent } => self.item(indent, "• ", &read[indent + 2..]),
            LineKind::Number { indent, label } => {
                self.item(indent, &format!("{label} "), &read[indent + label.len() + 1..]);
            }
            LineKind::Quote => {
                self.layout.fixed(QUOTE_GUTTER, Style::DIM);
                self.layout.indent_here();
                self.state = ParserState::Line { style: Style::DIM, inline: Inline::default() };
            }
            LineKind::Rule => {
                self.layout.fixed(&"─".repeat(self.columns.min(40)), Style::DIM);
                self.state = ParserState::Line { style: Style::default(), inline: Inline::default() };
            }
            LineKind::Fence(fence) => {
                let language = read.trim_start().trim_start_matches(fence.mark).to_string();
                self.state = ParserState::Opening { fence, language };
                if c == '\n' {
                    self.step('\n');
                }
                return;
            }
            LineKind::Text => {
                let spaces = read.len() - read.trim_start_matches(' ').len();
                self.layout.fixed(&read[..spaces], Style::default());
                self.layout.indent_here();
                let mut inline = Inline::default();
                read[spaces..].chars().for_each(|c| inline.step(c, Style::default(), &mut self.layout));
                self.state = ParserState::Line { style: Style::default(), inline };
            }
        }
        if c == '\n' {
            self.step('\n');
        }
    }

    fn item(&mut self, indent: usize, label: &str, text: &str) {
        self.layout.fixed(&" ".repeat(indent), Style::default());
        self.layout.fixed(label, Style::colour(CYAN));
        self.layout.indent_here();
        let mut inline = Inline::default();
        text.chars().for_each(|c| inline.step(c, Style::default(), &mut self.layout));
        self.state = ParserState::Line { style: Style::default(), inline };
    }

    /// Reads on at the start of a line of code, until it is known whether it ends the block.
    fn code_start(&mut self, fence: Fence, mut read: String, c: char) {
        if c != '\n' {
            read.push(c);
        }
        let marks = read.trim_start_matches(' ').trim_end_matches(' ');
        let only_marks = marks.chars().all(|mark| mark == fence.mark);
        if c == '\n' && only_marks && marks.len() >= fence.length {
            self.close_code();
            return;
        }
        if c != '\n' && only_marks && read.len() < START_MAX {
            self.state = ParserState::CodeStart { fence, read };
            return;
        }
        self.layout.fixed(CODE_GUTTER, Style::DIM);
        let spaces = read.len() - read.trim_start_matches(' ').len();
        for c in read[spaces.min(fence.indent)..].chars() {
            self.code(fence, c);
        }
        self.state = ParserState::Code(fence);
        if c == '\n' {
            self.code(fence, c);
        }
    }

    fn code(&mut self, fence: Fence, c: char) {
        match c {
            '\n' => {
                self.layout.end_line();
                self.state = ParserState::CodeStart { fence, read: String::new() };
            }
            '\t' => {
                self.layout.fixed("    ", Style::default());
                self.state = ParserState::Code(fence);
            }
            c => {
                self.layout.fixed(c.encode_utf8(&mut [0; 4]), Style::default());
                self.state = ParserState::Code(fence);
            }
        }
    }

    fn close_code(&mut self) {
        self.layout.fixed("╰", Style::DIM);
        self.layout.end_line();
        self.state = ParserState::Start(String::new());
    }
}

/// What a line is whose beginning is this; `whole` when that is all of it.
fn kind(read: &str, whole: bool) -> LineKind {
    let rest = read.trim_start_matches(' ');
    let indent = read.len() - rest.len();
    let Some(first) = rest.chars().next() else {
        return if whole || indent >= START_MAX { LineKind::Text } else { LineKind::Undecided };
    };
    let run = rest.chars().take_while(|c| *c == first).count();
    let after = rest.chars().nth(run);
    let undecided = if whole { LineKind::Text } else { LineKind::Undecided };
    match first {
        '#' if run <= 6 => match after {
            Some(' ') => LineKind::Heading(run),
            Some(_) => LineKind::Text,
            None => undecided,
        },
        '`' | '~' => match after {
            None if whole && run >= 3 => LineKind::Fence(Fence { mark: first, length: run, indent }),
            None if run < START_MAX => undecided,
            Some(c) if run >= 3 && c != first => LineKind::Fence(Fence { mark: first, length: run, indent }),
            _ => LineKind::Text,
        },
        '-' | '*' | '_' | '+' => ruled(rest, first, indent, whole),
        '>' => match rest.chars().nth(1) {
            Some(' ') => LineKind::Quote,
            None if whole => LineKind::Quote,
            None => LineKind::Undecided,
            Some(_) => LineKind::Text,
        },
        c if c.is_ascii_digit() => numbered(rest, indent, undecided),
        _ => LineKind::Text,
    }
}

/// A line that begins with one of `-*_+`: a rule across the page, an item of a list, or text.
fn ruled(rest: &str, mark: char, indent: usize, whole: bool) -> LineKind {
    let marks = rest.chars().filter(|c| *c == mark).count();
    if mark != '+' && rest.chars().all(|c| c == mark || c == ' ') && rest.len() < START_MAX {
        return match whole {
            true if marks >= 3 => LineKind::Rule,
            true if mark != '_' && rest.starts_with(&format!("{mark} ")) => LineKind::Bullet { indent },
            true => LineKind::Text,
            false => LineKind::Undecided,
        };
    }
    if mark != '_' && rest.chars().nth(1) == Some(' ') {
        return match rest.chars().nth(2) {
            None if !whole => LineKind::Undecided,
            _ => LineKind::Bullet { indent },
        };
    }
    if mark == '+' && rest.len() == 1 && !whole { LineKind::Undecided } else { LineKind::Text }
}

fn numbered(rest: &str, indent: usize, undecided: LineKind) -> LineKind {
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    if digits > 9 {
        return LineKind::Text;
    }
    let mut after = rest[digits..].chars();
    match (after.next(), after.next()) {
        (None, _) | (Some('.' | ')'), None) => undecided,
        (Some('.' | ')'), Some(' ')) => LineKind::Number { indent, label: rest[..=digits].to_string() },
        _ => LineKind::Text,
    }
}

#[cfg(test)]
mod tests;
