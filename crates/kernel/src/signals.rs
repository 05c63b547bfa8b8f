//! The only way a signal leaves the gateway.

use std::sync::atomic::Ordering;

use protocol::frame;
use protocol::signal::{DeviceEvent, DeviceState, DeviceStatus, Signal};
use store::devices::Device;

use crate::Kernel;
use crate::connections::Login;
use crate::devices::may_use;

/// Sends a signal to every logged-in socket of the signal's roles that fits.
pub(crate) fn emit<S: Signal>(kernel: &Kernel, payload: &S, fits: impl Fn(&Login) -> bool) {
    let receivers = kernel.connections.select(|login| S::SPEC.roles.contains(&login.role) && fits(login));
    if receivers.is_empty() {
        return;
    }
    let text = frame::signal(S::SPEC.name, payload);
    kernel.metrics.signals.fetch_add(receivers.len() as u64, Ordering::Relaxed);
    for receiver in receivers {
        receiver.send(text.clone());
    }
}

/// Tells of a device to the users who may use it and to the device itself.
pub(crate) fn device_status(kernel: &Kernel, event: DeviceEvent, device: &Device) {
    let payload = DeviceStatus { event, device: state(device) };
    emit(kernel, &payload, |login| match login.device_id() {
        Some(own) => *own == device.device_id,
        None => may_use(device, &login.identity()),
    });
}

fn state(device: &Device) -> DeviceState {
    DeviceState {
        device_id: device.device_id.clone(),
        owner_uid: device.owner_uid,
        platform: device.platform.clone(),
        version: device.version.clone(),
        online: device.online,
        first_seen_at: device.first_seen_at,
        last_seen_at: device.last_seen_at,
        connected_at: device.connected_at,
        disconnected_at: device.disconnected_at,
    }
}
