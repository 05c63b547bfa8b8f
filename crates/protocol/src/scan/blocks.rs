//! Bit-parallel scan of long strings, 64 bytes at a time: one bit for each byte that matters, so that escapes cost no
//! branch each.

/// Which bytes of a block are quotes, backslashes and control characters; the lowest bit is the first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Masks {
    quotes: u64,
    backslashes: u64,
    controls: u64,
}

/// How a block of a string ends.
pub(super) enum Crossed {
    /// The string goes on behind it; the next byte may be an escaped one.
    All(Escape),
    /// The string's closing quote stands at this place of the block.
    Quote(usize),
    /// The string is not valid.
    Invalid,
}

/// Whether the first byte of the next block is escaped by the last one of this.
#[derive(Clone, Copy, Default)]
pub(super) struct Escape(u64);

impl Escape {
    /// How many bytes to go back to stand in front of the backslash.
    pub(super) fn bytes_back(self) -> usize {
        self.0 as usize
    }
}

/// Crosses one block. `is_unicode` says whether four hexadecimal digits stand behind a `u` at a place of the block.
#[inline]
pub(super) fn cross(block: &[u8; 64], before: Escape, is_unicode: impl Fn(usize) -> bool) -> Crossed {
    let masks = masks(block);
    let (escaped, after) = escaped(masks.backslashes, before);
    let stop = (masks.quotes & !escaped) | masks.controls;
    let first_stop = stop & stop.wrapping_neg();
    let mut left = escaped & first_stop.wrapping_sub(1);
    while left != 0 {
        let at = left.trailing_zeros() as usize;
        match block[at] {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' if is_unicode(at) => {}
            _ => return Crossed::Invalid,
        }
        left &= left - 1;
    }
    if stop == 0 {
        return Crossed::All(after);
    }
    let at = stop.trailing_zeros() as usize;
    if block[at] == b'"' { Crossed::Quote(at) } else { Crossed::Invalid }
}

/// Which bytes are escaped: those behind the last backslash of each odd run. The subtraction carries through a run
/// of backslashes, and what it leaves tells whether the run began on an odd or an even place.
#[inline]
fn escaped(backslashes: u64, before: Escape) -> (u64, Escape) {
    const ODD_PLACES: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let begins = backslashes & !before.0;
    let codes = ((begins << 1) | ODD_PLACES).wrapping_sub(begins) ^ ODD_PLACES;
    (codes ^ (backslashes | before.0), Escape((codes & backslashes) >> 63))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn masks(block: &[u8; 64]) -> Masks {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_max_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let mut masks = Masks::default();
    for (number, part) in block.as_chunks::<16>().0.iter().enumerate() {
        let both = u128::from_le_bytes(*part);
        // SAFETY: these instructions are part of every x86-64 processor, and no memory is touched.
        let (quotes, backslashes, controls) = unsafe {
            let bytes = _mm_set_epi64x((both >> 64) as i64, both as i64);
            let last_control = _mm_set1_epi8(0x1f);
            (
                _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8))),
                _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8))),
                _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control)),
            )
        };
        // One by one: mapping an array is a call of a function here, for every block.
        masks.quotes |= u64::from(quotes as u16) << (16 * number);
        masks.backslashes |= u64::from(backslashes as u16) << (16 * number);
        masks.controls |= u64::from(controls as u16) << (16 * number);
    }
    masks
}

#[cfg(not(target_arch = "x86_64"))]
fn masks(block: &[u8; 64]) -> Masks {
    plain_masks(block)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn plain_masks(block: &[u8; 64]) -> Masks {
    let mask = |is: fn(u8) -> bool| {
        block.iter().enumerate().fold(0, |mask, (at, byte)| mask | (u64::from(is(*byte)) << at))
    };
    Masks {
        quotes: mask(|byte| byte == b'"'),
        backslashes: mask(|byte| byte == b'\\'),
        controls: mask(|byte| byte < 0x20),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_quick_way_finds_what_the_plain_one_does(bytes in proptest::collection::vec(any::<u8>(), 64)) {
            let block: &[u8; 64] = bytes.as_slice().try_into().unwrap();
            prop_assert_eq!(masks(block), plain_masks(block));
        }

        #[test]
        fn escapes_are_those_of_a_walk(backslashes: u64, begins_escaped: bool) {
            let (mut wanted, mut next) = (0_u64, begins_escaped);
            for at in 0..64 {
                let is_escaped = next;
                wanted |= u64::from(is_escaped) << at;
                next = !is_escaped && backslashes >> at & 1 == 1;
            }
            let (found, after) = escaped(backslashes, Escape(u64::from(begins_escaped)));
            prop_assert_eq!(found, wanted);
            prop_assert_eq!(after.0, u64::from(next));
        }
    }
}
