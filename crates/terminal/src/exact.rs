//! Injective escaping for text that a person decides about: every character is either itself or stands by its number, so
//! that two different texts never look the same, and nothing is hidden, reordered or obeyed.

use unicode_width::UnicodeWidthChar;

/// What stands around the number of a character. They stand for themselves by number, too.
const OPEN: char = '⟨';
const CLOSE: char = '⟩';
/// A tab, so that it cannot be taken for blanks.
const TAB: char = '⇥';
/// A line break, where a text is shown on one line.
const NEWLINE: char = '⏎';
/// Marks in a row on one letter that are shown as they are.
const MARKS_MAX: usize = 2;

/// Text of several lines: line breaks stay, everything else is visible.
pub fn block(text: &str) -> String {
    show(text, false)
}

/// Text on one line: line breaks are visible too.
pub fn line(text: &str) -> String {
    show(text, true)
}

fn show(text: &str, on_one_line: bool) -> String {
    let mut out = String::with_capacity(text.len());
    // Whether a mark may follow: it belongs to a letter that is written with marks.
    let (mut bears_marks, mut marks) = (false, 0);
    for c in text.chars() {
        if is_mark(c) && bears_marks && marks < MARKS_MAX {
            out.push(c);
            marks += 1;
            continue;
        }
        (bears_marks, marks) = (c.is_alphabetic() && !c.is_ascii() && !is_mark(c), 0);
        match c {
            '\n' if !on_one_line => out.push(c),
            '\n' => out.push(NEWLINE),
            '\t' => out.push(TAB),
            c if is_plain(c) => out.push(c),
            c => {
                bears_marks = false;
                out.push_str(&format!("{OPEN}U+{:04X}{CLOSE}", u32::from(c)));
            }
        }
    }
    out
}

/// Characters that change how a letter looks, and take no room.
fn is_mark(c: char) -> bool {
    !c.is_control() && c.width() == Some(0) && !is_hidden(c)
}

/// Whether a character is seen as itself, and as nothing else.
fn is_plain(c: char) -> bool {
    match c {
        ' '..='~' => true,
        OPEN | CLOSE | TAB | NEWLINE | '\u{fffd}' => false,
        c => !c.is_control() && !c.is_whitespace() && !is_mark(c) && !is_hidden(c) && !is_unassigned(c),
    }
}

/// Characters that are not seen, or that change the direction or the looks of others.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters that mean nothing to others, or look like nothing in most fonts.
fn is_unassigned(c: char) -> bool {
    let code = u32::from(c);
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..='\u{10ffff}')
        || code & 0xfffe == 0xfffe
}

/// Words that a reader may take for others: letters of several scripts in one word, or letters that are only drawn
/// like Latin ones. At most a few, in the order in which they come.
pub fn deceptive_words(text: &str) -> Vec<String> {
    const WORDS_MAX: usize = 4;
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let has = |is: fn(char) -> bool| word.chars().any(is);
        let is_mixed = has(|c| c.is_ascii_alphabetic()) && has(is_like_latin);
        if (is_mixed || has(is_drawn)) && !words.iter().any(|known| known == word) && words.len() < WORDS_MAX
        {
            words.push(word.to_string());
        }
    }
    words
}

/// Whether letters in it run from right to left: a terminal may show them, and what is around them, in another order.
pub fn runs_right_to_left(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    })
}

/// Letters of other scripts of which many look like Latin ones: Greek, Cyrillic, Armenian, Cherokee, Lisu.
fn is_like_latin(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{1c80}'..='\u{1c8f}' | '\u{2c80}'..='\u{2cff}'
        | '\u{a4d0}'..='\u{a4ff}' | '\u{ab70}'..='\u{abbf}')
}

/// Latin letters and digits in another drawing: full width, mathematical, in circles.
fn is_drawn(c: char) -> bool {
    matches!(c, '\u{ff10}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}'
        | '\u{1f130}'..='\u{1f189}' | '\u{2100}'..='\u{214f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_hidden_has_a_number() {
        for (text, shown) in [
            ("rm -rf a\tb\nc", "rm -rf a⇥b⏎c"),
            ("\u{1b}[8mx\r\0\u{7f}\u{9b}", "⟨U+001B⟩[8mx⟨U+000D⟩⟨U+0000⟩⟨U+007F⟩⟨U+009B⟩"),
            ("safe\u{202e}mr", "safe⟨U+202E⟩mr"),
            ("a\u{200b}b\u{feff}c\u{ad}\u{e0041}", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩⟨U+E0041⟩"),
            ("a\u{a0}b\u{3000}c\u{2003}", "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2003⟩"),
            ("x\u{301} \u{301} é", "x⟨U+0301⟩ ⟨U+0301⟩ é"),
            (
                "\u{3164}\u{2800}\u{fff9}\u{fffe}\u{e000}\u{fffd}",
                "⟨U+3164⟩⟨U+2800⟩⟨U+FFF9⟩⟨U+FFFE⟩⟨U+E000⟩⟨U+FFFD⟩",
            ),
            ("⟨U+202E⟩ ⏎ ⇥", "⟨U+27E8⟩U+202E⟨U+27E9⟩ ⟨U+23CE⟩ ⟨U+21E5⟩"),
            ("日本 ñ हिन्दी ไทย", "日本 ñ हिन्दी ไทย"),
        ] {
            assert_eq!(line(text), shown);
        }
        assert_eq!(block("a\nb\r\n"), "a\nb⟨U+000D⟩\n");
    }

    #[test]
    fn letters_of_two_scripts_are_told() {
        assert_eq!(deceptive_words("curl https://p\u{430}ypal.com/p\u{430}ypal"), ["p\u{430}ypal"]);
        assert_eq!(deceptive_words("ｒｍ x"), ["ｒｍ"]);
        assert!(deceptive_words("привет мир, rm файл, größe, 日本x").is_empty());
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_gets_through(text in any::<String>()) {
            let is_bad = |c: char| c.is_control() || is_hidden(c) || (c.is_whitespace() && c != ' ');
            prop_assert!(!line(&text).chars().any(is_bad));
            prop_assert!(!block(&text).chars().any(|c| is_bad(c) && c != '\n'));
        }

        #[test]
        fn the_text_can_be_read_off(text in any::<String>()) {
            prop_assert_eq!(read_off(&line(&text)), text);
        }

        #[test]
        fn the_odd_ones_can_be_read_off(text in "[a⟨⟩⏎⇥U+0-9\u{0}-\u{20}\u{a0}\u{200b}-\u{202e}\u{301}\u{e01}\u{e31}]{0,12}") {
            prop_assert_eq!(read_off(&line(&text)), text);
        }
    }

    /// The text of which a line is shown: whoever reads it knows every character.
    fn read_off(shown: &str) -> String {
        let (mut out, mut rest) = (String::new(), shown);
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                NEWLINE => out.push('\n'),
                TAB => out.push('\t'),
                OPEN => {
                    let end = rest.find(CLOSE).unwrap();
                    let code = u32::from_str_radix(rest[..end].strip_prefix("U+").unwrap(), 16).unwrap();
                    out.push(char::from_u32(code).unwrap());
                    rest = &rest[end + CLOSE.len_utf8()..];
                }
                c => out.push(c),
            }
        }
        out
    }
}
