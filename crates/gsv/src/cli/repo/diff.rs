//! Unified diff printer, with colours on a terminal.

use std::fmt::Write;

use protocol::repo::change::{DiffFile, DiffStatus, DiffTag, Hunk, Stats};
use terminal::escape;
use terminal::failure::Result;
use terminal::layout::{CYAN, GREEN, RED, Style};

use crate::context::Context;

/// Prints changes as git does, or as the raw JSON of the answer.
pub(super) fn print(
    context: &Context,
    raw: &str,
    files: &[DiffFile],
    stats: &Stats,
    is_stat: bool,
) -> Result<()> {
    if context.output.json {
        return context.output.raw_json(raw);
    }
    let paint = Paint { colours: context.output.colour, is_seen: context.output.terminal };
    context.output.text(&if is_stat { overview(files, stats, paint) } else { patch(files, paint) })
}

/// Who reads it: a person on a terminal, or a program that wants the lines as they are.
#[derive(Clone, Copy)]
struct Paint {
    colours: bool,
    is_seen: bool,
}

impl Paint {
    fn paint(self, style: Style, text: &str) -> String {
        if self.colours { style.paint(text) } else { text.to_string() }
    }

    /// Text of others; a terminal obeys nothing in it.
    fn text(self, text: &str) -> String {
        if self.is_seen { escape::line(text) } else { text.to_string() }
    }
}

fn patch(files: &[DiffFile], paint: Paint) -> String {
    let mut out = String::new();
    for file in files {
        head(&mut out, file, paint);
        for hunk in file.hunks.iter().flatten() {
            places(&mut out, file, hunk, paint);
        }
    }
    out
}

fn head(out: &mut String, file: &DiffFile, paint: Paint) {
    let path = paint.text(&file.path);
    let (old, new) = match file.status {
        DiffStatus::Added => ("/dev/null".to_string(), format!("b/{path}")),
        DiffStatus::Deleted => (format!("a/{path}"), "/dev/null".to_string()),
        DiffStatus::Modified => (format!("a/{path}"), format!("b/{path}")),
    };
    for line in [format!("diff --git a/{path} b/{path}"), format!("--- {old}"), format!("+++ {new}")] {
        push(out, &paint.paint(Style::BOLD, &line));
    }
}

fn places(out: &mut String, file: &DiffFile, hunk: &Hunk, paint: Paint) {
    if hunk.lines.iter().any(|line| line.tag == DiffTag::Binary) {
        return push(out, &format!("Binary file {} differs", paint.text(&file.path)));
    }
    let Hunk { old_start, old_count, new_start, new_count, lines } = hunk;
    let place = format!("@@ -{old_start},{old_count} +{new_start},{new_count} @@");
    push(out, &paint.paint(Style::colour(CYAN), &place));
    for line in lines {
        let content = paint.text(&line.content);
        push(
            out,
            &match line.tag {
                DiffTag::Add => paint.paint(Style::colour(GREEN), &format!("+{content}")),
                DiffTag::Delete => paint.paint(Style::colour(RED), &format!("-{content}")),
                DiffTag::Context | DiffTag::Binary => format!(" {content}"),
            },
        );
    }
}

fn overview(files: &[DiffFile], stats: &Stats, paint: Paint) -> String {
    let mut out = String::new();
    for file in files {
        let (sign, colour) = match file.status {
            DiffStatus::Added => ("A", GREEN),
            DiffStatus::Deleted => ("D", RED),
            DiffStatus::Modified => ("M", CYAN),
        };
        push(&mut out, &format!("{} {}", paint.paint(Style::colour(colour), sign), paint.text(&file.path)));
    }
    let Stats { files_changed, additions, deletions } = stats;
    push(&mut out, &format!("{files_changed} files changed, {additions} lines added, {deletions} deleted"));
    out
}

fn push(out: &mut String, line: &str) {
    // Writing to a String cannot fail.
    writeln!(out, "{line}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use protocol::repo::change::DiffLine;

    use super::*;

    const PLAIN: Paint = Paint { colours: false, is_seen: true };

    fn file(lines: &[(DiffTag, &str)]) -> DiffFile {
        let lines = lines.iter().map(|(tag, text)| {
            let tag = serde_json::to_value(tag).unwrap();
            serde_json::from_value::<DiffLine>(serde_json::json!({ "tag": tag, "content": text })).unwrap()
        });
        let hunk = Hunk { old_start: 1, old_count: 2, new_start: 1, new_count: 2, lines: lines.collect() };
        let file = serde_json::json!({ "path": "a\u{1b}[2J", "status": "modified", "hunks": [hunk] });
        serde_json::from_value(file).unwrap()
    }

    #[test]
    fn it_reads_as_gits_own_and_steers_no_terminal() {
        let lines = [(DiffTag::Context, "one"), (DiffTag::Delete, "two"), (DiffTag::Add, "\u{1b}]0;x")];
        let text = patch(&[file(&lines)], PLAIN);
        let wanted =
            "diff --git a/a␛[2J b/a␛[2J\n--- a/a␛[2J\n+++ b/a␛[2J\n@@ -1,2 +1,2 @@\n one\n-two\n+␛]0;x\n";
        assert_eq!(text, wanted);
        let exact = patch(&[file(&lines)], Paint { colours: false, is_seen: false });
        assert!(exact.ends_with("+\u{1b}]0;x\n"), "{exact:?}");
        let coloured = patch(&[file(&lines)], Paint { colours: true, is_seen: true });
        assert!(coloured.contains("\u{1b}[0;32m+") && coloured.contains("\u{1b}[0;31m-two"), "{coloured:?}");
        let binary = patch(&[file(&[(DiffTag::Binary, "")])], PLAIN);
        assert!(binary.ends_with("Binary file a␛[2J differs\n"), "{binary}");
    }
}
