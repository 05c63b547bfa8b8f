//! Source-to-source rewriting: a script in words that the interpreter takes as bash would. Some expressions mean
//! something else to it and cannot be reached from outside: `$$`, tests of files between `[[` and `]]`, long ranges
//! in braces, what is piped into a command with a `<(…)`, and some more. They are put differently before the script is
//! run. Scripts without them stay as they are.

mod conditional;
mod cursor;

use std::borrow::Cow;

use base::limits;
use cursor::Cursor;

use crate::builtins;

/// The longest range in braces that the interpreter writes out; a longer one it takes for a word.
const RANGE_MAX: u64 = 10_000;
/// The longest one that it does not refuse.
const RANGE_REFUSED: u64 = 100_000;
/// Longest range that is looked at, and longest arithmetic expression, in characters.
const RANGE_CHARS_MAX: usize = 64;
const ARITHMETIC_CHARS_MAX: usize = 1_024;

/// The script as it is run. `number` is what `$$` stands for.
pub(crate) fn normalized(script: &str, number: u32) -> Cow<'_, str> {
    let may_need = ["$$", "BASHPID", "[[", "..", "<(", "//%", "//#", "=("]
        .iter()
        .any(|character| script.contains(character));
    if !may_need || script.len() > limits::native_shell::SCAN_MAX_BYTES {
        return Cow::Borrowed(script);
    }
    let mut normalizer =
        Normalizer { text: script, at: 0, out: String::with_capacity(script.len() + 64), number, depth: 0 };
    match normalizer.commands(None) {
        Some(()) if normalizer.out != script => Cow::Owned(normalizer.out),
        _ => Cow::Borrowed(script),
    }
}

/// Reads a script from its beginning to its end. Whatever it does not understand makes it give up: `None`.
struct Normalizer<'a> {
    text: &'a str,
    at: usize,
    out: String,
    number: u32,
    depth: usize,
}

