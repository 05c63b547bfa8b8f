//! Limits of starting and stopping.

use std::time::Duration;

/// How long a starting gateway waits for one that was just killed to let go of its address and its store.
pub const TAKEOVER_WAIT: Duration = Duration::from_secs(2);
/// How often it tries.
pub const TAKEOVER_RETRY: Duration = Duration::from_millis(20);
/// How long a graceful stop may take.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(5);
