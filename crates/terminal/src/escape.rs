//! Terminal escaping of untrusted text: nothing that models, tools or other people wrote is obeyed by the terminal, and
//! nothing in it makes a line look like another one.

/// Text of several lines. Line breaks and tabs stay; what a terminal would obey becomes visible.
pub fn block(text: &str) -> String {
    text.chars().filter_map(character).collect()
}

/// Text on one line: line breaks and tabs become visible too.
pub fn line(text: &str) -> String {
    let text = text.trim_end_matches(['\n', '\r']);
    text.chars()
        .filter_map(|c| match c {
            '\n' => Some('⏎'),
            '\t' => Some(' '),
            c => character(c),
        })
        .collect()
}

/// One character as it may reach a terminal; `None` when it leaves no trace.
pub fn character(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        // Half of a line break in text from elsewhere.
        '\r' => None,
        '\0'..'\u{20}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        c if c.is_control() || is_deceptive(c) => Some('\u{fffd}'),
        c => Some(c),
    }
}

/// Characters that cannot be seen and change what the others look like: directions, invisible separators, tags.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(block("\u{1b}[2J\u{1b}]0;title\u{7}"), "␛[2J␛]0;title␇");
        assert_eq!(block("a\r\nb\tc\u{9b}31m\u{7f}"), "a\nb\tc\u{fffd}31m␡");
        assert_eq!(line("rm -rf a\nb\tc\n"), "rm -rf a⏎b c");
    }

    #[test]
    fn directions_cannot_be_turned_around() {
        assert_eq!(line("safe\u{202e}mr fr"), "safe\u{fffd}mr fr");
        assert_eq!(line("a\u{200b}b\u{feff}\u{e0041}"), "a\u{fffd}b\u{fffd}\u{fffd}");
        assert_eq!(line("👩\u{200d}💻 é 日本"), "👩\u{200d}💻 é 日本");
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_gets_through(text in any::<String>()) {
            let obeyed = |c: char| c.is_control() || is_deceptive(c);
            prop_assert!(!line(&text).chars().any(obeyed));
            prop_assert!(!block(&text).chars().any(|c| obeyed(c) && c != '\n' && c != '\t'));
        }
    }
}
