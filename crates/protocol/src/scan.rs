//! Validating JSON scanner that builds nothing: where a value ends, and whether it is valid.
//!
//! Frames are passed on as text, some of them megabytes long, so this is written for speed: strings are crossed
//! with a vectorised search, and nesting costs one bit per level, never stack.

mod blocks;

use std::borrow::Cow;

use blocks::{Crossed, Escape};

/// One member of an object: its key, decoded, and its value's text.
pub(crate) type Member<'a> = (Cow<'a, str>, &'a str);

/// Calls `each` with every member of the one JSON object that `text` is. `None` when it is anything else.
pub(crate) fn members<'a>(text: &'a str, mut each: impl FnMut(Member<'a>)) -> Option<()> {
    let bytes = text.as_bytes();
    let mut at = skip_space(bytes, 0);
    at = expect(bytes, at, b'{')?;
    at = skip_space(bytes, at);
    if bytes.get(at) == Some(&b'}') {
        return end(bytes, at + 1);
    }
    loop {
        let key_end = string_end(bytes, at)?;
        let key = crate::args::text_of(&text[at..key_end])?;
        at = expect(bytes, skip_space(bytes, key_end), b':')?;
        let start = skip_space(bytes, at);
        at = value_end(bytes, start)?;
        each((key, &text[start..at]));
        at = skip_space(bytes, at);
        match bytes.get(at)? {
            b',' => at = skip_space(bytes, at + 1),
            b'}' => return end(bytes, at + 1),
            _ => return None,
        }
    }
}

/// Whether the text is one valid JSON value.
pub fn is_valid(text: &str) -> bool {
    let bytes = text.as_bytes();
    value_end(bytes, skip_space(bytes, 0)).is_some_and(|at| end(bytes, at).is_some())
}

/// Where the value that starts at `at` ends.
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'{' | b'[' => {}
        _ => return scalar_end(bytes, at),
    }
    let mut nesting = Nesting::default();
    loop {
        // Here a value is due.
        match bytes.get(at)? {
            open @ (b'{' | b'[') => {
                let object = *open == b'{';
                nesting.push(object);
                at = skip_space(bytes, at + 1);
                if bytes.get(at) == Some(&if object { b'}' } else { b']' }) {
                    at += 1;
                    nesting.pop();
                } else {
                    if object {
                        at = key(bytes, at)?;
                    }
                    continue;
                }
            }
            _ => at = scalar_end(bytes, at)?,
        }
        // Here a value has ended.
        loop {
            let Some(object) = nesting.top() else { return Some(at) };
            at = skip_space(bytes, at);
            match (bytes.get(at)?, object) {
                (b',', true) => {
                    at = key(bytes, skip_space(bytes, at + 1))?;
                    break;
                }
                (b',', false) => {
                    at = skip_space(bytes, at + 1);
                    break;
                }
                (b'}', true) | (b']', false) => {
                    at += 1;
                    nesting.pop();
                }
                _ => return None,
            }
        }
    }
}

/// Crosses a key and its colon, up to the value.
fn key(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_space(bytes, string_end(bytes, at)?);
    Some(skip_space(bytes, expect(bytes, at, b':')?))
}

fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b't' => literal(bytes, at, b"true"),
        b'f' => literal(bytes, at, b"false"),
        b'n' => literal(bytes, at, b"null"),
        _ => number_end(bytes, at),
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes[at..].starts_with(word).then_some(at + word.len())
}

/// Most strings are short; one that goes on beyond this is crossed in blocks.
const SHORT_BYTES: usize = 32;

fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = expect(bytes, at, b'"')?;
    let short = &bytes[at..bytes.len().min(at + SHORT_BYTES)];
    at += plain_run(short);
    if bytes.get(at) == Some(&b'"') {
        return Some(at + 1);
    }
    let mut escape = Escape::default();
    for block in bytes[at..].as_chunks::<64>().0 {
        match blocks::cross(block, escape, |place| is_unicode(bytes, at + place + 1)) {
            Crossed::All(after) => escape = after,
            Crossed::Quote(place) => return Some(at + place + 1),
            Crossed::Invalid => return None,
        }
        at += block.len();
    }
    at -= escape.bytes_back();
    loop {
        at += plain_run(&bytes[at..]);
        at = match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'"', _) => return Some(at + 1),
            (b'\\', Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => at + 2,
            (b'\\', Some(b'u')) if is_unicode(bytes, at + 2) => at + 6,
            _ => return None,
        };
    }
}

fn is_unicode(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// How many bytes stand before the first that is a quote, a backslash or a control character.
///
/// Eight at a time: in each mask the lowest set bit is exact, and so it is in all of them together.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES * 0x80;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let mut at = 0;
    for chunk in bytes.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let special =
            (control | zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64))) & HIGHS;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
    at + bytes[at..].iter().take_while(plain).count()
}

fn number_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at)? {
        b'0' => at + 1,
        b'1'..=b'9' => digits(bytes, at),
        _ => return None,
    };
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = some_digits(bytes, at)?;
    }
    Some(at)
}

