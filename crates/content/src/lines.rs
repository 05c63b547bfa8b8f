//! Single-pass line numbering: a text becomes numbered lines in a JSON string in one pass, since for a large text each
//! further pass would cost as much as reading it. A window of a huge text costs no more memory than the window.

use std::io::{self, BufRead};

use memchr::memchr;

use crate::Side;
use crate::read::BLOCK_BYTES;

/// A newline and a tab inside a JSON string.
const NEWLINE: &[u8] = b"\\n";
const TAB: &[u8] = b"\\t";
/// So many bytes are looked at together for something to escape.
const PIECE_BYTES: usize = 1024;

/// Which lines of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Lines to skip.
    pub offset: Option<u64>,
    /// Lines to show.
    pub limit: Option<u64>,
}

impl Window {
    /// Whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.offset.is_none() && self.limit.is_none()
    }
}

/// What became of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Lines {
    /// The numbered lines as a JSON string, and how many they are.
    Json(String, u64),
    /// They are more than fits.
    TooLarge,
    /// They are no text after all.
    NotText,
}

/// Numbers the lines in a window: six columns, a tab, the line. A newline at the end adds no line.
/// `bytes_max` bounds the numbered text; `size` only says how much room to begin with.
pub fn numbered(
    side: Side,
    mut reader: impl BufRead,
    window: Window,
    size: u64,
    bytes_max: u64,
) -> io::Result<Lines> {
    let room = if window.is_whole() { (size + size / 4 + 64).min(bytes_max) } else { 4096 };
    let mut numberer = Numberer {
        json: Vec::with_capacity(room as usize),
        growth: 0,
        skip: window.offset.unwrap_or(0),
        left: window.limit.unwrap_or(u64::MAX),
        lines: 0,
        number: Number::starting_at(window.offset.unwrap_or(0)),
        is_inside: false,
        drops_returns: side == Side::Device,
        holds_return: false,
    };
    numberer.json.push(b'"');
    loop {
        let block = reader.fill_buf()?;
        // A text that is in memory as a whole is looked at in blocks too: what it grows to is bounded.
        let length = block.len().min(BLOCK_BYTES);
        if length == 0 || !numberer.feed(&block[..length]) {
            break;
        }
        if numberer.text_bytes() > bytes_max {
            return Ok(Lines::TooLarge);
        }
        reader.consume(length);
    }
    if numberer.text_bytes() > bytes_max {
        return Ok(Lines::TooLarge);
    }
    if numberer.holds_return {
        numberer.push(b"\r", false);
    }
    numberer.json.push(b'"');
    // One check for all: numbers and escapes are ASCII, and no line was cut inside a character.
    Ok(match String::from_utf8(numberer.json) {
        Ok(json) => Lines::Json(json, numberer.lines),
        Err(_) => Lines::NotText,
    })
}

struct Numberer {
    json: Vec<u8>,
    /// Bytes that are there only because it is JSON.
    growth: usize,
    skip: u64,
    left: u64,
    lines: u64,
    number: Number,
    /// Whether a line has begun and not ended.
    is_inside: bool,
    /// Whether a carriage return before the newline is left out. The native target shows it, so that what is shown
    /// can be replaced as it is shown.
    drops_returns: bool,
    /// A carriage return at the end of a block: the next block tells whether it is before a newline.
    holds_return: bool,
}

impl Numberer {
    fn text_bytes(&self) -> u64 {
        (self.json.len() - self.growth) as u64
    }

    /// Takes in a block; false when the window has been filled.
    fn feed(&mut self, mut block: &[u8]) -> bool {
        while self.skip > 0 {
            let Some(at) = memchr(b'\n', block) else { return true };
            self.skip -= 1;
            block = &block[at + 1..];
        }
        // Whether anything needs an escape is asked of many bytes at once, which is much faster than line by line.
        block.chunks(PIECE_BYTES).all(|piece| self.feed_piece(piece, is_plain(piece)))
    }

