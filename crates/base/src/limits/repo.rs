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
/// Largest object that is read into memory.
pub const OBJECT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Largest file that is shown as text.
pub const READ_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Objects of one commit that are synced one by one; more are synced with their whole file system.
pub const SYNC_EACH_MAX: usize = 16;
/// Refs of one repository that are listed.
pub const REFS_MAX: usize = 20_000;
/// Longest file of a ref that is read.
pub const REF_FILE_MAX_BYTES: u64 = 4_096;
/// Refs that name refs, and tags of tags, that are followed.
pub const SYMBOLIC_REFS_MAX: usize = 8;
/// How often a ref is tried to be locked while others hold it.
pub const LOCK_TRIES_MAX: usize = 4_000;
/// The pause between these.
pub const LOCK_PAUSE: Duration = Duration::from_millis(2);
/// A lock of the git program that is older than this was left by one that was killed.
pub const FOREIGN_LOCK_KEPT_MS: i64 = 60_000;
/// How often a commit is made without holding others up, who may be faster; then they wait for it.
pub const COMMIT_TRIES_MAX: usize = 4;
/// Changes of one commit.
pub const OPS_MAX: usize = 10_000;
/// Commits that `repo.log` returns when nothing is said.
pub const LOG_DEFAULT: u64 = 30;
/// Commits that it returns at most.
pub const LOG_MAX: u64 = 100;
/// Commits that one look at a history walks.
pub const COMMITS_WALKED_MAX: usize = 200_000;
/// Lines around a change when nothing is said.
pub const CONTEXT_DEFAULT: u32 = 3;
/// Lines around a change at most.
pub const CONTEXT_MAX: u32 = 20;
/// Files of one comparison.
pub const DIFF_FILES_MAX: usize = 10_000;
/// Largest file that is compared line by line.
pub const DIFF_FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of all lines of one comparison; what comes after has no lines.
pub const DIFF_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Lines of both sides up to which the smallest difference is looked for.
pub const DIFF_MINIMAL_LINES_MAX: usize = 4_000;
/// Lines that a search returns.
pub const SEARCH_MATCHES_MAX: usize = 500;
/// Largest file that is searched.
pub const SEARCH_FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes that one search looks at.
pub const SEARCH_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Longest part of a line that is shown.
pub const SEARCH_LINE_MAX_BYTES: usize = 4_096;
/// Longest text to look for, in bytes.
pub const QUERY_MAX_BYTES: usize = 1_024;
/// Longest packet of git's wire protocol.
pub const PACKET_MAX_BYTES: usize = 65_520;
/// Bytes of the list of refs of another side.
pub const ADVERTISEMENT_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a pack that is imported.
pub const IMPORT_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of files that are imported from a path on this machine.
pub const IMPORT_LOCAL_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Objects that are imported.
pub const IMPORT_OBJECTS_MAX: usize = 2_000_000;
/// How long an import may take.
pub const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);
/// How long the other side of an import may be silent.
pub const IMPORT_SILENCE_MAX: Duration = Duration::from_secs(60);
/// Imports under way at once.
pub const IMPORTS_MAX: usize = 2;
/// Commits that the other side is told are here.
pub const HAVES_MAX: usize = 256;
/// After so many bytes of an import its owner is told.
pub const PROGRESS_BYTES: u64 = 256 * 1024;
/// Names in one directory that are shown.
pub const DIRECTORY_NAMES_MAX: usize = 50_000;
/// Files and directories that one search looks at.
pub const SEARCH_ENTRIES_MAX: usize = 200_000;
/// Bytes that one comparison reads.
pub const DIFF_READ_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Active workspaces that a user may have.
pub const WORKSPACES_MAX: u64 = 10_000;
/// Bytes of one commit that keeps an archived workspace; a larger one has several.
pub const WORKSPACE_COMMIT_BYTES: usize = 32 * 1024 * 1024;
/// Files and directories of a workspace that is archived or restored.
pub const WORKSPACE_ENTRIES_MAX: usize = 1_000_000;
/// How long ago a directory of objects must have changed, in milliseconds, that its size is remembered.
pub const SIZE_SETTLED_MS: i64 = 2_000;
/// Loose objects that a repository may have before they are packed.
pub const LOOSE_MAX: usize = 1_000;
/// Packs that it may have before they become one.
pub const PACKS_MAX: usize = 16;
/// Objects that nothing names, and that are taken out of packs to be removed in time; more stay packed.
pub const LOOSENED_MAX: u64 = 20_000;
/// A repository is looked at after so many changes.
pub const LOOKED_AT_AFTER_CHANGES: u32 = 64;
/// Repositories whose changes are counted.
pub const CHANGES_REMEMBERED_MAX: usize = 10_000;
/// How often all repositories are looked at.
pub const HOUSEKEEPING_EVERY: Duration = Duration::from_secs(24 * 3_600);
/// How long the gateway has been up before that is done for the first time.
pub const HOUSEKEEPING_DELAY: Duration = Duration::from_secs(300);
/// How long git may work on one repository.
pub const HOUSEKEEPING_TIMEOUT: Duration = Duration::from_secs(1_800);
/// How long objects are kept that nothing names.
pub const UNNAMED_KEPT: Duration = Duration::from_secs(14 * 24 * 3_600);
/// How long unfinished files are kept that may be somebody's.
pub const DRAFTS_KEPT: Duration = Duration::from_secs(24 * 3_600);
/// How long others may have to wait while it is found out what nothing names.
pub const ALONE_MAX: Duration = Duration::from_secs(10);
/// Bytes of decoded objects that one piece of work remembers, because others are made of them.
pub const BASES_MAX_BYTES: usize = 8 * 1024 * 1024;
/// The largest of these.
pub const BASE_MAX_BYTES: usize = 1024 * 1024;
