//! Limits of the analyser that decides whether a person is asked, and of what the person is shown.

use std::time::Duration;

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
/// Script files of one command whose content an approval covers; with more, the question says that it does not.
pub const SCRIPT_FILES_MAX: usize = 8;
/// How long the script files of one command may take to be read before it is asked about without them.
pub const SCRIPT_FILES_WAIT: Duration = Duration::from_secs(10);
/// Reasons that are shown with a question, the most important first.
pub const REASONS_MAX: usize = 8;
/// Longest part of a command in a reason, in characters; the command itself is shown whole.
pub const REASON_PART_MAX_CHARS: usize = 200;
/// Lines of a call that a question shows before it is unfolded.
pub const FOLDED_LINES_MAX: usize = 12;
/// Characters of a line that a question shows before it is unfolded.
pub const FOLDED_LINE_MAX_CHARS: usize = 400;