    fn feed_piece(&mut self, mut piece: &[u8], is_plain: bool) -> bool {
        while !piece.is_empty() {
            if !self.is_inside && !self.begin() {
                return false;
            }
            let end = memchr(b'\n', piece);
            if self.holds_return && end != Some(0) {
                self.push(b"\r", false);
            }
            self.holds_return = false;
            let line = &piece[..end.unwrap_or(piece.len())];
            match line.strip_suffix(b"\r").filter(|_| self.drops_returns) {
                Some(line) => {
                    self.push(line, is_plain);
                    self.holds_return = end.is_none();
                }
                None => self.push(line, is_plain),
            }
            let Some(end) = end else { return true };
            self.is_inside = false;
            piece = &piece[end + 1..];
        }
        true
    }

    fn push(&mut self, bytes: &[u8], is_plain: bool) {
        if is_plain {
            self.json.extend_from_slice(bytes);
        } else {
            self.growth += push_escaped(&mut self.json, bytes);
        }
    }

    fn begin(&mut self) -> bool {
        if self.lines == self.left {
            return false;
        }
        self.number.advance();
        let number = self.number.padded();
        if self.lines == 0 {
            self.json.extend_from_slice(&number[NEWLINE.len()..]);
            self.growth += 1;
        } else {
            self.json.extend_from_slice(number);
            self.growth += 2;
        }
        self.lines += 1;
        self.is_inside = true;
        true
    }
}

/// A line's number as it is shown, counted in its digits.
struct Number {
    /// An escaped newline, right-aligned digits, an escaped tab.
    padded: [u8; Number::END + TAB.len()],
    start: usize,
}

impl Number {
    const COLUMNS: usize = 6;
    /// Where the digits end; there is room for as many as a number can have.
    const END: usize = NEWLINE.len() + 20;

    fn starting_at(before: u64) -> Number {
        let mut padded = [b' '; Number::END + TAB.len()];
        padded[Number::END..].copy_from_slice(TAB);
        let text = if before == 0 { String::new() } else { before.to_string() };
        let start = Number::END - text.len();
        padded[start..Number::END].copy_from_slice(text.as_bytes());
        let mut number = Number { padded, start: Number::END - Number::COLUMNS };
        number.widen(start);
        number
    }

    fn advance(&mut self) {
        for at in (NEWLINE.len()..Number::END).rev() {
            match self.padded[at] {
                b'9' => self.padded[at] = b'0',
                b'0'..=b'8' => {
                    self.padded[at] += 1;
                    return;
                }
                _ => {
                    self.padded[at] = b'1';
                    return self.widen(at);
                }
            }
        }
    }

    /// Makes room for digits from `at` on.
    fn widen(&mut self, at: usize) {
        self.start = self.start.min(at);
        self.padded[self.start - NEWLINE.len()..self.start].copy_from_slice(NEWLINE);
    }

    fn padded(&self) -> &[u8] {
        &self.padded[self.start - NEWLINE.len()..]
    }
}

