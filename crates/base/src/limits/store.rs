//! Limits of the store.

use std::time::Duration;

/// Statements in one group commit.
pub const BATCH_MAX: usize = 512;
/// Write jobs that may wait for the writer.
pub const QUEUE_MAX: usize = 8_192;
/// Read-only connections beside the writer.
pub const READERS: usize = 4;
/// PostgreSQL connections.
pub const POOL: usize = 8;
/// How long a statement may wait for the database.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How long SQLite waits for a lock that another program holds on the file.
pub const BUSY: Duration = Duration::from_secs(5);
/// How often a batch that lost a race is run again on PostgreSQL.
pub const RETRIES_MAX: usize = 8;
/// How long a store whose last holder has just gone is waited for before it counts as held.
pub const LOCK_WAIT: Duration = Duration::from_secs(1);
/// Page cache of each of SQLite's readers.
pub const CACHE_KIB: i64 = 1_024;
/// Page cache of SQLite's writer.
pub const WRITER_CACHE_KIB: i64 = 4_096;
/// Events of the change stream that are kept for a subscriber that is slow to read.
pub const CHANGES_KEPT_MAX: usize = 256;
/// How long to wait before what another gateway changed is read again, when it could not be read.
pub const RELOAD_RETRY: Duration = Duration::from_secs(1);
/// How long a lease is held without being renewed.
pub const LEASE_KEPT: Duration = Duration::from_secs(30);
/// How often leases are renewed: a few attempts may fail before one is lost.
pub const LEASE_RENEWAL: Duration = Duration::from_secs(8);
/// Pages of SQLite's log that are moved into the database together: pages that change often are moved once.
pub const LOG_PAGES: i64 = 4_000;
