//! Limits of checkpoints: snapshots of a workspace that a driver takes around what agents do in it.

use std::time::Duration;

/// Files of one checkpoint, directories and links among them; a workspace with more has none.
pub const FILES_MAX: usize = 50_000;
/// Bytes of the files of one checkpoint; a workspace with more has none.
pub const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// A file larger than this is left out and listed.
pub const FILE_BYTES_MAX: u64 = 20 * 1024 * 1024;
/// A checkpoint that takes longer is given up; what was read by then is kept for the next try.
pub const TIME_MAX: Duration = Duration::from_secs(5);
/// A person who brings something back waits longer, and for more: what an agent made may be large.
pub const PATIENT_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Files of a checkpoint for such a person.
pub const PATIENT_FILES_MAX: usize = 300_000;
/// Bytes of git objects kept of the repositories in a workspace, together; the rest is left out and listed.
pub const REPOSITORY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Files of git objects kept of the repositories in a workspace, together.
pub const REPOSITORY_FILES_MAX: usize = 20_000;
/// Directories below one another; what lies deeper is left out and listed.
pub const DEPTH_MAX: usize = 128;
/// Names noted of what is not kept (ignored files, sockets), so that new ones are noticed.
pub const NOTED_MAX: usize = 50_000;
/// Names that a walk meets, kept or not; a workspace with more has no checkpoint.
pub const NAMES_MAX: usize = 400_000;
/// Paths listed in one answer about what was left out.
pub const LISTED_MAX: usize = 1_000;
/// An ignore file, or a list of excludes, larger than this is not honoured.
pub const IGNORE_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Patterns of one ignore file; one with more is not honoured: they are compiled before the walk goes on.
pub const IGNORE_PATTERNS_MAX: usize = 2_000;
/// Names kept though they are ignored, because they appeared after an agent's run, which may have written the rule.
pub const NEWCOMERS_MAX: usize = 2_000;
/// A larger one of these is not kept.
pub const NEWCOMER_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of these together.
pub const NEWCOMERS_BYTES_MAX: u64 = 50 * 1024 * 1024;
/// A git index larger than this is not looked into, and neither are more bytes of names in it.
pub const INDEX_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of a file held in memory at a time.
pub const CHUNK_BYTES: usize = 128 * 1024;
/// Bytes of a tree or of the notes beside it, once unpacked.
pub const RECORD_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes of the cache of file states; a larger one is not read.
pub const CACHE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of one entry in the list of checkpoints.
pub const ENTRY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Checkpoints kept of one workspace.
pub const KEPT_MAX: usize = 50;
/// Checkpoints older than this are removed.
pub const KEPT_MS: i64 = 14 * 24 * 60 * 60 * 1_000;
/// Bytes of all checkpoints together, those of other workspaces of the same store among them.
pub const STORE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// Workspaces of one store that are looked at.
pub const WORKSPACES_MAX: usize = 1_000;
/// Packs of one workspace's store before they are written together into one.
pub const PACKS_MAX: usize = 24;
/// Packs smaller than this are the ones written together.
pub const SMALL_PACK_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of one pack; offsets in its index have 31 bits.
pub const PACK_BYTES_MAX: u64 = 1536 * 1024 * 1024;
/// How long one waits for another checkpoint of the same workspace to be finished.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How often one looks whether it is finished.
pub const LOCK_RETRY: Duration = Duration::from_millis(5);
/// Clocks of file systems stand still this long; a file changed in the same moment is read again.
pub const CLOCK_GRAIN_NS: i64 = 20_000_000;
/// The same for file systems that count whole seconds.
pub const CLOCK_GRAIN_COARSE_NS: i64 = 2_000_000_000;
