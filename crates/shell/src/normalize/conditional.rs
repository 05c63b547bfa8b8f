//! Rewriting of `[[ … ]]`: tests of files that the interpreter answers wrongly there are asked of `test`, which
//! answers rightly.

use std::ops::Range;

use super::Normalizer;

/// Questions about one file, or one option.
const ABOUT_ONE: [&str; 15] =
    ["-L", "-h", "-r", "-w", "-x", "-p", "-S", "-b", "-c", "-u", "-g", "-k", "-O", "-G", "-o"];
/// Questions about two.
const ABOUT_TWO: [&str; 3] = ["-nt", "-ot", "-ef"];

impl Normalizer<'_> {
    /// From `[[` to behind `]]`.
    pub(super) fn conditional(&mut self) -> Option<()> {
        self.copy(2);
        let mut words: Vec<Range<usize>> = Vec::new();
        loop {
            while self.rest().starts_with([' ', '\t', '\n']) {
                self.copy(1);
            }
            let from = self.out.len();
            let is_pattern = words.last().is_some_and(|word| &self.out[word.clone()] == "=~");
            self.operand(is_pattern)?;
            let word = from..self.out.len();
            if &self.out[word.clone()] == "]]" {
                break;
            }
            words.push(word);
        }
        self.ask(&words);
        Some(())
    }

    /// One word or operator.
    fn operand(&mut self, is_pattern: bool) -> Option<()> {
        let from = self.at;
        let mut depth = 0usize;
        loop {
            let rest = self.rest();
            let Some(character) = rest.chars().next() else { return (self.at > from).then_some(()) };
            match character {
                ' ' | '\t' | '\n' if depth == 0 => return (self.at > from).then_some(()),
                '"' | '\'' | '\\' | '$' | '`' => self.quoted_or_dollar(false)?,
                '(' | ')' if is_pattern => {
                    depth = if character == '(' { depth + 1 } else { depth.saturating_sub(1) };
                    self.copy(1);
                }
                '(' | ')' | '<' | '>' | ';' | '&' | '|' if !is_pattern => {
                    if self.at == from {
                        let twice = rest.starts_with("&&") || rest.starts_with("||");
                        self.copy(if twice { 2 } else { 1 });
                    }
                    return Some(());
                }
                _ => self.copy_char(),
            }
        }
    }

    /// Puts the questions differently, from the last one to the first.
    fn ask(&mut self, words: &[Range<usize>]) {
        let texts: Vec<String> = words.iter().map(|word| self.out[word.clone()].to_string()).collect();
        let text = |at: usize| texts.get(at).map_or("]]", String::as_str);
        let ends = |word: &str| matches!(word, "]]" | "&&" | "||" | ")");
        for at in (0..words.len()).rev() {
            let begins = at == 0 || matches!(text(at - 1), "&&" | "||" | "(" | "!");
            let (first, second, third) = (text(at), text(at + 1), text(at + 2));
            if !begins {
                continue;
            }
            let (question, last) = if ABOUT_ONE.contains(&first) && !ends(second) && ends(third) {
                (whole(second).map(|word| format!("{first} {word}")), at + 1)
            } else if ABOUT_TWO.contains(&second) && !ends(third) && ends(text(at + 3)) {
                let both = whole(first).zip(whole(third));
                (both.map(|(one, other)| format!("{one} {second} {other}")), at + 2)
            } else {
                continue;
            };
            if let Some(question) = question {
                let asked = format!("$(test {question}; echo $?) == 0");
                self.out.replace_range(words[at].start..words[last].end, &asked);
            }
        }
    }
}

/// The word as one of a command, where it would be split and expanded otherwise. `None` when that is not certain.
fn whole(word: &str) -> Option<String> {
    let is_one =
        |inside: &&str| !inside.contains(['"', '\\']) || (inside.starts_with("$(") && inside.ends_with(')'));
    let inside = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if inside.filter(is_one).is_some() {
        return Some(word.to_string());
    }
    if word.starts_with("$(") && word.ends_with(')') && word.matches("$(").count() == 1 {
        return Some(format!("\"{word}\""));
    }
    if word.contains(['\'', '\\', '`']) || word.contains("$(") || !word.matches('"').count().is_multiple_of(2)
    {
        return None;
    }
    // In turn outside and inside of double quotes; outside nothing is split here, so that it may be quoted too.
    let mut out = String::new();
    for (at, part) in word.split('"').enumerate().filter(|(_, part)| !part.is_empty()) {
        match part {
            home if at == 0 && home.starts_with('~') => {
                out.push_str(Some(home).filter(|home| !home.contains(['$', '*', '?', '[']))?);
            }
            _ => out.push_str(&format!("\"{part}\"")),
        }
    }
    Some(if out.is_empty() { "\"\"".to_string() } else { out })
}
