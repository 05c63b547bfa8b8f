//! Limits of git over HTTP.

use std::time::Duration;

/// Requests that the git program works on at once, of everybody together.
pub const REQUESTS_MAX: usize = 64;
/// Of those, requests of people who did not log in.
pub const ANONYMOUS_REQUESTS_MAX: usize = 32;
/// Of those, requests of one user, or of one address that did not log in.
pub const REQUESTS_PER_CALLER_MAX: usize = 12;
/// Requests of the same that may wait for their turn; further ones are refused at once.
pub const WAITING_PER_CALLER_MAX: usize = 24;
/// How long a request waits for its turn.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// What a client that was refused is told to wait, in seconds.
pub const RETRY_AFTER_SECONDS: u64 = 15;
/// Callers with requests under way that are remembered before those without are forgotten.
pub const CALLERS_SPARE_MAX: usize = 256;
/// Bytes of what a client says it wants and has, inflated.
pub const FETCH_REQUEST_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of the list of refs that a push wants changed.
pub const COMMANDS_MAX_BYTES: usize = 512 * 1024;
/// Bytes of a compressed request that are inflated at a time: a thousand times as many may come out.
pub const INFLATE_BYTES: usize = 4 * 1024;
/// Bytes that are passed from git to a client at a time.
pub const CHUNK_BYTES: usize = 64 * 1024;
/// How long a client may take to read one such piece, or to send the next of its own.
pub const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long one request may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Bytes of a push that are read and thrown away after git refused it, so that the client reads why.
pub const DRAIN_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How long that may take.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long git may take to tidy up after it was told to end.
pub const END_TIMEOUT: Duration = Duration::from_secs(3);
/// How long pushes under way may take when the gateway stops.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of git's complaints that are kept for the log.
pub const COMPLAINT_MAX_BYTES: usize = 4 * 1024;
/// Memory of one git process, without the files it maps.
pub const MEMORY_MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Processor time of one git process, in seconds.
pub const CPU_MAX_SECONDS: u64 = 900;
/// What one file may be larger than the push it came with: a delta's base is added to a thin pack.
pub const FILE_SPARE_BYTES: u64 = 1024 * 1024 * 1024;
/// How long git holds the lock of a ref at most.
pub const SHORT_LOCK: Duration = Duration::from_secs(10);
/// What is older was left by a git that was killed.
pub const STALE_LOCK: Duration = Duration::from_secs(2 * 3_600);
