//! Limits of git repositories.

use std::time::Duration;

/// Longest name of a repository, and of its owner, in bytes.
pub const NAME_MAX_BYTES: usize = 100;
/// Longest name of a branch or a tag, in bytes.
pub const REF_MAX_BYTES: usize = 200;
/// Longest path within a repository, in bytes.
pub const PATH_MAX_BYTES: usize = 4_096;
/// How deep directories may be nested.
pub const DEPTH_MAX: usize = 128;
/// Longest description of a repository, in bytes.
pub const DESCRIPTION_MAX_BYTES: usize = 1_024;
/// Longest message of a commit, in bytes.
pub const MESSAGE_MAX_BYTES: usize = 64 * 1024;
/// Pieces of work on repositories that are under way at once; further ones wait.
pub const WORK_MAX: usize = 8;
/// How long one may wait for its turn.
pub const WORK_WAIT: Duration = Duration::from_secs(60);
