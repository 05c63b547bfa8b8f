//! Wire types and table of file history: earlier versions of a file, bringing one back, and taking back what one run of
//! an agent did to files.
//!
//! On the native target versions are commits of the repository that a home or a workspace is kept in. On a device they
//! are what the driver kept of files that agents overwrote or deleted, and checkpoints of its workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FileContent;
use crate::ids::{Pid, RunId};
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Lists the versions of a file that are kept, newest first.
    /// `limit` defaults to 50 and clamps to 1-500.
    "fs.history" History => Outcome<Versions>, Granted, Target, Reads, Users.*;
    /// Reads a file as it was in one of its versions, as `fs.read` shows it.
    "fs.history.read" HistoryRead => Outcome<FileContent>, Granted, Target, Reads, Users.*;
    /// Puts a file back as it was in one of its versions. What is there now is kept as a version first.
    "fs.restore" Restore => Outcome<Restored>, Granted, Target, Writes, Users.*;
    /// Takes back what one run of an agent did to files: three-way, so that what changed since is kept or named as a
    /// conflict. The undo is itself a version. With `dryRun` nothing is changed.
    "fs.undo" Undo => Outcome<Undone>, Granted, Target, Writes, Users.*, by Person;
}

/// Arguments of `fs.history`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsHistoryArgs")]
pub struct History {
    /// The file, which need not be there any more.
    pub path: String,
    /// At most so many versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `fs.history`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsVersions")]
pub struct Versions {
    /// The path, absolute.
    pub path: String,
    /// Newest first.
    pub versions: Vec<Version>,
    /// True when there are older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// A file as it was after one change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsVersion")]
pub struct Version {
    /// Its id, for `fs.history.read` and `fs.restore`. Natively the hash of a commit.
    pub version: String,
    /// When it came about, in milliseconds.
    pub at: i64,
    /// Who made the change: a person, or an agent.
    pub author: String,
    /// What was changed, in words.
    pub message: String,
    /// The process that made the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The run that made the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The file's size in bytes in this version; absent when the change deleted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether the change deleted the file.
    pub deleted: bool,
}

/// Arguments of `fs.history.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsHistoryReadArgs")]
pub struct HistoryRead {
    /// The file.
    pub path: String,
    /// Which version, as `fs.history` names it.
    pub version: String,
    /// Lines to skip; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Lines to return; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Arguments of `fs.restore`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsRestoreArgs")]
pub struct Restore {
    /// The file.
    pub path: String,
    /// Which version, as `fs.history` names it. One that deleted the file deletes it again.
    pub version: String,
}

/// Result of `fs.restore`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsRestored")]
pub struct Restored {
    /// The path, absolute.
    pub path: String,
    /// The version that this made; absent when the file was like that already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file's size in bytes now; absent when it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// Arguments of `fs.undo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsUndoArgs")]
pub struct Undo {
    /// The run whose changes are taken back.
    pub run_id: RunId,
    /// Whether only to tell what would happen; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// Result of `fs.undo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsUndone")]
pub struct Undone {
    /// What became of each path that the run had changed, sorted.
    pub paths: Vec<UndonePath>,
    /// The versions that the undo made, one for each repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// What cannot be taken back there, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cannot: Vec<String>,
}

/// What an undo does to one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsUndonePath")]
pub struct UndonePath {
    /// The path, absolute.
    pub path: String,
    /// What happens, or happened.
    pub action: UndoAction,
    /// Why, where it is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What an undo does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FsUndoAction")]
pub enum UndoAction {
    /// The file is as it was before the run.
    Restored,
    /// The run had made it: it is removed.
    Removed,
    /// What the run did is taken back, what was changed since is kept.
    Merged,
    /// It is as it was before the run already.
    Unchanged,
    /// It was changed since in the same place: it is left as it is.
    Conflict,
}

/// How a command that ran outside of the sandbox is named among what can not be taken back. The gateway and the device
/// both know of it, and say it alike.
pub fn ran_outside(command: &str) -> String {
    const CHARS_MAX: usize = 200;
    let text: String = command.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let cut: String = text.chars().take(CHARS_MAX).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("the command `{cut}{dots}` ran outside the sandbox")
}
