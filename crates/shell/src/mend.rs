//! A script in words that the interpreter takes as bash would. Some of its expressions mean something else to it and
//! can not be reached from outside: `$$`, tests of files between `[[` and `]]`, long ranges in braces, what is piped into
//! a command with a `<(…)`, and some more. They are put differently before the script is run. Scripts without them stay as they are.

mod conditional;
mod place;

use std::borrow::Cow;

use base::limits;
use place::Place;

use crate::builtins;

/// The longest range in braces that the interpreter writes out; a longer one it takes for a word.
const RANGE_MAX: u64 = 10_000;
/// The longest one that it does not refuse.
const RANGE_REFUSED: u64 = 100_000;
/// Longest range that is looked at, and longest sum.
const RANGE_LETTERS_MAX: usize = 64;
const SUM_LETTERS_MAX: usize = 1_024;

/// The script as it is run. `number` is what `$$` stands for.
pub(crate) fn mended(script: &str, number: u32) -> Cow<'_, str> {
    let may_need =
        ["$$", "BASHPID", "[[", "..", "<(", "//%", "//#", "=("].iter().any(|sign| script.contains(sign));
    if !may_need || script.len() > limits::NATIVE_SHELL_SCAN_BYTES_MAX {
        return Cow::Borrowed(script);
    }
    let mut mend =
        Mend { text: script, at: 0, out: String::with_capacity(script.len() + 64), number, depth: 0 };
    match mend.commands(None) {
        Some(()) if mend.out != script => Cow::Owned(mend.out),
        _ => Cow::Borrowed(script),
    }
}

/// Reads a script from its beginning to its end. Whatever it does not understand makes it give up: `None`.
struct Mend<'a> {
    text: &'a str,
    at: usize,
    out: String,
    number: u32,
    depth: usize,
}

