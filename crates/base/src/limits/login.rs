//! Limits of logins: throttling, passwords, names.

use std::time::Duration;

/// Failed logins of one user from one address within `WINDOW_MS` before the address must wait.
pub const FAILURES_MAX: u32 = 10;
/// The window in which failed logins are counted.
pub const WINDOW_MS: i64 = 60_000;
/// The first wait after too many failures; it doubles with each further failure.
pub const WAIT_MS: i64 = 10_000;
/// The longest wait.
pub const WAIT_MAX_MS: i64 = 15 * 60_000;
/// Logins of one user from one address that may be checked at the same time, beyond those that may fail.
pub const TRIES_AT_ONCE: u32 = 8;
/// Longest user name, in bytes.
pub const USERNAME_MAX_BYTES: usize = 32;
/// Longest login token, in bytes.
pub const TOKEN_MAX_BYTES: usize = 256;
/// How often it is looked whether logins have ended with their tokens: the wall clock may jump.
pub const EXPIRY_CHECK: Duration = Duration::from_secs(30);
/// User and address pairs that are remembered.
pub const RECORDS_MAX: usize = 16_384;
/// Password hashes computed at the same time; each needs 19 MiB.
pub const PASSWORD_HASHES_MAX: usize = 2;
/// Logins that may wait for a password hash; further ones get 429.
pub const PASSWORD_QUEUE_MAX: usize = 64;
/// Of those, from one address.
pub const PASSWORD_QUEUE_PER_ADDRESS_MAX: usize = 24;
/// Longest password, in bytes.
pub const PASSWORD_MAX_BYTES: usize = 1_024;
