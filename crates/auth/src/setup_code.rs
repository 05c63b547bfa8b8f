//! One-time secret of a fresh gateway: whoever sets it up from another machine has seen what it printed.

use base::random::Random;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Letters and digits that are not taken for one another.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Each is worth five bits: 130 in all.
const CHARS: usize = 26;
/// Characters between two hyphens.
const GROUP: usize = 5;

/// A code of 130 random bits. It lives in memory only: every start makes a new one, until the gateway is set up.
pub struct SetupCode(String);

impl SetupCode {
    /// A fresh one.
    pub fn new(random: &Random) -> SetupCode {
        let bytes = random.bytes::<CHARS>();
        SetupCode(bytes.iter().map(|byte| ALPHABET[usize::from(byte % 32)] as char).collect())
    }

    /// As a person reads it, in groups.
    pub fn grouped(&self) -> String {
        let groups: Vec<String> = self
            .0
            .as_bytes()
            .chunks(GROUP)
            .map(|group| String::from_utf8_lossy(group).into_owned())
            .collect();
        groups.join("-")
    }

    /// Whether it is what was given, whatever hyphens, blanks and capitals it was written with. Takes as long for any text
    /// of a length: hashes are compared, all bytes of them.
    pub fn fits(&self, given: &str) -> bool {
        let given: String =
            given.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        digest(&self.0).as_slice().ct_eq(digest(&given).as_slice()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_random_readable_and_fits_only_itself() {
        let (one, other) = (SetupCode::new(&Random::system()), SetupCode::new(&Random::system()));
        assert_ne!(one.grouped(), other.grouped());
        assert_eq!(one.grouped().len(), CHARS + CHARS / GROUP);
        assert!(one.fits(&one.grouped()) && one.fits(&one.grouped().to_uppercase().replace('-', " ")));
        for wrong in ["", "x", &other.grouped(), &one.grouped()[1..], &format!("{}a", one.grouped())] {
            assert!(!one.fits(wrong), "{wrong}");
        }
    }
}
