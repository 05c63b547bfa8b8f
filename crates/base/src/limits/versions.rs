//! Limits of the versioning of homes and workspaces.

use std::time::Duration;

/// A change is committed once nothing more has changed for so long.
pub const QUIET: Duration = Duration::from_secs(2);
/// A change is committed after so long, however much goes on changing.
pub const COMMIT_WITHIN: Duration = Duration::from_secs(30);
/// What could not be committed is tried again after so long.
pub const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Changed paths of one home or workspace that are kept apart; beyond it all of it is looked at.
pub const PATHS_NOTED_MAX: usize = 2_000;
/// Homes and workspaces whose changes are kept apart; the round over all of them finds the rest.
pub const ROOTS_NOTED_MAX: usize = 10_000;
/// Largest file that is versioned.
pub const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Files of one home or workspace; one that has more is not versioned.
pub const FILES_MAX: usize = 100_000;
/// Files of one commit; more become several.
pub const COMMIT_FILES_MAX: usize = 1_000;
/// Bytes of the files of one commit; more become several.
pub const COMMIT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// A portion of all homes and workspaces is looked at this often, for changes made on the host.
pub const SCAN_EVERY: Duration = Duration::from_secs(60);
/// Homes and workspaces of one portion.
pub const SCAN_ROOTS_MAX: usize = 100;
/// What is known of files that did not change is kept for so many files in all.
pub const KNOWN_FILES_MAX: usize = 500_000;
/// A file that changed later than this before it was read may change again unnoticed, and is read again.
pub const SETTLED_AFTER_MS: i64 = 3_000;
/// How long a run, or whoever looks at a repository, waits for what others are doing to it.
pub const SETTLE_WAIT: Duration = Duration::from_secs(10);
/// How long a push waits for that.
pub const HOLD_WAIT: Duration = Duration::from_secs(60);
/// How long the gateway tries to commit what is left when it stops.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Versions that `fs.history` returns when nothing is said.
pub const HISTORY_DEFAULT: u64 = 50;
/// Versions that it returns at most.
pub const HISTORY_MAX: u64 = 500;
/// Commits of one repository that are searched for those of a run.
pub const UNDO_COMMITS_MAX: usize = 10_000;
/// Repositories that are searched for them.
pub const UNDO_REPOS_MAX: usize = 500;
