//! Wire types and table of approvals: asking a person before a tool runs, and what they said for good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::confine::Widening;
use crate::ids::{ConversationId, Pid, RunId};
use crate::literal::Nullable;
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Answers a process that asks for approval. Approving runs the tool; denying tells the agent so.
    /// With `remember` the process does not ask again for what `rememberScope` covers.
    "proc.hil" Hil => Outcome<Resolved>, Granted, Process, Rules, Users.*, by Approver;
    /// Lists the approvals a process remembers.
    "proc.approvals.list" ApprovalsList => Outcome<Approvals>, Granted, Process, Reads, Users.*;
    /// Lists the tool calls that wait for a person, oldest first: of one process, or of all of the caller's.
    "proc.approvals.pending" ApprovalsPending => PendingApprovals, Granted, Kernel, Reads, Users.*;
    /// Makes a process forget an approval.
    "proc.approvals.revoke" ApprovalsRevoke => Outcome<ApprovalRevoked>, Granted, Process, Rules, Users.*, by Person;
}

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcHilDecision")]
pub enum Decision {
    /// Run it.
    Approve,
    /// Do not.
    Deny,
}

/// What a remembered approval covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcRememberScope")]
pub enum Scope {
    /// The call, on the native target or on every device.
    Class,
    /// The call, on this one target.
    Target,
    /// This program with this shape of arguments, on this one target.
    Shape,
    /// The hosts of the widening, for every confined command in this workspace of this target.
    Hosts,
}

/// A tool call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcHilRequest")]
pub struct HilRequest {
    /// Names it in `proc.hil`.
    pub request_id: String,
    /// The run that waits.
    pub run_id: RunId,
    /// The conversation of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The tool call.
    pub call_id: String,
    /// The tool call of the CodeMode block that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    /// The tool, as agents see it.
    pub tool_name: String,
    /// The call behind it.
    pub syscall: String,
    /// The arguments of the call, by name.
    pub args: Map<String, Value>,
    /// Since when it waits, in milliseconds.
    pub created_at: i64,
    /// Where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Why it waits, such as `destructive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What `rememberScope: "shape"` would cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The same in words, with the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape_text: Option<String>,
    /// What would have to be opened in the sandbox of the target: approving runs the call inside it with exactly that,
    /// unless `outside` is given. Absent where approving runs it outside of any sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widening: Option<Widening>,
    /// The same in words, such as `reach example.org`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widening_text: Option<String>,
    /// What `rememberScope: "hosts"` would cover, in words; absent where it cannot be remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts_text: Option<String>,
    /// Why it waits, in sentences, the most important first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<String>>,
    /// Where the command would run, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The script files that the command names. The approval covers the content of those that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<ScriptFile>>,
}

/// A script file that a command names, as it was when the question was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcHilFile")]
pub struct ScriptFile {
    /// Its path on the target.
    pub path: String,
    /// What is known of its content.
    pub state: ScriptFileState,
    /// SHA-256 of what the target said of it, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Why it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What is known of the content of a script file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcHilFileState")]
pub enum ScriptFileState {
    /// It was read: if it changes, the approval does not hold.
    Read,
    /// The target says why it has no text to show, such as that there is no such file. If it says something else later,
    /// the approval does not hold.
    Unread,
    /// The target did not say: the approval covers the command's text alone.
    Unknown,
}

/// Arguments of `proc.approvals.pending`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcApprovalsPendingArgs")]
pub struct ApprovalsPending {
    /// The process; all of the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
}

/// Result of `proc.approvals.pending`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcApprovalsPendingResult")]
pub struct PendingApprovals {
    /// Oldest first.
    pub pending: Vec<PendingApproval>,
}

/// A tool call that waits, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcPendingApproval")]
pub struct PendingApproval {
    /// The process that asks.
    pub pid: Pid,
    /// What it asks.
    #[serde(flatten)]
    pub request: HilRequest,
}

/// Arguments of `proc.hil`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcHilArgs")]
pub struct Hil {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// What is answered.
    pub request_id: String,
    /// The answer.
    pub decision: Decision,
    /// Runs the call outside of the sandbox, although the widening that was shown might do. An approval that is
    /// remembered for a whole target or class is always for outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<bool>,
    /// Remembers an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<bool>,
    /// What the remembered approval covers; `class` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember_scope: Option<Scope>,
    /// With an approval of a command on a device: the id of its rehearsal. What that did is put in place exactly, and the
    /// agent gets its output; the command does not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<String>,
}

/// Result of `proc.hil`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcHilResult")]
pub struct Resolved {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// What was answered.
    pub request_id: String,
    /// The answer.
    pub decision: Decision,
    /// False when the run stopped meanwhile.
    pub resumed: bool,
    /// True when the approval is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<bool>,
    /// The next call that waits, if any.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub pending_hil: Nullable<HilRequest>,
}

/// Arguments of `proc.approvals.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcApprovalsListArgs")]
pub struct ApprovalsList {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
}

/// Result of `proc.approvals.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcApprovalsListResult")]
pub struct Approvals {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Oldest first.
    pub approvals: Vec<Approval>,
}

/// A remembered approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcApproval")]
pub struct Approval {
    /// Names it in `proc.approvals.revoke`.
    pub approval_id: String,
    /// Name of the call, such as `shell.exec`.
    pub syscall: String,
    /// What it covers.
    pub scope: Scope,
    /// `gsv`, `device` for every device, or one device.
    pub target: String,
    /// What it covers, for the scopes `shape` and `hosts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The same in words, with the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape_text: Option<String>,
    /// When it was given, in milliseconds.
    pub created_at: i64,
}

/// Arguments of `proc.approvals.revoke`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcApprovalsRevokeArgs")]
pub struct ApprovalsRevoke {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// What to forget.
    pub approval_id: String,
}

/// Result of `proc.approvals.revoke`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcApprovalsRevokeResult")]
pub struct ApprovalRevoked {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// False when there was no such approval.
    pub revoked: bool,
}
