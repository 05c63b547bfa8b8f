//! What an edit changes, line by line, in the colours people know.

use terminal::escape;
use terminal::flow::{self, GREEN, RED, Style};

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 2;
/// Lines that are shown of one edit.
const LINES_MAX: usize = 40;
/// Comparisons that are worth their time; beyond them the old is shown whole, then the new.
const WORK_MAX: usize = 1_000_000;

/// A line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// How to show a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether colours are possible.
    pub colour: bool,
    /// The width of the terminal, if it is one.
    pub columns: Option<usize>,
}

/// The lines that tell the two texts apart, each with `indent` before it.
pub fn render(old: &str, new: &str, indent: &str, look: Look) -> String {
    let lines = compare(old, new);
    let near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        lines[from..lines.len().min(at + CONTEXT + 1)].iter().any(|line| !matches!(line, Line::Same(_)))
    };
    let (mut out, mut shown, mut skipped) = (String::new(), 0, false);
    for (at, line) in lines.iter().enumerate() {
        if !near(at) {
            skipped = true;
            continue;
        }
        if shown == LINES_MAX {
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
        shown += 1;
    }
    out
}

fn paint(style: Style, indent: &str, text: &str, look: Look) -> String {
    let mut text = escape::line(&text.replace('\t', "    "));
    if let Some(columns) = look.columns {
        text = flow::cut(&text, columns.saturating_sub(flow::width(indent)).max(10));
    }
    let text = if look.colour { style.paint(&text) } else { text };
    format!("{indent}{text}\n")
}

fn compare<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let mut lines: Vec<Line> = old.drain(..head).map(Line::Same).collect();
    new.drain(..head);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let after = old.split_off(old.len() - tail);
    new.truncate(new.len() - tail);
    lines.extend(differ(&old, &new));
    lines.extend(after.into_iter().map(Line::Same));
    lines
}

/// The shortest way from one to the other.
fn differ<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let removed = |lines: &[&'a str]| lines.iter().map(|line| Line::Removed(line)).collect::<Vec<_>>();
    let added = |lines: &[&'a str]| lines.iter().map(|line| Line::Added(line)).collect::<Vec<_>>();
    if old.len().saturating_mul(new.len()) > WORK_MAX {
        return [removed(old), added(new)].concat();
    }
    let width = new.len() + 1;
    // The length of the longest common rest, from each pair of places on.
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(Line::Removed(old[i]));
            i += 1;
        } else {
            lines.push(Line::Added(new[j]));
            j += 1;
        }
    }
    lines.extend(removed(&old[i..]));
    lines.extend(added(&new[j..]));
    lines
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
        assert_eq!(flow::width(cut.trim_end_matches('\n')), 20);
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
