//! Line differences of two texts, grouped and printed the way git does it.

use std::ops::Range;

use base::limits::repo as limits;
use imara_diff::{Algorithm, Diff, InternedInput};

/// Lines that go, and lines that come in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// A text with its lines, each with its end.
pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// What differs between two texts.
pub(super) fn between(old: &[u8], new: &[u8]) -> Vec<Changed> {
    let input = InternedInput::new(old, new);
    let count = input.before.len() + input.after.len();
    let algorithm =
        if count <= limits::DIFF_MINIMAL_LINES_MAX { Algorithm::MyersMinimal } else { Algorithm::Histogram };
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_lines(&input);
    let range = |range: &Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| Changed { old: range(&hunk.before), new: range(&hunk.after) }).collect()
}

/// Lines added and deleted.
pub(super) fn counted(changes: &[Changed]) -> (u64, u64) {
    changes.iter().fold((0, 0), |(added, deleted), change| {
        (added + change.new.len() as u64, deleted + change.old.len() as u64)
    })
}

/// `@@ -1,3 +1,4 @@ fn main() {`, and the lines.
pub(super) fn print(out: &mut Vec<u8>, old: &[u8], new: &[u8], around: usize) {
    let changes = between(old, new);
    let (before, after) = (lines(old), lines(new));
    let groups = changes.chunk_by(|a, b| b.old.start - a.old.end <= around.saturating_mul(2));
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let lead = around.min(first.old.start);
        let tail = around.min(before.len() - last.old.end);
        let old = first.old.start - lead..last.old.end + tail;
        let new = first.new.start - lead..last.new.end + tail;
        let (minus, plus) = (numbers(&old), numbers(&new));
        out.extend_from_slice(format!("@@ -{minus} +{plus} @@").as_bytes());
        if let Some(heading) = heading(&before[..old.start]) {
            out.push(b' ');
            out.extend_from_slice(heading);
        }
        out.push(b'\n');
        let mut at = old.start;
        for change in group {
            print_lines(out, b' ', &before[at..change.old.start]);
            print_lines(out, b'-', &before[change.old.clone()]);
            print_lines(out, b'+', &after[change.new.clone()]);
            at = change.old.end;
        }
        print_lines(out, b' ', &before[at..old.end]);
    }
}

fn numbers(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => range.end.to_string(),
        count => format!("{},{count}", range.start + 1),
    }
}

fn print_lines(out: &mut Vec<u8>, mark: u8, lines: &[&[u8]]) {
    for line in lines {
        out.push(mark);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// The last line before a hunk that looks like the head of something.
fn heading<'a>(before: &[&'a [u8]]) -> Option<&'a [u8]> {
    const LONGEST: usize = 80;
    let is_heading = |line: &&&[u8]| {
        line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'))
    };
    let line = before.iter().rev().find(is_heading)?;
    Some(line[..line.len().min(LONGEST)].trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str, around: usize) -> String {
        let mut out = Vec::new();
        print(&mut out, old.as_bytes(), new.as_bytes(), around);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hunks_have_gits_form() {
        assert_eq!(shown("", "a\n", 3), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(shown("a", "a\n", 3), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        let old = "fn main() {\n 1\n 2\n 3\n 4\n 5\n";
        let new = "fn main() {\n 1\n 2\n 3\n 4\n x\n";
        assert_eq!(shown(old, new, 1), "@@ -5,2 +5,2 @@ fn main() {\n  4\n- 5\n+ x\n");
    }
}