/// Appends bytes as they stand inside a JSON string; returns by how many bytes they grew.
fn push_escaped(json: &mut Vec<u8>, bytes: &[u8]) -> usize {
    let before = json.len();
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| is_special(*byte)) {
        json.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\t' => json.extend_from_slice(TAB),
            b'\n' => json.extend_from_slice(NEWLINE),
            b'\r' => json.extend_from_slice(b"\\r"),
            quoted @ (b'"' | b'\\') => json.extend_from_slice(&[b'\\', quoted]),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                json.extend_from_slice(b"\\u00");
                json.extend_from_slice(&[HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    json.extend_from_slice(rest);
    json.len() - before - bytes.len()
}

/// Whether nothing but newlines needs an escape. No byte ends the loop, so that the processor takes many at once.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |special, byte| special | u8::from(is_special(*byte) & (*byte != b'\n'))) == 0
}

fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn numbered_text(side: Side, text: &str, offset: u64, limit: u64) -> (String, u64) {
        let window = Window { offset: Some(offset), limit: Some(limit) };
        let whole = numbered(side, text.as_bytes(), window, 0, 1 << 20).unwrap();
        // However the text arrives, the lines are the same.
        let pieces = BufReader::with_capacity(3, text.as_bytes());
        assert_eq!(numbered(side, pieces, window, 0, 1 << 20).unwrap(), whole);
        let Lines::Json(json, lines) = whole else { panic!("{whole:?}") };
        (serde_json::from_str(&json).unwrap(), lines)
    }

    #[test]
    fn a_newline_at_the_end_adds_no_line() {
        for text in ["a\nb", "a\nb\n"] {
            assert_eq!(numbered_text(Side::Native, text, 0, 9), ("     1\ta\n     2\tb".into(), 2));
        }
        assert_eq!(numbered_text(Side::Native, "\n\n", 0, 9), ("     1\t\n     2\t".into(), 2));
        assert_eq!(numbered_text(Side::Native, "", 0, 9), (String::new(), 0));
        assert_eq!(numbered_text(Side::Native, "é\nü", 1, 9), ("     2\tü".into(), 1));
    }

    #[test]
    fn windows_begin_and_end_where_they_should() {
        let text = "a\nb\nc\n";
        assert_eq!(numbered_text(Side::Native, text, 1, 1), ("     2\tb".into(), 1));
        for (offset, limit) in [(3, 1), (9, 9), (0, 0), (u64::MAX, 1)] {
            assert_eq!(numbered_text(Side::Native, text, offset, limit), (String::new(), 0));
        }
        let many = "x\n".repeat(1_000_002);
        assert_eq!(
            numbered_text(Side::Native, &many, 999_998, 9).0,
            "999999\tx\n1000000\tx\n1000001\tx\n1000002\tx"
        );
    }

    #[test]
    fn carriage_returns_stay_on_the_native_side_only() {
        assert_eq!(numbered_text(Side::Device, "a\r\nb\r", 0, 9).0, "     1\ta\n     2\tb\r");
        assert_eq!(numbered_text(Side::Native, "a\r\nb\r", 0, 9).0, "     1\ta\r\n     2\tb\r");
        assert_eq!(numbered_text(Side::Device, "\r\n\r\n", 0, 9).0, "     1\t\n     2\t");
        assert_eq!(
            numbered_text(Side::Device, "a\\r\n\\\r\r\nb\rc", 0, 9).0,
            "     1\ta\\r\n     2\t\\\r\n     3\tb\rc"
        );
    }

    #[test]
    fn numbers_are_written_as_the_formatter_would() {
        for before in [0, 8, 9, 99, 998, 999_998, 999_999, u64::from(u32::MAX)] {
            let mut number = Number::starting_at(before);
            number.advance();
            assert_eq!(number.padded(), format!("\\n{:6}\\t", before + 1).as_bytes());
        }
    }

    #[test]
    fn every_character_is_escaped_as_json_wants_it() {
        let all: String = (0..0x300).filter_map(char::from_u32).filter(|char| *char != '\n').collect();
        assert_eq!(numbered_text(Side::Native, &all, 0, 9).0, format!("     1\t{all}"));
    }

    #[test]
    fn the_bound_is_of_the_text_and_not_of_its_escapes() {
        let quotes = "\"".repeat(92);
        let read = |max| numbered(Side::Native, quotes.as_bytes(), Window::default(), 0, max).unwrap();
        // A line has seven bytes more; the opening quote counts as one.
        assert_eq!(read(99), Lines::TooLarge);
        assert!(matches!(read(100), Lines::Json(..)));
    }

    #[test]
    fn what_is_too_large_or_no_text_is_said_to_be() {
        let whole = Window::default();
        let read = |bytes: &[u8], max| numbered(Side::Native, bytes, whole, 0, max).unwrap();
        assert_eq!(read(&[b'\n'; 100], 100), Lines::TooLarge);
        assert_eq!(read(b"ok\n\xff\xfe", 100), Lines::NotText);
    }
}
