//! Option parsing by declaration: a row names every option that a program may have, and an option it does not name
//! makes the command unproved.

use super::grammar::Word;

/// What the words are that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// None at all.
    None,
    /// Words that are not opened as files.
    Text,
    /// Paths that are read, at most so many.
    Paths(usize),
    /// A pattern, and then paths that are read.
    PatternThenPaths,
}

/// A program that only reads when it has no other options than these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its names, separated by blanks.
    pub(super) names: &'static str,
    /// Letters of options; a colon behind a letter means that it takes a value.
    pub(super) short: &'static str,
    /// Long options, separated by blanks: `name`, `name=` with a value, `name[=` where the value may be left out.
    pub(super) long: &'static str,
    /// Whether `-20` is an option.
    pub(super) numbers: bool,
    /// What else it takes.
    pub(super) operands: Operands,
}

/// The words of a program, taken apart.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// Options by letter or name, with their values.
    pub(super) options: Vec<(String, Option<String>)>,
    /// Everything else.
    pub(super) operands: Vec<&'a Word>,
}

impl Parsed<'_> {
    /// Whether one of these options is there.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of an option, under any of its names.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &str> {
        self.options
            .iter()
            .filter(move |(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_deref())
    }
}

impl Row {
    /// Tells options from operands; an option that is not named here is an error.
    pub(super) fn parse<'a>(&self, program: &str, words: &'a [Word]) -> Result<Parsed<'a>, String> {
        let mut parsed = Parsed::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if text == "--" {
                parsed.operands.extend(rest.by_ref());
            } else if let Some(long) = text.strip_prefix("--") {
                let option = self.long(long, &mut rest).ok_or_else(|| not_known(program, text))?;
                parsed.options.push(option);
            } else if text.len() > 1 && text.starts_with('-') {
                if self.numbers && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
                    continue;
                }
                self.letters(&text[1..], &mut rest, &mut parsed.options)
                    .ok_or_else(|| not_known(program, text))?;
            } else {
                parsed.operands.push(word);
            }
            if word.is_glob && text.starts_with('-') {
                return Err(format!("has an option of {program} that is a pattern of file names"));
            }
        }
        self.check(program, &parsed.operands)?;
        Ok(parsed)
    }

    /// A long option, whole.
    fn long<'a>(
        &self,
        long: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
    ) -> Option<(String, Option<String>)> {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (long, None),
        };
        let known = self
            .long
            .split(' ')
            .find(|known| known.trim_end_matches(['=', '[']) == name && !name.is_empty())?;
        let value = match (value, known.ends_with('='), known.ends_with("[=")) {
            (Some(value), true, _) => Some(value),
            (None, true, true) | (None, false, _) => None,
            (None, true, false) => Some(rest.next()?.text.clone()),
            (Some(_), false, _) => return None,
        };
        Some((name.to_string(), value))
    }

    /// A cluster of letters; the first that takes a value takes the rest of the word, or the next one.
    fn letters<'a>(
        &self,
        letters: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
        options: &mut Vec<(String, Option<String>)>,
    ) -> Option<()> {
        for (at, letter) in letters.char_indices() {
            let place = self.short.find(letter).filter(|_| letter != ':')?;
            if !self.short[place + 1..].starts_with(':') {
                options.push((letter.to_string(), None));
                continue;
            }
            let attached = &letters[at + 1..];
            let value = if attached.is_empty() { rest.next()?.text.clone() } else { attached.to_string() };
            options.push((letter.to_string(), Some(value)));
            break;
        }
        Some(())
    }

    fn check(&self, program: &str, operands: &[&Word]) -> Result<(), String> {
        let most = match self.operands {
            Operands::None => 0,
            Operands::Paths(most) => most,
            Operands::Text | Operands::PatternThenPaths => usize::MAX,
        };
        // A pattern can become any number of words.
        let has_glob = operands.iter().any(|word| word.is_glob);
        if operands.len() > most || (has_glob && most != usize::MAX) {
            return Err(format!("has more words after {program} than it reads"));
        }
        let reads = matches!(self.operands, Operands::Paths(_) | Operands::PatternThenPaths);
        if reads && operands.iter().any(|word| word.text.starts_with('+')) {
            return Err(format!("has a word for {program} that begins with +"));
        }
        Ok(())
    }
}

fn not_known(program: &str, option: &str) -> String {
    format!("uses an option of {program} that is not known to only read: {option}")
}
