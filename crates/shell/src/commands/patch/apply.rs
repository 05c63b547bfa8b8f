//! Fuzzy hunk placement: at the line a hunk names, near it, or with less context.

use super::read::{Hunk, Line};

/// How many lines around a change may differ.
const FUZZ_MAX: usize = 2;

/// How it went with one hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// At this line of the new file, so far from where it was expected, with so much left out around it.
    At { line: usize, offset: isize, fuzz: usize },
    /// Nowhere; it was expected at this line.
    Nowhere { line: usize },
}

/// The new lines of a file, and how each hunk went.
pub(super) fn apply(lines: &[&[u8]], hunks: &[Hunk]) -> (Vec<u8>, Vec<Fit>) {
    let (mut out, mut fits) = (Vec::new(), Vec::new());
    // What is done of the old file, how far hunks lie from where they say, and how many lines were written.
    let (mut done, mut offset, mut written) = (0, 0_isize, 0);
    for hunk in hunks {
        let stated = hunk.start.saturating_sub(usize::from(hunk.old().next().is_some())) as isize;
        let expected = (stated + offset).max(0) as usize;
        let Some((at, fuzz)) = find(lines, hunk, done, expected) else {
            let shift = written as isize - done as isize;
            fits.push(Fit::Nowhere { line: (expected as isize + shift + 1).max(1) as usize });
            continue;
        };
        let inside = hunk.without(fuzz);
        out.extend(lines[done..at].concat());
        written += at - done;
        let line = written + 1 - fuzz.min(hunk.leading()).min(written);
        done = at;
        for piece in inside {
            match piece {
                Line::Go(_) => done += 1,
                Line::Come(text) => {
                    out.extend_from_slice(text);
                    written += 1;
                }
                // What stays is kept as the file has it.
                Line::Stay(_) => {
                    out.extend_from_slice(lines[done]);
                    (done, written) = (done + 1, written + 1);
                }
            }
        }
        let lead = fuzz.min(hunk.leading()) as isize;
        let moved = at as isize - lead - stated;
        fits.push(Fit::At { line, offset: moved, fuzz });
        offset = moved;
    }
    out.extend(lines[done..].concat());
    (out, fits)
}

/// Where a hunk fits, nearest first, and with how much left out around it.
fn find(lines: &[&[u8]], hunk: &Hunk, from: usize, expected: usize) -> Option<(usize, usize)> {
    let most = FUZZ_MAX.min(hunk.leading().max(hunk.trailing()));
    (0..=most).find_map(|fuzz| {
        let old: Vec<&[u8]> = old_of(hunk.without(fuzz)).collect();
        let expected = expected + fuzz.min(hunk.leading());
        let last = lines.len().checked_sub(old.len())?;
        let fits = |at: usize| at >= from && at <= last && lines[at..at + old.len()] == old[..];
        // A file that is made, or lines that come without anything around them, fit only where they say.
        if old.is_empty() {
            return Some((expected.clamp(from, lines.len()), fuzz));
        }
        let near = (0..=lines.len()).find_map(|distance| {
            let after = expected + distance;
            if fits(after) {
                return Some(after);
            }
            expected.checked_sub(distance).filter(|before| fits(*before))
        });
        near.map(|at| (at, fuzz))
    })
}

impl Hunk {
    /// The lines that the old file has.
    fn old(&self) -> impl Iterator<Item = &[u8]> {
        old_of(&self.lines)
    }

    /// How many lines stay before the first change.
    fn leading(&self) -> usize {
        self.lines.iter().take_while(|line| matches!(line, Line::Stay(_))).count()
    }

    fn trailing(&self) -> usize {
        self.lines.iter().rev().take_while(|line| matches!(line, Line::Stay(_))).count()
    }

    /// Its lines without so many around.
    fn without(&self, fuzz: usize) -> &[Line] {
        let (lead, trail) = (fuzz.min(self.leading()), fuzz.min(self.trailing()));
        self.lines.get(lead..self.lines.len() - trail).unwrap_or_default()
    }
}

fn old_of(lines: &[Line]) -> impl Iterator<Item = &[u8]> {
    lines.iter().filter_map(|line| match line {
        Line::Stay(text) | Line::Go(text) => Some(text.as_slice()),
        Line::Come(_) => None,
    })
}
