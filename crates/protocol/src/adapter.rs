//! Wire types and table of `adapter.*`: chat services, their accounts, messages in and out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{Pid, RunId, Uid};
use crate::literal::{False, True};
use crate::media::MediaInput;
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Connects an account on a chat service. The answer may hold a challenge, such as a code to scan.
    "adapter.connect" Connect => ConnectResult, Granted, Kernel, Rules | Network, Users | Services.*;
    /// Disconnects an account on a chat service.
    "adapter.disconnect" Disconnect => Outcome<Disconnected>, Granted, Kernel, Rules | Network, Users | Services.*;
    /// Brings in a message from a chat service.
    /// It goes to the linked user's process; an unlinked person gets a code to link with, in direct messages only.
    "adapter.inbound" Inbound => InboundResult, Service, Kernel, Writes, Services.*;
    /// Says how an account stands, and tells others.
    "adapter.state.update" StateUpdate => Updated, Service, Kernel, Writes, Services.*;
    /// Sends a message out through a chat service.
    "adapter.send" Send => Outcome<Sent>, Granted, Kernel, Writes | Network, Services.*;
    /// Says how the accounts on a chat service stand, as last known.
    "adapter.status" Status => StatusResult, Granted, Kernel, Reads, Users | Services.*;
}

/// Where on a chat service people talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AdapterSurfaceKind")]
pub enum SurfaceKind {
    /// Between two.
    Dm,
    /// A group chat.
    Group,
    /// A channel, where many read and some write.
    Channel,
    /// A thread within one of these.
    Thread,
}

/// A place on a chat service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterSurface")]
pub struct Surface {
    /// What sort of place it is.
    pub kind: SurfaceKind,
    /// Its id there.
    pub id: String,
    /// What people call it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name they are addressed by there, such as `@ann`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Id of the thread in it, by the service's own naming.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// What a chat service wants before it lets us in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterConnectChallenge")]
pub struct Challenge {
    /// Such as `qr`.
    #[serde(rename = "type")]
    pub challenge_type: String,
    /// What to tell the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Until when it is good, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Whatever else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// How an account on a chat service stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterAccountStatus")]
pub struct AccountStatus {
    /// Our account there.
    pub account_id: String,
    /// Whether it is connected.
    pub connected: bool,
    /// Whether it is signed in.
    pub authenticated: bool,
    /// How it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When something last happened, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_activity: Option<i64>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whatever else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// Arguments of `adapter.connect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterConnectArgs")]
pub struct Connect {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// What the service needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
}

/// Result of `adapter.connect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AdapterConnectResult")]
pub enum ConnectResult {
    /// It worked.
    Done(Connected),
    /// It did not.
    Failed(ConnectFailed),
}

/// A connected account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterConnected")]
pub struct Connected {
    /// Always true.
    pub ok: True,
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// Whether it is connected.
    pub connected: bool,
    /// Whether it is signed in.
    pub authenticated: bool,
    /// What to tell the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the service still wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
}

/// An account that could not be connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AdapterConnectFailed")]
pub struct ConnectFailed {
    /// Always false.
    pub ok: False,
    /// Why.
    pub error: String,
    /// What the service wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
}

/// Arguments of `adapter.disconnect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterDisconnectArgs")]
pub struct Disconnect {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
}

/// Result of `adapter.disconnect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterDisconnectResult")]
pub struct Disconnected {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// What to tell the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Arguments of `adapter.inbound`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterInboundArgs")]
pub struct Inbound {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// What was said there.
    pub message: Message,
}

/// A message from a chat service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterInboundMessage")]
pub struct Message {
    /// Its id there.
    pub message_id: String,
    /// Where it was said.
    pub surface: Surface,
    /// Who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// What was said, as plain text.
    pub text: String,
    /// What goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<MediaInput>>,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// That message's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_text: Option<String>,
    /// When it was said, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// Whether we were addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_mentioned: Option<bool>,
}

/// A person on a chat service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AdapterActor")]
pub struct Actor {
    /// Their id there.
    pub id: String,
    /// What they are called there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name they are addressed by there, such as `@ann`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// Result of `adapter.inbound`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterInboundResult")]
pub struct InboundResult {
    /// Whether it could be handled.
    pub ok: bool,
    /// Where it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// What to answer at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// For a person who is not linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<LinkChallenge>,
    /// Why it went nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_reason: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where a message went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterDelivered")]
pub struct Delivered {
    /// Number of the user.
    pub uid: Uid,
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// The run that will answer.
    pub run_id: RunId,
    /// Whether it waits for the active run to end.
    pub queued: bool,
}

/// An answer given at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterReply")]
pub struct Reply {
    /// What to say, as plain text.
    pub text: String,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
}

/// A code that links a person to a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterLinkChallenge")]
pub struct LinkChallenge {
    /// The code that the person enters; good once.
    pub code: String,
    /// What to tell them.
    pub prompt: String,
    /// Until when it is good, in milliseconds.
    pub expires_at: i64,
}

/// Arguments of `adapter.state.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterStateUpdateArgs")]
pub struct StateUpdate {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// How it stands.
    pub status: AccountStatus,
}

/// Result of `adapter.state.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AdapterStateUpdateResult")]
pub struct Updated {
    /// Always true.
    pub ok: True,
}

/// Arguments of `adapter.send`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterSendArgs")]
pub struct Send {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// Where to say it.
    pub surface: Surface,
    /// What to say, as plain text.
    pub text: String,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// What goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<MediaInput>>,
}

/// Result of `adapter.send`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterSendResult")]
pub struct Sent {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// Where it was said.
    pub surface_id: String,
    /// Its id there, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// Arguments of `adapter.status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AdapterStatusArgs")]
pub struct Status {
    /// The chat service.
    pub adapter: String,
    /// Only this account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Result of `adapter.status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AdapterStatusResult")]
pub struct StatusResult {
    /// The chat service.
    pub adapter: String,
    /// Last changed first.
    pub accounts: Vec<AccountStatus>,
}
