//! Dry run of a command on the wire: what `shell.exec` is asked with `rehearse`, and what it tells in `rehearsal`.
//!
//! The command itself is told of as always (`output`, `exitCode`, `timedOut`); a rehearsal says what it would have done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The word by which a driver announces that it rehearses commands.
pub const WORD: &str = "rehearse";

/// What is to be done with a command in place of running it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ShellRehearse")]
pub enum Rehearse {
    /// Run it on a throw-away copy of the machine's files, without network, and tell what it would do.
    Run,
    /// Put in place what the rehearsal with this id did, exactly as it was told, and answer as it did. `input` and `cwd`
    /// must be those of the rehearsal, and nothing in the workspace and nothing it replaces may have changed since.
    Apply(String),
    /// Forget the rehearsal with this id.
    Discard(String),
}

/// What a command would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellRehearsal")]
pub struct Rehearsal {
    /// Names it in `rehearse: {apply}` and in `proc.hil`.
    pub id: String,
    /// Until when it can be put in place, in milliseconds; absent when it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What it would change, in the order of the paths.
    #[serde(default)]
    pub changes: Vec<FileChange>,
    /// How many changes there are, told or not.
    #[serde(default)]
    pub total: u64,
    /// True when not all of them are told.
    #[serde(default)]
    pub truncated: bool,
    /// The hosts it tried to reach.
    #[serde(default)]
    pub tried: Vec<String>,
    /// What could not be rehearsed, in sentences.
    #[serde(default)]
    pub cannot: Vec<String>,
    /// Why its changes cannot be put in place as they are; absent when they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// How many changes were put in place; absent when none were to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<u64>,
    /// The checkpoint of the workspace from just before they were put in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
}

/// What would happen to one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellFileChange")]
pub struct FileChange {
    /// The path, absolute.
    pub path: String,
    /// What happens to it.
    pub change: Changed,
    /// What it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileFacts>,
    /// What it would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FileFacts>,
    /// How its text differs, in the unified format; the end may be missing, and `note` says so then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why there is no difference to show, or not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True for code that runs later, such as a hook or a start-up file: it is never put in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_later: Option<bool>,
}

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ShellChanged")]
pub enum Changed {
    /// It was not there.
    Created,
    /// It is another: its content, its mode, or what it is.
    Changed,
    /// It is gone, with everything in it.
    Deleted,
}

/// What a path is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellFileFacts")]
pub struct FileFacts {
    /// `file`, `directory`, `link`, or `special` for a socket, pipe or device.
    #[serde(rename = "type")]
    pub file_type: String,
    /// Its permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Its size in bytes, of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where it leads, of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}