impl<'a> Mend<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Passes so many bytes on.
    fn copy(&mut self, bytes: usize) {
        self.out.push_str(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
    }

    fn copy_letter(&mut self) {
        self.copy(self.rest().chars().next().map_or(0, char::len_utf8));
    }

    fn skip(&mut self, bytes: usize, instead: &str) {
        self.out.push_str(instead);
        self.at += bytes;
    }

    /// What is within brackets, one deeper.
    fn within(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > limits::NATIVE_SHELL_SCAN_DEPTH_MAX {
            return None;
        }
        read(self)?;
        self.depth -= 1;
        Some(())
    }

    /// Commands, up to the bracket that closes them, or to the end.
    fn commands(&mut self, close: Option<char>) -> Option<()> {
        let mut place = Place::default();
        while let Some(letter) = self.rest().chars().next() {
            match letter {
                '\n' => {
                    self.copy(1);
                    place.begin();
                    for document in std::mem::take(&mut place.documents) {
                        self.document(&document.end, document.is_quoted, document.is_indented)?;
                    }
                }
                ' ' | '\t' => {
                    self.copy(1);
                    place.end_word();
                }
                '#' if place.is_at_word() => self.copy(self.rest().find('\n').unwrap_or(self.rest().len())),
                ')' if place.closes(close) => return Some(()),
                ')' => {
                    // `(a+=(x))`: without a blank the interpreter takes the brackets for those of a sum.
                    if self.out.ends_with(')') {
                        self.out.push(' ');
                    }
                    self.copy(1);
                    place.close()?;
                }
                '(' if place.may_be_sum() && self.rest().starts_with("((") && self.is_sum() => {
                    self.copy(2);
                    self.within(Self::sum)?;
                    place.end_word();
                }
                '(' => {
                    self.copy(1);
                    place.open()?;
                }
                ';' | '&' => {
                    self.copy(1);
                    place.begin();
                }
                '|' => self.pipe(&mut place),
                '<' | '>' => self.redirection(&mut place)?,
                '{' if self.range(&place) => place.word(),
                '[' if place.is_at_start() && starts_conditional(self.rest()) => {
                    self.conditional()?;
                    place.word();
                }
                _ => self.part(&mut place)?,
            }
        }
        (close.is_none() && place.is_whole()).then_some(())
    }

    fn pipe(&mut self, place: &mut Place) {
        let is_or = self.rest().starts_with("||");
        self.copy(if is_or || self.rest().starts_with("|&") { 2 } else { 1 });
        place.begin();
        place.is_piped = !is_or;
    }

    /// `<`, `>`, `<<`, `<(` and the like.
    fn redirection(&mut self, place: &mut Place) -> Option<()> {
        let rest = self.rest();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.copy(2);
            let from = self.out.len();
            self.within(|this| this.commands(Some(')')))?;
            let is_streaming = |word: &str| builtins::io(word).streams;
            if place.is_piped && self.out[from..].split(|letter| !place::is_name(letter)).any(is_streaming) {
                // Taken as a whole it is nobody's input.
                self.out.insert_str(from, "{ ");
                self.out.push_str("\n} | tail -c +1");
            }
            self.copy(1);
            place.word();
            return Some(());
        }
        if rest.starts_with("<<") && !rest.starts_with("<<<") {
            place.documents.push(place::Document::read(rest)?);
        }
        let signs = rest.len() - rest.trim_start_matches(['<', '>', '&', '|', '-']).len();
        self.copy(signs);
        place.end_word();
        Some(())
    }

    /// A part of a word: quotes, a dollar, or letters.
    fn part(&mut self, place: &mut Place) -> Option<()> {
        let letter = self.rest().chars().next()?;
        match letter {
            '\'' if place.is_handler() => {
                let end = self.rest()[1..].find('\'')? + 2;
                let (text, number) = (&self.rest()[..end], self.number.to_string());
                self.skip(end, &text.replace("$$", &number));
            }
            '"' | '\'' | '\\' | '$' | '`' => self.quoted_or_dollar(true)?,
            _ => {
                let end =
                    self.rest().find(place::ENDS_LETTERS).unwrap_or(self.rest().len()).max(letter.len_utf8());
                place.letters(&self.rest()[..end]);
                self.copy(end);
                return Some(());
            }
        }
        place.word();
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
            self.copy_letter();
        } else if let Some(quoted) = rest.strip_prefix("$'") {
            let escaped = quoted.char_indices().scan(false, |is_escaped, (at, letter)| {
                let is_end = letter == '\'' && !*is_escaped;
                *is_escaped = letter == '\\' && !*is_escaped;
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
        if rest.starts_with("$((") && self.is_sum() {
            self.copy(3);
            self.within(Self::sum)
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
        } else if rest.starts_with("$BASHPID") && !rest[8..].starts_with(place::is_name) {
            // The script's own is that of `$$`.
            self.skip(8, &format!("$((BASHPID == 1 ? {number} : BASHPID))"));
            Some(())
        } else {
            self.copy(1);
            Some(())
        }
    }

    /// `${v//%/x}`: a sign at the beginning of the pattern stands for itself where everything is replaced.
    fn replacement(&mut self) {
        let rest = self.rest();
        let name = rest.find(|letter| !place::is_name(letter)).unwrap_or(rest.len());
        if name > 0 && (rest[name..].starts_with("//%") || rest[name..].starts_with("//#")) {
            self.copy(name + 2);
            let sign = self.rest()[..1].to_string();
            self.skip(1, &format!("[{sign}]"));
        }
    }

    /// What is within double quotes, or within `${…}`.
    fn until(&mut self, close: char) -> Option<()> {
        loop {
            let letter = self.rest().chars().next()?;
            match letter {
                _ if letter == close => return Some(()),
                '\\' | '$' => self.quoted_or_dollar(false)?,
                '"' if close == '}' => self.quoted_or_dollar(false)?,
                _ => self.copy_letter(),
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
                    _ => self.copy_letter(),
                }
            }
        }
        Some(())
    }

    /// Whether brackets that look like those of a sum are closed like those of one.
    fn is_sum(&self) -> bool {
        let from = self.rest().find("((").map_or(0, |at| at + 2);
        let mut depth = 0usize;
        for (at, letter) in self.rest()[from..].char_indices().take(SUM_LETTERS_MAX) {
            match letter {
                '(' => depth += 1,
                ')' if depth == 0 => return self.rest()[from + at..].starts_with("))"),
                ')' => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// A sum, up to the two brackets that close it, and these.
    fn sum(&mut self) -> Option<()> {
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
            self.copy_letter();
        }
    }

    /// A word that is a range too long for the interpreter becomes the numbers themselves.
    fn range(&mut self, place: &Place) -> bool {
        let Some(end) = self.rest().bytes().take(RANGE_LETTERS_MAX).position(|byte| byte == b'}') else {
            return false;
        };
        let (inside, behind) = (&self.rest()[1..end], &self.rest()[end + 1..]);
        let ends = behind.is_empty() || behind.starts_with([' ', '\t', '\n', ';', ')', '|', '&']);
        let Some(series) = place.is_at_word().then(|| series(inside)).flatten().filter(|_| ends) else {
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
