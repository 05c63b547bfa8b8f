//! Handlers of `sys.device.*`: listing, describing and sharing devices.

use base::limits;
use protocol::error::Error;
use protocol::ids::{DeviceId, Gid};
use protocol::sys::device::{AccessResult, Detail, Get, Got, List, Listed, SetAccess, Summary, Update};
use store::devices::Device;

use crate::calls::Cx;
use crate::connections::Connection;

pub(crate) fn list(cx: &Cx, args: List) -> Result<Listed, Error> {
    let offline_too = args.include_offline == Some(true);
    let visible = cx.kernel.devices.visible_to(&cx.caller.identity);
    let devices = visible.iter().filter(|device| device.online || offline_too);
    Ok(Listed { devices: devices.map(|device| summary(device)).collect() })
}

pub(crate) fn get(cx: &Cx, args: Get) -> Result<Got, Error> {
    let id = required("sys.device.get", args.device_id)?;
    Ok(Got { device: cx.kernel.devices.look(&id, &cx.caller.identity, detail) })
}

pub(crate) async fn update(cx: Cx, args: Update) -> Result<Got, Error> {
    let id = required("sys.device.update", args.device_id)?;
    let Some(device) = cx.kernel.devices.visible(&id, &cx.caller.identity) else {
        return Ok(Got { device: None });
    };
    if !cx.caller.is_root() && device.owner_uid != cx.caller.uid() {
        return Err(Error::forbidden("Permission denied: device metadata is owner-managed"));
    }
    let description = args.description.trim();
    if description.chars().count() > limits::route::DEVICE_DESCRIPTION_MAX_CHARS {
        let why = format!("must be at most {} characters", limits::route::DEVICE_DESCRIPTION_MAX_CHARS);
        return Err(Error::bad_argument("sys.device.update", "description", &why));
    }
    if description.contains('\0') {
        return Err(Error::bad_argument("sys.device.update", "description", "must not contain NUL"));
    }
    let (id, now_ms) = (device.device_id.clone(), cx.kernel.clock.now_ms());
    cx.kernel.store.devices().describe(&id, description, now_ms).await?;
    cx.kernel.devices.change(&id, |device| {
        device.description = description.to_string();
        device.last_seen_at = now_ms;
    });
    Ok(Got { device: cx.kernel.devices.look(&id, &cx.caller.identity, detail) })
}

pub(crate) async fn access(cx: Cx, args: SetAccess) -> Result<AccessResult, Error> {
    let id = required("sys.device.access", args.device_id)?;
    let device = cx.kernel.devices.get(&id).ok_or_else(|| Error::unknown_device(&id.0))?;
    let id = device.device_id.clone();
    if args.allow {
        let groups = cx.kernel.store.groups().all().await?;
        if !groups.iter().any(|group| group.gid == args.gid) {
            return Err(Error::not_found(format!("Unknown group: {}", args.gid)));
        }
    }
    cx.kernel.store.devices().set_access(&id, args.gid, args.allow).await?;
    let changed = cx.kernel.devices.change(&id, |device| set_member(&mut device.gids, args.gid, args.allow));
    Ok(AccessResult { device_id: id, gids: changed.map(|device| device.gids.clone()).unwrap_or_default() })
}

fn set_member(gids: &mut Vec<Gid>, gid: Gid, allow: bool) {
    gids.retain(|held| *held != gid);
    if allow {
        gids.push(gid);
        gids.sort_unstable();
    }
}

fn required(call: &str, id: String) -> Result<DeviceId, Error> {
    let id = id.trim();
    if id.is_empty() { Err(Error::missing_argument(call, "deviceId")) } else { Ok(DeviceId(id.to_string())) }
}

fn summary(device: &Device) -> Summary {
    Summary {
        device_id: device.device_id.clone(),
        owner_uid: device.owner_uid,
        description: device.description.clone(),
        platform: device.platform.clone(),
        version: device.version.clone(),
        online: device.online,
        last_seen_at: device.last_seen_at,
    }
}

fn detail(device: &Device, driver: Option<&Connection>) -> Detail {
    let told = driver.and_then(Connection::confinement).cloned().unwrap_or_default();
    Detail {
        device_id: device.device_id.clone(),
        owner_uid: device.owner_uid,
        description: device.description.clone(),
        platform: device.platform.clone(),
        version: device.version.clone(),
        online: device.online,
        last_seen_at: device.last_seen_at,
        implements: device.implements.clone(),
        first_seen_at: device.first_seen_at,
        connected_at: device.connected_at,
        disconnected_at: device.disconnected_at,
        confine: told.confine,
        workspace: told.workspace,
        home: told.home,
        shell: told.shell,
        agents: told.agents,
    }
}
