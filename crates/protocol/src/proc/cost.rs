//! Wire types and table of `proc.cost`: what agents have used and cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ConversationId, Pid, RunId, Uid};
use crate::signal::stream::Usage;
use crate::spec::syscalls;

syscalls! {
    /// Adds up tokens and money: of a user, by process and conversation, with the newest runs.
    /// Only root sees those of others.
    "proc.cost" Cost => Costs, Granted, Kernel, Reads, Users.*;
}

/// Arguments of `proc.cost`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcCostArgs")]
pub struct Cost {
    /// Whose; the caller's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Of this process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// Of runs that started at or after this time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// How many of the newest runs to list; 20 when absent, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `proc.cost`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcCostResult")]
pub struct Costs {
    /// The user whose processes these are.
    pub uid: Uid,
    /// All together.
    pub total: Usage,
    /// How many runs that is.
    pub runs: u64,
    /// The same by conversation, the most expensive first.
    pub conversations: Vec<ConversationCost>,
    /// The newest runs, newest first.
    pub newest: Vec<RunCost>,
}

/// What one conversation has used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationCost")]
pub struct ConversationCost {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// How many runs.
    pub runs: u64,
    /// What they used.
    pub usage: Usage,
}

/// What one run has used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcRunCost")]
pub struct RunCost {
    /// Id of the run, unique in the gateway.
    pub run_id: RunId,
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// How it ended, or `active`.
    pub status: String,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How often the model was asked.
    pub turns: u64,
    /// How many tools it called.
    pub tool_calls: u64,
    /// When it started, in milliseconds.
    pub started_at: i64,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// What it used.
    pub usage: Usage,
}
