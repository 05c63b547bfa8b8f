//! In-memory replica of the device table, checked against the generation of the change stream, and which socket serves
//! each device.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use base::sync::{read, write};
use protocol::capability;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{DeviceId, Gid, Uid};
use store::changes::{Changes, Topic};
use store::devices::Device;

use crate::connections::Connection;

/// All devices, by id.
pub(crate) struct Devices {
    map: RwLock<Map>,
    changes: Changes,
}

type Map = BTreeMap<DeviceId, Entry>;

struct Entry {
    device: Arc<Device>,
    driver: Option<Arc<Connection>>,
}

/// The socket that was to speak for a device is gone already.
pub(crate) struct Gone {
    /// Whether another socket speaks for the device.
    pub(crate) spoken_for: bool,
}

/// Whether somebody may use a device: root, its owner, and members of its groups.
pub(crate) fn may_use(device: &Device, who: &ProcessIdentity) -> bool {
    who.uid.is_root() || device.owner_uid == who.uid || device.gids.iter().any(|gid| who.gids.contains(gid))
}

/// The device that somebody means. Case does not matter, except between devices that were there before it did not.
fn find<'a>(map: &'a BTreeMap<DeviceId, Entry>, id: &DeviceId) -> Option<&'a Entry> {
    let by_any_case = || map.values().find(|entry| entry.device.device_id.is_named(&id.0));
    map.get(id).or_else(by_any_case)
}

impl Devices {
    pub(crate) fn new(rows: Vec<Device>, changes: Changes) -> Devices {
        let entry =
            |device: Device| (device.device_id.clone(), Entry { device: Arc::new(device), driver: None });
        Devices { map: RwLock::new(rows.into_iter().map(entry).collect()), changes }
    }

    /// Takes over the whole table as it was read at a generation, and returns the sockets whose devices are no more;
    /// `None` when there is a newer generation, so that it has to be read again. Of a device whose socket is here only
    /// what does not come from the socket is taken over.
    pub(crate) fn replace(&self, rows: Vec<Device>, as_of: u64) -> Option<Vec<Arc<Connection>>> {
        let mut map = self.write();
        // Under the lock: who writes the store says so before it changes the map.
        if self.changes.generation(Topic::Devices) != as_of {
            return None;
        }
        let mut before = std::mem::take(&mut *map);
        for row in rows {
            let Some(Entry { device, driver: Some(driver) }) = before.remove(&row.device_id) else {
                map.insert(row.device_id.clone(), Entry { device: Arc::new(row), driver: None });
                continue;
            };
            let Device { device_id, owner_uid, description, first_seen_at, gids, .. } = row;
            let id = device_id.clone();
            let told = Device::clone(&device);
            let device = Device { device_id, owner_uid, description, first_seen_at, gids, ..told };
            map.insert(id, Entry { device: Arc::new(device), driver: Some(driver) });
        }
        Some(before.into_values().filter_map(|entry| entry.driver).collect())
    }

    /// The devices somebody may use.
    pub(crate) fn visible_to(&self, who: &ProcessIdentity) -> Vec<Arc<Device>> {
        let map = self.read();
        map.values().map(|entry| &entry.device).filter(|device| may_use(device, who)).cloned().collect()
    }

    /// One device, if somebody may use it.
    pub(crate) fn visible(&self, id: &DeviceId, who: &ProcessIdentity) -> Option<Arc<Device>> {
        self.get(id).filter(|device| may_use(device, who))
    }

    /// A device by its id, online or not.
    pub(crate) fn get(&self, id: &DeviceId) -> Option<Arc<Device>> {
        find(&self.read(), id).map(|entry| entry.device.clone())
    }

    /// Changes what is known of a device.
    pub(crate) fn change(&self, id: &DeviceId, change: impl FnOnce(&mut Device)) -> Option<Arc<Device>> {
        let mut map = self.write();
        let entry = map.get_mut(id)?;
        change(Arc::make_mut(&mut entry.device));
        Some(entry.device.clone())
    }

    /// Makes a socket the one that speaks for a device that has just been registered, and returns the one that
    /// did before. `Err` when the socket is gone already. What others may have changed of a known device since it
    /// was read, such as its groups, is left alone.
    pub(crate) fn attach(
        &self,
        registered: &Device,
        driver: &Arc<Connection>,
    ) -> Result<Option<Arc<Connection>>, Gone> {
        let mut map = self.write();
        if driver.outbox.is_closing() {
            let spoken_for = map.get(&registered.device_id).is_some_and(|entry| entry.driver.is_some());
            return Err(Gone { spoken_for });
        }
        let fresh = || Entry { device: Arc::new(registered.clone()), driver: None };
        let entry = map.entry(registered.device_id.clone()).or_insert_with(fresh);
        let device = Arc::make_mut(&mut entry.device);
        device.implements = registered.implements.clone();
        device.platform = registered.platform.clone();
        device.version = registered.version.clone();
        device.online = true;
        device.last_seen_at = registered.last_seen_at;
        device.connected_at = registered.connected_at;
        device.disconnected_at = None;
        Ok(entry.driver.replace(driver.clone()).filter(|old| old.number != driver.number))
    }

