//! Wire types of signals about packages, repositories, chat services and notes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::adapter::AccountStatus;
use crate::notification::Notification;

/// Payload of `pkg.changed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PkgChanged {
    /// What was done.
    pub action: PkgAction,
    /// The package, where one was named.
    pub package_id: Option<String>,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Whether anything changed.
    pub changed: bool,
    /// Whether the package can be used.
    pub enabled: Option<bool>,
    /// Name of the package, for people.
    pub name: Option<String>,
    /// The repository, after a bootstrap.
    pub repo: Option<String>,
}

/// What was done to packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PkgAction {
    /// One was added or enabled.
    Install,
    /// One was disabled.
    Remove,
    /// One was moved to another ref.
    Checkout,
    /// All were rebuilt.
    Sync,
}

/// Payload of `repo.import.progress`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepoImportProgress {
    /// The local repository.
    pub repo: String,
    /// The local ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// How far it is.
    pub stage: ImportStage,
    /// Bytes that have come so far.
    pub bytes: u64,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportStage {
    /// Objects are coming.
    Receiving,
    /// What came is looked through.
    Checking,
    /// It is there.
    Done,
}

/// Payload of `adapter.status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdapterStatus {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// How it stands.
    pub status: AccountStatus,
}

/// Payload of `notification.created`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationCreated {
    /// The note.
    pub notification: Notification,
}

/// Payload of `notification.updated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationUpdated {
    /// The note as it is now.
    pub notification: Notification,
}

/// Payload of `notification.dismissed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationDismissed {
    /// The note as it is now.
    pub notification: Notification,
}
