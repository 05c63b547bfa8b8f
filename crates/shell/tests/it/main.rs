//! Integration tests of the native shell: commands on a real tree, and a corpus of scripts compared with the machine's
//! bash.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod busy;
mod corpus;
mod parser;
mod scripts;
mod sessions;
mod test_shell;
