//! The bytes of `fs.pull` and `fs.push`: binary messages `[u32 LE transfer id][payload]`.
//!
//! From the file's side flow raw chunks of at most 256 KiB, then one empty chunk, then one `Trailer` as JSON.
//! From the other side flow `Control` messages as JSON. An empty chunk before the last byte, followed by a
//! trailer with `error`, ends a transfer that failed.

use serde::{Deserialize, Serialize};

/// Length of the id before the payload.
pub const HEADER_BYTES: usize = 4;

/// Splits a binary message. `None` when it is too short to have an id.
pub fn split(message: &[u8]) -> Option<(u32, &[u8])> {
    let (head, payload) = message.split_at_checked(HEADER_BYTES)?;
    Some((u32::from_le_bytes(head.try_into().ok()?), payload))
}

/// Builds a binary message.
pub fn message(id: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + payload.len());
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(payload);
    out
}

/// What the sender says after its last chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Trailer {
    /// All bytes were sent.
    Done {
        /// SHA-256 of the whole file, in hex.
        sha256: String,
    },
    /// Something went wrong.
    Failed {
        /// What.
        error: String,
    },
}

/// What the receiver says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Control {
    /// So many bytes of this transfer have been taken in; the sender may be a window ahead of this.
    Ack {
        /// Bytes since the transfer was opened.
        ack: u64,
    },
    /// The file is complete, checked and in place.
    Stored {
        /// SHA-256 of the whole file, in hex.
        stored: String,
    },
    /// The receiver gave up, or the gateway did.
    Failed {
        /// Why.
        error: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_split_again() {
        assert_eq!(split(&message(7, b"abc")), Some((7, &b"abc"[..])));
        assert_eq!(split(&message(u32::MAX, b"")), Some((u32::MAX, &b""[..])));
        assert_eq!(split(b"abc"), None);
    }

    #[test]
    fn controls_are_told_apart() {
        let text = serde_json::to_string(&Control::Ack { ack: 3 }).unwrap();
        assert_eq!(serde_json::from_str::<Control>(&text).unwrap(), Control::Ack { ack: 3 });
        assert!(matches!(serde_json::from_str(r#"{"error":"x"}"#).unwrap(), Control::Failed { .. }));
    }
}
