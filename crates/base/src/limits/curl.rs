//! Limits of `curl` in the native shell.

use std::time::Duration;

/// How long `curl` may take, unless `--max-time` says less.
pub const TIME_MAX: Duration = Duration::from_secs(300);
/// How long opening a connection may take, unless `--connect-timeout` says less.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(30);
/// Largest body that `curl` takes in.
pub const BODY_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Redirects that `curl -L` follows, unless `--max-redirs` says less.
pub const REDIRECTS_MAX: u64 = 20;
/// URLs of one `curl`.
pub const URLS_MAX: usize = 64;
