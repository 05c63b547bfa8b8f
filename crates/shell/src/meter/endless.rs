//! Bounded reads of devices without an end: how much of one a command asks for. The interpreter reads files as a
//! whole.

use base::limits;

use crate::builtin_io::{Endless as Wanted, Redirected};
use crate::builtins;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// So many bytes.
    Bytes(usize),
    /// The usual amount, and to be told that there would be more.
    Usual,
    All,
}

/// How much of an endless device is handed over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Endless {
    Bytes(usize),
    Refused(&'static str),
}

pub(super) const NEVER_ENDS: &str = "it never ends; take a part of it with head -c";
pub(super) const WANTS_TOO_MUCH: &str = "more than 64 MiB of it are asked for";
pub(super) const WAS_CUT: &str = "it never ends; this is all that is read of it at once";

/// Behind the name of an endless device: where the usual amount of it ends.
pub(super) const REST: &str = "...";

/// How much one reading of an endless device usually gives.
pub(super) fn usual(path: &str) -> Option<usize> {
    match path {
        "/dev/zero" | "/dev/full" => Some(limits::native_shell::ZERO_BYTES),
        "/dev/random" | "/dev/urandom" => Some(limits::native_shell::RANDOM_BYTES),
        _ => None,
    }
}

pub(super) fn with_rest(word: String) -> Vec<String> {
    match usual(&word) {
        Some(_) => vec![word.clone(), word + REST],
        None => vec![word],
    }
}

/// What a command wants of each of the endless devices among its words.
pub(super) fn asked(name: &str, args: &[String]) -> Vec<Request> {
    let is_endless = |word: &&String| usual(word.strip_prefix("if=").unwrap_or(word)).is_some();
    let count = args.iter().filter(is_endless).count();
    if count == 0 {
        return Vec::new();
    }
    let each = match builtins::io(name).endless {
        Wanted::Bytes(bytes) => bytes(args).map_or(Request::All, Request::Bytes),
        Wanted::Usual => Request::Usual,
        Wanted::Nothing => return Vec::new(),
        Wanted::All => Request::All,
    };
    vec![each; count]
}

/// The words of a command into which an endless device is redirected, with the device among them: so that the command
/// gets as much as it asks for, or is told. Nothing when it takes no files.
pub(super) fn named(name: &str, args: &[String], device: &str) -> Option<Vec<String>> {
    let row = builtins::row(name)?;
    let word = match row.io.redirected {
        // The adapter tells it.
        _ if row.is_ours => None,
        Redirected::AskedFirst => None,
        Redirected::Argument(argument) => argument(args, device),
        Redirected::File => builtins::demand(name, args).map(|_| device.to_string()),
    };
    word.map(|word| args.iter().cloned().chain([word]).collect())
}

/// Whether the script reads an endless device into a variable, where no command could say anything of it.
pub(super) fn is_captured(script: &str) -> bool {
    let mut rest = script;
    while let Some(at) = rest.find("$(<") {
        rest = &rest[at + 3..];
        let file = rest.trim_start().split([')', ' ', '\n']).next().unwrap_or_default();
        if usual(file.trim_matches(['"', '\''])).is_some() {
            return true;
        }
    }
    false
}
