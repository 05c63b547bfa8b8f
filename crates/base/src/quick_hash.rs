//! Fast non-cryptographic hash for tables whose keys are our own, such as the names of calls. Not for keys that others
//! choose.

use std::hash::{BuildHasherDefault, Hasher};

/// For `HashMap` and `HashSet`.
pub type QuickHash = BuildHasherDefault<QuickHasher>;

/// Multiplies and rotates, eight bytes at a time.
#[derive(Default)]
pub struct QuickHasher(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl QuickHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(word) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn finish(&self) -> u64 {
        // The low bits pick the bucket and the high bits the tag; both must depend on everything.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn similar_names_get_different_hashes() {
        let build = QuickHash::default();
        let names = (0..10_000).map(|n| format!("sys.call.{n}"));
        let hashes: HashSet<u64> = names.map(|name| build.hash_one(name)).collect();
        assert_eq!(hashes.len(), 10_000);
    }
}