fn digits(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn some_digits(bytes: &[u8], at: usize) -> Option<usize> {
    let after = digits(bytes, at.min(bytes.len()));
    (after > at).then_some(after)
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
    at + bytes[at.min(bytes.len())..].iter().take_while(space).count()
}

fn expect(bytes: &[u8], at: usize, wanted: u8) -> Option<usize> {
    (bytes.get(at) == Some(&wanted)).then_some(at + 1)
}

fn end(bytes: &[u8], at: usize) -> Option<()> {
    (skip_space(bytes, at) == bytes.len()).then_some(())
}

/// Which brackets are open, one bit each: set for an object, clear for an array.
#[derive(Default)]
struct Nesting {
    bits: u64,
    depth: usize,
    below: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.bits);
        }
        self.bits = (self.bits << 1) | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.below.pop().unwrap_or_default();
        }
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    fn agrees(text: &str) {
        // Only what serde_json itself calls a syntax error counts; it has no opinion on nesting here.
        let wanted = serde_json::from_str::<IgnoredAny>(text).is_ok();
        assert_eq!(is_valid(text), wanted, "{text:?}");
    }

    #[test]
    fn accepts_exactly_what_the_parser_accepts() {
        for text in [
            "",
            " ",
            "{}",
            "[]",
            " [ ] ",
            "{ }",
            "nul",
            "null",
            "nullx",
            "true",
            "false",
            "0",
            "-0",
            "01",
            "-",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e5",
            "1E+5",
            "1e-",
            "\"\"",
            "\"a",
            "\"\\\"",
            "\"\\u12\"",
            "\"\\u00e9\"",
            "\"\\x\"",
            "\"\u{1}\"",
            "\"é\u{1F600}\"",
            "[1,2,[3,{\"a\":[]}]]",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1,\"b\":[{}]}",
            "{a:1}",
            "[}",
            "{]",
            "[[",
            "]",
            "{\"a\":1]",
            "[1 2]",
            "1 2",
            "[1}",
            "{\"a\":{\"b\":{\"c\":[[[]]]}}}",
            "\t[\n1\r,\n\"x\" ]\n",
            "[true,false,null]",
            "tru",
            "[nul]",
        ] {
            agrees(text);
        }
    }

    #[test]
    fn every_cut_and_every_byte_swap_of_a_frame_agrees() {
        let frame = r#" {"type":"req","id":"a\"\\\u0041","args":{"n":[-1.5e3,0,{}],"t":true,"z":null}} "#;
        for cut in 0..frame.len() {
            agrees(&frame[..cut]);
        }
        for at in 0..frame.len() {
            for byte in [b'"', b'{', b'}', b'[', b']', b',', b':', b'\\', b'0', b'e', b'-', b' ', 1] {
                let mut bytes = frame.as_bytes().to_vec();
                bytes[at] = byte;
                agrees(std::str::from_utf8(&bytes).unwrap());
            }
        }
    }

    #[test]
    fn a_special_byte_is_found_wherever_it_stands() {
        for before in 0..40 {
            for special in [b'"', b'\\', 0, 1, 0x1f] {
                for plain in [b' ', b'!', b'[', 0x7f, 0x80, 0xff, 0xa2] {
                    let mut bytes = vec![plain; before];
                    bytes.push(special);
                    bytes.extend([plain, special, plain].repeat(5));
                    assert_eq!(plain_run(&bytes), before, "{special:#x} behind {before} times {plain:#x}");
                    assert_eq!(plain_run(&bytes[..before]), before);
                }
            }
        }
    }

    #[test]
    fn long_strings_agree_wherever_a_block_ends() {
        for before in 0..140 {
            for middle in
                ["\\n", "\\\\", "\\\\\\\\\\\"", "\\u00e9", "\\u00g9", "\\x", "\u{1}", "\\\u{1}", "\"", "\\"]
            {
                agrees(&format!("\"{}{middle}{}\"", "a".repeat(before), "é".repeat(50)));
                agrees(&format!("\"{}{}", "a".repeat(before), middle));
                agrees(&format!("\"{}\"", middle.repeat(before)));
            }
        }
    }

    #[test]
    fn nesting_of_any_depth_is_crossed() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 1_000, 300_000] {
            let mixed: String = (0..depth).map(|n| if n % 3 == 0 { "{\"a\":" } else { "[" }).collect();
            let close: String = (0..depth).rev().map(|n| if n % 3 == 0 { "}" } else { "]" }).collect();
            assert!(is_valid(&format!("{mixed}1{close}")), "{depth}");
            assert!(!is_valid(&format!("{mixed}1{}", &close[1..])), "{depth}");
        }
    }

    #[test]
    fn members_are_given_in_order_with_their_text() {
        let mut found = Vec::new();
        members(r#"{"a" : 1 ,"b":{"c":[ ]}, "\u0061":"x"}"#, |(key, value)| {
            found.push((key.into_owned(), value))
        });
        assert_eq!(found, [("a".into(), "1"), ("b".into(), r#"{"c":[ ]}"#), ("a".to_string(), "\"x\"")]);
    }
}
