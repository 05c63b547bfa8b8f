//! Three-way merge of texts by lines: what both sides changed apart from each other is kept, what they changed in the
//! same place is a conflict.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// A change of lines: those of the base that go, and what comes instead.
struct Hunk<'t> {
    base: Range<usize>,
    lines: Vec<&'t [u8]>,
}

/// The base with the changes of both sides; nothing where they changed the same lines differently.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ours == theirs || base == theirs {
        return Some(ours.to_vec());
    }
    if base == ours {
        return Some(theirs.to_vec());
    }
    let (left, right) = (hunks(base, ours), hunks(base, theirs));
    let lines: Vec<&[u8]> = lines(base);
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let (mut merged, mut at) = (Vec::with_capacity(ours.len()), 0);
    loop {
        let next = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => left.next(),
            (None, Some(_)) => right.next(),
            (Some(a), Some(b)) if a.base == b.base && a.lines == b.lines => {
                right.next();
                left.next()
            }
            // Changes that touch are one place.
            (Some(a), Some(b)) if a.base.end < b.base.start => left.next(),
            (Some(a), Some(b)) if b.base.end < a.base.start => right.next(),
            (Some(_), Some(_)) => return None,
        };
        let hunk = next?;
        for line in lines.get(at..hunk.base.start)? {
            merged.extend_from_slice(line);
        }
        for line in &hunk.lines {
            merged.extend_from_slice(line);
        }
        at = hunk.base.end;
    }
    for line in lines.get(at..)? {
        merged.extend_from_slice(line);
    }
    Some(merged)
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn hunks<'t>(base: &'t [u8], side: &'t [u8]) -> Vec<Hunk<'t>> {
    let input = InternedInput::new(base, side);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let of = |hunk: imara_diff::Hunk| Hunk {
        base: hunk.before.start as usize..hunk.before.end as usize,
        lines: input.after[hunk.after.start as usize..hunk.after.end as usize]
            .iter()
            .map(|token| input.interner[*token])
            .collect(),
    };
    diff.hunks().map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn text(lines: &[String]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
    }

    /// A side: some of the base's lines replaced, removed, or followed by a new one.
    fn side(base: usize, tag: &'static str) -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec(0..12_u8, base).prop_map(move |edits| {
            let mut lines = Vec::new();
            for (number, edit) in edits.iter().enumerate() {
                match edit {
                    0 => lines.push(format!("{tag} {number}")),
                    1 => {}
                    2 => lines.extend([format!("line {number}"), format!("{tag} after {number}")]),
                    _ => lines.push(format!("line {number}")),
                }
            }
            lines
        })
    }

    fn git(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, content) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            std::fs::write(dir.path().join(name), content).expect("written");
        }
        let output = Command::new("git")
            .args(["merge-file", "-p", "ours", "base", "theirs"])
            .current_dir(dir.path())
            .output()
            .expect("git");
        output.status.success().then_some(output.stdout)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn git_merges_the_same(ours in side(12, "ours"), theirs in side(12, "theirs")) {
            let base: Vec<String> = (0..12).map(|number| format!("line {number}")).collect();
            let (base, ours, theirs) = (text(&base), text(&ours), text(&theirs));
            prop_assert_eq!(merge(&base, &ours, &theirs), git(&base, &ours, &theirs));
        }
    }

    #[test]
    fn the_last_line_need_not_end() {
        assert_eq!(merge(b"a\nb\nc", b"x\nb\nc", b"a\nb\nz"), Some(b"x\nb\nz".to_vec()));
        assert_eq!(merge(b"a\nb\nc\n", b"a\nb\nx\n", b"a\nb\ny\n"), None);
        assert_eq!(merge(b"", b"a", b"b"), None);
        assert_eq!(merge(b"a", b"a", b""), Some(Vec::new()));
    }
}
