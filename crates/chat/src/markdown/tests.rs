//! Tests of the Markdown state machine: the rendering of each construct, and that it does not depend on how the text
//! is split.

use proptest::prelude::*;

use super::*;

fn rendered(text: &str) -> String {
    let mut markdown = Markdown::new(60);
    let mut out = markdown.push(text);
    out.push_str(&markdown.finish());
    out
}

/// What is left when the styles are taken away.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare + rest
}

#[test]
fn plain_text_stays_as_it_is() {
    for text in
        ["hello\n", "a\n\nb\n", "2 * 3 = 6, a_b_c, x ** y\n", "f(*args)\n", "5 * 3 * 2\n", "1.5 and 3)\n"]
    {
        assert_eq!(rendered(text), text);
    }
    assert_eq!(rendered("no line break"), "no line break\n");
    assert_eq!(rendered(""), "");
}

#[test]
fn headings_are_strong() {
    assert_eq!(rendered("## Two words\ntext"), "\u{1b}[0;1mTwo words\u{1b}[0m\ntext\n");
    assert_eq!(rendered("# One\n"), "\u{1b}[0;1;4mOne\u{1b}[0m\n");
    assert_eq!(rendered("#hashtag\n"), "#hashtag\n");
}

#[test]
fn strong_emphasised_and_code() {
    assert_eq!(rendered("a **b c** d\n"), "a \u{1b}[0;1mb c\u{1b}[0m d\n");
    assert_eq!(rendered("an *important* word\n"), "an \u{1b}[0;3mimportant\u{1b}[0m word\n");
    assert_eq!(rendered("run `a **b**` now\n"), "run \u{1b}[0;36ma **b**\u{1b}[0m now\n");
    assert_eq!(rendered("``a`b``\n"), "\u{1b}[0;36ma`b\u{1b}[0m\n");
    assert_eq!(rendered("snake_case_name and \\*stars\\*\n"), "snake_case_name and *stars*\n");
    assert_eq!(bare(&rendered("***both***\n")), "both\n");
}

#[test]
fn what_is_not_closed_ends_with_the_line() {
    assert_eq!(rendered("**open\nnext\n"), "\u{1b}[0;1mopen\u{1b}[0m\nnext\n");
    assert_eq!(rendered("tick `open\nnext\n"), "tick \u{1b}[0;36mopen\u{1b}[0m\nnext\n");
}

#[test]
fn lists_get_bullets_and_keep_their_numbers() {
    assert_eq!(bare(&rendered("- one\n  * two\n+ three\n10. ten\n")), "• one\n  • two\n• three\n10. ten\n");
    assert_eq!(rendered("-x\n"), "-x\n");
    assert_eq!(bare(&rendered("- `code` first\n")), "• code first\n");
}

#[test]
fn long_items_are_continued_below_their_text() {
    let item = format!("- {}\n", "word ".repeat(20).trim_end());
    let lines: Vec<String> = bare(&rendered(&item)).lines().map(str::to_string).collect();
    assert!(lines.len() > 1 && lines[0].starts_with("• word") && lines[1].starts_with("  word"), "{lines:?}");
    assert!(lines.iter().all(|line| terminal::layout::width(line) <= 60));
}

#[test]
fn code_has_a_gutter_and_is_never_broken() {
    let long = "x ".repeat(50);
    let text = format!("```rust\nfn main() {{\n\t**{long}**\n}}\n```\nafter\n");
    let expected = format!("╭ rust\n│ fn main() {{\n│     **{long}**\n│ }}\n╰\nafter\n");
    assert_eq!(bare(&rendered(&text)), expected);
    assert_eq!(bare(&rendered("~~~\na\n```\n~~~\n")), "╭\n│ a\n│ ```\n╰\n");
    assert_eq!(bare(&rendered("  ```sh\n  ls\n  ```\n")), "╭ sh\n│ ls\n╰\n");
    assert_eq!(bare(&rendered("```\nopen")), "╭\n│ open\n╰\n");
    assert_eq!(bare(&rendered("````\n```\n````\n")), "╭\n│ ```\n╰\n");
}

#[test]
fn quotations_and_rules() {
    assert_eq!(bare(&rendered("> said\n")), "▎ said\n");
    assert_eq!(bare(&rendered("---\n")), format!("{}\n", "─".repeat(40)));
    assert_eq!(bare(&rendered("* * *\n")), format!("{}\n", "─".repeat(40)));
}

#[test]
fn the_model_cannot_steer_the_terminal() {
    let out = rendered("\u{1b}[2J **b\u{1b}]0;x\u{7}** `\u{9b}31m` \u{202e}\n```\n\u{1b}[1m\r\n```\n");
    assert_eq!(bare(&out).chars().filter(|c| c.is_control() && *c != '\n').count(), 0, "{out:?}");
}

#[test]
fn text_is_shown_while_it_is_written() {
    let mut markdown = Markdown::new(60);
    assert_eq!(markdown.push("The answer"), "The");
    assert_eq!(markdown.push(" is"), " answer");
    assert_eq!(markdown.push(" 42.\n"), " is 42.\n");
}

fn fragments() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("**".to_string()),
        Just("*".into()),
        Just("_".into()),
        Just("`".into()),
        Just("```".into()),
        Just("~~~".into()),
        Just("\n".into()),
        Just(" ".into()),
        Just("# ".into()),
        Just("- ".into()),
        Just("1. ".into()),
        Just("> ".into()),
        Just("---".into()),
        Just("\\".into()),
        Just("\u{1b}[31m".into()),
        Just("日本".into()),
        "[a-z]{1,12}",
        any::<char>().prop_map(|c| c.to_string()),
    ];
    proptest::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_pieces_do_not_matter(text in fragments(), cuts in proptest::collection::vec(1usize..9, 1..20)) {
        let mut markdown = Markdown::new(40);
        let mut out = String::new();
        let (mut rest, mut cuts) = (text.as_str(), cuts.iter().cycle());
        while !rest.is_empty() {
            let at = rest.char_indices().nth(*cuts.next().unwrap()).map_or(rest.len(), |(at, _)| at);
            out.push_str(&markdown.push(&rest[..at]));
            rest = &rest[at..];
        }
        out.push_str(&markdown.finish());
        let mut whole = Markdown::new(40);
        let at_once = whole.push(&text) + &whole.finish();
        prop_assert_eq!(out, at_once);
    }

    #[test]
    fn whatever_comes_only_styles_reach_the_terminal(text in fragments()) {
        let out = rendered(&text);
        prop_assert!(out.is_empty() || out.ends_with('\n'));
        for sequence in out.split('\u{1b}').skip(1) {
            let end = sequence.find('m').unwrap();
            prop_assert!(sequence[1..end].chars().all(|c| c.is_ascii_digit() || c == ';'));
        }
        prop_assert!(!bare(&out).chars().any(|c| c.is_control() && c != '\n'));
    }
}