    /// The socket is gone. Marks the device offline and returns it, but only if no newer socket speaks for it.
    pub(crate) fn detach(&self, id: &DeviceId, driver: &Connection, now_ms: i64) -> Option<Arc<Device>> {
        let mut map = self.write();
        let entry = map.get_mut(id)?;
        if entry.driver.as_ref().map(|current| current.number) != Some(driver.number) {
            return None;
        }
        entry.driver = None;
        let device = Arc::make_mut(&mut entry.device);
        device.online = false;
        device.disconnected_at = Some(now_ms);
        device.last_seen_at = now_ms;
        Some(entry.device.clone())
    }

    /// The socket that answers a call: access, online, implements, socket, checked in that order.
    pub(crate) fn driver_for(
        &self,
        id: &DeviceId,
        call: &str,
        who: &ProcessIdentity,
    ) -> Result<Arc<Connection>, Error> {
        let map = self.read();
        let Some(entry) = find(&map, id) else {
            let unknown = who.uid.is_root();
            return Err(if unknown {
                Error::unknown_device(&id.0)
            } else {
                Error::device_access_denied(&id.0)
            });
        };
        if !may_use(&entry.device, who) {
            return Err(Error::device_access_denied(&id.0));
        }
        if !entry.device.online {
            return Err(Error::device_offline(&id.0));
        }
        if !capability::covers(&entry.device.implements, call) {
            return Err(Error::not_implemented_by_device(&id.0, call));
        }
        entry.driver.clone().ok_or_else(|| Error::no_connection(&id.0))
    }

    /// What `look` makes of a device, if somebody may use it, and of the socket that speaks for it. Nothing is cloned for
    /// it: their counters are shared by all cores.
    pub(crate) fn look<T>(
        &self,
        id: &DeviceId,
        who: &ProcessIdentity,
        look: impl FnOnce(&Device, Option<&Connection>) -> T,
    ) -> Option<T> {
        let map = self.read();
        let entry = find(&map, id).filter(|entry| may_use(&entry.device, who))?;
        Some(look(&entry.device, entry.driver.as_deref()))
    }

    /// Whether a device that somebody may use went away only because the gateway, which started at that time, had
    /// stopped.
    pub(crate) fn went_with_the_gateway(
        &self,
        id: &DeviceId,
        who: &ProcessIdentity,
        started_at: i64,
    ) -> bool {
        let device = self.visible(id, who);
        device.is_some_and(|device| !device.online && device.disconnected_at == Some(started_at))
    }

    /// Forgets that a group may use devices.
    pub(crate) fn remove_group(&self, gid: Gid) {
        for entry in self.write().values_mut() {
            if entry.device.gids.contains(&gid) {
                Arc::make_mut(&mut entry.device).gids.retain(|held| *held != gid);
            }
        }
    }

    /// Forgets the devices of a user, and returns them as they were. Their sockets are the caller's to close.
    pub(crate) fn remove_of(&self, uid: Uid) -> Vec<Arc<Device>> {
        let mut map = self.write();
        let ids: Vec<DeviceId> = map
            .values()
            .filter(|entry| entry.device.owner_uid == uid)
            .map(|entry| entry.device.device_id.clone())
            .collect();
        ids.iter().filter_map(|id| map.remove(id)).map(|entry| entry.device).collect()
    }

    /// The sockets that speak for devices.
    pub(crate) fn drivers(&self) -> Vec<Arc<Connection>> {
        self.read().values().filter_map(|entry| entry.driver.clone()).collect()
    }

    /// How many there are, and how many of them are online.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let map = self.read();
        (map.len(), map.values().filter(|entry| entry.device.online).count())
    }

    fn read(&self) -> RwLockReadGuard<'_, Map> {
        read(&self.map)
    }

    fn write(&self) -> Changing<'_> {
        let map = write(&self.map);
        Changing { map, changes: &self.changes }
    }
}

/// The map while it is changed. The map changes first and then the number, so whoever sees the new number reads the new
/// map. The store's own number, after the commit, came before the map: what was kept in between is stale now.
struct Changing<'a> {
    map: RwLockWriteGuard<'a, Map>,
    changes: &'a Changes,
}

impl Deref for Changing<'_> {
    type Target = Map;

    fn deref(&self) -> &Map {
        &self.map
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Map {
        &mut self.map
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.changes.advance(Topic::Devices);
    }
}
