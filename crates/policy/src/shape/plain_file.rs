//! Allow-list of commands that may be remembered for the neighbours of the file they name: one program, options that do
//! not change what it is about, one plain file. Modes and owners stay as they are.

use crate::paths::PathContext;
use crate::programs::{Script, Simple, Word};

/// A program of which a single file may be another one of the same directory.
struct Program {
    name: &'static str,
    /// Letters of the options that make no difference; with any other the command is remembered as it is.
    options: &'static str,
    /// Words before the file that stay as they are.
    verbatim: usize,
    /// What the file is called.
    what: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { name: "rm", options: "fiv", verbatim: 0, what: "a single plain file" },
    Program { name: "unlink", options: "", verbatim: 0, what: "a single plain file" },
    Program { name: "touch", options: "acm", verbatim: 0, what: "a single plain file" },
    Program { name: "mkdir", options: "pv", verbatim: 0, what: "a single directory" },
    Program { name: "rmdir", options: "v", verbatim: 0, what: "a single directory" },
    Program { name: "chmod", options: "cfv", verbatim: 1, what: "a single file or directory" },
    Program { name: "chown", options: "cfv", verbatim: 1, what: "a single file or directory" },
    Program { name: "chgrp", options: "cfv", verbatim: 1, what: "a single file or directory" },
];

/// What has a meaning of its own to a shell, outside of words: a pipe or a here-document feeds a program, a redirection
/// writes, a list is several commands.
const OPERATORS: &[char] = &[';', '|', '&', '<', '>', '(', ')', '{', '}', '$', '`', '!', '#', '\n', '\r'];

/// The shape of a command that names one plain file.
pub(super) fn shape(
    command: &str,
    script: &Script,
    cwd: Option<&str>,
    paths: &PathContext,
) -> Option<String> {
    let [Simple { words, assignments, redirections, input: None }] = script.commands.as_slice() else {
        return None;
    };
    if !assignments.is_empty() || !redirections.is_empty() || command.trim().contains(OPERATORS) {
        return None;
    }
    let words: Option<Vec<&str>> = words.iter().map(literal).collect();
    let words = words?;
    let (name, args) = words.split_first()?;
    let program = PROGRAMS.iter().find(|program| program.name == *name)?;
    let is_option = |word: &&&str| word.starts_with('-');
    let options = args.iter().take_while(is_option).count();
    let (options, operands) = args.split_at(options);
    let is_idle = |option: &&str| {
        let letters = &option[1..];
        !letters.is_empty() && letters.chars().all(|letter| program.options.contains(letter))
    };
    let (file, kept) = operands.split_last()?;
    if !options.iter().all(is_idle) || kept.len() != program.verbatim || file.starts_with('-') {
        return None;
    }
    let path = super::place(file, cwd, paths)?;
    let directory = super::plain_directory(&path, paths).filter(|_| !file.ends_with(['/', '.']))?;
    let said: Vec<String> =
        std::iter::once(name).chain(options).chain(kept).map(|w| super::quote(w)).collect();
    Some(format!("{} of {} in {}", said.join(" "), program.what, super::said(directory)))
}

/// A word that is known and is no pattern.
fn literal(word: &Word) -> Option<&str> {
    word.text.as_deref().filter(|_| word.pattern.is_none())
}
