//! Limits of the analyser that decides whether a person is asked.

/// Longest command that is looked into, in bytes; longer ones are asked about.
pub const SCRIPT_MAX_BYTES: usize = 64 * 1024;
/// How deep the syntax of a command may be nested to be looked into.
pub const SYNTAX_DEPTH_MAX: usize = 60;
/// Commands within commands (`sudo sh -c '…'`) that are looked into.
pub const NESTING_MAX: usize = 16;
/// Simple commands of one script that are looked into.
pub const COMMANDS_MAX: usize = 1_000;
/// Longest shape of a command that can be remembered, in bytes.
pub const SHAPE_MAX_BYTES: usize = 1_024;
