//! Line diff of an edit, in the colours people know.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use terminal::escape;
use terminal::exact;
use terminal::layout::{self, GREEN, RED, Style};

use crate::look::Look;

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 2;
/// Lines that are shown of one edit.
const LINES_MAX: usize = 40;

/// A line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// The lines that tell the two texts apart, each with `indent` before it.
pub fn render(old: &str, new: &str, indent: &str, look: Look) -> String {
    let lines = compare(old, new);
    let near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        lines[from..lines.len().min(at + CONTEXT + 1)].iter().any(|line| !matches!(line, Line::Same(_)))
    };
    let (mut out, mut lines_out, mut skipped) = (String::new(), 0, false);
    for (at, line) in lines.iter().enumerate() {
        if !near(at) {
            skipped = true;
            continue;
        }
        if lines_out == LINES_MAX {
            let rest = lines[at..].iter().filter(|line| !matches!(line, Line::Same(_))).count();
            out.push_str(&paint(Style::DIM, indent, &format!("… {rest} more changed lines"), look));
            break;
        }
        if std::mem::take(&mut skipped) {
            out.push_str(&paint(Style::DIM, indent, "⋮", look));
        }
        out.push_str(&match line {
            Line::Same(text) => paint(Style::DIM, indent, &format!("  {text}"), look),
            Line::Removed(text) => paint(Style::colour(RED), indent, &format!("- {text}"), look),
            Line::Added(text) => paint(Style::colour(GREEN), indent, &format!("+ {text}"), look),
        });
        lines_out += 1;
    }
    out
}

/// Every line of both texts, with nothing left out, for somebody who decides about the change.
pub fn whole(old: &str, new: &str) -> Vec<(Style, String)> {
    let parts = |text: &'_ str| -> Vec<String> {
        if text.is_empty() { Vec::new() } else { text.split('\n').map(exact::line).collect() }
    };
    let (old, new) = (parts(old), parts(new));
    let (old, new) = (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let styled = compare_lines(old, new).into_iter().map(|line| match line {
        Line::Same(text) => (Style::DIM, format!("  {text}")),
        Line::Removed(text) => (Style::colour(RED), format!("- {text}")),
        Line::Added(text) => (Style::colour(GREEN), format!("+ {text}")),
    });
    styled.collect()
}

fn paint(style: Style, indent: &str, text: &str, look: Look) -> String {
    let text = look.cut(&escape::line(&text.replace('\t', "    ")), layout::width(indent));
    format!("{indent}{}\n", look.paint(style, &text))
}

fn compare<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    compare_lines(old.lines().collect(), new.lines().collect())
}

fn compare_lines<'a>(old: Vec<&'a str>, new: Vec<&'a str>) -> Vec<Line<'a>> {
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let (mut lines, mut at) = (Vec::with_capacity(old.len() + new.len()), 0);
    for hunk in diff.hunks() {
        let (removed, added) = (indices(&hunk.before), indices(&hunk.after));
        lines.extend(old[at..removed.start].iter().map(|line| Line::Same(line)));
        at = removed.end;
        lines.extend(old[removed].iter().map(|line| Line::Removed(line)));
        lines.extend(new[added].iter().map(|line| Line::Added(line)));
    }
    lines.extend(old[at..].iter().map(|line| Line::Same(line)));
    lines
}

fn indices(tokens: &Range<u32>) -> Range<usize> {
    tokens.start as usize..tokens.end as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: Look = Look { colour: false, columns: None };

    #[test]
    fn only_what_changed_is_shown_with_a_little_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(render(old, new, "", PLAIN), "⋮\n  3\n  4\n- 5\n+ five\n  6\n  7\n");
        assert_eq!(render("", "a\nb\n", "  ", PLAIN), "  + a\n  + b\n");
        assert_eq!(render("same", "same", "", PLAIN), "");
    }

    #[test]
    fn colours_are_red_and_green() {
        let look = Look { colour: true, columns: Some(20) };
        assert_eq!(render("a", "b", "", look), "\u{1b}[0;31m- a\u{1b}[0m\n\u{1b}[0;32m+ b\u{1b}[0m\n");
        let cut = render("", &"x".repeat(50), "  ", Look { colour: false, columns: Some(20) });
        assert_eq!(layout::width(cut.trim_end_matches('\n')), 20);
    }

    #[test]
    fn a_long_edit_is_cut_and_says_so() {
        let new: String = (0..100).map(|i| format!("{i}\n")).collect();
        let out = render("", &new, "", PLAIN);
        assert_eq!(out.lines().count(), LINES_MAX + 1);
        assert!(out.ends_with("… 60 more changed lines\n"), "{out}");
    }

    #[test]
    fn a_file_cannot_steer_the_terminal() {
        assert_eq!(render("", "\u{1b}[2Jx", "", PLAIN), "+ ␛[2Jx\n");
    }

    proptest! {
        #[test]
        fn both_texts_can_be_read_off(old in "([ab\n]{0,30})", new in "([ab\n]{0,30})") {
            let lines = compare(&old, &new);
            let side = |keep: fn(&Line) -> bool| -> Vec<&str> {
                let kept = lines.iter().filter(|line| keep(line));
                kept.map(|line| match line { Line::Same(t) | Line::Removed(t) | Line::Added(t) => *t }).collect()
            };
            prop_assert_eq!(side(|line| !matches!(line, Line::Added(_))), old.lines().collect::<Vec<_>>());
            prop_assert_eq!(side(|line| !matches!(line, Line::Removed(_))), new.lines().collect::<Vec<_>>());
        }
    }
}
