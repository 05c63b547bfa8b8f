//! Limits of the native file tree.

use std::time::Duration;

/// Links that may be followed on the way to one file.
pub const LINKS_FOLLOWED_MAX: usize = 40;
/// Longest path, in bytes.
pub const PATH_MAX_BYTES: usize = 4_096;
/// Longest name of one file, in bytes.
pub const NAME_MAX_BYTES: usize = 255;
/// Largest file that is read into memory as a whole.
pub const READ_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// A changed directory is made durable after so long; changes that come meanwhile share the sync.
pub const DIRECTORY_SYNC_DELAY: Duration = Duration::from_millis(5);
/// The thread that does it ends after so long without work.
pub const SYNC_IDLE: Duration = Duration::from_secs(10);
/// Changed directories that may wait for it; beyond it their whole file system is synced at once.
pub const UNSYNCED_DIRECTORIES_MAX: usize = 256;
/// Replaced files whose room is given back by that thread too; beyond it the writer does it itself.
pub const REPLACED_MAX: usize = 128;
/// Size of each of the two files of the journal of small writes.
pub const JOURNAL_BYTES: u64 = 4 * 1024 * 1024;
/// Largest content that is written by way of the journal.
pub const JOURNAL_CONTENT_MAX_BYTES: usize = 64 * 1024;
/// Room that each file of the journal keeps for notes that a record counts no longer.
pub const JOURNAL_SPARE_BYTES: u64 = 256 * 1024;
/// Written files that only the journal makes durable yet; each is an open file. Beyond it, writes go
/// the ordinary way until these are durable by themselves.
pub const JOURNAL_PENDING_MAX: usize = 1_024;
/// What the journal holds is made durable by itself so long after the first record.
pub const CHECKPOINT_DELAY: Duration = Duration::from_secs(1);
/// Threads that make many files durable at once, which share the disk's turns.
pub const JOURNAL_SYNC_THREADS: usize = 8;
/// How long anything waits for the journal.
pub const JOURNAL_WAIT: Duration = Duration::from_secs(60);
/// Writes are done where they are asked for only while they take no longer than this.
pub const WRITE_HERE_TIME_MAX: Duration = Duration::from_millis(2);
/// Largest content that is written where it is asked for.
pub const WRITE_HERE_MAX_BYTES: usize = 64 * 1024;
/// A write that comes sooner than this after another one was waiting already, and gets a thread.
pub const WRITE_HERE_GAP: Duration = Duration::from_micros(10);
/// Small files that are kept as they were last shown.
pub const TEXT_CACHE_FILES_MAX: usize = 256;
/// Largest file that is kept so.
pub const TEXT_CACHE_FILE_MAX_BYTES: u64 = 16 * 1024;
/// How long a file must have stood still before it is; longer than the coarsest clock of a host's
/// file system counts at once.
pub const UNCHANGED_MIN: Duration = Duration::from_millis(2_500);
/// The same where that clock is a fine one, which ticks at least every ten milliseconds.
pub const UNCHANGED_MIN_FINE: Duration = Duration::from_millis(200);
/// Names that a fingerprint of directories takes in; what has more is read each time.
pub const FINGERPRINT_NAMES_MAX: usize = 128;
/// Largest image `fs.read` returns.
pub const IMAGE_MAX_BYTES: u64 = 25 * 1024 * 1024;
/// Largest file that is read without a thread of its own, if it is in memory already.
pub const READ_NOW_MAX_BYTES: u64 = 2 * 1024 * 1024;
/// Matches that one native search returns.
pub const SEARCH_MATCHES_MAX: usize = 500;
/// Threads that one native search uses.
pub const SEARCH_THREADS: usize = 2;
/// How deep below its start a search goes.
pub const SEARCH_DEPTH_MAX: usize = 256;
/// Live files that one search looks into.
pub const SEARCH_LIVE_FILES_MAX: usize = 10_000;
/// Searches under way at once; further ones wait.
pub const SEARCHES_MAX: usize = 4;
/// Searches of one user under way at once.
pub const SEARCHES_PER_USER_MAX: usize = 2;
/// How long a search may wait for its turn; longer than another one takes.
pub const SEARCH_WAIT: Duration = Duration::from_secs(30);
/// Memory of all contents that `fs.read` makes at once.
pub const READS_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// How long a reading may wait for its part of that memory.
pub const READ_WAIT: Duration = Duration::from_secs(30);
/// Time for finding out where the links of one directory lead; the rest of them count as files.
pub const LIST_LINKS_TIME_MAX: Duration = Duration::from_secs(2);
/// Names looked up on the way to one file, those that links lead over included.
pub const WALK_STEPS_MAX: usize = 16_384;
/// Names in one directory that are shown at once.
pub const DIRECTORY_NAMES_MAX: usize = 200_000;
/// Pieces of work on the disk that are under way at once for callers of the async runtime.
pub const WORK_MAX: usize = 64;
/// How long such a piece of work may wait for its turn.
pub const WORK_WAIT: Duration = Duration::from_secs(60);
/// Directories whose permissions are remembered for quick reads.
pub const DIRECTORIES_REMEMBERED_MAX: usize = 1_024;
/// How long they are remembered; changes made on the host show after that.
pub const DIRECTORY_REMEMBERED: Duration = Duration::from_secs(1);
/// How many different files can surely be changed at once.
pub const LOCKS: usize = 1_024;
/// What is left of a broken write is removed when it is older than this.
pub const DRAFT_KEPT_MS: i64 = 60 * 60 * 1_000;
/// Directories of which is remembered when they were looked through for such leftovers.
pub const DRAFT_SWEEPS_MAX: usize = 4_096;
/// How often something that others change meanwhile is tried.
pub const RACES_MAX: usize = 64;
/// How old the count of a user's bytes may be before everything is counted anew.
pub const USAGE_KEPT: Duration = Duration::from_secs(60);
/// A new count is made after so many times of what the last one took, if that is longer.
pub const USAGE_KEPT_TIMES: u32 = 20;
/// How long a write waits for the first count of everybody's bytes; then it goes on uncounted.
pub const USAGE_WAIT: Duration = Duration::from_secs(10);
/// How long a change of a file waits for other changes of it.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);
/// Directories that are looked through for leftovers of broken writes when the gateway starts.
pub const SWEEP_DIRECTORIES_MAX: usize = 200_000;
/// How deep that goes.
pub const SWEEP_DEPTH_MAX: usize = 64;
/// The pause after each of these directories.
pub const SWEEP_PAUSE: Duration = Duration::from_millis(1);
/// Bytes copied at once.
pub const COPY_BYTES: usize = 256 * 1024;
/// How often a transfer looks whether its caller has read what waits for it.
pub const TRANSFER_PAUSE: Duration = Duration::from_millis(10);
