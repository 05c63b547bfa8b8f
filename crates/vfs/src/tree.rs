//! The tree itself, one per gateway.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use base::limits;
use protocol::ids::{Gid, Uid};
use store::Store;
use tokio::sync::Semaphore;

use crate::disk::Disk;
use crate::search::Admission;
use crate::view::inline_write::WriteLatency;

/// The tree itself, one per gateway; see [`crate::View`] for how it is used.
pub struct Tree {
    pub(crate) disk: Disk,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    /// Turns at the disk, for callers on the async runtime.
    pub(crate) turns: Arc<Semaphore>,
    /// How the last write went.
    pub(crate) write_latency: WriteLatency,
    /// Turns at searching.
    pub(crate) searches: Admission,
    /// Held while a live file is changed: what was read must still be true when it is written.
    pub(crate) live_changes: tokio::sync::Mutex<()>,
    /// The generation of the config that the quota of a user was last read from.
    pub(crate) quotas_read: Mutex<HashMap<Uid, u64>>,
}

impl Tree {
    /// Opens the tree whose files are in `files`, making what is missing.
    pub fn open(files: &Path, store: Store, clock: Clock) -> std::io::Result<Tree> {
        let disk = Disk::open(files, clock.clone())?;
        Ok(Tree::new(disk, store, clock))
    }

    /// The same, as if the file system kept no extended attributes: for tests.
    #[doc(hidden)]
    pub fn open_plain(files: &Path, store: Store, clock: Clock) -> std::io::Result<Tree> {
        let disk = Disk::open_plain(files, clock.clone())?;
        Ok(Tree::new(disk, store, clock))
    }

    /// The same in a given run of the machine: for tests.
    #[doc(hidden)]
    pub fn open_in(files: &Path, store: Store, clock: Clock, boot: [u8; 16]) -> std::io::Result<Tree> {
        let disk = Disk::open_in(files, clock.clone(), Some(boot))?;
        Ok(Tree::new(disk, store, clock))
    }

    /// Leaves the journal of small writes as a killed gateway does; the tree must not be used any more: for tests.
    #[doc(hidden)]
    pub fn abandon(&self) {
        self.disk.journal.abandon();
    }

    /// Keeps files as they were shown from the second time on, however young they are: for tests.
    #[doc(hidden)]
    pub fn trust_young_files(&mut self) {
        self.disk.text_cache.settled = std::time::Duration::ZERO;
    }

    fn new(disk: Disk, store: Store, clock: Clock) -> Tree {
        let turns = Arc::new(Semaphore::new(limits::files::WORK_MAX));
        Tree {
            disk,
            store,
            clock,
            turns,
            write_latency: WriteLatency::default(),
            searches: Admission::default(),
            live_changes: Default::default(),
            quotas_read: Mutex::default(),
        }
    }

    /// Tells whose homes are whose by name, for homes that keep no owner themselves.
    pub fn homes(&self, homes: HashMap<String, (Uid, Gid)>) {
        self.disk.homes(homes);
    }

    /// Tells whose home a new one is.
    pub fn add_home(&self, name: &str, uid: Uid, gid: Gid) {
        self.disk.change_home(name, |_| Some((uid, gid)));
    }

    /// Tells that a home is that user's no more. One that a newer user of the same name has is left alone.
    pub fn remove_home(&self, name: &str, uid: Uid) {
        self.disk.change_home(name, |is| is.filter(|(owner, _)| *owner != uid));
    }

    /// Learns about all homes from the accounts in the store; to be called at start.
    pub async fn learn_homes(&self) -> store::Result<()> {
        let accounts = self.store.accounts().all().await?;
        let homes = accounts.into_iter().map(|account| (account.username, (account.uid, account.gid)));
        self.disk.homes(homes.collect());
        Ok(())
    }
}

/// What only the kernel knows, for the live tree.
pub trait Facts: Send + Sync {
    fn version(&self) -> String;
    /// How long the gateway has been running.
    fn uptime_ms(&self) -> i64;
    /// Calls under way on devices, of every user.
    fn routes(&self) -> Vec<RouteFact>;
    /// One of them by its id.
    fn route(&self, id: &str) -> Option<RouteFact> {
        self.routes().into_iter().find(|route| route.id == id)
    }
    /// Commands of the native shell that run, of every user.
    fn shell_sessions(&self) -> Vec<SessionFact>;
    /// One of them by its id.
    fn shell_session(&self, id: &str) -> Option<SessionFact> {
        self.shell_sessions().into_iter().find(|session| session.id == id)
    }
}

/// A call under way on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFact {
    /// The gateway's id for it.
    pub id: String,
    pub call: String,
    /// The device it runs on.
    pub device_id: String,
    /// Who asked.
    pub uid: protocol::ids::Uid,
    /// When it began, in milliseconds.
    pub started_at: i64,
}

/// A command of the native shell that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFact {
    pub id: String,
    /// Whose it is.
    pub uid: protocol::ids::Uid,
    /// What was typed.
    pub input: String,
    /// When it began, in milliseconds.
    pub started_at: i64,
}
