//! Signal catalogue: what the gateway tells without being asked. One row each: name, payload, who gets it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::identity::Role;
use crate::ids::{DeviceId, Uid};
use crate::spec::schema_of;

pub mod alias;
pub mod change;
pub mod run;
pub mod stream;

/// One row of the signal table.
pub struct SignalSpec {
    /// The name on the wire.
    pub name: &'static str,
    /// When it is sent.
    pub doc: &'static str,
    /// Which connections get it; none for signals that only drivers send.
    pub roles: &'static [Role],
    /// Whether `sys.connect` names it; a few signals are sent without being announced.
    pub listed: bool,
    /// JSON Schema of the payload.
    pub payload: fn(&mut SchemaGenerator) -> Schema,
}

/// Implemented by each payload type.
pub trait Signal: Serialize + JsonSchema {
    /// Its row.
    const SPEC: SignalSpec;
}

macro_rules! signals {
    ($( $(#[doc = $doc:literal])+ $name:literal $payload:ty => [$($role:ident),*]
        $(, $unlisted:ident)? ; )*) => {
        $(
            impl Signal for $payload {
                const SPEC: SignalSpec = SignalSpec {
                    name: $name,
                    doc: concat!($($doc, "\n"),+),
                    roles: &[$(Role::$role),*],
                    listed: { let _listed = true; $( let _listed = $unlisted; )? _listed },
                    payload: schema_of::<$payload>,
                };
            }
        )*
        /// Every signal.
        pub static SIGNALS: &[SignalSpec] = &[$( <$payload as Signal>::SPEC ),*];
    };
}

signals! {
    /// A process changed: its queue, messages, context or conversations.
    "proc.changed" run::Changed => [User];
    /// A run began.
    "proc.run.started" run::Started => [User];
    /// A model's answer goes on.
    "proc.run.stream" run::Stream => [User];
    /// A model finished a turn and said or thought something.
    "proc.run.output" run::Output => [User];
    /// A tool began.
    "proc.run.tool.started" run::ToolStarted => [User];
    /// A tool ended. Tools that were refused end without having begun.
    "proc.run.tool.finished" run::ToolFinished => [User];
    /// A tool call waits for a person; answer with `proc.hil`.
    "proc.run.hil.requested" run::HilRequested => [User];
    /// A run ended.
    "proc.run.finished" run::Finished => [User];
    /// A process was ended for good.
    "process.exit" run::Exit => [User];
    /// A device came or went. Goes to users who may use the device, and to the device itself.
    "device.status" DeviceStatus => [User, Driver];
    /// An account on a chat service changed.
    "adapter.status" change::AdapterStatus => [User, Service];
    /// Packages were installed, removed, moved or rebuilt.
    "pkg.changed" change::PkgChanged => [User];
    /// An import of a repository goes on. Only to whoever asked for it.
    "repo.import.progress" change::RepoImportProgress => [User], UNLISTED;
    /// Somebody left a note for the user.
    "notification.created" change::NotificationCreated => [User], UNLISTED;
    /// A note was read.
    "notification.updated" change::NotificationUpdated => [User], UNLISTED;
    /// A note was dismissed.
    "notification.dismissed" change::NotificationDismissed => [User], UNLISTED;
    /// A driver tells how a command stands that was still running when its call was answered.
    "exec.status" ExecStatus => [];
}

const UNLISTED: bool = false;

/// The signals a connection of that role is told of.
pub fn names_for(role: Role) -> Vec<String> {
    let listed = SIGNALS.iter().filter(|spec| spec.listed && spec.roles.contains(&role));
    listed.map(|spec| spec.name.to_string()).collect()
}

/// Payload of `device.status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceStatus {
    /// What happened.
    pub event: DeviceEvent,
    /// The device, as it is now.
    pub device: DeviceState,
}

/// What happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceEvent {
    /// It is there.
    Connected,
    /// It is gone.
    Disconnected,
}

/// A device, in a signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceState {
    /// Id of the device, as `sys.device.list` gives it.
    pub device_id: DeviceId,
    /// Whose it is.
    pub owner_uid: Uid,
    /// Such as `linux`.
    pub platform: String,
    /// The driver's version.
    pub version: String,
    /// Whether it is connected.
    pub online: bool,
    /// When it first connected, in milliseconds.
    pub first_seen_at: i64,
    /// When it was last connected or changed.
    pub last_seen_at: i64,
    /// When it last connected.
    pub connected_at: Option<i64>,
    /// When it last went away.
    pub disconnected_at: Option<i64>,
}

/// Payload of `exec.status`, from a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecStatus {
    /// Names this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// The device's own session id.
    pub session_id: String,
    /// `started`, `finished`, `failed` or `timed_out`.
    pub event: String,
    /// The call it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Exit code, once it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The last output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// When it started, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}
