//! Unified-diff hunks of two texts: a line diff, grouped with the lines around it as git groups them.

use base::limits::repo as limits;
use imara_diff::{Algorithm, Diff, InternedInput};

/// What changed in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileDiff {
    pub additions: u64,
    pub deletions: u64,
    pub hunks: Vec<Hunk>,
}

/// Changes that are near each other, with the lines around them. Lines are counted from 1; a side without lines says
/// after which line it would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub old_start: u64,
    pub old_count: u64,
    pub new_start: u64,
    pub new_count: u64,
    pub lines: Vec<Line>,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub tag: LineTag,
    /// Without its end.
    pub content: String,
    /// Whether it has an end; the last one of a file may not.
    pub ends: bool,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineTag {
    Context,
    Add,
    Delete,
    Binary,
}

/// The difference between two texts.
pub(crate) fn between(old: &[u8], new: &[u8], context: usize) -> FileDiff {
    let input = InternedInput::new(old, new);
    let lines = input.before.len() + input.after.len();
    let algorithm =
        if lines <= limits::DIFF_MINIMAL_LINES_MAX { Algorithm::MyersMinimal } else { Algorithm::Histogram };
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_lines(&input);
    let changes: Vec<imara_diff::Hunk> = diff.hunks().collect();
    let before: Vec<&[u8]> = input.before.iter().map(|token| input.interner[*token]).collect();
    let after: Vec<&[u8]> = input.after.iter().map(|token| input.interner[*token]).collect();
    let groups = changes.chunk_by(|a, b| (b.before.start - a.before.end) as usize <= 2 * context);
    FileDiff {
        additions: diff.count_additions().into(),
        deletions: diff.count_removals().into(),
        hunks: groups.map(|group| hunk(group, &before, &after, context)).collect(),
    }
}

fn hunk(group: &[imara_diff::Hunk], before: &[&[u8]], after: &[&[u8]], context: usize) -> Hunk {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return Hunk::default() };
    let lead = context.min(first.before.start as usize);
    let tail = context.min(before.len() - last.before.end as usize);
    let old = first.before.start as usize - lead..last.before.end as usize + tail;
    let new = first.after.start as usize - lead..last.after.end as usize + tail;
    let mut lines = Vec::new();
    let mut at = old.start;
    for change in group {
        let (removed, added) = (&change.before, &change.after);
        lines.extend(before[at..removed.start as usize].iter().map(|text| line(LineTag::Context, text)));
        let (deletes, adds) =
            (removed.start as usize..removed.end as usize, added.start as usize..added.end as usize);
        lines.extend(before[deletes].iter().map(|text| line(LineTag::Delete, text)));
        lines.extend(after[adds].iter().map(|text| line(LineTag::Add, text)));
        at = removed.end as usize;
    }
    lines.extend(before[at..old.end].iter().map(|text| line(LineTag::Context, text)));
    let start = |range: &std::ops::Range<usize>| (range.start + usize::from(!range.is_empty())) as u64;
    Hunk {
        old_start: start(&old),
        old_count: old.len() as u64,
        new_start: start(&new),
        new_count: new.len() as u64,
        lines,
    }
}

fn line(tag: LineTag, text: &[u8]) -> Line {
    let content = text.strip_suffix(b"\n");
    Line {
        tag,
        content: String::from_utf8_lossy(content.unwrap_or(text)).into_owned(),
        ends: content.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str, context: usize) -> Vec<String> {
        let mut out = Vec::new();
        for hunk in between(old.as_bytes(), new.as_bytes(), context).hunks {
            out.push(format!(
                "@@ -{},{} +{},{} @@",
                hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count
            ));
            for line in hunk.lines {
                let sign = match line.tag {
                    LineTag::Add => '+',
                    LineTag::Delete => '-',
                    _ => ' ',
                };
                out.push(format!("{sign}{}{}", line.content, if line.ends { "" } else { "\\" }));
            }
        }
        out
    }

    #[test]
    fn changes_that_are_near_share_a_hunk() {
        let old = "1\n2\n3\n4\n5\n6\n7\n";
        let new = "1\nx\n3\n4\n5\ny\n7\n";
        assert_eq!(
            shown(old, new, 2),
            ["@@ -1,7 +1,7 @@", " 1", "-2", "+x", " 3", " 4", " 5", "-6", "+y", " 7"]
        );
        assert_eq!(
            shown(old, new, 1),
            ["@@ -1,3 +1,3 @@", " 1", "-2", "+x", " 3", "@@ -5,3 +5,3 @@", " 5", "-6", "+y", " 7"]
        );
        assert_eq!(shown("1\n2\n", "1\nx\n2\n", 0), ["@@ -1,0 +2,1 @@", "+x"]);
    }

    #[test]
    fn what_is_new_or_gone_has_one_side() {
        assert_eq!(shown("", "a\nb\n", 3), ["@@ -0,0 +1,2 @@", "+a", "+b"]);
        assert_eq!(shown("a\n", "", 3), ["@@ -1,1 +0,0 @@", "-a"]);
        assert_eq!(shown("a", "a\n", 3), ["@@ -1,1 +1,1 @@", "-a\\", "+a"]);
        assert!(shown("", "", 3).is_empty());
    }
}
