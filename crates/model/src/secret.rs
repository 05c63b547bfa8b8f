//! A provider's key: used where a request is built, shown nowhere.

use std::fmt;

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

    /// `text` without the key, in case somebody repeats it.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
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
    }
}
