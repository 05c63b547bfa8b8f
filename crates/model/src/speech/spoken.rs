//! Renderer of Markdown as speech, as somebody would read it aloud: what can not be said is left out or named.

/// What is said in place of code.
const CODE: &str = "Code block omitted.";
/// What is said in place of a table too large to follow.
const TABLE: &str = "Table omitted.";
const TABLE_ROWS_MAX: usize = 6;
const TABLE_COLUMNS_MAX: usize = 4;
/// A label or an address longer than this is none.
const LINK_CHARS_MAX: usize = 2_000;
/// Links inside the labels of links, at most this deep.
const LINK_DEPTH_MAX: usize = 4;

/// The text to say for a Markdown text; empty when nothing in it can be said.
pub fn spoken(markdown: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(fence) = fence(trimmed) {
            // The block ends with a fence of its own kind, or with the text.
            for inner in lines.by_ref() {
                if inner.trim().starts_with(&fence) && inner.trim().trim_start_matches(&fence[..1]).is_empty()
                {
                    break;
                }
            }
            out.push(CODE.to_owned());
        } else if is_row(trimmed) && lines.peek().is_some_and(|next| is_ruler(next.trim())) {
            let mut rows = vec![cells(trimmed)];
            lines.next();
            while let Some(row) = lines.next_if(|next| is_row(next.trim())) {
                rows.push(cells(row.trim()));
            }
            out.extend(table(&rows));
        } else {
            out.push(prose(trimmed));
        }
    }
    paragraphs(&out)
}

/// The fence that a code block begins with.
fn fence(line: &str) -> Option<String> {
    ['`', '~'].into_iter().find_map(|mark| {
        let length = line.chars().take_while(|c| *c == mark).count();
        // What has its end on the same line is code inside a sentence.
        let alone = !line[length..].contains(mark);
        (length >= 3 && alone).then(|| mark.to_string().repeat(length))
    })
}

fn is_row(line: &str) -> bool {
    line.contains('|') && !line.is_empty()
}

fn is_ruler(line: &str) -> bool {
    line.contains('-') && line.contains('|') && line.chars().all(|c| "|-: \t".contains(c))
}

fn cells(row: &str) -> Vec<String> {
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(|cell| inline(cell.trim())).collect()
}

/// A small table row by row, each cell with its heading.
fn table(rows: &[Vec<String>]) -> Vec<String> {
    let Some((heads, rest)) = rows.split_first() else { return Vec::new() };
    if rest.len() > TABLE_ROWS_MAX || heads.len() > TABLE_COLUMNS_MAX {
        return vec![TABLE.to_owned()];
    }
    let row = |cells: &Vec<String>| {
        let named = cells
            .iter()
            .zip(heads.iter().map(String::as_str).chain(std::iter::repeat("")))
            .filter_map(|(cell, head)| match (head.is_empty(), cell.is_empty()) {
                (_, true) => None,
                (true, false) => Some(cell.clone()),
                (false, false) => Some(format!("{head}: {cell}")),
            });
        let said = named.collect::<Vec<_>>().join(", ");
        if said.is_empty() { said } else { said + "." }
    };
    rest.iter().map(row).collect()
}

/// One line without the marks at its beginning.
fn prose(line: &str) -> String {
    let rule = line.len() >= 3 && line.chars().all(|c| "-*_ ".contains(c));
    let setext = line.len() >= 2 && line.chars().all(|c| c == '=');
    if rule || setext {
        return String::new();
    }
    let mut rest = line;
    loop {
        let shorter = rest.trim_start_matches(['>', '#']).trim_start();
        let shorter =
            ["- ", "* ", "+ "].iter().find_map(|mark| shorter.strip_prefix(mark)).unwrap_or(shorter);
        let shorter =
            ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| shorter.strip_prefix(mark)).unwrap_or(shorter);
        if shorter.len() == rest.len() {
            return inline(rest);
        }
        rest = shorter;
    }
}

