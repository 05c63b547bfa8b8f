//! Bounded output buffer: the tail wins, and what was dropped is counted.

use std::collections::VecDeque;

/// The last `cap` bytes of a stream.
pub struct Buffer {
    bytes: VecDeque<u8>,
    cap: usize,
    dropped: u64,
}

impl Buffer {
    /// An empty one.
    pub fn new(cap: usize) -> Buffer {
        Buffer { bytes: VecDeque::new(), cap, dropped: 0 }
    }

    /// Appends, dropping the oldest bytes beyond the cap.
    pub fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.cap)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(self.cap);
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
        self.dropped += (excess + bytes.len() - kept.len()) as u64;
    }

    /// Drops the oldest bytes beyond `bytes`.
    pub fn keep(&mut self, bytes: usize) {
        let excess = self.bytes.len().saturating_sub(bytes);
        self.bytes.drain(..excess);
        self.dropped += excess as u64;
    }

    /// Puts taken output back before what has come since.
    pub fn put_back(&mut self, taken: Taken) {
        let newer = std::mem::take(&mut self.bytes);
        self.bytes = taken.bytes.into();
        self.dropped += taken.dropped;
        let (front, back) = newer.as_slices();
        self.push(front);
        self.push(back);
    }

    /// Whether there is nothing to take before more comes; a character that is not complete does not count.
    pub fn is_empty(&self) -> bool {
        self.dropped == 0 && self.bytes.len() == self.unfinished()
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    fn unfinished(&self) -> usize {
        let start = self.bytes.len().saturating_sub(3);
        let end: Vec<u8> = self.bytes.range(start..).copied().collect();
        unfinished(&end)
    }

    /// Whether something was dropped.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// All of it, with a note where something was dropped.
    pub fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        text(self.dropped, &[front, back].concat())
    }

    /// All of it without a note: for a tail, which is cut by nature.
    pub fn tail(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        let bytes = [front, back].concat();
        lossy(if self.dropped > 0 { skip_partial(&bytes) } else { &bytes })
    }

    /// Takes everything out; unless `all` is wanted, a character that is not complete stays.
    pub fn take(&mut self, all: bool) -> Taken {
        let mut bytes = Vec::from(std::mem::take(&mut self.bytes));
        if !all {
            self.bytes = bytes.split_off(bytes.len() - unfinished(&bytes)).into();
        }
        Taken { bytes, dropped: std::mem::take(&mut self.dropped) }
    }
}

/// Output on its way to a caller.
#[derive(Clone)]
pub struct Taken {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Taken {
    /// As text, with a note where something was dropped.
    pub fn text(&self) -> String {
        text(self.dropped, &self.bytes)
    }

    /// Whether something was dropped before it.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Bytes of it.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn text(dropped: u64, bytes: &[u8]) -> String {
    if dropped == 0 {
        return lossy(bytes);
    }
    format!("[… {dropped} bytes dropped …]\n{}", lossy(skip_partial(bytes)))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Skips the rest of a character whose beginning was dropped.
fn skip_partial(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
    &bytes[rest..]
}

/// How many bytes at the very end are the beginning of a character and nothing else.
fn unfinished(bytes: &[u8]) -> usize {
    let is_beginning = |length: &usize| {
        let end = &bytes[bytes.len() - length..];
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(is_beginning).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_wins_and_the_loss_is_said() {
        let mut buffer = Buffer::new(4);
        buffer.push(b"abc");
        buffer.push(b"def");
        assert_eq!(buffer.text(), "[… 2 bytes dropped …]\ncdef");
        assert_eq!(buffer.tail(), "cdef");
        buffer.push(b"0123456789");
        assert_eq!(buffer.take(true).text(), "[… 12 bytes dropped …]\n6789");
        assert!(buffer.is_empty() && !buffer.is_cut());
    }

    #[test]
    fn a_character_is_never_split() {
        let mut buffer = Buffer::new(100);
        let word = "zoë€𝄞".as_bytes();
        let mut seen = String::new();
        for byte in word {
            buffer.push(&[*byte]);
            seen.push_str(&buffer.take(false).text());
        }
        assert_eq!(seen, "zoë€𝄞");
        buffer.push(&word[..4]);
        assert_eq!(buffer.take(true).text(), "zoë");
        buffer.push(&[0xE2, 0x82]);
        assert_eq!(buffer.take(true).text(), "\u{FFFD}");
    }

    #[test]
    fn only_the_beginning_of_a_character_is_held_back() {
        for (bytes, held) in [
            (&b"caf\xE9"[..], 1),
            (b"caf\xE9 x", 0),
            (b"\xE9\n", 0),
            (b"\xC3\xA9", 0),
            (b"\xE2\x82", 2),
            (b"\xF0\x9D\x84", 3),
            (b"\xF5\x80", 0),
            (b"\xFF", 0),
            (b"\xE0\x80", 0),
            (b"\x80\x80", 0),
            (b"", 0),
        ] {
            let mut buffer = Buffer::new(100);
            buffer.push(bytes);
            assert_eq!(buffer.is_empty(), bytes.len() == held, "{bytes:?}");
            assert_eq!(buffer.take(false).len(), bytes.len() - held, "{bytes:?}");
            assert_eq!(buffer.take(true).len(), held, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_put_back_comes_first() {
        let mut buffer = Buffer::new(6);
        buffer.push(b"old");
        let taken = buffer.take(false);
        buffer.push(b"new");
        buffer.put_back(taken);
        assert_eq!(buffer.text(), "oldnew");
        let taken = buffer.take(false);
        buffer.push(b"xyz");
        buffer.put_back(taken);
        assert_eq!(buffer.text(), "[… 3 bytes dropped …]\nnewxyz");
    }
}
