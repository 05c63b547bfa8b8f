//! Limits of the device driver.

use std::time::Duration;

/// Refusals of its token in a row after which it gives up.
pub const REFUSALS_MAX: u32 = 3;
/// First pause before reconnecting; doubles up to the next.
pub const RECONNECT_FIRST: Duration = Duration::from_secs(1);
/// Longest pause before reconnecting.
pub const RECONNECT_MAX: Duration = Duration::from_secs(60);
/// A connection that lasted this long starts the pauses anew.
pub const RECONNECT_RESET: Duration = Duration::from_secs(30);
/// How often it pings the gateway.
pub const KEEPALIVE: Duration = Duration::from_secs(60);
/// How long a ping may wait for room in the queue; the next one comes soon enough.
pub const PING_WAIT: Duration = Duration::from_secs(1);
/// Replies kept for a gateway that was not reachable.
pub const REPLIES_KEPT_MAX: usize = 256;
/// Bytes of such replies.
pub const REPLIES_KEPT_MAX_BYTES: usize = 32 * 1024 * 1024;
/// How long such a reply is kept.
pub const REPLY_KEPT: Duration = Duration::from_secs(120);
/// Status events kept while offline; the oldest go first.
pub const EVENTS_KEPT_MAX: usize = 2_048;
/// Requests worked on at once.
pub const REQUESTS_MAX: usize = 256;
/// Results of durable calls that are remembered.
pub const LEDGER_CALLS_MAX: usize = 1_024;
/// Bytes of such results.
pub const LEDGER_MAX_BYTES: usize = 64 * 1024 * 1024;
/// How long such a result is remembered.
pub const LEDGER_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Calls whose results are gone but that are still known to have been made.
pub const LEDGER_FORGOTTEN_MAX: usize = 65_536;
/// Longest id of a durable call, in bytes.
pub const LEDGER_ID_MAX_BYTES: usize = 256;
/// Runs of agents whose commands one driver confines at once.
pub const RUNS_MAX: usize = 64;
/// What the commands of a run share is let go when none was started for so long.
pub const RUN_IDLE_MAX: Duration = Duration::from_secs(60 * 60);
/// Directories of a workspace that are looked into for repositories inside it.
pub const REPOSITORY_SEARCH_MAX: usize = 2_000;
/// How many directories deep repositories inside a workspace are looked for.
pub const REPOSITORY_SEARCH_DEPTH: usize = 4;
/// Protected names that appeared in a workspace of which a command's output tells at once.
pub const PROTECTED_TOLD_MAX: usize = 20;