impl<'a> Normalizer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Passes so many bytes on.
    fn copy(&mut self, bytes: usize) {
        self.out.push_str(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
    }

    fn copy_char(&mut self) {
        self.copy(self.rest().chars().next().map_or(0, char::len_utf8));
    }

    fn skip(&mut self, bytes: usize, instead: &str) {
        self.out.push_str(instead);
        self.at += bytes;
    }

    /// What is within brackets, one deeper.
    fn within(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > limits::native_shell::SCAN_DEPTH_MAX {
            return None;
        }
        read(self)?;
        self.depth -= 1;
        Some(())
    }

    /// Commands, up to the bracket that closes them, or to the end.
    fn commands(&mut self, close: Option<char>) -> Option<()> {
        let mut cursor = Cursor::default();
        while let Some(character) = self.rest().chars().next() {
            match character {
                '\n' => {
                    self.copy(1);
                    cursor.begin();
                    for document in std::mem::take(&mut cursor.documents) {
                        self.document(&document.end, document.is_quoted, document.is_indented)?;
                    }
                }
                ' ' | '\t' => {
                    self.copy(1);
                    cursor.end_word();
                }
                '#' if cursor.is_at_word() => self.copy(self.rest().find('\n').unwrap_or(self.rest().len())),
                ')' if cursor.closes(close) => return Some(()),
                ')' => {
                    // `(a+=(x))`: without a blank the interpreter takes the brackets for those of arithmetic.
                    if self.out.ends_with(')') {
                        self.out.push(' ');
                    }
                    self.copy(1);
                    cursor.close()?;
                }
                '(' if cursor.may_be_arithmetic()
                    && self.rest().starts_with("((")
                    && self.is_arithmetic() =>
                {
                    self.copy(2);
                    self.within(Self::arithmetic)?;
                    cursor.end_word();
                }
                '(' => {
                    self.copy(1);
                    cursor.open()?;
                }
                ';' | '&' => {
                    self.copy(1);
                    cursor.begin();
                }
                '|' => self.pipe(&mut cursor),
                '<' | '>' => self.redirection(&mut cursor)?,
                '{' if self.range(&cursor) => cursor.word(),
                '[' if cursor.is_at_start() && starts_conditional(self.rest()) => {
                    self.conditional()?;
                    cursor.word();
                }
                _ => self.part(&mut cursor)?,
            }
        }
        (close.is_none() && cursor.is_whole()).then_some(())
    }

    fn pipe(&mut self, cursor: &mut Cursor) {
        let is_or = self.rest().starts_with("||");
        self.copy(if is_or || self.rest().starts_with("|&") { 2 } else { 1 });
        cursor.begin();
        cursor.is_piped = !is_or;
    }

    /// `<`, `>`, `<<`, `<(` and the like.
    fn redirection(&mut self, cursor: &mut Cursor) -> Option<()> {
        let rest = self.rest();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.copy(2);
            let from = self.out.len();
            self.within(|this| this.commands(Some(')')))?;
            let is_streaming = |word: &str| builtins::io(word).streams;
            if cursor.is_piped
                && self.out[from..].split(|character| !cursor::is_name(character)).any(is_streaming)
            {
                // Taken as a whole it is nobody's input.
                self.out.insert_str(from, "{ ");
                self.out.push_str("\n} | tail -c +1");
            }
            self.copy(1);
            cursor.word();
            return Some(());
        }
        if rest.starts_with("<<") && !rest.starts_with("<<<") {
            cursor.documents.push(cursor::Document::read(rest)?);
        }
        let operators = rest.len() - rest.trim_start_matches(['<', '>', '&', '|', '-']).len();
        self.copy(operators);
        cursor.end_word();
        Some(())
    }

    /// A part of a word: quotes, a dollar, or plain characters.
    fn part(&mut self, cursor: &mut Cursor) -> Option<()> {
        let character = self.rest().chars().next()?;
        match character {
            '\'' if cursor.is_handler() => {
                let end = self.rest()[1..].find('\'')? + 2;
                let (text, number) = (&self.rest()[..end], self.number.to_string());
                self.skip(end, &text.replace("$$", &number));
            }
            '"' | '\'' | '\\' | '$' | '`' => self.quoted_or_dollar(true)?,
            _ => {
                let end = self
                    .rest()
                    .find(cursor::ENDS_PLAIN)
                    .unwrap_or(self.rest().len())
                    .max(character.len_utf8());
                cursor.plain(&self.rest()[..end]);
                self.copy(end);
                return Some(());
            }
        }
        cursor.word();
        Some(())
    }

    /// Quotes, what begins with a dollar, and what is escaped. `is_bare` where a number by itself could be taken for that
    /// of a descriptor.
    fn quoted_or_dollar(&mut self, is_bare: bool) -> Option<()> {
        let rest = self.rest();
        if let Some(quoted) = rest.strip_prefix('\'') {
            self.copy(quoted.find('\'')? + 2);
        } else if rest.starts_with('"') {
            self.copy(1);
            self.within(|this| this.until('"'))?;
            self.copy(1);
        } else if rest.starts_with('\\') {
            self.copy(1);
            self.copy_char();
        } else if let Some(quoted) = rest.strip_prefix("$'") {
            let escaped = quoted.char_indices().scan(false, |is_escaped, (at, character)| {
                let is_end = character == '\'' && !*is_escaped;
                *is_escaped = character == '\\' && !*is_escaped;
                Some(is_end.then_some(at))
            });
            self.copy(escaped.flatten().next()? + 3);
        } else {
            self.dollar(is_bare)?;
        }
        Some(())
    }

    fn dollar(&mut self, is_bare: bool) -> Option<()> {
        let rest = self.rest();
        let number = self.number.to_string();
        if rest.starts_with("$((") && self.is_arithmetic() {
            self.copy(3);
            self.within(Self::arithmetic)
        } else if rest.starts_with("$(") {
            self.copy(2);
            self.within(|this| this.commands(Some(')')))?;
            self.copy(1);
            Some(())
        } else if rest.starts_with("${") {
            self.copy(2);
            self.replacement();
            self.within(|this| this.until('}'))?;
            self.copy(1);
            Some(())
        } else if rest.starts_with("$$") {
            let text = if is_bare { format!("\"{number}\"") } else { number };
            self.skip(2, &text);
            Some(())
        } else if rest.starts_with("$BASHPID") && !rest[8..].starts_with(cursor::is_name) {
            // The script's own is that of `$$`.
            self.skip(8, &format!("$((BASHPID == 1 ? {number} : BASHPID))"));
            Some(())
        } else {
            self.copy(1);
            Some(())
        }
    }

    /// `${v//%/x}`: a character at the beginning of the pattern stands for itself where everything is replaced.
    fn replacement(&mut self) {
        let rest = self.rest();
        let name = rest.find(|character| !cursor::is_name(character)).unwrap_or(rest.len());
        if name > 0 && (rest[name..].starts_with("//%") || rest[name..].starts_with("//#")) {
            self.copy(name + 2);
            let character = self.rest()[..1].to_string();
            self.skip(1, &format!("[{character}]"));
        }
    }

    /// What is within double quotes, or within `${…}`.
    fn until(&mut self, close: char) -> Option<()> {
        loop {
            let character = self.rest().chars().next()?;
            match character {
                _ if character == close => return Some(()),
                '\\' | '$' => self.quoted_or_dollar(false)?,
                '"' if close == '}' => self.quoted_or_dollar(false)?,
                _ => self.copy_char(),
            }
        }
    }

    /// The text of a here-document, up to its end.
    fn document(&mut self, end: &str, is_quoted: bool, is_indented: bool) -> Option<()> {
        while !self.rest().is_empty() {
            let line = self.rest().split('\n').next().unwrap_or_default();
            let bare = if is_indented { line.trim_start_matches('\t') } else { line };
            let stop = self.at + line.len() + usize::from(self.rest().len() > line.len());
            if bare == end || is_quoted {
                self.copy(stop - self.at);
                if bare == end {
                    return Some(());
                }
                continue;
            }
            while self.at < stop {
                match self.rest().chars().next()? {
                    '\\' | '$' => self.quoted_or_dollar(false)?,
                    _ => self.copy_char(),
                }
            }
        }
        Some(())
    }

    /// Whether brackets that look like those of arithmetic are closed like those of it.
    fn is_arithmetic(&self) -> bool {
        let from = self.rest().find("((").map_or(0, |at| at + 2);
        let mut depth = 0usize;
        for (at, character) in self.rest()[from..].char_indices().take(ARITHMETIC_CHARS_MAX) {
            match character {
                '(' => depth += 1,
                ')' if depth == 0 => return self.rest()[from + at..].starts_with("))"),
                ')' => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// Arithmetic, up to the two brackets that close it, and these.
    fn arithmetic(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.rest().chars().next()? {
                ')' if depth == 0 => {
                    // Quotes in it may have hidden that it is none.
                    return self.rest().starts_with("))").then(|| self.copy(2));
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                '"' | '\\' | '$' => {
                    self.quoted_or_dollar(false)?;
                    continue;
                }
                _ => {}
            }
            self.copy_char();
        }
    }

    /// A word that is a range too long for the interpreter becomes the numbers themselves.
    fn range(&mut self, cursor: &Cursor) -> bool {
        let Some(end) = self.rest().bytes().take(RANGE_CHARS_MAX).position(|byte| byte == b'}') else {
            return false;
        };
        let (inside, behind) = (&self.rest()[1..end], &self.rest()[end + 1..]);
        let ends = behind.is_empty() || behind.starts_with([' ', '\t', '\n', ';', ')', '|', '&']);
        let Some(series) = cursor.is_at_word().then(|| series(inside)).flatten().filter(|_| ends) else {
            return false;
        };
        self.skip(inside.len() + 2, &series);
        true
    }
}

fn starts_conditional(rest: &str) -> bool {
    rest.strip_prefix("[[").is_some_and(|behind| behind.starts_with([' ', '\t', '\n']))
}

/// `1..20000` in other words, if it must be put so.
fn series(inside: &str) -> Option<String> {
    let numbers: Vec<i64> = inside.split("..").map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let is_plain = |number: &str| {
        !number.starts_with('+') && (number == "0" || !number.trim_start_matches('-').starts_with('0'))
    };
    let (first, last, step) = match numbers.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, step.checked_abs()?.max(1)),
        _ => return None,
    };
    let count = first.abs_diff(last) / step.unsigned_abs() + 1;
    if !inside.split("..").all(is_plain) || count <= RANGE_MAX || count > RANGE_REFUSED {
        return None;
    }
    let step = if first <= last { step } else { -step };
    Some(format!("$(seq {first} {step} {last})"))
}

#[cfg(test)]
mod tests;
