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
/// Sockets that have not logged in; beyond this the oldest of the address that has most is closed. Each holds at most a
/// message, requests and answers of `PENDING_MAX_BYTES` each.
pub const PENDING_SOCKETS_MAX: usize = 1_024;
/// Of those, from one address; beyond this its oldest is closed.
pub const PENDING_SOCKETS_PER_ADDRESS_MAX: usize = 256;
/// A socket that has not logged in is closed after this long.
pub const PENDING_SOCKET_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest message of a socket that has not logged in. As many bytes of requests under way, and of answers it does not
/// read, and nothing further is read from it.
pub const PENDING_MAX_BYTES: usize = 64 * 1024;
/// Requests under way of a socket that has not logged in; further ones wait unread.
pub const PENDING_REQUESTS_MAX: usize = 4;
/// Connections that have sent no whole request, or are being answered one; further ones are refused.
pub const HTTP_CONNECTIONS_MAX: usize = 1_024;
/// Of those, from one address that is not a trusted proxy's.
pub const HTTP_CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// Bytes of requests of one user, over all its sockets, that may be under way at once; further ones wait unread.
pub const USER_IN_FLIGHT_MAX_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of large messages of one user, over all its sockets, that may be on their way in at once; further ones wait
/// unread.
pub const USER_RECEIVING_MAX_BYTES: usize = 256 * 1024 * 1024;
/// Messages up to this size are not counted as large: what is kept of them is no more than a socket costs anyway.
pub const SMALL_MESSAGE_BYTES: usize = 64 * 1024;
/// Bytes that may wait for the clients of one user to read them; beyond this no more requests of theirs are read, and
/// a client that has more than `OUTBOX_HIGH_BYTES` waiting is closed for not reading.
pub const USER_OUTBOX_MAX_BYTES: usize = 256 * 1024 * 1024;
