//! Wire types and table of `sched.*`: what runs later, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{ConversationId, Pid, Uid};
use crate::literal::Nullable;
use crate::spec::syscalls;

syscalls! {
    /// Lists schedules, the next to run first. Only root sees those of others.
    "sched.list" List => Listed, Granted, Kernel, Reads, Users.*;
    /// Adds a schedule.
    "sched.add" Add => Got, Granted, Kernel, Writes, Users.*;
    /// Changes a schedule.
    "sched.update" Update => Got, Granted, Kernel, Writes, Users.*;
    /// Removes a schedule.
    "sched.remove" Remove => Removed, Granted, Kernel, Destroys, Users.*;
    /// Runs the schedules that are due, or one at once.
    "sched.run" Run => Ran, Granted, Kernel, Writes, Users.*;
}

/// When a schedule runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[schemars(rename = "ScheduleExpression")]
pub enum Expression {
    /// Once, at a time.
    At {
        /// When, in milliseconds.
        at_ms: i64,
    },
    /// Once, after a while.
    After {
        /// After how long.
        after_ms: i64,
    },
    /// Again and again.
    Every {
        /// How often; at least 1000.
        every_ms: i64,
        /// A time it counts from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor_ms: Option<i64>,
    },
    /// By the calendar.
    Cron {
        /// Minute, hour, day of month, month, day of week.
        expr: String,
        /// An IANA time zone.
        timezone: String,
    },
}

/// What a schedule does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[schemars(rename = "ScheduleTarget")]
pub enum Target {
    /// Starts a process.
    #[serde(rename = "process.spawn")]
    Spawn {
        /// Its profile; `cron` when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
        /// A note for people; the schedule's name when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Its first message.
        prompt: String,
        /// The process to start it under.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_pid: Option<Pid>,
        /// Its workspace, as in `proc.spawn`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<Value>,
        /// Its mounts, as in `proc.spawn`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mounts: Option<Vec<Value>>,
        /// What it is told, as in `proc.spawn`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignment: Option<Value>,
    },
    /// Tells a process something.
    #[serde(rename = "process.event")]
    Event {
        /// Pid of the process, such as `init:1000`.
        pid: Pid,
        /// The conversation; `default` when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation_id: Option<ConversationId>,
        /// What it is told.
        message: String,
        /// Anything beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Map<String, Value>>,
    },
}

/// What happens when the last run has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ScheduleOverlapPolicy")]
pub enum Overlap {
    /// This one is left out.
    Skip,
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ScheduleRunStatus")]
pub enum RunStatus {
    /// Well.
    Ok,
    /// Badly.
    Error,
    /// It was left out.
    Skipped,
}

/// How a schedule stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScheduleState")]
pub struct ScheduleState {
    /// When it runs next.
    pub next_run_at_ms: Option<i64>,
    /// Since when it runs, while it does.
    pub running_at_ms: Option<i64>,
    /// When it last ran.
    pub last_run_at_ms: Option<i64>,
    /// How that went.
    pub last_status: Option<RunStatus>,
    /// What went wrong.
    pub last_error: Option<String>,
    /// How long it took.
    pub last_duration_ms: Option<i64>,
    /// How often it ran.
    pub run_count: u64,
}

/// What is run when, and how it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScheduleRecord")]
pub struct Schedule {
    /// Its id, unique in the gateway.
    pub id: String,
    /// Whose it is.
    pub owner_uid: Uid,
    /// Its name, for people.
    pub name: String,
    /// What people say it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it runs.
    pub enabled: bool,
    /// When.
    pub expression: Expression,
    /// What it does.
    pub target: Target,
    /// What happens when the last run has not ended.
    pub overlap_policy: Overlap,
    /// When it was added.
    pub created_at_ms: i64,
    /// When it was last changed.
    pub updated_at_ms: i64,
    /// How it stands.
    pub state: ScheduleState,
}

/// Arguments of `sched.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SchedListArgs")]
pub struct List {
    /// Whose; for root only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_uid: Option<Uid>,
    /// Also list those that do not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_disabled: Option<bool>,
    /// At most so many; 100 when absent, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Schedules to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Result of `sched.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedListResult")]
pub struct Listed {
    /// The next to run first.
    pub schedules: Vec<Schedule>,
    /// How many there are in all.
    pub count: u64,
}

/// Arguments of `sched.add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedAddArgs")]
pub struct Add {
    /// The name, for people.
    pub name: String,
    /// What people say it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it runs; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// When.
    pub expression: Expression,
    /// What it does.
    pub target: Target,
}

/// Result of `sched.add` and `sched.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedResult")]
pub struct Got {
    /// The schedule as it is now.
    pub schedule: Schedule,
}

/// Arguments of `sched.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedUpdateArgs")]
pub struct Update {
    /// The schedule.
    pub id: String,
    /// What to change.
    pub patch: Patch,
}

/// What to change about a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedulePatch")]
pub struct Patch {
    /// A new name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for; `null` removes it.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub description: Nullable<String>,
    /// Whether it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<Expression>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// Arguments of `sched.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedRemoveArgs")]
pub struct Remove {
    /// The schedule.
    pub id: String,
}

/// Result of `sched.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedRemoveResult")]
pub struct Removed {
    /// False when there was none.
    pub removed: bool,
}

/// Arguments of `sched.run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedRunArgs")]
pub struct Run {
    /// The schedule; all that are due when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `due` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
}

/// Which schedules to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ScheduleRunMode")]
pub enum RunMode {
    /// Those that are due.
    Due,
    /// The one that is named, whenever it is due.
    Force,
}

/// Result of `sched.run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SchedRunResult")]
pub struct Ran {
    /// How many ran.
    pub ran: u64,
    /// How each went.
    pub results: Vec<RunResult>,
}

/// How one schedule went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScheduleRunResult")]
pub struct RunResult {
    /// Id of the schedule, as `sched.list` gives it.
    pub schedule_id: String,
    /// How it went.
    pub status: RunStatus,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How long it took.
    pub duration_ms: i64,
    /// When it runs next.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub next_run_at_ms: Nullable<i64>,
}
