//! Wire types and table of `proc.*`: processes, which are long-lived agents and not shell commands. What they hold
//! lives below `proc/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::ProcessIdentity;
use crate::ids::{ConversationId, Pid, RunId, Uid};
use crate::literal::True;
use crate::media::MediaInput;
use crate::outcome::Outcome;
use crate::spec::syscalls;

pub mod approval;
pub mod conversation;
pub mod cost;
pub mod history;
pub mod ipc;
pub mod profile;
pub mod segment;
pub mod undo;

use profile::Profile;

syscalls! {
    /// Lists processes, newest first. Only root sees those of others.
    "proc.list" List => Listed, Granted, Kernel, Reads, Users.*;
    /// Starts a process with a profile, a workspace and mounts, and sends it a first prompt if there is one.
    /// There is one `init` process per user; other profiles make a new process each time.
    "proc.spawn" Spawn => Outcome<Spawned>, Granted, Kernel, Writes, Users.*;
    /// Sends a message to a process. It starts a run, or waits in the queue while one is active.
    "proc.send" Send => Outcome<Sent>, Granted, Process, Writes, Users.*;
    /// Cancels the active run. The next queued message, if any, starts its own.
    "proc.abort" Abort => Outcome<Aborted>, Granted, Process, Destroys, Users.*;
    /// Archives a process's conversations if asked, clears its state and ends it. Its registry row stays.
    "proc.kill" Kill => Outcome<Archived>, Granted, Process, Destroys, Users.*;
    /// Archives every conversation that is not empty, then clears messages, queue, media and the active run.
    "proc.reset" Reset => Outcome<Archived>, Granted, Process, Destroys, Users.*;
    /// Tells a process who and what it is, before anything else reaches it.
    "proc.setidentity" SetIdentity => IdentitySet, Kernel, Process, Rules, Users.*;
}

/// Arguments of `proc.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcListArgs")]
pub struct List {
    /// Whose; for root all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `proc.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcListResult")]
pub struct Listed {
    /// Newest first.
    pub processes: Vec<Summary>,
}

/// A process in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSummary")]
pub struct Summary {
    /// Its id.
    pub pid: Pid,
    /// Whose it is.
    pub uid: Uid,
    /// What kind of agent it is.
    pub profile: Profile,
    /// The process it was started under.
    pub parent_pid: Option<Pid>,
    /// Such as `idle`, `running`, `waiting_hil` or `exited`.
    pub state: String,
    /// A note for people.
    pub label: Option<String>,
    /// When it was started, in milliseconds.
    pub created_at: i64,
    /// Id of its workspace; absent when it has none.
    pub workspace_id: Option<String>,
    /// Where its relative paths start.
    pub cwd: String,
    /// The run it is busy with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_run_id: Option<RunId>,
    /// The conversation of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_conversation_id: Option<ConversationId>,
    /// Messages that wait for that run to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_count: Option<u64>,
    /// When it last did something, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_active_at: Option<i64>,
}

/// Arguments of `proc.spawn`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSpawnArgs")]
pub struct Spawn {
    /// What kind of agent to start; `task` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What it is told beside the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,
    /// The process to start it under; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pid: Option<Pid>,
    /// Its workspace; the parent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceSpec>,
    /// Package sources to mount; every visible one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<MountSpec>>,
    /// The user it is to act as, by name or uid. A process acts as its parent's user: anybody else is refused.
    #[serde(default, alias = "as", skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
}

/// What a process is told when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSpawnAssignment")]
pub struct Assignment {
    /// Texts that stay in its context.
    pub context_files: Vec<ContextFile>,
    /// Starts a run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_start: Option<bool>,
}

/// A text in a process's context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcContextFile")]
pub struct ContextFile {
    /// File name below `context.d`.
    pub name: String,
    /// Its content, which the model reads as it is.
    pub text: String,
}

/// What a workspace is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceKind {
    /// One piece of work.
    Thread,
    /// A package app.
    App,
    /// Several processes.
    Shared,
}

/// Which workspace a new process works in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[schemars(rename = "ProcWorkspaceSpec")]
pub enum WorkspaceSpec {
    /// None: it works in the home.
    None,
    /// One that is made for the process.
    New {
        /// A note for people; the process's label when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// What it is for; `thread` when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<WorkspaceKind>,
    },
    /// The parent's.
    Inherit,
    /// One that exists.
    Attach {
        /// Which.
        workspace_id: String,
    },
}

/// A package source to mount.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(rename = "ProcSpawnMountSpec")]
pub enum MountSpec {
    /// The package's own directory.
    PackageSource {
        /// Id of the package, as `pkg.list` gives it.
        package_id: String,
        /// Where; below `/src`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mount_path: Option<String>,
    },
    /// The whole repository.
    PackageRepo {
        /// Id of the package, as `pkg.list` gives it.
        package_id: String,
        /// Where; below `/src`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mount_path: Option<String>,
    },
}

/// Result of `proc.spawn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSpawnResult")]
pub struct Spawned {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Its note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What kind of agent it is.
    pub profile: Profile,
    /// Id of its workspace; absent when it has none.
    pub workspace_id: Option<String>,
    /// Where its relative paths start.
    pub cwd: String,
}

/// A message was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcStarted")]
pub enum Started {
    /// It starts a run, or is queued for one.
    Started,
}

/// Arguments of `proc.send`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSendArgs")]
pub struct Send {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The text.
    pub message: String,
    /// What goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<MediaInput>>,
}

/// Result of `proc.send`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSendResult")]
pub struct Sent {
    /// Always `started`.
    pub status: Started,
    /// The run that will answer.
    pub run_id: RunId,
    /// True when it waits for the active run to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}

/// Arguments of `proc.abort`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcAbortArgs")]
pub struct Abort {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
}

/// Result of `proc.abort`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcAbortResult")]
pub struct Aborted {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// False when no run was active.
    pub aborted: bool,
    /// The run that was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How many of its tool calls were under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_tool_calls: Option<u64>,
    /// The queued run that started instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_queued_run_id: Option<RunId>,
}

/// Arguments of `proc.kill`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcKillArgs")]
pub struct Kill {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Keeps its conversations; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<bool>,
}

/// Arguments of `proc.reset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcResetArgs")]
pub struct Reset {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
}

/// Result of `proc.kill` and `proc.reset`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcArchiveResult")]
pub struct Archived {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// How many messages were kept.
    pub archived_messages: u64,
    /// The directory they are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<String>,
    /// One per conversation that was not empty.
    pub archives: Vec<ArchiveEntry>,
}

/// An archived conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcArchiveEntry")]
pub struct ArchiveEntry {
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// Which life of it.
    pub generation: u64,
    /// How many messages.
    pub messages: u64,
    /// The archive.
    pub path: String,
}

/// Arguments of `proc.setidentity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcSetIdentityArgs")]
pub struct SetIdentity {
    /// Its id.
    pub pid: Pid,
    /// Who it acts as.
    pub identity: ProcessIdentity,
    /// What kind of agent it is.
    pub profile: Profile,
    /// What it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,
}

/// Result of `proc.setidentity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcSetIdentityResult")]
pub struct IdentitySet {
    /// Always true.
    pub ok: True,
    /// The run that started at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_run_id: Option<RunId>,
}
