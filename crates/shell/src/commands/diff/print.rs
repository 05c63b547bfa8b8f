//! Diff formats: normal, unified, with context, and side by side.

use std::ops::Range;

use super::script::Change;
use super::texts::Text;

/// `1c1`, and the lines.
pub(super) fn normal(out: &mut Vec<u8>, old: &Text<'_>, new: &Text<'_>, changes: &[Change]) {
    for change in changes {
        let letter = match (change.old.is_empty(), change.new.is_empty()) {
            (true, _) => 'a',
            (_, true) => 'd',
            _ => 'c',
        };
        out.extend_from_slice(format!("{}{letter}{}\n", lines(&change.old), lines(&change.new)).as_bytes());
        old.print_all(out, "< ", change.old.clone());
        if letter == 'c' {
            out.extend_from_slice(b"---\n");
        }
        new.print_all(out, "> ", change.new.clone());
    }
}

/// `3,5`, `3`, or the line before when there is none.
fn lines(range: &Range<usize>) -> String {
    match range.len() {
        0 | 1 => range.end.to_string(),
        _ => format!("{},{}", range.start + 1, range.end),
    }
}

/// Changes with the lines around them.
pub(super) struct Hunk<'a> {
    pub(super) changes: &'a [Change],
    old: Range<usize>,
    new: Range<usize>,
}

/// Changes that are near each other together, with so many lines around them.
pub(super) fn hunks<'a>(
    old: &Text<'_>,
    new: &Text<'_>,
    changes: &'a [Change],
    around: usize,
) -> Vec<Hunk<'a>> {
    let near = |a: &Change, b: &Change| b.old.start - a.old.end <= around.saturating_mul(2);
    changes
        .chunk_by(near)
        .map(|changes| {
            let (first, last) = (&changes[0], &changes[changes.len() - 1]);
            let before = around.min(first.old.start);
            let after = around.min(old.lines.len() - last.old.end);
            Hunk {
                changes,
                old: first.old.start - before..last.old.end + after,
                new: first.new.start - before..(last.new.end + after).min(new.lines.len()),
            }
        })
        .collect()
}

