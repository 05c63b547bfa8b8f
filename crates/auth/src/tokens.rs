//! Bearer tokens: random strings of which only a SHA-256 hash is kept.

use base::random::Random;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protocol::sys::token::TokenKind;
use sha2::{Digest, Sha256};

/// How long 24 random bytes are in base 64.
const RANDOM_CHARS: usize = 32;

/// A fresh raw token of a kind.
pub fn new(kind: TokenKind, random: &Random) -> String {
    format!("gsv_{}_{}", kind.as_str(), URL_SAFE_NO_PAD.encode(random.bytes::<24>()))
}

/// What is kept of a raw token. A fast hash is enough: nobody can go through 192 random bits.
pub fn hash(raw: &str) -> String {
    let digest = Sha256::digest(raw.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("$token-sha256${hex}")
}

/// Whether a text has the form of a raw token.
pub fn is_token(text: &str) -> bool {
    let kinds = ["gsv_user_", "gsv_node_", "gsv_service_"];
    kinds.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| rest.len() == RANDOM_CHARS))
}

/// The part of a raw token that people see.
pub fn prefix(raw: &str) -> String {
    raw.chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_look_as_documented() {
        let raw = new(TokenKind::Node, &Random::system());
        assert!(raw.starts_with("gsv_node_") && raw.len() == 9 + RANDOM_CHARS);
        assert!(is_token(&raw) && !is_token("gsv_node_short") && !is_token(&raw[4..]));
        assert!(hash(&raw).starts_with("$token-sha256$") && hash(&raw).len() == 14 + 64);
        assert_eq!(prefix(&raw).len(), 16);
    }
}
