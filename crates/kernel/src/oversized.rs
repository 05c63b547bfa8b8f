//! Handling of messages above the size limit: they are not read, but whoever waits for one is told at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::error::Error;
use protocol::frame::UNKNOWN_ID;

use crate::connections::Connection;
use crate::{Kernel, routes};

/// Bytes of a message that was too large to be read.
#[derive(Clone, Copy)]
pub struct Excerpt<'a> {
    /// Some of its bytes.
    pub bytes: &'a [u8],
    /// Whether they are its first ones; else its last.
    pub is_beginning: bool,
    /// How long the message is; one that comes in pieces, how long it had become.
    pub size: u64,
    /// How long it may be.
    pub limit_bytes: usize,
}

impl Kernel {
    /// A message that was too large to be read, by its beginning and then by its end. If it answers a call under way
    /// on this socket, that call fails with the sizes. The id stands in the beginning or, where a driver sorts the
    /// members by name, in the end.
    pub fn receive_too_large(self: &Arc<Self>, connection: &Arc<Connection>, excerpt: &Excerpt<'_>) {
        if excerpt.is_beginning {
            self.metrics.invalid_frames.fetch_add(1, Ordering::Relaxed);
            let error = Error::too_large(excerpt.limit_bytes);
            connection.send(connection.codec().failure(UNKNOWN_ID, &error));
        }
        let error = Error::answer_too_large(excerpt.size, excerpt.limit_bytes);
        // Only ids of calls that this very socket owes an answer to count, so it can fail none but its own.
        let mut ids = ids(excerpt.bytes);
        ids.any(|id| routes::fail_one(self, connection, id, &error));
    }
}

/// Everything that may be the id of a call to a device.
fn ids(bytes: &[u8]) -> impl Iterator<Item = &str> {
    const NAME: &[u8] = b"\"id\"";
    let places = bytes.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    places.filter_map(|(at, _)| {
        let rest = bytes.get(at + NAME.len()..)?.trim_ascii_start();
        let value = rest.strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
        let end = value.iter().position(|byte| *byte == b'"')?;
        std::str::from_utf8(value.get(..end)?).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_wherever_they_stand_and_however_they_are_cut() {
        let found = |text: &str| ids(text.as_bytes()).map(str::to_string).collect::<Vec<_>>();
        assert_eq!(found(r#"{"type":"res","id":"00ff","ok":true,"data":{"id" : "2"}}"#), ["00ff", "2"]);
        assert_eq!(found(r#"xx"},"id":"7","ok":true,"type":"res"}"#), ["7"]);
        assert_eq!(found(r#""id":5,"id":"cut"#), Vec::<String>::new());
    }
}
