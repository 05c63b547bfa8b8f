//! Identity types: a user as Linux knows one, and what a connection adds to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{Gid, Uid};

/// A user as processes and connections carry it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessIdentity {
    /// User number.
    pub uid: Uid,
    /// Primary group; every user has a private one with the same number.
    pub gid: Gid,
    /// All groups, ascending.
    pub gids: Vec<Gid>,
    /// Login name.
    pub username: String,
    /// Home directory on the native target.
    pub home: String,
    /// Where relative paths start.
    pub cwd: String,
    /// The workspace, if in one.
    pub workspace_id: Option<String>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person's client.
    User,
    /// A machine that answers `fs.*` and `shell.exec`.
    Driver,
    /// A chat adapter or similar.
    Service,
}

impl Role {
    /// The role's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Driver => "driver",
            Role::Service => "service",
        }
    }

    /// The role of that name.
    pub fn parse(name: &str) -> Option<Role> {
        match name {
            "user" => Some(Role::User),
            "driver" => Some(Role::Driver),
            "service" => Some(Role::Service),
            _ => None,
        }
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ConnectionIdentity {
    /// A person.
    User {
        /// The account.
        process: ProcessIdentity,
        /// Capability patterns.
        capabilities: Vec<String>,
    },
    /// A device.
    Driver {
        /// The account that owns the device.
        process: ProcessIdentity,
        /// Always empty: a driver answers, it does not call.
        capabilities: Vec<String>,
        /// The device's id.
        device: String,
        /// Patterns of the calls it answers.
        implements: Vec<String>,
    },
    /// An adapter.
    Service {
        /// The account it runs for.
        process: ProcessIdentity,
        /// Capability patterns of the services group.
        capabilities: Vec<String>,
        /// The channel it serves.
        channel: String,
    },
}
