//! Secret newtype with redaction: a provider's key is used where a request is built and shown nowhere.

use std::fmt;

use base::limits;

/// A text that must not be printed. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key in; blanks around it are not part of it.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into().trim().to_owned())
    }

    /// The key itself, for the request that needs it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// True when there is no key in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` without the key, in case somebody repeats it. A short one may be part of ordinary words: it is taken out
    /// only where it stands by itself.
    pub fn scrub(&self, text: &str) -> String {
        match self.0.len() {
            0 => text.to_owned(),
            1..limits::model::SECRET_PLAIN_BYTES => self.scrub_alone(text),
            _ => text.replace(&self.0, SCRUBBED),
        }
    }

    fn scrub_alone(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(at) = rest.find(&self.0) {
            let (head, tail) = (&rest[..at], &rest[at + self.0.len()..]);
            let left = head.chars().next_back().or(before);
            let alone = !left.is_some_and(is_part) && !tail.chars().next().is_some_and(is_part);
            out.push_str(head);
            out.push_str(if alone { SCRUBBED } else { &self.0 });
            before = self.0.chars().next_back();
            rest = tail;
        }
        out + rest
    }
}

/// What stands in the place of a key.
const SCRUBBED: &str = "[key]";

/// Whether a character can be part of a word or of a longer key.
fn is_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let key = Secret::new(" sk-12345678 ");
        assert_eq!(format!("{key:?}"), "Secret(…)");
        assert_eq!(key.scrub("Incorrect key: sk-12345678."), "Incorrect key: [key].");
        assert_eq!(Secret::new("").scrub("abc"), "abc");
        assert_eq!(Secret::new("12345678").scrub("x12345678x"), "x[key]x");
    }

    #[test]
    fn a_short_key_leaves_ordinary_words_alone() {
        let cases = [
            ("a", "a bad day: key a, \"a\" (a)", "[key] bad day: key [key], \"[key]\" ([key])"),
            ("a", "banana aa a-b _a a", "banana aa a-b _a [key]"),
            ("key", "The key `key` of monkey, keys.", "The [key] `[key]` of monkey, keys."),
            ("1234567", "12345678 1234567", "12345678 [key]"),
            ("ü", "über ü", "über [key]"),
            ("a.b", "a.b.a.b xa.b", "[key].[key] xa.b"),
        ];
        for (key, text, expected) in cases {
            assert_eq!(Secret::new(key).scrub(text), expected, "{key}");
        }
    }
}
