//! Wire types and table of `sys.workspace.*`: directories that belong to a piece of work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{Pid, Uid};
use crate::proc::WorkspaceKind;
use crate::spec::syscalls;

syscalls! {
    /// Lists workspaces, last changed first. Only root sees those of others.
    "sys.workspace.list" List => Listed, Granted, Kernel, Reads, Users;
    /// Makes a workspace: a directory `/workspaces/<workspaceId>` and a repository of the same name that keeps its
    /// versions. `proc.spawn` with workspace mode `new` does the same.
    "sys.workspace.create" Create => Workspace, Granted, Kernel, Writes, Users;
    /// Puts a workspace away: its files are committed and leave the tree, its repository stays.
    /// One in which a process has something to do is refused.
    "sys.workspace.archive" Archive => Workspace, Granted, Kernel, Destroys, Users;
    /// Brings the files of an archived workspace back.
    "sys.workspace.restore" Restore => Workspace, Granted, Kernel, Writes, Users;
}

/// Whether a workspace is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "WorkspaceState")]
pub enum WorkspaceState {
    /// In use.
    Active,
    /// It was put away.
    Archived,
}

/// Arguments of `sys.workspace.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysWorkspaceListArgs")]
pub struct List {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Only of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkspaceKind>,
    /// Only in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<WorkspaceState>,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `sys.workspace.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysWorkspaceListResult")]
pub struct Listed {
    /// Last changed first.
    pub workspaces: Vec<Workspace>,
}

/// Arguments of `sys.workspace.create`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysWorkspaceCreateArgs")]
pub struct Create {
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it is for; `thread` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkspaceKind>,
}

/// Arguments of `sys.workspace.archive`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysWorkspaceArchiveArgs")]
pub struct Archive {
    /// Which one.
    pub workspace_id: String,
}

/// Arguments of `sys.workspace.restore`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysWorkspaceRestoreArgs")]
pub struct Restore {
    /// Which one.
    pub workspace_id: String,
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysWorkspace")]
pub struct Workspace {
    /// Id of the workspace, unique in the gateway.
    pub workspace_id: String,
    /// Whose it is.
    pub owner_uid: Uid,
    /// A note for people.
    pub label: Option<String>,
    /// What it is for.
    pub kind: WorkspaceKind,
    /// Whether it is in use.
    pub state: WorkspaceState,
    /// When it was made, in milliseconds.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// The branch that is used when a call names none.
    pub default_branch: String,
    /// The commit it is at.
    pub head_commit: Option<String>,
    /// The newest process in it.
    pub active_process: Option<ActiveProcess>,
    /// How many processes are in it.
    pub process_count: u64,
}

/// A process in a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysWorkspaceProcess")]
pub struct ActiveProcess {
    /// Its id.
    pub pid: Pid,
    /// A note for people.
    pub label: Option<String>,
    /// Where its relative paths start.
    pub cwd: String,
    /// When it was started, in milliseconds.
    pub created_at: i64,
}
