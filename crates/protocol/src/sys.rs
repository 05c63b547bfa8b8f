//! Wire types and table of `sys.*`: logging in, setting up, configuration. Devices, tokens, accounts and the rest have
//! files of their own below `sys/`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::confine::Confinement;
use crate::identity::{ConnectionIdentity, ProcessIdentity, Role};
use crate::spec::syscalls;

pub mod account;
pub mod bootstrap;
pub mod device;
pub mod link;
pub mod mcp;
pub mod oauth;
pub mod setup_assist;
pub mod token;
pub mod workspace;

syscalls! {
    /// The handshake, and the first request on a socket.
    /// Logs in, registers drivers and services, and says what the caller may call and will be told.
    "sys.connect" Connect => Connected, Open, Kernel, Rules, Root, by Person;
    /// Sets up a fresh gateway: the first user, root's password and, if asked, a device token.
    /// Without `rootPassword` root gets the first user's password.
    "sys.setup" Setup => SetupDone, Open, Kernel, Rules, Root, by Person;
    /// Reads one config value, or all below a prefix. Secrets are shown to root and to their owner only.
    "sys.config.get" ConfigGet => ConfigEntries, Granted, Kernel, Reads, Users;
    /// Sets a config value, or removes it. Keys that are not known are refused. Root sets any key, users their own below
    /// `users/<uid>/ai/`.
    "sys.config.set" ConfigSet => Done, Granted, Kernel, Rules, Users, by Anybody;
}

/// `{ok: true}`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysDone")]
pub struct Done {
    /// Always true.
    #[schemars(with = "crate::literal::True")]
    pub ok: bool,
}

/// WebSocket close code for a driver's socket when another program connects under its device id: it must not come back.
pub const CLOSE_TAKEN_OVER: u16 = 4009;

/// In `client.features`: the client asks again for a command that was still `running` when its call was answered.
pub const FEATURE_SESSIONS: &str = "sessions";

/// Arguments of `sys.connect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectArgs")]
pub struct Connect {
    /// Must be 1.
    pub protocol: u32,
    /// Who connects.
    pub client: Client,
    /// What a driver offers; required with the role `driver`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Asks for the signals that were missed since an earlier connection of the same user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// How the events of `proc.run.stream` come; `full` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
}

/// Where a client's signals ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectResume")]
pub struct Resume {
    /// The `seq` of the last signal it got.
    pub seq: u64,
}

/// How the events of a model's answer are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SysConnectStreams")]
pub enum Streams {
    /// Each with the answer so far in `partial`.
    #[default]
    Full,
    /// Without `partial`, which the client builds itself.
    Compact,
}

/// What became of `resume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectResumed")]
pub struct Resumed {
    /// Whether everything that was missed follows.
    pub status: ResumeStatus,
    /// The `seq` after which signals follow.
    pub from: u64,
    /// The user's newest `seq`.
    pub to: u64,
}

/// Whether missed signals follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SysConnectResumeStatus")]
pub enum ResumeStatus {
    /// They do.
    Replayed,
    /// They are forgotten: read anew what matters.
    Refresh,
}

/// Who connects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectClient")]
pub struct Client {
    /// A newer connection of the same user, role and id replaces an older one. For drivers, the device's id.
    #[serde(default)]
    pub id: String,
    /// The client's version.
    #[serde(default)]
    pub version: String,
    /// Such as `linux` or `darwin`.
    #[serde(default)]
    pub platform: String,
    /// `user`, `driver` or `service`.
    #[schemars(with = "Role")]
    pub role: String,
    /// For services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// What it can do beyond the first generation: `sessions` when it polls commands that are `running`. For others a
    /// native command is waited for as long as a call may take. Unknown ones are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// What a driver offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectDriver")]
pub struct Driver {
    /// Patterns of the calls it answers.
    #[serde(default)]
    pub implements: Vec<String>,
    /// Names the running program: calls under way survive a reconnect of the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Whether it remembers the results of calls marked `durable`, and tells them when asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembers: Option<bool>,
    /// What holds for agents on this machine.
    #[serde(flatten)]
    pub confinement: Confinement,
}

/// Credentials: a name, and a password or a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectAuth")]
pub struct Auth {
    /// Login name.
    #[serde(default)]
    pub username: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// For machines, and for people's sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Result of `sys.connect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConnectResult")]
pub struct Connected {
    /// 1.
    pub protocol: u32,
    /// The gateway.
    pub server: Server,
    /// Who the caller is now.
    pub identity: ConnectionIdentity,
    /// Names of the calls it may make.
    pub syscalls: Vec<String>,
    /// Names of the signals it will get.
    pub signals: Vec<String>,
    /// What became of `resume`, when it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resumed>,
}

/// The gateway, to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysConnectServer")]
pub struct Server {
    /// The gateway's version.
    pub version: String,
    /// Id of this socket; a new one gets a new id.
    pub connection_id: String,
}

/// Arguments of `sys.setup`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysSetupArgs")]
pub struct Setup {
    /// The first user's login name.
    #[serde(default)]
    pub username: String,
    /// At least 8 characters.
    #[serde(default)]
    pub password: String,
    /// Root's password; the user's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_password: Option<String>,
    /// An IANA time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Where to import the system repository from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<bootstrap::Bootstrap>")]
    pub bootstrap: Option<BTreeMap<String, String>>,
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ai: Option<SetupAi>,
    /// Asks for a device token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<SetupNode>,
    /// From another machine, or through a proxy: the setup code that the gateway printed when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// The model to use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysSetupAi")]
pub struct SetupAi {
    /// Such as `anthropic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
}

/// The device token to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysSetupNode")]
pub struct SetupNode {
    /// The only device that may use the token.
    #[serde(default)]
    pub device_id: String,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it ends, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
}

/// Result of `sys.setup`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysSetupResult")]
pub struct SetupDone {
    /// The first user.
    pub user: ProcessIdentity,
    /// Whether root has no password.
    pub root_locked: bool,
    /// What was imported, when `bootstrap` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<bootstrap::Bootstrapped>,
    /// The device token, shown this once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_token: Option<token::NewToken>,
}

/// Arguments of `sys.config.get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConfigGetArgs")]
pub struct ConfigGet {
    /// A key or a prefix; everything readable when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Result of `sys.config.get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConfigGetResult")]
pub struct ConfigEntries {
    /// Sorted by key.
    pub entries: Vec<ConfigEntry>,
}

/// One config value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConfigEntry")]
pub struct ConfigEntry {
    /// Such as `config/ai/model`.
    pub key: String,
    /// Always text.
    pub value: String,
}

/// Arguments of `sys.config.set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysConfigSetArgs")]
pub struct ConfigSet {
    /// One of the keys of the reference of config; others are refused.
    pub key: String,
    /// Text; numbers and booleans are taken as their text. `null` removes the key, as an empty text does but where it
    /// stands for an empty file.
    #[schemars(with = "Option<String>")]
    pub value: serde_json::Value,
}
