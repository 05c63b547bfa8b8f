//! Point queries on a snapshot: what one path was in a checkpoint, and whether the checkpoint can tell.

use crate::snapshot::{Snapshot, split};
use crate::state::FileKind;

/// What a checkpoint knows of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It can not tell: the path was ignored, too large, or passed by.
    Unknown,
    /// There was nothing.
    Absent,
    /// A file.
    File {
        /// Names its content within the store.
        digest: String,
        /// In bytes.
        size: u64,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link; its content is its target.
    Link,
    /// A directory.
    Dir {
        /// Its permission bits.
        mode: u32,
    },
}

/// What a snapshot knows of a path.
pub(crate) fn seen(snapshot: &Snapshot, name: &[u8]) -> Seen {
    if let Some(entry) = snapshot.entries.get(name) {
        let mode = entry.mode & 0o7777;
        return match (entry.kind, entry.oid) {
            (FileKind::File, Some(oid)) => Seen::File { digest: oid.to_string(), size: entry.size, mode },
            (FileKind::Link, _) => Seen::Link,
            (FileKind::Dir, _) => Seen::Dir { mode },
            _ => Seen::Unknown,
        };
    }
    let mut at = name;
    while !at.is_empty() {
        if snapshot.noted.contains_key(at) {
            return Seen::Unknown;
        }
        at = split(at).0;
    }
    if snapshot.has_more { Seen::Unknown } else { Seen::Absent }
}
