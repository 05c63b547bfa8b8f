//! File metadata: what is known about a file besides its content.

use protocol::ids::{Gid, Uid};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Link,
}

/// What is known about a file besides its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// Permission bits, with the sticky bit: at most `0o7777`.
    pub mode: u32,
    /// Whose it is.
    pub uid: Uid,
    pub gid: Gid,
    /// When its content changed, in milliseconds.
    pub modified_ms: i64,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    /// What it names; a link itself, not where it leads.
    pub stat: Stat,
}
