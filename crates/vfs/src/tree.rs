//! The tree itself, one per gateway.

use std::path::Path;

use base::clock::Clock;
use store::Store;

use crate::disk::Disk;

/// The tree itself, one per gateway; see [`crate::View`] for how it is used.
pub struct Tree {
    pub(crate) disk: Disk,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
}

impl Tree {
    /// Opens the tree whose files are in `files`, making what is missing.
    pub fn open(files: &Path, store: Store, clock: Clock) -> std::io::Result<Tree> {
        Ok(Tree { disk: Disk::open(files)?, store, clock })
    }
}

/// What only the kernel knows, for the live tree.
pub trait Facts: Send + Sync {
    /// The gateway's version.
    fn version(&self) -> String;
    /// How long the gateway has been running.
    fn uptime_ms(&self) -> i64;
    /// Calls under way on devices, of every user.
    fn routes(&self) -> Vec<RouteFact>;
    /// Commands of the native shell that run, of every user.
    fn shell_sessions(&self) -> Vec<SessionFact>;
}

/// A call under way on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFact {
    /// The gateway's id for it.
    pub id: String,
    /// The call's name.
    pub call: String,
    /// Where.
    pub device_id: String,
    /// Who asked.
    pub uid: protocol::ids::Uid,
    /// When it began, in milliseconds.
    pub started_at: i64,
}

/// A command of the native shell that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFact {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub uid: protocol::ids::Uid,
    /// What was typed.
    pub input: String,
    /// When it began, in milliseconds.
    pub started_at: i64,
}
