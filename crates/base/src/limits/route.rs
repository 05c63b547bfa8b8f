//! Limits of calls to devices, and of what a driver may say about itself.

use std::time::Duration;

/// Calls one device may have open at once.
pub const PER_DEVICE_MAX: usize = 16_384;
/// How often expired routes are looked for.
pub const SWEEP: Duration = Duration::from_millis(100);
/// A driver that does not say it is ready gets its first request this long after its connect answer.
pub const DRIVER_GRACE: Duration = Duration::from_millis(75);
/// The gateway pings a driver this often.
pub const DRIVER_PING: Duration = Duration::from_secs(30);
/// A driver whose last sign of life is older than this is closed.
pub const DRIVER_SILENCE_MAX: Duration = Duration::from_secs(100);
/// A remembered shell session is forgotten this long after its last use.
pub const SHELL_SESSION_MS: i64 = 24 * 60 * 60 * 1_000;
/// Longest `client.id` and device id.
pub const CLIENT_ID_MAX_BYTES: usize = 200;
/// Patterns one driver may list in `implements`.
pub const IMPLEMENTS_MAX: usize = 256;
/// Words a driver may say about its sandbox.
pub const CONFINE_WORDS_MAX: usize = 32;
/// Longest of these words.
pub const CONFINE_WORD_MAX_BYTES: usize = 64;
/// Longest path a driver may say of its workspace, home or shell.
pub const CONFINE_PATH_MAX_BYTES: usize = 4_096;
/// Longest device description, in characters.
pub const DEVICE_DESCRIPTION_MAX_CHARS: usize = 500;
