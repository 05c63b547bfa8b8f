//! Limits of file transfers.

use std::time::Duration;

/// Largest chunk of a file transfer, without the four-byte id.
pub const CHUNK_MAX_BYTES: usize = 256 * 1024;
/// Bytes a sender may have under way before the receiver acknowledges.
pub const WINDOW_BYTES: u64 = 4 * 1024 * 1024;
/// A transfer without any frame for this long is given up.
pub const IDLE: Duration = Duration::from_secs(60);
/// The receiver of a transfer acknowledges each time it has taken in so many bytes.
pub const ACK_BYTES: u64 = 1024 * 1024;
/// The receiver repeats its acknowledgement after so long without news, as a sign of life.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// The receiver waits this long for the first byte: the sender may have to hash what was sent earlier.
pub const FIRST: Duration = Duration::from_secs(600);
/// Transfers one socket may have open at once.
pub const PER_SOCKET_MAX: usize = 32;
/// Messages of one transfer that may wait to be read; more than a window of full chunks.
pub const QUEUE_MAX: usize = 64;
/// Bytes kept of transfers that nobody has asked for yet.
pub const EARLY_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Ended transfers whose late messages are known to be late.
pub const ENDED_KEPT: usize = 64;
