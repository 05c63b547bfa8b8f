//! Meter of a push: what comes is taken from the owner's quota piece by piece, and where there is no more room the client
//! is told so in git's own side band, which it prints.

use std::sync::Mutex;

use base::sync::lock;
use bytes::Bytes;

use crate::quota::Room;

/// Longest text in a packet.
const TEXT_MAX_BYTES: usize = 900;

/// What a push may still bring.
pub(crate) struct Meter {
    room: Room,
    /// Whether the client reads more than git's report.
    has_side_band: bool,
    refused: Mutex<Option<String>>,
}

impl Meter {
    pub(crate) fn new(room: Room, has_side_band: bool) -> Meter {
        Meter { room, has_side_band, refused: Mutex::default() }
    }

    /// Whether so much more fits.
    pub(crate) fn admits(&self, bytes: usize) -> bool {
        match self.room.take(bytes as u64) {
            Ok(()) => true,
            Err(error) => {
                *lock(&self.refused) = Some(error.message);
                false
            }
        }
    }

    /// What the client is told before git's report, where something did not fit.
    pub(crate) fn words(&self) -> Bytes {
        match &*lock(&self.refused) {
            Some(why) if self.has_side_band => told(why),
            _ => Bytes::new(),
        }
    }
}

/// A packet for people: its length in hex, the band, the text.
fn told(text: &str) -> Bytes {
    let end = text.floor_char_boundary(TEXT_MAX_BYTES);
    let line = format!("\u{2}{}\n", &text[..end]);
    format!("{:04x}{line}", line.len() + 4).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_in_one_packet() {
        assert_eq!(&told("no room")[..], b"000d\x02no room\n");
        let long = told(&"ä".repeat(2_000));
        assert_eq!(&long[..4], format!("{:04x}", long.len()).as_bytes());
    }
}
