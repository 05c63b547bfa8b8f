//! Limits of a driver's file calls.

use std::time::Duration;

/// Largest text file `fs.read` returns.
pub const READ_TEXT_MAX_BYTES: u64 = 24 * 1024 * 1024;
/// Largest image `fs.read` returns.
pub const READ_IMAGE_MAX_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes looked at to tell what kind of file it is.
pub const READ_HEAD_BYTES: usize = 8 * 1024;
/// How long a new upload waits for a broken one of the same file to let go.
pub const UPLOAD_LOCK_WAIT: Duration = Duration::from_secs(5);
/// How often it looks whether it has let go.
pub const UPLOAD_LOCK_RETRY: Duration = Duration::from_millis(10);
/// An unfinished upload that nobody went on with for this long is removed.
pub const UPLOAD_PARTIAL_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// How often one directory is looked through for such uploads.
pub const UPLOAD_SWEEP_MS: i64 = 60 * 60 * 1_000;
/// Entries of one directory listing.
pub const READ_ENTRIES_MAX: usize = 100_000;
/// Matches that one search on a device returns.
pub const SEARCH_MATCHES_MAX: usize = 100;
/// Characters kept of one matching line.
pub const SEARCH_LINE_MAX_CHARS: usize = 200;
/// An ignore file larger than this is not honoured.
pub const SEARCH_IGNORE_MAX_BYTES: u64 = 1024 * 1024;
/// A search is ended after this long and says so.
pub const SEARCH_TIME_MAX: Duration = Duration::from_secs(25);
/// A search holds so much of one file at a time; a file with a longer line is looked into up to that line.
pub const SEARCH_HEAP_MAX_BYTES: usize = 8 * 1024 * 1024;
