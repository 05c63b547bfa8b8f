//! Object names: git's SHA-256 digest of kind, length and content.

use std::fmt;

use sha2::{Digest, Sha256};

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Oid(pub(crate) [u8; Oid::BYTES]);

impl Oid {
    /// Bytes of a name.
    pub(crate) const BYTES: usize = 32;

    /// The name of such an object.
    pub(crate) fn of(kind: ObjectKind, content: &[u8]) -> Oid {
        let mut hasher = Hasher::new(kind, content.len() as u64);
        hasher.update(content);
        hasher.finish()
    }

    /// Reads hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Oid> {
        let mut bytes = [0; Oid::BYTES];
        if text.len() != 2 * Oid::BYTES || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Oid(bytes))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// What an object is; the numbers are those of pack entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Commit = 1,
    Tree = 2,
    Blob = 3,
}

impl ObjectKind {
    fn word(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Blob => "blob",
        }
    }

    /// The kind with this number in a pack; deltas and tags have none here.
    pub(crate) fn of_number(number: u8) -> Option<ObjectKind> {
        [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Blob]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

/// Names an object whose content comes in pieces.
pub(crate) struct Hasher(Sha256);

impl Hasher {
    /// The length must be known before.
    pub(crate) fn new(kind: ObjectKind, size: u64) -> Hasher {
        let mut hasher = Sha256::new();
        hasher.update(format!("{} {size}\0", kind.word()));
        Hasher(hasher)
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn finish(self) -> Oid {
        Oid(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_git() {
        let empty_tree = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
        assert_eq!(Oid::of(ObjectKind::Tree, b"").to_string(), empty_tree);
        assert_eq!(Oid::parse(empty_tree), Some(Oid::of(ObjectKind::Tree, b"")));
        assert_eq!(Oid::parse("6e"), None);
    }
}
