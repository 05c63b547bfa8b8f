//! Wire types and table of changes in a repository: diffs, atomic commits and imports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::literal::{Nullable, True};
use crate::spec::syscalls;

syscalls! {
    /// Reads what one commit changed.
    "repo.diff" Diff => DiffResult, Granted, Kernel, Reads, Users;
    /// Compares two refs or commits.
    "repo.compare" Compare => CompareResult, Granted, Kernel, Reads, Users;
    /// Commits several changes at once. `expectedHead` refuses them when somebody was faster.
    /// Without operations, on the main branch of a home or a workspace, it commits what was changed in the files there.
    "repo.apply" Apply => Applied, Granted, Kernel, Writes, Users;
    /// Imports a repository from a git URL, or brings an imported one up to date.
    "repo.import" Import => Imported, Granted, Kernel, Writes | Network, Users;
}

/// Arguments of `repo.diff`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoDiffArgs")]
pub struct Diff {
    /// The repository.
    pub repo: String,
    /// Hash of the commit, in hex.
    pub commit: String,
    /// Lines around a change; 3 when absent, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
}

/// Result of `repo.diff`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoDiffResult")]
pub struct DiffResult {
    /// The repository.
    pub repo: String,
    /// Hash of the commit, in hex.
    pub commit_hash: String,
    /// The commit it is compared with; `null` for the first.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub parent_hash: Nullable<String>,
    /// How much changed.
    pub stats: Stats,
    /// What changed.
    pub files: Vec<DiffFile>,
}

/// How much changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoDiffStats")]
pub struct Stats {
    /// How many files changed.
    pub files_changed: u64,
    /// Lines added.
    pub additions: u64,
    /// Lines deleted.
    pub deletions: u64,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoDiffFile")]
pub struct DiffFile {
    /// The path within the repository.
    pub path: String,
    /// What happened to it.
    pub status: DiffStatus,
    /// The object before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_hash: Option<String>,
    /// The object after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_hash: Option<String>,
    /// Git's mode before, where that changed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<String>,
    /// Git's mode after, where that changed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
    /// The changed places; absent when they were not asked for, or would have been too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<Hunk>>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RepoDiffStatus")]
pub enum DiffStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It changed.
    Modified,
}

/// A changed place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoDiffHunk")]
pub struct Hunk {
    /// First line before.
    pub old_start: u64,
    /// Lines before.
    pub old_count: u64,
    /// First line after.
    pub new_start: u64,
    /// Lines after.
    pub new_count: u64,
    /// Its lines, in order.
    pub lines: Vec<DiffLine>,
}

/// A line of a changed place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoDiffLine")]
pub struct DiffLine {
    /// What happened to it.
    pub tag: DiffTag,
    /// The line.
    pub content: String,
    /// True for the last line of a file that has no line end.
    #[serde(rename = "noNewline", default, skip_serializing_if = "Option::is_none")]
    pub no_newline: Option<bool>,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RepoDiffTag")]
pub enum DiffTag {
    /// Nothing.
    Context,
    /// It is new.
    Add,
    /// It is gone.
    Delete,
    /// The file is not text.
    Binary,
}

/// Arguments of `repo.compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoCompareArgs")]
pub struct Compare {
    /// The repository.
    pub repo: String,
    /// The ref or commit to compare with.
    pub base: String,
    /// The ref or commit to look at.
    pub head: String,
    /// Lines around a change; 3 when absent, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    /// Leaves out the changed places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat: Option<bool>,
}

/// Result of `repo.compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoCompareResult")]
pub struct CompareResult {
    /// The repository.
    pub repo: String,
    /// What was compared with.
    pub base: String,
    /// What was looked at.
    pub head: String,
    /// How much changed.
    pub stats: Stats,
    /// What changed.
    pub files: Vec<DiffFile>,
}

/// Arguments of `repo.apply`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoApplyArgs")]
pub struct Apply {
    /// The repository.
    pub repo: String,
    /// The ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit's message.
    pub message: String,
    /// The commit the ref must be at; forty zeros when there must be none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_head: Option<String>,
    /// Commits even when nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_empty: Option<bool>,
    /// The changes.
    pub ops: Vec<Op>,
}

/// One change of a commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schemars(rename = "RepoApplyOp")]
pub enum Op {
    /// Writes a file.
    Put {
        /// The file.
        path: String,
        /// Its text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Its bytes in base64, instead of text.
        #[serde(rename = "contentBase64", default, skip_serializing_if = "Option::is_none")]
        content_base64: Option<String>,
        /// Whether it may be run; as it was when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        executable: Option<bool>,
    },
    /// Makes a symbolic link, or points it elsewhere.
    Symlink {
        /// The link.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Deletes a file or directory.
    Delete {
        /// The path within the repository.
        path: String,
        /// For a directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recursive: Option<bool>,
    },
    /// Moves a file or directory.
    Move {
        /// The old path.
        from: String,
        /// The new path.
        to: String,
    },
}

/// Result of `repo.apply`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoApplyResult")]
pub struct Applied {
    /// Always true.
    pub ok: True,
    /// The repository.
    pub repo: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit it is at now.
    pub head: Option<String>,
}

/// Arguments of `repo.import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoImportArgs")]
pub struct Import {
    /// The local repository.
    pub repo: String,
    /// The local ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where to import from: `http`, `https`, and `file` for root. Where it was imported from before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<String>,
    /// The ref there; its default branch when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_ref: Option<String>,
    /// A note for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Result of `repo.import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoImportResult")]
pub struct Imported {
    /// The local repository.
    pub repo: String,
    /// The local ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit it is at now.
    pub head: Option<String>,
    /// False when it was up to date.
    pub changed: bool,
    /// Where it came from.
    pub remote_url: String,
    /// The ref there.
    pub remote_ref: String,
}
