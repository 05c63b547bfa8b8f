//! Wire types and table of `repo.*`: versioned content and its history.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::syscalls;

pub mod change;

syscalls! {
    /// Lists the repositories the caller sees.
    "repo.list" List => Listed, Granted, Kernel, Reads, Users;
    /// Makes a repository with an empty first commit.
    "repo.create" Create => Created, Granted, Kernel, Writes, Users;
    /// Reads heads and tags.
    "repo.refs" Refs => RefsResult, Granted, Kernel, Reads, Users;
    /// Reads a file or a directory at a ref.
    "repo.read" Read => ReadResult, Granted, Kernel, Reads, Users;
    /// Finds text in a repository.
    "repo.search" Search => SearchResult, Granted, Kernel, Reads, Users;
    /// Reads the history, first parents only, newest first.
    "repo.log" Log => LogResult, Granted, Kernel, Reads, Users;
}

/// Arguments of `repo.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoListArgs")]
pub struct List {
    /// Only this owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Result of `repo.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoListResult")]
pub struct Listed {
    /// The repositories.
    pub repos: Vec<Repo>,
}

/// What a repository is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RepoKind")]
pub enum RepoKind {
    /// A home directory.
    Home,
    /// A workspace's content.
    Workspace,
    /// A package's source.
    Package,
    /// Made by a user.
    User,
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoSummary")]
pub struct Repo {
    /// `owner/name`.
    pub repo: String,
    /// Whose it is.
    pub owner: String,
    /// The part of `owner/name` behind the slash.
    pub name: String,
    /// What made it.
    pub kind: RepoKind,
    /// Whether the caller may commit to it.
    pub writable: bool,
    /// Whether everybody may read it.
    pub public: bool,
    /// What people say it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it last changed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
}

/// Arguments of `repo.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoCreateArgs")]
pub struct Create {
    /// `owner/name`.
    pub repo: String,
    /// Its first ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Result of `repo.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoCreateResult")]
pub struct Created {
    /// The repository.
    pub repo: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit it is at.
    pub head: Option<String>,
    /// False when the ref was there already.
    pub created: bool,
}

/// Arguments of `repo.refs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoRefsArgs")]
pub struct Refs {
    /// The repository.
    pub repo: String,
}

/// Result of `repo.refs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoRefsResult")]
pub struct RefsResult {
    /// The repository.
    pub repo: String,
    /// Commits by branch.
    pub heads: BTreeMap<String, String>,
    /// Commits by tag.
    pub tags: BTreeMap<String, String>,
}

/// Arguments of `repo.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoReadArgs")]
pub struct Read {
    /// The repository.
    pub repo: String,
    /// The ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The path; the root when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether a file that is not text is given too, in `contentBase64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<bool>,
}

/// Result of `repo.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[schemars(rename = "RepoReadResult")]
pub enum ReadResult {
    /// A directory.
    Tree {
        /// The repository.
        repo: String,
        /// The ref.
        #[serde(rename = "ref")]
        reference: String,
        /// The path within the repository.
        path: String,
        /// What is in the directory.
        entries: Vec<TreeEntry>,
    },
    /// A file.
    File {
        /// The repository.
        repo: String,
        /// The ref.
        #[serde(rename = "ref")]
        reference: String,
        /// The path within the repository.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// Whether it is not text.
        is_binary: bool,
        /// The text; `null` when it is binary.
        content: Option<String>,
        /// The bytes of a file that is not text, in base64, when `binary` asked for them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_base64: Option<String>,
    },
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoTreeEntry")]
pub struct TreeEntry {
    /// The name.
    pub name: String,
    /// The whole path.
    pub path: String,
    /// Git's mode, such as `100644`.
    pub mode: String,
    /// The object.
    pub hash: String,
    /// Whether it is a file, a directory or a link.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
}

/// What a name in a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RepoEntryType")]
pub enum EntryType {
    /// A directory.
    Tree,
    /// A file.
    Blob,
    /// A link.
    Symlink,
}

/// Arguments of `repo.search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoSearchArgs")]
pub struct Search {
    /// The repository.
    pub repo: String,
    /// The ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Plain text to find: letters, digits and spaces in any case, everything else exactly; `lit:` in front makes it exact.
    pub query: String,
    /// Only below this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// Result of `repo.search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoSearchResult")]
pub struct SearchResult {
    /// The repository.
    pub repo: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// What was looked for.
    pub query: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// True when there may be more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The matching lines.
    pub matches: Vec<Match>,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoMatch")]
pub struct Match {
    /// The file.
    pub path: String,
    /// Line number, from 1.
    pub line: u64,
    /// The line.
    pub content: String,
}

/// Arguments of `repo.log`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoLogArgs")]
pub struct Log {
    /// The repository.
    pub repo: String,
    /// The ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Commits to return; 30 when absent, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Commits to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Only commits that changed this file or directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Result of `repo.log`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RepoLogResult")]
pub struct LogResult {
    /// The repository.
    pub repo: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Commits asked for.
    pub limit: u64,
    /// Commits skipped.
    pub offset: u64,
    /// Newest first.
    pub entries: Vec<Commit>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoCommit")]
pub struct Commit {
    /// Its id.
    pub hash: String,
    /// What it holds.
    pub tree_hash: String,
    /// Who wrote it.
    pub author: String,
    /// Their address.
    pub author_email: String,
    /// When, as git keeps it: in seconds.
    pub author_time: i64,
    /// Who committed it.
    pub committer: String,
    /// Their address.
    pub committer_email: String,
    /// When, in seconds.
    pub commit_time: i64,
    /// What they said.
    pub message: String,
    /// The commits before it.
    pub parents: Vec<String>,
}
