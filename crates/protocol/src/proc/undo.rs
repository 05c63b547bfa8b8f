//! Wire types and table of `proc.undo`: taking back what one run of an agent did, wherever it did it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fs::history::UndonePath;
use crate::ids::{Pid, RunId};
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Takes back what a run did to files, on the gateway and on every device it used, and says what it cannot take
    /// back. Without `runId` the newest run that did something is meant. With `dryRun` nothing is changed.
    "proc.undo" Undo => Outcome<Undone>, Granted, Kernel, Writes, Users.*, by Person;
}

/// Arguments of `proc.undo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcUndoArgs")]
pub struct Undo {
    /// Which run; the beginning of its id is enough where no other run of yours begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Only runs of this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// Whether only to tell what would happen; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// Result of `proc.undo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcUndone")]
pub struct Undone {
    /// The run.
    pub run_id: RunId,
    /// Its process.
    pub pid: Pid,
    /// What happened on each target that the run used, the gateway (`gsv`) first.
    pub targets: Vec<UndoneTarget>,
    /// What the run did that cannot be taken back, in words.
    pub cannot: Vec<String>,
}

/// What an undo does on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcUndoneTarget")]
pub struct UndoneTarget {
    /// `gsv`, or a device.
    pub target: String,
    /// What became of each path, sorted.
    pub paths: Vec<UndonePath>,
    /// The versions that the undo made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Why nothing could be done there: a device that is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
