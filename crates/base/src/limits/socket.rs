//! Back-pressure: limits of one socket of the gateway.

use std::time::Duration;

/// Read buffer of one socket; small, because most sockets are idle.
pub const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Frames that may wait for one client to read them.
pub const OUTBOX_FRAMES_MAX: usize = 4_096;
/// Bytes that may wait for one client to read them.
pub const OUTBOX_MAX_BYTES: usize = 128 * 1024 * 1024;
/// A client that got nothing for so long keeps no memory for what it may get.
pub const OUTBOX_SPARE_KEPT: Duration = Duration::from_secs(2);
/// Above this many waiting bytes the gateway stops reading further requests from that client.
pub const OUTBOX_HIGH_BYTES: usize = 8 * 1024 * 1024;
/// How long one write to a client may take before the client counts as not reading.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a socket that is to be closed may take for what waits and for the close frame.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Requests of one socket that may be under way at once; further ones wait unread.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 1_024;
/// Bytes of the requests of one socket that may be under way at once; further ones wait unread.
pub const REQUEST_IN_FLIGHT_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Sockets that have not logged in; beyond this the oldest is closed.
pub const PENDING_SOCKETS_MAX: usize = 4_096;
/// A socket that has not logged in is closed after this long.
pub const PENDING_SOCKET_TIMEOUT: Duration = Duration::from_secs(600);
/// Largest message of a socket that has not logged in.
pub const PENDING_FRAME_MAX_BYTES: usize = 1024 * 1024;
