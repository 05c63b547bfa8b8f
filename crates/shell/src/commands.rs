//! Command registry of the native shell, one file each. To add one: write `commands/<name>.rs` with a `COMMAND`, and
//! list it in [`ALL`]. Its `man` page and its `--help` follow from there.

mod accounts;
mod answers;
mod base64;
mod bc;
mod chgrp;
mod chmod;
mod chown;
mod cmp;
mod codemode;
mod config;
mod cp;
mod curl;
mod cut;
mod date;
mod devices;
mod diff;
mod expr;
mod git;
mod groups;
mod gsv;
mod gzip;
mod hostname;
mod id;
mod ln;
mod ls;
mod man;
pub(crate) mod masks;
mod mcp;
mod mkdir;
mod mktemp;
pub(crate) mod modes;
mod mv;
mod notify;
mod operand_path;
mod options;
pub(crate) mod owned;
mod patch;
mod patterns;
mod proc;
mod ps;
mod readlink;
mod realpath;
mod rm;
mod rmdir;
mod sink;
mod skills;
#[cfg(test)]
mod stage;
mod stat;
mod tar;
mod test;
#[cfg(test)]
mod tests;
mod times;
mod touch;
pub(crate) mod tr;
mod uname;
mod walk;
mod wget;
mod whoami;
mod xxd;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

use base::clock::Clock;
use base::limits;
use protocol::calls::Calls;
use protocol::error::Error;
use protocol::spec::Syscall;
use vfs::{Fault, View};

use crate::Settings;
use crate::builtin_io::Io;

/// Every command of this system, by name.
pub static ALL: &[&Command] = &[
    &base64::COMMAND,
    &bc::COMMAND,
    &chgrp::COMMAND,
    &chmod::COMMAND,
    &chown::COMMAND,
    &cmp::COMMAND,
    &codemode::COMMAND,
    &config::COMMAND,
    &cp::COMMAND,
    &curl::COMMAND,
    &cut::COMMAND,
    &date::COMMAND,
    &devices::COMMAND,
    &diff::COMMAND,
    &expr::COMMAND,
    &git::COMMAND,
    &groups::COMMAND,
    &gsv::COMMAND,
    &gzip::COMMAND,
    &hostname::COMMAND,
    &id::COMMAND,
    &ln::COMMAND,
    &ls::COMMAND,
    &man::COMMAND,
    &mcp::COMMAND,
    &mkdir::COMMAND,
    &mktemp::COMMAND,
    &mv::COMMAND,
    &notify::COMMAND,
    &patch::COMMAND,
    &proc::COMMAND,
    &ps::COMMAND,
    &readlink::COMMAND,
    &realpath::COMMAND,
    &rm::COMMAND,
    &rmdir::COMMAND,
    &skills::COMMAND,
    &stat::COMMAND,
    &tar::COMMAND,
    &test::COMMAND,
    &touch::COMMAND,
    &tr::COMMAND,
    &uname::COMMAND,
    &wget::COMMAND,
    &whoami::COMMAND,
    &xxd::COMMAND,
];

/// A command: its name, its manual, and what it does.
pub struct Command {
    /// What is typed.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line, such as `print the user's name`.
    pub about: &'static str,
    /// The arguments, such as `[-l] [FILE...]`.
    pub usage: &'static str,
    /// More for its manual page; may be empty.
    pub manual: &'static str,
    /// What it reads, holds and streams.
    pub(crate) io: Io,
    /// Carries it out.
    pub run: for<'a> fn(&'a Cx<'a>) -> Running<'a>,
}

/// Finds a command by its name or an alias.
pub fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().copied().find(|command| command.name == name || command.aliases.contains(&name))
}

impl Command {
    /// `usage: <name> <arguments>`
    pub fn usage_line(&self) -> String {
        format!("usage: {} {}", self.name, self.usage).trim_end().to_string() + "\n"
    }
}

/// A command under way. It is dropped when its shell is stopped, so it must be content to end at any `await`.
pub type Running<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

