//! Taint analysis of shell arithmetic. Bash evaluates a variable in an expression as an expression of its own, and runs
//! the substitutions in a subscript on the way: with `x='a[$(rm f)]'`, `$((x))` removes the file. So an expression is
//! clear only when everything in it is.

use std::collections::{BTreeMap, BTreeSet};

use bashkit::parser::{Command, Word as Parsed, WordPart};

use super::Word;

/// The arithmetic expressions of a script and the variables in them.
#[derive(Default)]
pub(super) struct Arithmetic {
    /// Names that are evaluated somewhere.
    evaluated: BTreeSet<String>,
    /// Names that may hold anything.
    tainted: BTreeSet<String>,
    /// Names and whose value they take over.
    copies: BTreeMap<String, BTreeSet<String>>,
    is_odd: bool,
}

impl Arithmetic {
    /// Whether nothing that is evaluated can run a command.
    pub(super) fn is_clear(&self) -> bool {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = self.evaluated.iter().map(String::as_str).collect();
        while let Some(name) = open.pop() {
            if self.tainted.contains(name) || is_parameter(name) {
                return false;
            }
            if seen.insert(name) {
                open.extend(self.copies.get(name).into_iter().flatten().map(String::as_str));
            }
        }
        !self.is_odd
    }

    /// An expression is evaluated.
    pub(super) fn expression(&mut self, text: &str) {
        let is_harmless = |character: char| {
            character.is_ascii_alphanumeric() || "_ \t\n+-*/%()<>=!&|^~?:,#[]{}$@".contains(character)
        };
        if text.contains("$(") || !text.chars().all(is_harmless) || !is_balanced(text) {
            self.is_odd = true;
        }
        // Two operands side by side: these are no expression but words, `((rm -r x))` of a shell within a shell.
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let ends = |word: &str| {
                word.ends_with(|character: char| {
                    character.is_ascii_alphanumeric() || "_)]}".contains(character)
                })
            };
            let begins = |word: &str| {
                word.starts_with(|character: char| {
                    character.is_ascii_alphanumeric() || "_($".contains(character)
                })
            };
            if ends(word) && words.peek().is_some_and(|next| begins(next)) {
                self.is_odd = true;
            }
        }
        self.names(text);
    }

    /// The subscript of an array: an expression, or the key of a map.
    pub(super) fn index(&mut self, text: &str) {
        if text.contains('`') || text.contains("$(") {
            self.is_odd = true;
        }
        if !matches!(text, "@" | "*") {
            self.names(text);
        }
    }

    /// A name that may have a subscript.
    pub(super) fn subscript(&mut self, name: &str) {
        if let Some((_, rest)) = name.split_once('[') {
            self.index(rest.trim_end_matches(']'));
        }
    }

    /// A word that the shell evaluates as an expression.
    pub(super) fn evaluate(&mut self, word: &Parsed, known: &Word) {
        match &known.text {
            Some(text) => self.expression(text),
            None => {
                for part in &word.parts {
                    match part {
                        WordPart::Literal(text) => self.expression(text),
                        WordPart::Variable(name) => self.name(name),
                        WordPart::ArithmeticExpansion(_) | WordPart::Length(_) | WordPart::ArrayLength(_) => {
                        }
                        WordPart::CommandSubstitution(commands) if prints_numbers(commands) => {}
                        _ => self.is_odd = true,
                    }
                }
            }
        }
    }

    /// A variable gets a value.
    pub(super) fn assign(&mut self, name: &str, word: &Parsed, known: &Word) {
        if known.pattern.is_some() {
            self.taint(name);
        }
        for part in &word.parts {
            match part {
                WordPart::Literal(text) if !text.contains(['$', '`', '[', '\\']) => {
                    self.copy_names(name, text)
                }
                WordPart::ArithmeticExpansion(_) | WordPart::Length(_) | WordPart::ArrayLength(_) => {}
                WordPart::Variable(from) => self.copy(name, from),
                WordPart::CommandSubstitution(commands) if prints_numbers(commands) => {}
                _ => self.taint(name),
            }
        }
    }

    /// A variable may get any value.
    pub(super) fn taint(&mut self, name: &str) {
        self.tainted.insert(name.split('[').next().unwrap_or(name).to_string());
    }

    /// Something is evaluated that is not looked into.
    pub(super) fn give_up(&mut self) {
        self.is_odd = true;
    }

    /// `[[ … ]]`
    pub(super) fn conditional(&mut self, words: &[Parsed], known: &[Word]) {
        let compares = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        for (at, word) in known.iter().enumerate() {
            let Some(text) = word.text.as_deref() else { continue };
            if compares.contains(&text) {
                for side in [at.checked_sub(1), Some(at + 1)].into_iter().flatten() {
                    if let (Some(word), Some(known)) = (words.get(side), known.get(side)) {
                        self.evaluate(word, known);
                    }
                }
            }
            if text == "-v" {
                self.place(known.get(at + 1));
            }
        }
    }

    /// The name of a variable in a word of its own, as `read` and `unset` take it. Its subscript is evaluated.
    pub(super) fn place(&mut self, word: Option<&Word>) {
        match word.and_then(|word| word.text.as_deref()) {
            Some(text) => self.subscript(text),
            None => self.is_odd |= word.is_some(),
        }
    }

    fn name(&mut self, name: &str) {
        if !matches!(name, "#" | "?" | "$" | "!" | "RANDOM" | "SECONDS" | "LINENO" | "UID") {
            self.evaluated.insert(name.to_string());
        }
    }

    fn names(&mut self, text: &str) {
        for name in identifiers(text) {
            self.name(name);
        }
        for (at, _) in text.match_indices('$') {
            let next = text[at + 1..].trim_start_matches('{');
            if next
                .starts_with(|character: char| character.is_ascii_digit() || matches!(character, '@' | '*'))
            {
                self.name("1");
            }
        }
    }

    fn copy(&mut self, name: &str, from: &str) {
        self.copies.entry(name.to_string()).or_default().insert(from.to_string());
    }

    /// `x=y; echo $((x))` evaluates `y`.
    fn copy_names(&mut self, name: &str, text: &str) {
        for from in identifiers(text) {
            self.copy(name, from);
        }
    }
}

/// A parameter of the script or of a function: whatever the caller gave.
fn is_parameter(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit())
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').filter(|name| {
        name.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
    })
}

fn is_balanced(text: &str) -> bool {
    let mut open = 0i32;
    for byte in text.bytes() {
        open += i32::from(byte == b'(') - i32::from(byte == b')');
        if open < 0 {
            return false;
        }
    }
    open == 0
}

/// Whether a substitution gives nothing but a number, whatever it reads.
fn prints_numbers(commands: &[Command]) -> bool {
    let last = match commands {
        [Command::Pipeline(pipeline)] => pipeline.commands.last(),
        [command] => Some(command),
        _ => None,
    };
    let Some(Command::Simple(simple)) = last else { return false };
    let plain = |word: &Parsed| match word.parts.as_slice() {
        [WordPart::Literal(text)] => Some(text.clone()),
        _ => None,
    };
    let args: Option<Vec<String>> = simple.args.iter().map(plain).collect();
    match (plain(&simple.name).as_deref(), args) {
        (Some("wc"), Some(args)) => args.iter().all(|arg| arg.starts_with('-')),
        (Some("nproc"), Some(args)) => args.is_empty(),
        (Some("date"), Some(args)) => matches!(args.as_slice(), [format] if format == "+%s"),
        _ => false,
    }
}
