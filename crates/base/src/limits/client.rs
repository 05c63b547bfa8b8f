//! Limits of the WebSocket client.

use std::time::Duration;

/// How long opening a socket and `sys.connect` may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a call may take unless the caller says otherwise; above the gateway's route timeout.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Messages that may wait to be sent.
pub const OUTGOING_MAX: usize = 256;
/// Bytes of such messages; a larger message waits until it is alone.
pub const OUTGOING_MAX_BYTES: u32 = 64 * 1024 * 1024;
/// Events that may wait to be read; beyond this the socket is not read either.
pub const EVENTS_MAX: usize = 256;
/// A message may take `socket::SEND_TIMEOUT` and a second for each so many bytes.
pub const SEND_MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// Signals that may wait to be read; beyond this the socket is not read either.
pub const SIGNALS_MAX: usize = 1_024;
