//! `gsv groups`: groups, for root.

use clap::Subcommand;
use client::Session;
use protocol::ids::Gid;
use protocol::sys::account::{Group, GroupCreate, GroupList, GroupRemove};
use terminal::failure::{Failure, Result};
use terminal::output::Table;

use crate::context::Context;
use crate::session;

/// Verbs of `gsv groups`.
#[derive(Debug, Subcommand)]
pub enum Groups {
    /// List all groups.
    List,
    /// Add a group.
    Add {
        /// The group's name.
        name: String,
    },
    /// Remove a group and what was granted to it.
    Remove {
        /// The group's name.
        name: String,
    },
}

/// Runs one verb of `gsv groups`.
pub async fn run(context: &Context, groups: Groups) -> Result<u8> {
    let session = session::open(context).await?;
    match groups {
        Groups::List => {
            let answer = session.call(&GroupList {}).await?;
            context.output.table(&answer.raw, || table(&answer.value.groups))?;
        }
        Groups::Add { name } => {
            let answer = session.call(&GroupCreate { name: name.clone() }).await?;
            let gid = answer.value.group.gid;
            context.output.answer(&answer.raw, || format!("added {name} (gid {gid})"))?;
        }
        Groups::Remove { name } => {
            let answer = session.call(&GroupRemove { name: name.clone() }).await?;
            if !answer.value.removed {
                return Err(Failure::new(format!("there is no group {name}")));
            }
            context.output.answer(&answer.raw, || format!("removed {name}"))?;
        }
    }
    Ok(0)
}

/// The number of a group that a person named by number or name.
pub async fn gid_of(session: &Session, group: &str) -> Result<Gid> {
    if let Ok(number) = group.parse() {
        return Ok(Gid(number));
    }
    let groups = session.call(&GroupList {}).await?.value.groups;
    let found = groups.iter().find(|candidate| candidate.name == group);
    found.map(|group| group.gid).ok_or_else(|| {
        Failure::new(format!("there is no group {group}")).with_hint("`gsv groups list` lists them")
    })
}

fn table(groups: &[Group]) -> Table {
    let mut table = Table::new(&["GID", "NAME", "MEMBERS"], "no groups");
    for group in groups {
        table.row([group.gid.to_string(), group.name.clone(), group.members.join(",")]);
    }
    table
}
