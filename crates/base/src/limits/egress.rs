//! Limits of the allow-list proxy of confined commands.

use std::time::Duration;

/// Entries of one list of hosts, after its presets are filled in.
pub const HOSTS_MAX: usize = 512;
/// Bytes of the text of such a list.
pub const HOSTS_MAX_BYTES: usize = 16 * 1024;
/// Bytes of a host's name, as DNS has it.
pub const NAME_MAX_BYTES: usize = 253;
/// Connections that are served at once, of all kinds together; further ones wait in the listening sockets.
pub const CONNECTIONS_MAX: usize = 256;
/// Names that are looked up at once. A lookup occupies a thread until the operating system gives up.
pub const LOOKUPS_MAX: usize = 16;
/// Bytes of the head of a request to the proxy.
pub const HEAD_MAX_BYTES: usize = 32 * 1024;
/// Headers of such a request.
pub const HEADERS_MAX: usize = 100;
/// Bytes of the line that gives the size of a chunk, or of one trailer.
pub const CHUNK_LINE_MAX_BYTES: usize = 1_024;
/// Bytes of the trailers of a request.
pub const TRAILERS_MAX_BYTES: usize = 8 * 1024;
/// How long the head of a request, or a SOCKS handshake, may take.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long both ends of a connection may be silent.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Bytes that all connections of one proxy may send out together.
pub const SENT_MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Bytes that they may receive together.
pub const RECEIVED_MAX_BYTES: u64 = 32 * 1024 * 1024 * 1024;
/// Bytes that are copied at a time.
pub const COPY_BYTES: usize = 16 * 1024;
/// Bytes of a request that are read and thrown away after it was refused, so that the answer is not lost.
pub const DRAIN_MAX_BYTES: usize = 256 * 1024;
/// How long that may take.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long accepting rests when the operating system refuses it, as when no descriptor is left.
pub const ACCEPT_REST: Duration = Duration::from_millis(200);
/// Names that get an address of their own; those that come later are not told one.
pub const ADDRESSES_MAX: usize = 8_192;
/// How long a program may remember such an address, in seconds.
pub const ADDRESS_TTL_SECONDS: u32 = 60;
/// Bytes of a question to the DNS responder.
pub const DNS_QUESTION_MAX_BYTES: usize = 4_096;
/// How long a TCP connection to the DNS responder may be silent.
pub const DNS_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Hosts that were reached, and hosts that were refused, that are remembered, each.
pub const LOG_MAX: usize = 256;
/// Bytes of the token that tells whose a connection is.
pub const TOKEN_MAX_BYTES: usize = 64;
