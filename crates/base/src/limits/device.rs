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
/// A helper that waits for a confined command ends when none came for so long.
pub const HELPER_AHEAD_IDLE_MAX: Duration = Duration::from_secs(10 * 60);
/// How long after a confined command that still runs the helper for the next one is started.
pub const HELPER_AHEAD_AFTER: Duration = Duration::from_millis(100);
/// How long a command waits for the layer over package caches of the one before it.
pub const CACHE_LAYER_AWAITED: Duration = Duration::from_secs(5);
/// Directories of a workspace that are looked into for repositories inside it.
pub const REPOSITORY_SEARCH_MAX: usize = 2_000;
/// How many directories deep repositories inside a workspace are looked for.
pub const REPOSITORY_SEARCH_DEPTH: usize = 4;
/// Directories outside a workspace that are searched for secrets; those beyond are hidden.
pub const SECRET_SEARCH_MAX: usize = 10_000;
/// How long that search may take, on a slow disk; what was not reached by then is hidden.
pub const SECRET_SEARCH_TIME: Duration = Duration::from_secs(5);
/// How long what it found is taken for true, at least.
pub const SECRET_SEARCH_KEPT: Duration = Duration::from_secs(60);
/// And so many times as long as the search took, so that it never takes more than a small part of a driver's time.
pub const SECRET_SEARCH_KEPT_TIMES: u32 = 50;
/// Covers over what it found in a command's view; where more are needed the directories around them are hidden.
pub const SECRET_COVERS_MAX: usize = 256;
/// Bytes of one layer over the package caches; one with more begins anew.
pub const CACHE_LAYER_MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Names in one such layer.
pub const CACHE_LAYER_FILES_MAX: usize = 200_000;
/// How often its size is looked at.
pub const CACHE_LAYER_MEASURED: Duration = Duration::from_secs(60);
/// Protected names that appeared in a workspace of which a command's output tells at once.
pub const PROTECTED_TOLD_MAX: usize = 20;
/// How long a rehearsed command may run: its call is answered when it has ended.
pub const REHEARSAL_MAX_MS: u64 = 40_000;
/// Commands that are rehearsed at once.
pub const REHEARSALS_AT_ONCE: usize = 2;
/// How often what a rehearsed command wrote is added up.
pub const REHEARSAL_WATCH: Duration = Duration::from_millis(250);
/// Bytes that a rehearsed command may write; looked at every `REHEARSAL_WATCH`.
pub const REHEARSAL_MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Files that it may write.
pub const REHEARSAL_FILES_MAX: usize = 50_000;
/// Trees of which a rehearsal changes a copy.
pub const REHEARSAL_TREES_MAX: usize = 48;
/// How many directories deep a tree is taken apart that cannot be copied whole.
pub const REHEARSAL_TREES_DEPTH: usize = 3;
/// Changes that are told.
pub const REHEARSAL_TOLD_MAX: usize = 500;
/// Largest text of which a difference is made, in bytes.
pub const REHEARSAL_TEXT_MAX_BYTES: u64 = 256 * 1024;
/// How long differences are made; what is not compared by then is said.
pub const REHEARSAL_DIFFS_TIME: Duration = Duration::from_secs(5);
/// Longest difference of one file, in bytes.
pub const REHEARSAL_DIFF_MAX_BYTES: usize = 32 * 1024;
/// Longest differences of all files, in bytes.
pub const REHEARSAL_DIFFS_MAX_BYTES: usize = 512 * 1024;
/// Bytes of its output that are kept; the end wins.
pub const REHEARSAL_OUTPUT_MAX_BYTES: usize = 256 * 1024;
/// Hosts that are told.
pub const REHEARSAL_TRIED_MAX: usize = 50;
/// Rehearsals that can still be put in place.
pub const REHEARSALS_KEPT_MAX: usize = 8;
/// Bytes of all of them.
pub const REHEARSALS_KEPT_MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How long one can be put in place.
pub const REHEARSAL_KEPT: Duration = Duration::from_secs(30 * 60);
/// Hosts that a confined command was kept from of which its result tells.
pub const REFUSED_HOSTS_MAX: usize = 20;
/// Places that are hidden from one confined command, each by a mount of its own, when a part of a hidden place is opened.
pub const HIDDEN_MAX: usize = 2_000;
