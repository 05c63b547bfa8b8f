//! `gsv capabilities`: which group may call what, for root.

use clap::Subcommand;
use protocol::sys::account::{CapabilityList, Grant, Granted, Revoke};
use terminal::failure::Result;
use terminal::output::Table;

use super::groups::gid_of;
use crate::context::Context;
use crate::session;

/// Verbs of `gsv capabilities`.
#[derive(Debug, Subcommand)]
pub enum Capabilities {
    /// List the capabilities of groups.
    List {
        /// Only this group, by name or number.
        group: Option<String>,
    },
    /// Give a capability to a group.
    Grant {
        /// The group's name or number.
        group: String,
        /// A call such as fs.read, or a pattern such as fs.*.
        capability: String,
    },
    /// Take a capability from a group.
    Revoke {
        /// The group's name or number.
        group: String,
        /// The call or pattern, as listed.
        capability: String,
    },
}

/// Runs one verb of `gsv capabilities`.
pub async fn run(context: &Context, capabilities: Capabilities) -> Result<u8> {
    let session = session::open(context).await?;
    let (raw, changed, did) = match capabilities {
        Capabilities::List { group } => {
            let gid = match group {
                Some(group) => Some(gid_of(&session, &group).await?),
                None => None,
            };
            let answer = session.call(&CapabilityList { gid }).await?;
            context.output.table(&answer.raw, || table(&answer.value.capabilities))?;
            return Ok(0);
        }
        Capabilities::Grant { group, capability } => {
            let gid = gid_of(&session, &group).await?;
            let did = format!("{group} may call {capability}");
            let answer = session.call(&Grant { gid, capability }).await?;
            (answer.raw, answer.value.changed, did)
        }
        Capabilities::Revoke { group, capability } => {
            let gid = gid_of(&session, &group).await?;
            let did = format!("{group} may not call {capability}");
            let answer = session.call(&Revoke { gid, capability }).await?;
            (answer.raw, answer.value.changed, did)
        }
    };
    let when = if changed { "now" } else { "already" };
    context.output.answer(&raw, || format!("{did} ({when})"))?;
    Ok(0)
}

fn table(granted: &[Granted]) -> Table {
    let mut table = Table::new(&["GID", "CAPABILITY"], "no capabilities");
    for row in granted {
        table.row([row.gid.to_string(), row.capability.clone()]);
    }
    table
}
