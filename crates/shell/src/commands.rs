//! The commands of this system, one file each. To add one: write `commands/<name>.rs` with a `COMMAND`, and
//! list it in [`ALL`]. Its `man` page and `help` line follow from there.

mod whoami;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

use protocol::calls::Calls;
use vfs::View;

use crate::Settings;

/// Every command of this system.
pub static ALL: &[&Command] = &[&whoami::COMMAND];

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
    /// Carries it out.
    pub run: for<'a> fn(&'a Cx<'a>) -> Running<'a>,
}

/// A command under way.
pub type Running<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

/// What a command gets.
pub struct Cx<'a> {
    /// The name it was called by.
    pub name: &'a str,
    /// Its arguments, without the name.
    pub args: &'a [String],
    /// Exported variables.
    pub env: &'a HashMap<String, String>,
    /// What was piped or redirected into it; empty when nothing was.
    pub stdin: &'a [u8],
    /// The tree as the user sees it, at the shell's current directory: `view.path("x")` is relative to it.
    pub view: &'a View,
    /// The user's right to make calls.
    pub calls: &'a Calls,
    /// What root and the user have set.
    pub settings: &'a Settings,
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
    /// Its exit code.
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
}
