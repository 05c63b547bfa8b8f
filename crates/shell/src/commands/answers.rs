//! Confirmation prompts of `-i`. Nobody sits at this shell, so the answers are the lines piped into the command; when
//! they are used up the answer is no.

use super::{Cx, Done};

/// The answers not yet used.
pub(super) struct Answers<'a> {
    rest: &'a [u8],
}

impl<'a> Answers<'a> {
    /// The lines piped into a command.
    pub fn of(cx: &Cx<'a>) -> Answers<'a> {
        Answers { rest: cx.stdin }
    }

    /// Asks on stderr; whether the next line begins with a yes.
    pub fn ask(&mut self, cx: &Cx<'_>, done: &mut Done, question: &str) -> bool {
        done.stderr.extend_from_slice(format!("{}: {question} ", cx.name).as_bytes());
        let end = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |at| at + 1);
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        if line.is_empty() {
            done.stderr.push(b'\n');
        }
        matches!(line.first(), Some(b'y' | b'Y'))
    }
}
