//! Limits of what a driver keeps of files that agents overwrite and delete.

use std::time::Duration;

/// A file larger than this is not kept; whoever wants to change it is asked about it.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes kept of one call: a directory with more in it is asked about.
pub const CALL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Files, links and directories of one call.
pub const CALL_ITEMS_MAX: usize = 20_000;
/// Directories below one another in a directory that is deleted.
pub const DEPTH_MAX: usize = 128;
/// Bytes of all that is kept; the oldest goes first.
pub const STORE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Calls that are remembered; the oldest goes first.
pub const RECORDS_MAX: usize = 10_000;
/// What is older is removed.
pub const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Bytes of one record, names and digests of one call.
pub const RECORD_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// How many calls are kept between two looks at what is too old or too much.
pub const PRUNE_EVERY: u64 = 64;
/// So many files are made durable one by one; more of them by one call for the whole file system.
pub const SYNC_EACH_MAX: usize = 8;
/// Commands that one undo names.
pub const COMMANDS_TOLD_MAX: usize = 50;
/// Versions of a file when nobody says how many, and at most.
pub const VERSIONS: u64 = 50;
/// See [`VERSIONS`].
pub const VERSIONS_MAX: u64 = 500;
/// How long an undo may look at the workspace.
pub const UNDO_TIME_MAX: Duration = Duration::from_secs(50);
