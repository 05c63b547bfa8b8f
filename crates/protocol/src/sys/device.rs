//! Wire types and table of `sys.device.*`: devices as people and agents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::confine::AgentMode;
use crate::ids::{DeviceId, Gid, Uid};
use crate::spec::syscalls;

syscalls! {
    /// Lists the devices the caller may use; online ones unless `includeOffline` is true.
    "sys.device.list" List => Listed, Granted, Kernel, Reads, Users;
    /// Reads one device. Unknown and foreign devices are `null`.
    "sys.device.get" Get => Got, Granted, Kernel, Reads, Users;
    /// Changes what the owner says a device is for.
    "sys.device.update" Update => Got, Granted, Kernel, Rules, Users, by Anybody;
    /// Lets a group use a device, or no longer.
    "sys.device.access" SetAccess => AccessResult, Root, Kernel, Rules, Root, by Person;
}

/// Arguments of `sys.device.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDeviceListArgs")]
pub struct List {
    /// Also list devices that are not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_offline: Option<bool>,
}

/// Result of `sys.device.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysDeviceListResult")]
pub struct Listed {
    /// By id.
    pub devices: Vec<Summary>,
}

/// A device in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDeviceSummary")]
pub struct Summary {
    /// Its id, used as `target`.
    pub device_id: DeviceId,
    /// Whose it is.
    pub owner_uid: Uid,
    /// What the owner says it is for.
    pub description: String,
    /// Such as `linux`.
    pub platform: String,
    /// The driver's version.
    pub version: String,
    /// Whether it is connected.
    pub online: bool,
    /// When it was last connected or changed, in milliseconds.
    pub last_seen_at: i64,
}

/// Arguments of `sys.device.get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDeviceGetArgs")]
pub struct Get {
    /// Id of the device, as `sys.device.list` gives it.
    pub device_id: String,
}

/// Result of `sys.device.get` and `sys.device.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysDeviceGetResult")]
pub struct Got {
    /// `null` when there is none the caller may use.
    pub device: Option<Detail>,
}

/// Everything about a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDevice")]
pub struct Detail {
    /// Its id, used as `target`.
    pub device_id: DeviceId,
    /// Whose it is.
    pub owner_uid: Uid,
    /// What the owner says it is for.
    pub description: String,
    /// Such as `linux`.
    pub platform: String,
    /// The driver's version.
    pub version: String,
    /// Whether it is connected.
    pub online: bool,
    /// When it was last connected or changed, in milliseconds.
    pub last_seen_at: i64,
    /// Patterns of the calls it answers.
    pub implements: Vec<String>,
    /// When it first connected.
    pub first_seen_at: i64,
    /// When it last connected.
    pub connected_at: Option<i64>,
    /// When it last went away; `null` while connected.
    pub disconnected_at: Option<i64>,
    /// What its sandbox enforces for agents, as its driver found by trying; only while connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Vec<String>>,
    /// Where relative paths and commands start there, and what confined commands may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The home directory of the user its driver runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The shell that reads commands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// What agents may do there unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentMode>,
}

/// Arguments of `sys.device.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDeviceUpdateArgs")]
pub struct Update {
    /// Id of the device, as `sys.device.list` gives it.
    pub device_id: String,
    /// At most 500 characters.
    pub description: String,
}

/// Arguments of `sys.device.access`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDeviceAccessArgs")]
pub struct SetAccess {
    /// Id of the device, as `sys.device.list` gives it.
    pub device_id: String,
    /// Number of the group.
    pub gid: Gid,
    /// Whether its members may use the device.
    pub allow: bool,
}

/// Result of `sys.device.access`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysDeviceAccessResult")]
pub struct AccessResult {
    /// Id of the device, as `sys.device.list` gives it.
    pub device_id: DeviceId,
    /// Groups whose members may use it, besides its owner.
    pub gids: Vec<Gid>,
}
