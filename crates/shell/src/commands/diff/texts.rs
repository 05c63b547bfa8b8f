//! Input of a comparison: the lines of two texts, and what of a line counts.

use std::ops::Range;

use super::script::{self, Change};

/// What of a line does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ignored {
    pub(super) case: bool,
    pub(super) all_blanks: bool,
    pub(super) amount_of_blanks: bool,
    pub(super) trailing_blanks: bool,
    pub(super) carriage_return: bool,
    pub(super) empty_lines: bool,
}

/// One side, as lines with their line ends.
pub(super) struct Text<'a> {
    pub(super) lines: Vec<&'a [u8]>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Text<'a> {
        Text { lines: bytes.split_inclusive(|byte| *byte == b'\n').collect() }
    }

    /// Line `at` behind a mark, and a note when it has no line end.
    pub(super) fn print(&self, out: &mut Vec<u8>, mark: &str, at: usize) {
        let line = self.lines[at];
        out.extend_from_slice(mark.as_bytes());
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }

    pub(super) fn print_all(&self, out: &mut Vec<u8>, mark: &str, range: Range<usize>) {
        range.for_each(|at| self.print(out, mark, at));
    }
}

/// What counts as changed.
pub(super) fn changes(old: &Text<'_>, new: &Text<'_>, ignored: Ignored, around: usize) -> Vec<Change> {
    let keys = |text: &Text<'_>| text.lines.iter().map(|line| key(line, ignored)).collect::<Vec<_>>();
    // Runs are not moved into the lines that both begin or end with, except as far as they are shown.
    let both = old.lines.len().min(new.lines.len());
    let before = old.lines.iter().zip(&new.lines).take_while(|(a, b)| a == b).count();
    let after = old.lines.iter().rev().zip(new.lines.iter().rev()).take_while(|(a, b)| a == b).count();
    let after = after.min(both - before).saturating_sub(around);
    let middle = |keys: Vec<Vec<u8>>| keys[before..keys.len() - after].to_vec();
    let mut changes = script::changes(&middle(keys(old)), &middle(keys(new)));
    for change in &mut changes {
        change.old = change.old.start + before..change.old.end + before;
        change.new = change.new.start + before..change.new.end + before;
    }
    changes
}

/// Whether a change is of empty lines only and these do not count.
pub(super) fn is_nothing(change: &Change, old: &Text<'_>, new: &Text<'_>, ignored: Ignored) -> bool {
    let blanks = ignored.all_blanks || ignored.amount_of_blanks || ignored.trailing_blanks;
    let empty = |line: &&[u8]| match line.strip_suffix(b"\n").unwrap_or(line) {
        line if blanks => line.trim_ascii().is_empty(),
        line => line.is_empty(),
    };
    ignored.empty_lines
        && old.lines[change.old.clone()].iter().all(empty)
        && new.lines[change.new.clone()].iter().all(empty)
}

/// What of a line is compared.
fn key(line: &[u8], ignored: Ignored) -> Vec<u8> {
    let mut line = line.to_vec();
    if ignored.carriage_return && line.ends_with(b"\r\n") {
        line.truncate(line.len() - 2);
        line.push(b'\n');
    }
    if ignored.case {
        line = String::from_utf8_lossy(&line).to_lowercase().into_bytes();
    }
    if ignored.all_blanks {
        line.retain(|byte| !is_blank(*byte));
    } else if ignored.amount_of_blanks {
        let mut squeezed = Vec::with_capacity(line.len());
        for byte in line.trim_ascii_end() {
            let blank = is_blank(*byte);
            if !(blank && squeezed.last() == Some(&b' ')) {
                squeezed.push(if blank { b' ' } else { *byte });
            }
        }
        line = squeezed;
    } else if ignored.trailing_blanks {
        line.truncate(line.trim_ascii_end().len());
    }
    line
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}
