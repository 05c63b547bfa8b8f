//! Injected randomness: from the operating system, or from a seed so that a test can be run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random bytes. Cheap to clone; clones of a seeded one draw from the same sequence.
#[derive(Clone, Debug, Default)]
pub struct Random {
    seeded: Option<Arc<AtomicU64>>,
}

impl Random {
    /// What the operating system gives: nobody can guess it.
    pub fn system() -> Random {
        Random { seeded: None }
    }

    /// A sequence that a seed decides, for tests. Anybody can guess it.
    pub fn seeded(seed: u64) -> Random {
        Random { seeded: Some(Arc::new(AtomicU64::new(seed))) }
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let Some(state) = &self.seeded else { return bytes() };
        let mut out = [0u8; N];
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&split_mix(state).to_le_bytes()[..chunk.len()]);
        }
        out
    }

    /// A version 4 UUID, in its usual spelling.
    pub fn uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid().to_string()
    }

    /// `sh_` and friends: a prefix followed by 26 characters of Crockford base 32 (128 bits).
    pub fn tagged(&self, prefix: &str) -> String {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut n = u128::from_le_bytes(self.bytes());
        let mut out = String::with_capacity(prefix.len() + 26);
        out.push_str(prefix);
        for _ in 0..26 {
            out.push(ALPHABET[(n & 31) as usize] as char);
            n >>= 5;
        }
        out
    }

    /// A number below `bound`, for jitter; not for secrets.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { u64::from_le_bytes(self.bytes()) % bound }
    }
}

/// SplitMix64: every seed gives another well-mixed sequence.
fn split_mix(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `N` bytes of the operating system's that nobody can guess.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut out = [0u8; N];
    if let Err(error) = getrandom::fill(&mut out) {
        panic!("the operating system has no randomness to give: {error}");
    }
    out
}

/// The same as a version 4 UUID.
pub fn uuid() -> String {
    Random::system().uuid()
}

/// The same behind a prefix, see [`Random::tagged`].
pub fn tagged(prefix: &str) -> String {
    Random::system().tagged(prefix)
}

/// A number below `bound`, for jitter; not for secrets.
pub fn below(bound: u64) -> u64 {
    Random::system().below(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_differ_and_keep_their_prefix() {
        let (a, b) = (tagged("sh_"), tagged("sh_"));
        assert!(a.starts_with("sh_") && a.len() == 29 && a != b);
    }

    #[test]
    fn a_seed_decides_everything_and_seeds_differ() {
        let draw = |seed| {
            let random = Random::seeded(seed);
            (random.uuid(), random.tagged("x_"), random.bytes::<5>(), random.below(1_000_000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let random = Random::seeded(7);
        assert_ne!(random.clone().uuid(), random.uuid(), "clones go on with one sequence");
    }
}