/// What a command gets. It runs inside a Tokio runtime with I/O and time enabled: `curl` opens sockets.
pub struct Cx<'a> {
    /// The name it was called by.
    pub name: &'a str,
    /// Its arguments, without the name.
    pub args: &'a [String],
    /// Exported variables.
    pub env: &'a HashMap<String, String>,
    /// All variables of the shell that are plain text, exported or not: `test -v` asks for them.
    pub variables: &'a HashMap<String, String>,
    /// What was piped or redirected into it; empty when nothing was.
    pub stdin: &'a [u8],
    /// What each `<(…)` among the arguments printed, by the path it was given as.
    pub pipes: &'a HashMap<String, Vec<u8>>,
    /// The tree as the user sees it, at the shell's current directory: `view.path("x")` is relative to it.
    pub view: &'a View,
    /// The user's right to make calls.
    pub calls: &'a Calls,
    /// What root and the user have set.
    pub settings: &'a Settings,
    pub clock: &'a Clock,
}

impl Cx<'_> {
    /// The whole of an operand that is read: a file, what a `<(…)` printed, or standard input for `-`.
    async fn read(&self, operand: &str) -> Result<Vec<u8>, Fault> {
        if matches!(operand, "-" | "/dev/stdin") {
            return Ok(self.stdin.to_vec());
        }
        match self.pipes.get(operand) {
            Some(printed) => Ok(printed.clone()),
            None => self.view.read(&self.view.path(operand)?).await,
        }
    }

    /// Makes a call; a failure is said in the command's name.
    async fn call<S: Syscall>(&self, args: &S) -> Result<S::Result, Done> {
        self.calls.call(args).await.map_err(|error| self.refused(&error))
    }

    /// A call failed. The kernel's own words for a missing capability are `Permission denied: <call>`.
    fn refused(&self, error: &Error) -> Done {
        Done::failed(self.name, &error.message, 1)
    }

    /// Something about its arguments is wrong.
    fn misused(&self, why: impl std::fmt::Display) -> Done {
        Done::failed(self.name, why, 1)
    }
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
    /// Its exit code, 0 to 255.
    pub code: i32,
}

impl Done {
    /// It printed this and all is well.
    pub fn printed(text: impl Into<Vec<u8>>) -> Done {
        Done { stdout: text.into(), ..Done::default() }
    }

    /// It failed: `<name>: <why>` on stderr.
    pub fn failed(name: &str, why: impl std::fmt::Display, code: i32) -> Done {
        Done { stderr: format!("{name}: {why}\n").into_bytes(), code, ..Done::default() }
    }

    /// Adds to what it printed. What a shell does not pass on is not kept either, and that is a failure.
    fn print(&mut self, text: impl AsRef<[u8]>) {
        let (text, most) = (text.as_ref(), limits::native_shell::STREAM_MAX_BYTES);
        let room = most.saturating_sub(self.stdout.len());
        if text.len() < room {
            return self.stdout.extend_from_slice(text);
        }
        if room > 0 {
            self.stdout.extend_from_slice(&text[..room]);
            let why = format!("more than {} MiB of output\n", most / 1024 / 1024);
            self.stderr.extend_from_slice(why.as_bytes());
            self.code = self.code.max(1);
        }
    }

    /// Whether it printed all that it may: what it does beyond is in vain.
    fn is_full(&self) -> bool {
        self.stdout.len() >= limits::native_shell::STREAM_MAX_BYTES
    }

    /// Adds a line to what it complained about, and sets its exit code unless it is higher already.
    fn complain(&mut self, name: &str, why: impl std::fmt::Display, code: i32) {
        self.stderr.extend_from_slice(format!("{name}: {why}\n").as_bytes());
        self.code = self.code.max(code);
    }
}

/// What a shell command says about a failure of the tree: `No such file or directory`.
fn words(fault: &Fault) -> &str {
    match &fault.note {
        Some(note) => note,
        None => fault.code.shell_words(),
    }
}

/// A line of a table: the values, no tab or line break in any of them, with tabs between.
fn row<const N: usize>(values: [&str; N]) -> String {
    let plain = |value: &&str| value.replace(['\t', '\n', '\r'], " ");
    values.iter().map(plain).collect::<Vec<_>>().join("\t") + "\n"
}

/// A command that ends early does so with an error of its own.
fn flat(result: Result<Done, Done>) -> Done {
    result.unwrap_or_else(|done| done)
}
