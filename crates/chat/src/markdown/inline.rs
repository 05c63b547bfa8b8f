//! State machine for markup within a line: strong, emphasised and code. What is opened and not closed ends with the line.

use terminal::layout::{CYAN, Layout, Style};

/// The state within a line.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// Marks whose meaning the next character decides.
    marks: String,
    bold: bool,
    italic: bool,
    /// Length of the marks that opened a span of code.
    code: usize,
    /// The last character shown.
    before: Option<char>,
    escaped: bool,
}

impl Inline {
    /// Takes the next character of the line.
    pub(super) fn step(&mut self, c: char, style: Style, layout: &mut Layout) {
        if self.escaped {
            self.escaped = false;
            if !c.is_ascii_punctuation() {
                self.show('\\', style, layout);
                return self.step(c, style, layout);
            }
            return self.show(c, style, layout);
        }
        let waiting = self.marks.chars().next();
        if waiting.is_some_and(|mark| mark != c) {
            self.decide(Some(c), style, layout);
        }
        match c {
            '`' => self.marks.push(c),
            '*' | '_' if self.code == 0 => self.marks.push(c),
            '\\' if self.code == 0 => self.escaped = true,
            c => self.show(c, style, layout),
        }
    }

    /// The line is over.
    pub(super) fn end(&mut self, style: Style, layout: &mut Layout) {
        self.decide(None, style, layout);
        if std::mem::take(&mut self.escaped) {
            self.show('\\', style, layout);
        }
    }

    /// Decides what the waiting marks mean before this character.
    fn decide(&mut self, next: Option<char>, style: Style, layout: &mut Layout) {
        let marks = std::mem::take(&mut self.marks);
        let Some(mark) = marks.chars().next() else { return };
        if mark == '`' {
            return self.decide_code(&marks, next, style, layout);
        }
        let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        // Within a word an underscore is part of its name, and a lone star often means something else.
        let inside = mark == '_' && word(self.before) && word(next);
        let opens = !space(next)
            && if marks.len() == 1 { space(self.before) } else { mark == '*' || !word(self.before) };
        let closes = !space(self.before) && !inside;
        let (bold, italic) = (marks.len() >= 2, marks.len() % 2 == 1);
        let fits = |open: bool| if open { closes } else { opens };
        if marks.len() > 3 || (bold && !fits(self.bold)) || (italic && !fits(self.italic)) {
            marks.chars().for_each(|c| self.show(c, style, layout));
            return;
        }
        self.bold ^= bold;
        self.italic ^= italic;
    }

    fn decide_code(&mut self, marks: &str, next: Option<char>, style: Style, layout: &mut Layout) {
        if self.code == marks.len() {
            self.code = 0;
        } else if self.code == 0 && next.is_some() {
            self.code = marks.len();
        } else {
            marks.chars().for_each(|c| self.show(c, style, layout));
        }
    }

    fn show(&mut self, c: char, line: Style, layout: &mut Layout) {
        let mut style = line;
        style.bold |= self.bold;
        style.italic |= self.italic;
        if self.code > 0 {
            style.colour = Some(CYAN);
        }
        self.before = Some(c);
        layout.push(c, style);
    }
}
