//! Device registry, with an access list of groups for each.

use protocol::ids::{DeviceId, Gid, Uid};

use crate::changes::Topic;
use crate::sql::{Batch, Row, Statement, unexpected};
use crate::{Error, Result, Store};

/// Row of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
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

/// The columns `devices_from` reads, one row for each group that may use the device.
macro_rules! select_devices {
    ($tail:literal) => {
        concat!(
            "SELECT d.device_id, d.owner_uid, d.description, d.implements, d.platform, d.version, d.online, \
             d.first_seen_at, d.last_seen_at, d.connected_at, d.disconnected_at, a.gid \
             FROM devices d LEFT JOIN device_access a ON a.device_id = d.device_id ",
            $tail
        )
    };
}

/// Devices. See [`Store::devices`].
#[derive(Clone, Copy)]
pub struct Devices<'a>(pub(crate) &'a Store);

impl Store {
    /// Statements about devices.
    pub fn devices(&self) -> Devices<'_> {
        Devices(self)
    }
}

impl Devices<'_> {
    /// All devices, by id.
    pub async fn all(self) -> Result<Vec<Device>> {
        devices_from(self.0.read(Statement::new(select_devices!("ORDER BY d.device_id, a.gid"))).await?)
    }

    /// Adds or refreshes a device and marks it online. `None`, changing nothing, when it belongs to another
    /// user, is new and differs only in case from another, or its user was just removed. One transaction.
    pub async fn register(self, registration: Registration) -> Result<Option<Device>> {
        let implements = serde_json::to_string(&registration.implements)
            .map_err(|error| Error::Failed(format!("`implements` cannot be written: {error}")))?;
        let device_id = &registration.device_id;
        let open = Statement::new(
            "INSERT INTO device_access (device_id, gid) SELECT $1, $2 \
             WHERE NOT EXISTS (SELECT 1 FROM devices WHERE device_id = $1) ON CONFLICT DO NOTHING",
        );
        let register = Statement::new(
            "INSERT INTO devices (device_id, owner_uid, description, implements, platform, version, online, \
             first_seen_at, last_seen_at, connected_at, disconnected_at) \
             SELECT $1, $2, '', $3, $4, $5, 1, $6, $6, $6, NULL \
             WHERE EXISTS (SELECT 1 FROM devices WHERE device_id = $1) \
             OR NOT EXISTS (SELECT 1 FROM devices WHERE lower(device_id) = lower($1)) \
             ON CONFLICT (device_id) DO UPDATE SET implements = excluded.implements, \
             platform = excluded.platform, version = excluded.version, online = 1, \
             last_seen_at = excluded.last_seen_at, connected_at = excluded.connected_at, \
             disconnected_at = NULL WHERE devices.owner_uid = excluded.owner_uid RETURNING device_id",
        );
        let find = Statement::new(select_devices!("WHERE d.device_id = $1 ORDER BY a.gid"));
        let owner = Statement::new("SELECT uid FROM accounts WHERE uid = $1");
        let batch = Batch::new()
            .guard(owner.bind(registration.owner_uid))
            .step(open.bind(device_id).bind(registration.owner_gid))
            .guard(
                register
                    .bind(device_id)
                    .bind(registration.owner_uid)
                    .bind(implements)
                    .bind(registration.platform)
                    .bind(registration.version)
                    .bind(registration.now_ms),
            )
            .step(find.bind(device_id));
        let rows = self.0.write(batch.changing(Topic::Devices)).await?.last();
        Ok(devices_from(rows.unwrap_or_default())?.pop())
    }

    /// Marks it offline.
    pub async fn set_offline(self, device_id: &DeviceId, now_ms: i64) -> Result<()> {
        let statement = Statement::new(
            "UPDATE devices SET online = 0, disconnected_at = $2, last_seen_at = $2 \
             WHERE device_id = $1 AND online = 1",
        );
        self.0.change_of(Topic::Devices, statement.bind(device_id).bind(now_ms)).await?;
        Ok(())
    }

    /// Marks every device offline, at start. Returns those that were online, by id.
    pub async fn set_all_offline(self, now_ms: i64) -> Result<Vec<DeviceId>> {
        let statement = Statement::new(
            "UPDATE devices SET online = 0, disconnected_at = $1, last_seen_at = $1 \
             WHERE online = 1 RETURNING device_id",
        );
        let rows = self.0.change_of(Topic::Devices, statement.bind(now_ms)).await?;
        let mut ids = rows.into_iter().map(|mut row| row.text().map(DeviceId)).collect::<Result<Vec<_>>>()?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// Changes the description and `last_seen_at`.
    pub async fn describe(self, device_id: &DeviceId, description: &str, now_ms: i64) -> Result<()> {
        let statement =
            Statement::new("UPDATE devices SET description = $2, last_seen_at = $3 WHERE device_id = $1");
        self.0.change_of(Topic::Devices, statement.bind(device_id).bind(description).bind(now_ms)).await?;
        Ok(())
    }

    /// Lets a group use it, or no longer. A device that is not there is passed over.
    pub async fn set_access(self, device_id: &DeviceId, gid: Gid, allow: bool) -> Result<()> {
        let statement = if allow {
            Statement::new(
                "INSERT INTO device_access (device_id, gid) SELECT device_id, $2 FROM devices \
                 WHERE device_id = $1 ON CONFLICT DO NOTHING",
            )
        } else {
            Statement::new("DELETE FROM device_access WHERE device_id = $1 AND gid = $2")
        };
        self.0.change_of(Topic::Devices, statement.bind(device_id).bind(gid)).await?;
        Ok(())
    }
}

/// Folds the rows of each device into one.
fn devices_from(rows: Vec<Row>) -> Result<Vec<Device>> {
    let mut devices: Vec<Device> = Vec::new();
    for mut row in rows {
        let device = Device {
            device_id: DeviceId(row.text()?),
            owner_uid: row.uid()?,
            description: row.text()?,
            implements: implements_from(&row.text()?)?,
            platform: row.text()?,
            version: row.text()?,
            online: row.flag()?,
            first_seen_at: row.int()?,
            last_seen_at: row.int()?,
            connected_at: row.int_or_null()?,
            disconnected_at: row.int_or_null()?,
            gids: Vec::new(),
        };
        let open_to = row.gid_or_null()?;
        if devices.last().is_none_or(|last| last.device_id != device.device_id) {
            devices.push(device);
        }
        if let (Some(last), Some(gid)) = (devices.last_mut(), open_to) {
            last.gids.push(gid);
        }
    }
    Ok(devices)
}

fn implements_from(json: &str) -> Result<Vec<String>> {
    serde_json::from_str(json).map_err(|_| unexpected("a list of patterns", json))
}