/// `@@ -1,3 +1,4 @@`, and the lines.
pub(super) fn unified(out: &mut Vec<u8>, old: &Text<'_>, new: &Text<'_>, hunks: &[Hunk<'_>]) {
    let numbers = |range: &Range<usize>| match range.len() {
        0 => format!("{},0", range.start),
        1 => range.end.to_string(),
        count => format!("{},{count}", range.start + 1),
    };
    for hunk in hunks {
        out.extend_from_slice(format!("@@ -{} +{} @@\n", numbers(&hunk.old), numbers(&hunk.new)).as_bytes());
        let mut at = hunk.old.start;
        for change in hunk.changes {
            old.print_all(out, " ", at..change.old.start);
            old.print_all(out, "-", change.old.clone());
            new.print_all(out, "+", change.new.clone());
            at = change.old.end;
        }
        old.print_all(out, " ", at..hunk.old.end);
    }
}

/// `*** 1,3 ****`, the old lines, `--- 1,4 ----`, the new lines.
pub(super) fn context(out: &mut Vec<u8>, old: &Text<'_>, new: &Text<'_>, hunks: &[Hunk<'_>]) {
    for hunk in hunks {
        out.extend_from_slice(format!("***************\n*** {} ****\n", lines(&hunk.old)).as_bytes());
        if hunk.changes.iter().any(|change| !change.old.is_empty()) {
            let runs = hunk.changes.iter().map(|change| (change.old.clone(), change.new.is_empty()));
            half(out, old, &hunk.old, runs, "- ");
        }
        out.extend_from_slice(format!("--- {} ----\n", lines(&hunk.new)).as_bytes());
        if hunk.changes.iter().any(|change| !change.new.is_empty()) {
            let runs = hunk.changes.iter().map(|change| (change.new.clone(), change.old.is_empty()));
            half(out, new, &hunk.new, runs, "+ ");
        }
    }
}

/// One side of a hunk; what has something in its place on the other side is marked `!`.
fn half(
    out: &mut Vec<u8>,
    text: &Text<'_>,
    range: &Range<usize>,
    runs: impl Iterator<Item = (Range<usize>, bool)>,
    mark: &str,
) {
    let mut at = range.start;
    for (run, alone) in runs {
        text.print_all(out, "  ", at..run.start);
        at = run.end;
        text.print_all(out, if alone { mark } else { "! " }, run);
    }
    text.print_all(out, "  ", at..range.end);
}

/// How two columns are laid out.
pub(super) struct Columns {
    half: usize,
    second: usize,
    left_only: bool,
    no_common: bool,
}

const TAB: usize = 8;
const GUTTER: usize = 3;

impl Columns {
    pub(super) fn new(width: usize, left_only: bool, no_common: bool) -> Columns {
        let both = TAB + GUTTER;
        let middle = (width >> 1) + (both >> 1) + (width & both & 1);
        let second = middle - middle % TAB;
        let half = second.saturating_sub(GUTTER).min(width.saturating_sub(second));
        Columns { half, second: if half > 0 { second } else { width }, left_only, no_common }
    }

    /// Both texts beside each other.
    pub(super) fn print(&self, out: &mut Vec<u8>, old: &Text<'_>, new: &Text<'_>, changes: &[Change]) {
        let (mut i, mut j) = (0, 0);
        for change in changes {
            self.common(out, old, new, i..change.old.start, j);
            let both = change.old.len().min(change.new.len());
            for at in 0..both {
                let (left, right) = (old.lines[change.old.start + at], new.lines[change.new.start + at]);
                self.line(out, Some(left), '|', Some(right));
            }
            for at in change.new.start + both..change.new.end {
                self.line(out, None, '>', Some(new.lines[at]));
            }
            for at in change.old.start + both..change.old.end {
                self.line(out, Some(old.lines[at]), '<', None);
            }
            (i, j) = (change.old.end, change.new.end);
        }
        self.common(out, old, new, i..old.lines.len(), j);
    }

    fn common(&self, out: &mut Vec<u8>, old: &Text<'_>, new: &Text<'_>, range: Range<usize>, from: usize) {
        if self.no_common {
            return;
        }
        for (left, right) in old.lines[range].iter().zip(&new.lines[from..]) {
            match self.left_only {
                true => self.line(out, Some(left), '(', None),
                false => self.line(out, Some(left), ' ', Some(right)),
            }
        }
    }

    fn line(&self, out: &mut Vec<u8>, left: Option<&[u8]>, marker: char, right: Option<&[u8]>) {
        let mut column = left.map_or(0, |left| self.cut(out, left, 0));
        let ends = |line: &[u8]| line.ends_with(b"\n");
        let left_ends = left.is_some_and(ends);
        if marker != ' ' {
            column = move_to(out, column, (self.half + self.second - 1) / 2) + 1;
            out.push(match right.map(ends) {
                Some(right_ends) if marker == '|' && right_ends != left_ends => {
                    if left_ends {
                        b'/'
                    } else {
                        b'\\'
                    }
                }
                _ => marker as u8,
            });
        }
        if let Some(right) = right.filter(|right| *right != b"\n") {
            column = move_to(out, column, self.second);
            self.cut(out, right, column);
        }
        if left_ends || right.is_some_and(ends) {
            out.push(b'\n');
        }
    }

    /// As much of a line as a column holds; answers how wide it is.
    fn cut(&self, out: &mut Vec<u8>, line: &[u8], indent: usize) -> usize {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
        let mut column = 0;
        for letter in line.chars() {
            if letter == '\t' {
                let next = column + TAB - column % TAB;
                if next > self.half {
                    break;
                }
                move_to(out, indent + column, indent + next);
                column = next;
            } else if column < self.half {
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                column += 1;
            } else {
                break;
            }
        }
        column
    }
}

/// Tabs as far as they lead, then blanks.
fn move_to(out: &mut Vec<u8>, from: usize, to: usize) -> usize {
    let mut at = from;
    while at + TAB - at % TAB <= to {
        out.push(b'\t');
        at += TAB - at % TAB;
    }
    out.resize(out.len() + to.saturating_sub(at), b' ');
    to
}
