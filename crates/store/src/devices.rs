//! Devices and which groups may use them.

use protocol::ids::{DeviceId, Gid, Uid};

use crate::{Result, Store};

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its id.
    pub device_id: DeviceId,
    /// Whose.
    pub owner_uid: Uid,
    /// What the owner says it is for.
    pub description: String,
    /// Patterns of the calls it answers.
    pub implements: Vec<String>,
    /// Such as `linux`.
    pub platform: String,
    /// The driver's version.
    pub version: String,
    /// Whether it is connected.
    pub online: bool,
    /// In milliseconds.
    pub first_seen_at: i64,
    /// When it was last connected or changed.
    pub last_seen_at: i64,
    /// When it last connected.
    pub connected_at: Option<i64>,
    /// When it last went away.
    pub disconnected_at: Option<i64>,
    /// Groups that may use it, besides the owner; ascending.
    pub gids: Vec<Gid>,
}

/// A driver that connects.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The device's id.
    pub device_id: DeviceId,
    /// Who logged in.
    pub owner_uid: Uid,
    /// The owner's private group, which gets access when the device is new.
    pub owner_gid: Gid,
    /// Patterns.
    pub implements: Vec<String>,
    /// Such as `linux`.
    pub platform: String,
    /// The driver's version.
    pub version: String,
    /// Now, in milliseconds.
    pub now_ms: i64,
}

impl Store {
    /// All devices, by id.
    pub async fn devices(&self) -> Result<Vec<Device>> {
        unimplemented!()
    }

    /// Adds or refreshes a device and marks it online. `None`, changing nothing, when it belongs to another
    /// user. One transaction.
    pub async fn device_register(&self, _registration: Registration) -> Result<Option<Device>> {
        unimplemented!()
    }

    /// Marks it offline.
    pub async fn device_offline(&self, _device_id: &DeviceId, _now_ms: i64) -> Result<()> {
        unimplemented!()
    }

    /// Marks every device offline, at start. Returns those that were online.
    pub async fn devices_offline(&self, _now_ms: i64) -> Result<Vec<DeviceId>> {
        unimplemented!()
    }

    /// Changes the description and `last_seen_at`.
    pub async fn device_describe(&self, _device_id: &DeviceId, _description: &str, _now_ms: i64) -> Result<()> {
        unimplemented!()
    }

    /// Lets a group use it, or no longer.
    pub async fn device_access(&self, _device_id: &DeviceId, _gid: Gid, _allow: bool) -> Result<()> {
        unimplemented!()
    }
}
