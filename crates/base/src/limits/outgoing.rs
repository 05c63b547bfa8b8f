//! Limits of HTTP requests that leave the gateway.

use std::time::Duration;

/// How long looking up a name, opening a connection and TLS may take together.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one address of a host may be silent before the next is tried beside it.
pub const CONNECT_STAGGER: Duration = Duration::from_millis(250);
/// How many addresses of a host are looked at.
pub const ADDRESSES_MAX: usize = 16;
/// How long the other side may be silent, unless the request says otherwise.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a request may take with its redirects and its body, unless it says otherwise.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Headers of one answer.
pub const HEADERS_MAX: usize = 200;
/// Bytes of the headers of one answer.
pub const HEADER_MAX_BYTES: usize = 256 * 1024;
/// Bytes of the body of one answer, unless the request says otherwise.
pub const BODY_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Redirects that any request may follow.
pub const REDIRECTS_MAX: u64 = 20;
/// Unused connections kept per host.
pub const IDLE_CONNECTIONS_MAX: usize = 64;
/// How long an unused connection is kept.
pub const IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(60);
/// How long an answer that is over may take to end, so that its connection can be used again.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that are read for that.
pub const DRAIN_MAX_BYTES: u64 = 64 * 1024;
