//! `gsv devices`: the machines one may use, what they are for, and who may use them.

use clap::{Args, Subcommand};
use protocol::sys::device::{Detail, Get, List, SetAccess, Summary, Update};
use terminal::failure::{Failure, Result};
use terminal::output::{Table, or_dash, pairs};
use terminal::times;

use super::groups::gid_of;
use crate::context::Context;
use crate::session;

/// Arguments of `gsv devices`.
#[derive(Args, Debug)]
pub struct Devices {
    /// List only devices that are connected.
    #[arg(long)]
    online: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

/// Verbs of `gsv devices`.
#[derive(Debug, Subcommand)]
enum Action {
    /// List devices.
    List {
        /// Only devices that are connected.
        #[arg(long)]
        online: bool,
    },
    /// Show everything about a device.
    Show {
        /// The device's id, as listed.
        id: String,
    },
    /// Set the description of a device.
    Describe {
        /// The device's id, as listed.
        id: String,
        /// For people and agents to read.
        text: String,
    },
    /// Let a group use a device (root).
    Allow {
        /// The device's id, as listed.
        id: String,
        /// The group's name or number.
        group: String,
    },
    /// No longer let a group use a device (root).
    Deny {
        /// The device's id, as listed.
        id: String,
        /// The group's name or number.
        group: String,
    },
}

/// Runs one verb of `gsv devices`.
pub async fn run(context: &Context, devices: Devices) -> Result<u8> {
    match devices.action {
        None => list(context, devices.online).await,
        Some(Action::List { online }) => list(context, online || devices.online).await,
        Some(Action::Show { id }) => {
            let answer = session::open(context).await?.call(&Get { device_id: id.clone() }).await?;
            let device = answer.value.device.ok_or_else(|| unknown(&id))?;
            context.output.answer(&answer.raw, || describe(&device))?;
            Ok(0)
        }
        Some(Action::Describe { id, text }) => {
            let call = Update { device_id: id.clone(), description: text };
            let answer = session::open(context).await?.call(&call).await?;
            let device = answer.value.device.ok_or_else(|| unknown(&id))?;
            context.output.answer(&answer.raw, || describe(&device))?;
            Ok(0)
        }
        Some(Action::Allow { id, group }) => set_access(context, id, group, true).await,
        Some(Action::Deny { id, group }) => set_access(context, id, group, false).await,
    }
}

async fn list(context: &Context, online: bool) -> Result<u8> {
    let answer = session::open(context).await?.call(&List { include_offline: Some(!online) }).await?;
    context.output.table(&answer.raw, || table(&answer.value.devices))?;
    Ok(0)
}

async fn set_access(context: &Context, device_id: String, group: String, allow: bool) -> Result<u8> {
    let session = session::open(context).await?;
    let gid = gid_of(&session, &group).await?;
    let answer = session.call(&SetAccess { device_id: device_id.clone(), gid, allow }).await?;
    let gids: Vec<String> = answer.value.gids.iter().map(ToString::to_string).collect();
    let whom =
        if gids.is_empty() { "its owner only".to_string() } else { format!("groups {}", gids.join(", ")) };
    context.output.answer(&answer.raw, || format!("{device_id} may be used by {whom}"))?;
    Ok(0)
}

fn unknown(id: &str) -> Failure {
    Failure::new(format!("there is no device {id} that you may use")).with_hint("`gsv devices` lists them")
}

fn status(online: bool) -> String {
    if online { "online" } else { "offline" }.to_string()
}

fn table(devices: &[Summary]) -> Table {
    let headings = ["ID", "STATUS", "PLATFORM", "VERSION", "OWNER", "LAST SEEN", "DESCRIPTION"];
    let mut table = Table::new(&headings, "no devices");
    for device in devices {
        table.row([
            device.device_id.to_string(),
            status(device.online),
            device.platform.clone(),
            device.version.clone(),
            device.owner_uid.to_string(),
            times::show(device.last_seen_at),
            device.description.clone(),
        ]);
    }
    table
}

fn describe(device: &Detail) -> String {
    pairs(&[
        ("id", device.device_id.to_string()),
        ("status", status(device.online)),
        ("description", device.description.clone()),
        ("owner", device.owner_uid.to_string()),
        ("platform", device.platform.clone()),
        ("version", device.version.clone()),
        ("implements", device.implements.join(", ")),
        ("first seen", times::show(device.first_seen_at)),
        ("last seen", times::show(device.last_seen_at)),
        ("connected", or_dash(device.connected_at.map(times::show))),
        ("disconnected", or_dash(device.disconnected_at.map(times::show))),
    ])
}
