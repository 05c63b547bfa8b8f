//! Binary message format of `fs.pull` and `fs.push`: `[u32 LE transfer id][payload]`.
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
    Failed(Failed),
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
    Failed(Failed),
}

/// Why a transfer was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// For a person.
    pub error: String,
    /// For programs, where they can do something about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<FailReason>,
}

/// What a program can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// The connection of the other end was lost: the transfer can be gone on with.
    Disconnected,
    /// What was there from an earlier attempt was not the beginning of this file, and is thrown away.
    DigestMismatch,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

impl Failed {
    /// With a reason.
    pub fn because(reason: FailReason, error: impl Into<String>) -> Failed {
        Failed { error: error.into(), reason: Some(reason) }
    }

    /// The reason. Peers before 0.3.0 give none, and only here their words say it.
    pub fn reason(&self) -> Option<FailReason> {
        let of_words = || match self.error.as_str() {
            words if words.contains("disconnected") => Some(FailReason::Disconnected),
            words if words.contains("digest does not match") => Some(FailReason::DigestMismatch),
            _ => None,
        };
        self.reason.or_else(of_words)
    }
}

impl From<String> for Failed {
    fn from(error: String) -> Failed {
        Failed { error, reason: None }
    }
}

impl From<&str> for Failed {
    fn from(error: &str) -> Failed {
        error.to_string().into()
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.error)
    }
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
        assert!(matches!(serde_json::from_str(r#"{"error":"x"}"#).unwrap(), Control::Failed(_)));
    }

    #[test]
    fn a_failure_has_a_reason_whoever_tells_it() {
        let said = |text: &str| serde_json::from_str::<Failed>(text).unwrap().reason();
        let torn = Failed::because(FailReason::DigestMismatch, "torn");
        assert_eq!(said(&serde_json::to_string(&torn).unwrap()), Some(FailReason::DigestMismatch));
        assert_eq!(said(r#"{"error":"x","reason":"of_tomorrow"}"#), Some(FailReason::Other));
        assert_eq!(said(r#"{"error":"the other side disconnected"}"#), Some(FailReason::Disconnected));
        assert_eq!(said(r#"{"error":"the digest does not match: a"}"#), Some(FailReason::DigestMismatch));
        assert_eq!(said(r#"{"error":"Failed to write 'x'"}"#), None);
    }
}