/// A sentence without the marks inside it.
fn inline(text: &str) -> String {
    let text = strip_emphasis(&strip_html(&links(text, 0)));
    let text: String = text.chars().filter(|c| !is_emoji(*c)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Links become their label, pictures what they show.
fn links(text: &str, depth: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let Some((label, after)) = link(&rest[at..]) else {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        let before = &rest[..at];
        out.push_str(before.strip_suffix('!').unwrap_or(before));
        out.push_str(&if depth < LINK_DEPTH_MAX { links(label, depth + 1) } else { label.to_owned() });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The label of the link that `text` begins with, and what follows the link.
fn link(text: &str) -> Option<(&str, &str)> {
    let end = balanced(text, '[', ']')?;
    let (label, after) = (&text[1..end], &text[end + 1..]);
    let close = match after.chars().next()? {
        '(' => balanced(after, '(', ')')?,
        '[' => balanced(after, '[', ']')?,
        _ => return None,
    };
    Some((label, &after[close + 1..]))
}

/// Where the bracket that `text` begins with is closed.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices().take(LINK_CHARS_MAX) {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Tags go, what stands between them stays; an address in angle brackets goes too.
fn strip_html(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let tag = rest[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match rest[at..].find('>').filter(|_| tag) {
            Some(end) => {
                out.push_str(&rest[..at]);
                rest = &rest[at + end + 1..];
            }
            None => {
                out.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    for (entity, plain) in [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")] {
        out = out.replace(entity, plain);
    }
    out
}

/// Marks of emphasis and code go; an underscore or star inside a word or between blanks stays.
fn strip_emphasis(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if c == '\\' && chars.get(at + 1).is_some_and(char::is_ascii_punctuation) {
            out.extend(chars.get(at + 1));
            at += 2;
            continue;
        }
        let run = chars[at..].iter().take_while(|next| **next == c).count();
        let before = at.checked_sub(1).and_then(|before| chars.get(before)).copied().unwrap_or(' ');
        let after = chars.get(at + run).copied().unwrap_or(' ');
        let alone = before.is_whitespace() && after.is_whitespace();
        let inside = before.is_alphanumeric() && after.is_alphanumeric();
        let mark = match c {
            '`' => true,
            '*' => !alone && (run > 1 || !before.is_numeric() || !after.is_numeric()),
            '_' => !alone && !inside,
            '~' => run == 2,
            _ => false,
        };
        if !mark {
            out.extend(&chars[at..at + run]);
        }
        at += run;
    }
    out
}

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c),
        0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0xFE00..=0xFE0F | 0x200D | 0x20E3 | 0xE0020..=0xE007F)
}

/// Lines of one paragraph go together; a blank line stays one blank line.
fn paragraphs(lines: &[String]) -> String {
    let mut out = String::new();
    let mut gap = false;
    for line in lines {
        if line.is_empty() {
            gap = !out.is_empty();
            continue;
        }
        if !out.is_empty() {
            out.push_str(if gap { "\n\n" } else { "\n" });
        }
        gap = false;
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_are_not_said() {
        assert_eq!(spoken("# Hello **big** _world_"), "Hello big world");
        assert_eq!(spoken("- [x] a\n* b\n> quoted\n---\n1. one"), "a\nb\nquoted\n\n1. one");
        assert_eq!(
            spoken("Use `snake_case_name` or 2 * 3 and 2*3."),
            "Use snake_case_name or 2 * 3 and 2*3."
        );
        assert_eq!(spoken(r"not \*bold\*"), "not *bold*");
        assert_eq!(spoken("~~gone~~ about ~5"), "gone about ~5");
    }

    #[test]
    fn links_and_pictures_are_named() {
        assert_eq!(
            spoken("See [the docs](https://x.org/a_(b)) and ![a cat](cat.png)!"),
            "See the docs and a cat!"
        );
        assert_eq!(spoken("[![badge](b.svg)](https://x) [ref][1] a[0]"), "badge ref a[0]");
        assert_eq!(spoken("<b>bold</b> <https://x.org> a < b &amp; c"), "bold a < b & c");
    }

    #[test]
    fn code_is_left_out() {
        assert_eq!(spoken("Before\n```rust\nfn main() {}\n```\nAfter"), "Before\nCode block omitted.\nAfter");
        assert_eq!(spoken("~~~\nunclosed"), "Code block omitted.");
        assert_eq!(spoken("```inline``` stays"), "inline stays");
    }

    #[test]
    fn small_tables_are_read_by_row() {
        let small = "| Name | Age |\n|---|:-:|\n| Ann | 3 |\n| **Bob** | |\nend";
        assert_eq!(spoken(small), "Name: Ann, Age: 3.\nName: Bob.\nend");
        let wide = "|a|b|c|d|e|\n|-|-|-|-|-|\n|1|2|3|4|5|";
        assert_eq!(spoken(wide), "Table omitted.");
        let long = format!("|a|\n|-|\n{}", "|1|\n".repeat(7));
        assert_eq!(spoken(&long), "Table omitted.");
    }

    #[test]
    fn emoji_are_not_said() {
        assert_eq!(spoken("Done ✅🎉 now"), "Done now");
        assert_eq!(spoken("👍🏽 \u{2764}\u{fe0f}"), "");
    }

    proptest! {
        #[test]
        fn anything_at_all_is_survived(text in "[\\[\\]()<>|`~*_#\\\\! a-b\n-]{0,200}") {
            spoken(&text);
        }
    }
}
