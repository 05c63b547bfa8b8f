//! Streaming word wrap: styled words come character by character and leave when they are complete, so that text can be
//! shown while it is written.

use unicode_width::UnicodeWidthChar;

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Stronger.
    pub bold: bool,
    /// Weaker.
    pub dim: bool,
    /// Slanted.
    pub italic: bool,
    /// With a line below.
    pub underline: bool,
    /// One of the eight basic colours, from 0.
    pub colour: Option<u8>,
}

/// Basic colours.
pub const RED: u8 = 1;
/// See `RED`.
pub const GREEN: u8 = 2;
/// See `RED`.
pub const YELLOW: u8 = 3;
/// See `RED`.
pub const CYAN: u8 = 6;

impl Style {
    /// Weaker than the rest.
    pub const DIM: Style = Style { dim: true, ..Style::PLAIN };
    /// Stronger than the rest.
    pub const BOLD: Style = Style { bold: true, ..Style::PLAIN };
    /// Like the rest.
    pub const PLAIN: Style = Style { bold: false, dim: false, italic: false, underline: false, colour: None };

    /// A style with one of the 256 terminal colours.
    pub const fn colour(colour: u8) -> Style {
        Style { colour: Some(colour), ..Style::PLAIN }
    }

    /// The escape sequence that sets this style, whatever was set before.
    fn sequence(self) -> String {
        let mut codes = vec!["0".to_string()];
        for (wanted, code) in [(self.bold, 1), (self.dim, 2), (self.italic, 3), (self.underline, 4)] {
            if wanted {
                codes.push(code.to_string());
            }
        }
        codes.extend(self.colour.map(|colour| (30 + colour).to_string()));
        format!("\u{1b}[{}m", codes.join(";"))
    }

    /// Text in this style, plain again after it.
    pub fn paint(self, text: &str) -> String {
        if self == Style::PLAIN || text.is_empty() {
            return text.to_string();
        }
        format!("{}{text}{}", self.sequence(), Style::PLAIN.sequence())
    }
}

/// How many columns text takes.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Text that takes at most so many columns; what is cut off is marked.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let (mut kept, mut taken) = (String::new(), 1);
    for c in text.chars() {
        taken += char_width(c);
        if taken > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Lays out words. Everything that was laid out waits in `take`.
#[derive(Debug)]
pub struct Layout {
    columns: usize,
    out: String,
    column: usize,
    /// Columns that a continued line leaves free.
    indent: usize,
    gap: Vec<(char, Style)>,
    word: Vec<(char, Style)>,
    word_width: usize,
    current: Style,
}

impl Layout {
    /// An empty page of so many columns.
    pub fn new(columns: usize) -> Layout {
        Layout {
            columns: columns.max(20),
            out: String::new(),
            column: 0,
            indent: 0,
            gap: Vec::new(),
            word: Vec::new(),
            word_width: 0,
            current: Style::PLAIN,
        }
    }

    /// Adds one character; a space may become a line break, a line break stays one.
    pub fn push(&mut self, c: char, style: Style) {
        match c {
            '\n' => self.end_line(),
            ' ' | '\t' => {
                self.end_word();
                self.gap.push((' ', style));
            }
            c => {
                let columns = char_width(c);
                // Scripts without spaces break between any two characters.
                if columns > 1 {
                    self.end_word();
                }
                self.word.push((c, style));
                self.word_width += columns;
                if columns > 1 || self.word_width >= self.columns {
                    self.end_word();
                }
            }
        }
    }

    /// Adds text that is never broken, at once.
    pub fn fixed(&mut self, text: &str, style: Style) {
        self.end_word();
        self.emit_gap();
        for c in text.chars() {
            self.emit(c, style);
        }
    }

    /// From now on a continued line begins below this column.
    pub fn indent_here(&mut self) {
        self.indent = self.column.min(self.columns / 2);
    }

    /// Writes the pending word and a line break.
    pub fn end_line(&mut self) {
        self.end_word();
        self.gap.clear();
        self.reset();
        self.out.push('\n');
        (self.column, self.indent) = (0, 0);
    }

    /// Lays out what waits for the rest of its word.
    pub fn finish(&mut self) {
        self.end_word();
        self.gap.clear();
        self.reset();
    }

    /// Whether the line has something on it.
    pub fn is_open(&self) -> bool {
        self.column > 0 || !self.word.is_empty()
    }

    /// What was laid out since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let needed = self.column + self.gap.len() + self.word_width;
        if needed > self.columns && self.column > self.indent {
            self.gap.clear();
            self.reset();
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent;
        }
        self.emit_gap();
        for (c, style) in std::mem::take(&mut self.word) {
            self.emit(c, style);
        }
        self.word_width = 0;
    }

    fn emit_gap(&mut self) {
        for (c, style) in std::mem::take(&mut self.gap) {
            self.emit(c, style);
        }
    }

    fn emit(&mut self, c: char, style: Style) {
        if style != self.current {
            self.out.push_str(&style.sequence());
            self.current = style;
        }
        self.out.push(c);
        self.column += char_width(c);
    }

    fn reset(&mut self) {
        if self.current != Style::PLAIN {
            self.out.push_str(&Style::PLAIN.sequence());
            self.current = Style::PLAIN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(columns: usize, text: &str) -> String {
        let mut layout = Layout::new(columns);
        text.chars().for_each(|c| layout.push(c, Style::PLAIN));
        layout.finish();
        layout.take()
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(laid_out(20, "one two three four five six"), "one two three four\nfive six");
        assert_eq!(laid_out(20, "0123456789 0123456789 x"), "0123456789\n0123456789 x");
    }

    #[test]
    fn wide_characters_take_two_columns_and_break_anywhere() {
        let text = "日本語".repeat(5);
        let lines: Vec<String> = laid_out(20, &text).lines().map(str::to_string).collect();
        assert_eq!(lines.iter().map(|line| width(line)).collect::<Vec<_>>(), [20, 10]);
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!((cut("abcdef", 4).as_str(), cut("abcd", 4).as_str()), ("abc…", "abcd"));
    }

    #[test]
    fn a_long_word_is_not_kept_back() {
        let mut layout = Layout::new(20);
        "x".repeat(25).chars().for_each(|c| layout.push(c, Style::PLAIN));
        assert_eq!(layout.take(), "x".repeat(20));
    }

    #[test]
    fn continued_lines_are_indented_and_styles_end_with_the_line() {
        let mut layout = Layout::new(20);
        layout.fixed("• ", Style::PLAIN);
        layout.indent_here();
        "twelve letters and more".chars().for_each(|c| layout.push(c, Style::BOLD));
        layout.end_line();
        assert_eq!(layout.take(), "• \u{1b}[0;1mtwelve letters and\u{1b}[0m\n  \u{1b}[0;1mmore\u{1b}[0m\n");
    }
}
