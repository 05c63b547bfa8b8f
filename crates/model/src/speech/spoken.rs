//! Markdown to speech: a document as somebody would read it aloud. What cannot be said is left out or named.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

/// What is said in place of code.
const CODE: &str = "Code block omitted.";
/// What is said in place of a table too large to follow.
const TABLE: &str = "Table omitted.";
const TABLE_ROWS_MAX: usize = 6;
const TABLE_COLUMNS_MAX: usize = 4;

/// The text to say for a Markdown text; empty when nothing in it can be said.
pub fn spoken(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader { source: markdown, ..Reader::default() };
    let named = &mut named;
    let parser = Parser::new_with_broken_link_callback(markdown, options, Some(named));
    for (event, at) in parser.into_offset_iter() {
        reader.step(event, at);
    }
    reader.finish()
}

/// A link whose address is not in the text is one all the same, but what has only one pair of brackets is none.
fn named<'a>(link: BrokenLink<'a>) -> Option<(CowStr<'a>, CowStr<'a>)> {
    let is_link = matches!(link.link_type, LinkType::Reference | LinkType::Collapsed);
    is_link.then_some((CowStr::Borrowed(""), CowStr::Borrowed("")))
}

/// What was said so far, and where in the document the reader is.
#[derive(Default)]
struct Reader<'a> {
    source: &'a str,
    out: String,
    /// The block that is being read.
    block: String,
    /// Where in the source the block is.
    block_at: Option<Range<usize>>,
    /// Where the last block ended that was said.
    said_to: usize,
    /// The next numbers of the lists the reader is in; none for those without numbers.
    lists: Vec<Option<u64>>,
    /// Rows of the table the reader is in, with where each is; the first has the headings.
    rows: Vec<(Vec<String>, Range<usize>)>,
    /// Inside something that is not said: code, or an address that is its own label.
    silent: usize,
}

impl Reader<'_> {
    fn step(&mut self, event: Event, at: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.end(tag, at),
            Event::Text(text) | Event::Code(text) => self.say(&text, at),
            Event::Html(text) => self.say(&without_tags(&text), at),
            Event::SoftBreak | Event::HardBreak => self.say("\n", at),
            Event::Rule => self.end_block(),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag, at: Range<usize>) {
        match tag {
            Tag::List(first) => {
                self.end_block();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_block();
                if let Some(Some(number)) = self.lists.last_mut() {
                    let label = format!("{number}. ");
                    *number += 1;
                    self.say(&label, at.start..at.start);
                }
            }
            Tag::CodeBlock(_) => {
                self.end_block();
                self.silent += 1;
            }
            Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. } => self.silent += 1,
            Tag::Paragraph if self.is_after_label() => {}
            Tag::TableHead | Tag::TableRow => self.rows.push((Vec::new(), at)),
            Tag::Paragraph | Tag::Heading { .. } | Tag::BlockQuote(_) | Tag::HtmlBlock | Tag::Table(_) => {
                self.end_block();
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, at: Range<usize>) {
        match tag {
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                self.silent -= 1;
                self.say(CODE, at);
                self.end_block();
            }
            // Only addresses in angle brackets are silent.
            TagEnd::Link if self.silent > 0 => self.silent -= 1,
            TagEnd::TableCell => {
                let cell = lines(&std::mem::take(&mut self.block)).join(" ");
                self.block_at = None;
                if let Some((cells, _)) = self.rows.last_mut() {
                    cells.push(cell);
                }
            }
            TagEnd::Table => self.table(at),
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::Item
            | TagEnd::BlockQuote(_)
            | TagEnd::HtmlBlock => {
                self.end_block();
            }
            _ => {}
        }
    }

    /// Whether the number of a list's item was said and its text comes now.
    fn is_after_label(&self) -> bool {
        self.block_at.as_ref().is_some_and(|at| at.is_empty())
    }

    fn say(&mut self, text: &str, at: Range<usize>) {
        if self.silent > 0 {
            return;
        }
        self.block.push_str(text);
        let from = self.block_at.as_ref().map_or(at.start, |block| block.start);
        self.block_at = Some(from..at.end);
    }

    /// Says what was read. Blocks that are apart in the source are apart in what is said.
    fn end_block(&mut self) {
        let block = lines(&std::mem::take(&mut self.block)).join("\n");
        let Some(at) = self.block_at.take().filter(|_| !block.is_empty()) else { return };
        if !self.out.is_empty() {
            let between = self.source.get(self.said_to..at.start).unwrap_or_default();
            self.out.push_str(if between.matches('\n').count() > 1 { "\n\n" } else { "\n" });
        }
        self.out.push_str(&block);
        self.said_to = at.end;
    }

    /// A small table row by row, each cell with its heading.
    fn table(&mut self, at: Range<usize>) {
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        let Some((heads, _)) = rows.next() else { return };
        // The text below a table counts as a row of it, but who wrote it meant text.
        let (rows, below): (Vec<_>, Vec<_>) =
            rows.partition(|(_, at)| self.source.get(at.clone()).is_some_and(|row| row.contains('|')));
        let end = below.first().map_or(at.end, |(_, at)| at.start);
        if rows.len() > TABLE_ROWS_MAX || heads.len() > TABLE_COLUMNS_MAX {
            self.say(TABLE, at.start..end);
        } else {
            let said: Vec<String> = rows.iter().map(|(cells, _)| row(&heads, cells)).collect();
            self.say(&said.join("\n"), at.start..end);
        }
        self.end_block();
        for (cells, at) in below {
            self.say(&cells.join(" "), at);
            self.end_block();
        }
    }

    fn finish(mut self) -> String {
        self.end_block();
        self.out
    }
}

fn row(heads: &[String], cells: &[String]) -> String {
    let heads = heads.iter().map(String::as_str).chain(std::iter::repeat(""));
    let named = cells.iter().zip(heads).filter_map(|(cell, head)| match (head.is_empty(), cell.is_empty()) {
        (_, true) => None,
        (true, false) => Some(cell.clone()),
        (false, false) => Some(format!("{head}: {cell}")),
    });
    let said = named.collect::<Vec<_>>().join(", ");
    if said.is_empty() { said } else { said + "." }
}

/// Lines with single blanks and without emoji; empty ones go.
fn lines(text: &str) -> Vec<String> {
    let sayable = |line: &str| line.chars().filter(|c| !is_emoji(*c)).collect::<String>();
    let tidy = |line: &str| sayable(line).split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(tidy).filter(|line| !line.is_empty()).collect()
}

/// What stands between the tags of a block of HTML.
fn without_tags(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, after)| after);
    }
    out + rest
}

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c),
        0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0xFE00..=0xFE0F | 0x200D | 0x20E3 | 0xE0020..=0xE007F)
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
