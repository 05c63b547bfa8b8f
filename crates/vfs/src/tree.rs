//! Root object of the file system, one per gateway: the disk, the store and what the virtual files show.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use base::clock::Clock;
use base::limits;
use base::sync::{read, write};
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use store::Store;
use store::workspaces::Filter;
use tokio::sync::Semaphore;

use crate::disk::Disk;
use crate::observe::{Agent, Observer, Settled};
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
    /// What the live tree shows of the gateway.
    pub(crate) sources: Sources,
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
        self.disk.text_cache.unchanged_min = std::time::Duration::ZERO;
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
            sources: Sources::default(),
        }
    }

    /// From now on this is told of every change of a file on disk, and whoever was before no more.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.disk.observed.set(observer);
    }

    /// What somebody has changed so far is set apart from what they, or agents for them, change from now on. An agent
    /// that goes on with its own need not wait for that.
    pub fn settle(&self, who: &ProcessIdentity, but: Option<&Agent>) -> Settled {
        match self.disk.observed.get() {
            Some(observer) => observer.settle(who, but),
            None => Box::pin(async {}),
        }
    }

    /// Tells what the live tree shows of the gateway itself.
    pub fn show_gateway(&self, info: GatewayInfo) {
        *write(&self.sources.gateway) = Some(info);
    }

    /// Tells which commands of the native shell run, of every user.
    pub fn show_sessions(&self, sessions: Source<SessionInfo>) {
        *write(&self.sources.sessions) = Some(sessions);
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

    /// Learns about all homes and workspaces from the accounts in the store; to be called at start.
    pub async fn learn_homes(&self) -> store::Result<()> {
        let accounts = self.store.accounts().all().await?;
        let homes = accounts.into_iter().map(|account| (account.username, (account.uid, account.gid)));
        let homes: HashMap<String, (Uid, Gid)> = homes.collect();
        for row in self.store.workspaces().list(Filter::default()).await? {
            let owner = homes.get(&row.owner_username).filter(|(uid, _)| *uid == row.owner_uid);
            self.disk.change_workspace(&row.workspace_id, owner.copied());
        }
        self.disk.homes(homes);
        Ok(())
    }
}

/// Gives all of something the live tree shows, or the one with that id.
pub type Source<T> = Box<dyn Fn(Option<&str>) -> Vec<T> + Send + Sync>;

/// What the live tree shows of the gateway itself.
pub struct GatewayInfo {
    /// The gateway's version.
    pub version: String,
    /// When it started, in milliseconds.
    pub started_at: i64,
    /// Calls under way on devices, of every user.
    pub routes: Source<RouteInfo>,
}

/// What was told of the gateway so far. Whoever starts over the same tree tells it anew.
#[derive(Default)]
pub(crate) struct Sources {
    gateway: RwLock<Option<GatewayInfo>>,
    sessions: RwLock<Option<Source<SessionInfo>>>,
}

impl Sources {
    pub(crate) fn version(&self) -> String {
        read(&self.gateway).as_ref().map(|live| live.version.clone()).unwrap_or_default()
    }

    pub(crate) fn uptime_ms(&self, now_ms: i64) -> i64 {
        read(&self.gateway).as_ref().map_or(0, |live| (now_ms - live.started_at).max(0))
    }

    pub(crate) fn routes(&self, id: Option<&str>) -> Vec<RouteInfo> {
        read(&self.gateway).as_ref().map(|live| (live.routes)(id)).unwrap_or_default()
    }

    pub(crate) fn sessions(&self, id: Option<&str>) -> Vec<SessionInfo> {
        read(&self.sessions).as_ref().map(|sessions| sessions(id)).unwrap_or_default()
    }
}

/// A call under way on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteInfo {
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
pub struct SessionInfo {
    pub id: String,
    /// Whose it is.
    pub uid: protocol::ids::Uid,
    /// What was typed.
    pub input: String,
    /// When it began, in milliseconds.
    pub started_at: i64,
}
