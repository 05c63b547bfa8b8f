//! Randomness from the operating system.

/// `N` bytes nobody can guess.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut out = [0u8; N];
    if let Err(error) = getrandom::fill(&mut out) {
        panic!("the operating system has no randomness to give: {error}");
    }
    out
}

/// A version 4 UUID, in its usual spelling.
pub fn uuid() -> String {
    uuid::Builder::from_random_bytes(bytes::<16>()).into_uuid().to_string()
}

/// `sh_` and friends: a prefix followed by 26 characters of Crockford base 32 (128 bits).
pub fn tagged(prefix: &str) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut n = u128::from_le_bytes(bytes::<16>());
    let mut out = String::with_capacity(prefix.len() + 26);
    out.push_str(prefix);
    for _ in 0..26 {
        out.push(ALPHABET[(n & 31) as usize] as char);
        n >>= 5;
    }
    out
}

/// A number below `bound`, for jitter; not for secrets.
pub fn below(bound: u64) -> u64 {
    if bound == 0 { 0 } else { u64::from_le_bytes(bytes::<8>()) % bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_differ_and_keep_their_prefix() {
        let (a, b) = (tagged("sh_"), tagged("sh_"));
        assert!(a.starts_with("sh_") && a.len() == 29 && a != b);
    }
}
