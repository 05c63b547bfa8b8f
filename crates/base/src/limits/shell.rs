//! Limits of commands on a device.

use std::time::Duration;

/// How long a call waits for a command to end.
pub const WAIT_MS: u64 = 5_000;
/// Bounds of the `yieldMs` argument.
pub const WAIT_MIN_MS: u64 = 250;
/// See `WAIT_MIN_MS`.
pub const WAIT_MAX_MS: u64 = 30_000;
/// A command is ended after this long, unless `timeout` says otherwise.
pub const TIMEOUT_MS: u64 = 300_000;
/// Longest `timeout`.
pub const TIMEOUT_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// Pause between TERM and KILL.
pub const KILL_AFTER: Duration = Duration::from_millis(250);
/// Output that comes this soon after other output is answered together with it.
pub const COALESCE: Duration = Duration::from_millis(75);
/// How long output is read after a command ended; others may hold its pipes open.
pub const DRAIN: Duration = Duration::from_millis(250);
/// Bytes of stdin that may wait for a command to read them.
pub const STDIN_MAX_BYTES: usize = 32 * 1024 * 1024;
/// Stdin writes that may wait for a command to read them.
pub const STDIN_WRITES_MAX: usize = 256;
/// Bytes kept per stream; the tail wins.
pub const OUTPUT_MAX_BYTES: usize = 200_000;
/// A command whose unread output is full waits this long for somebody to ask for it; then the
/// oldest is dropped.
pub const UNREAD_WAIT: Duration = Duration::from_secs(10);
/// Bytes read from a command at once.
pub const READ_BYTES: usize = 16 * 1024;
/// Size of `tail`.
pub const TAIL_BYTES: usize = 4_000;
/// A finished session nobody polled is kept this long.
pub const FINISHED_KEPT: Duration = Duration::from_secs(600);
/// Sessions at once.
pub const SESSIONS_MAX: usize = 256;
