//! Wire types and table of `notification.*`: notes to a user that wait until they are seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::Pid;
use crate::spec::syscalls;

syscalls! {
    /// Leaves a note for the user.
    "notification.create" Create => Created, Granted, Kernel, Writes, Users.*;
    /// Lists notes, newest first; read ones too, dismissed ones only if asked.
    "notification.list" List => Listed, Granted, Kernel, Reads, Users.*;
    /// Marks a note as read. It goes away after a week. Unknown notes are `null`.
    "notification.mark_read" MarkRead => Got, Granted, Kernel, Writes, Users.*;
    /// Dismisses a note. It goes away after three days. Unknown notes are `null`.
    "notification.dismiss" Dismiss => Got, Granted, Kernel, Writes, Users.*;
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "NotificationLevel")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something worked.
    Success,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
}

/// Something to do about a note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationAction")]
pub struct Action {
    /// What it does.
    pub kind: String,
    /// What it is called.
    pub label: String,
    /// What it acts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What it is called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
}

/// Who left a note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[schemars(rename = "NotificationSource")]
pub enum Source {
    /// The user, from a client.
    User,
    /// One of the user's processes.
    Process {
        /// Id of the process that left it.
        process_id: Pid,
    },
    /// A package app.
    App {
        /// Id of the package, as `pkg.list` gives it.
        package_id: String,
        /// The package's name, for people.
        package_name: String,
        /// Name of the entry point within its package.
        entrypoint_name: String,
    },
}

/// A note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotificationRecord")]
pub struct Notification {
    /// Id of the note, unique in the gateway.
    pub notification_id: String,
    /// What it is about.
    pub title: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// How much it matters.
    pub level: Level,
    /// When it was left, in milliseconds.
    pub created_at: i64,
    /// When it was read.
    pub read_at: Option<i64>,
    /// When it was dismissed.
    pub dismissed_at: Option<i64>,
    /// When it goes away.
    pub expires_at: Option<i64>,
    /// What can be done about it.
    pub actions: Vec<Action>,
    /// Who left it.
    pub source: Source,
}

/// Arguments of `notification.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotificationCreateArgs")]
pub struct Create {
    /// What it is about.
    pub title: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// How much it matters; `info` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<Action>>,
    /// After how long it goes away; 30 days when absent, at most 90.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Result of `notification.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationCreateResult")]
pub struct Created {
    /// The note.
    pub notification: Notification,
}

/// Arguments of `notification.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotificationListArgs")]
pub struct List {
    /// Whether to list read ones; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_read: Option<bool>,
    /// Whether to list dismissed ones; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_dismissed: Option<bool>,
    /// At most so many; 100 when absent, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `notification.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationListResult")]
pub struct Listed {
    /// Newest first.
    pub notifications: Vec<Notification>,
}

/// Arguments of `notification.mark_read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotificationMarkReadArgs")]
pub struct MarkRead {
    /// The note.
    pub notification_id: String,
}

/// Result of `notification.mark_read` and `notification.dismiss`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationResult")]
pub struct Got {
    /// `null` when there is none.
    pub notification: Option<Notification>,
}

/// Arguments of `notification.dismiss`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotificationDismissArgs")]
pub struct Dismiss {
    /// The note.
    pub notification_id: String,
}
