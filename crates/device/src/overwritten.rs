//! Undo log of the driver: what was in files before agents overwrote or deleted them, kept outside the workspace.
//!
//! ```text
//!   fs.write, fs.edit, fs.delete, fs.push of an agent
//!     → what is there now as objects by digest ─ durable ─► record: path, before, after, pid, run ─ durable ─► the change
//! ```
//!
//! A record says what a call was about to do; whether it did is seen by looking. So a driver that is killed between the
//! two leaves a record of a change that did not happen, which nothing has to be done about. Bounded in bytes, number and
//! age, oldest first. Nothing here decides whether a change may be made.

mod capture;
mod keeper;
mod objects;
mod prune;
mod put;
mod record;

pub(crate) use capture::{Unkept, captured, present};
pub(crate) use keeper::Keeper;
pub(crate) use put::{present_at, put, put_file};
pub(crate) use record::{Author, Item, Record, State};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use base::clock::Clock;
use base::limits::overwritten as limits;
use base::sync::lock;
use checkpoint::atomic;
use checkpoint::lock::Lock;
use objects::{Batch, Objects};

/// What this machine keeps of files that agents changed.
pub struct Overwritten {
    dir: PathBuf,
    /// The workspace, resolved, and where its checkpoints are.
    pub(crate) workspace: PathBuf,
    pub(crate) checkpoints: PathBuf,
    objects: Objects,
    clock: Clock,
    /// One change of the store at a time; other drivers of this user are kept out by a lock on a file.
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// The highest number that was given.
    last: u64,
    since_prune: u64,
    /// About how many bytes the objects have, and how many records there are.
    bytes: u64,
    records: usize,
}

impl Overwritten {
    /// Opens the store below the driver's directory, and makes it where there is none. It may lie in the workspace, as it
    /// does where that is the home: the guard closes it, and what it is in, to every call of an agent, and the sandbox
    /// hides it.
    pub fn open(state: &Path, workspace: &Path, clock: Clock) -> io::Result<Overwritten> {
        let dir = checkpoint::open_private(&state.join("overwritten")).map_err(io::Error::other)?;
        let workspace = workspace.canonicalize()?;
        for name in ["objects", "list"] {
            checkpoint::open_private(&dir.join(name)).map_err(io::Error::other)?;
        }
        let objects = Objects::new(dir.join("objects"));
        let checkpoints = state.join("checkpoints");
        let store = Overwritten { dir, workspace, checkpoints, objects, clock, counts: Mutex::default() };
        {
            let mut counts = lock(&store.counts);
            counts.last = store.highest()?;
            let _lock = store.lock_file()?;
            store.prune(&mut counts, store.clock.now_ms())?;
        }
        Ok(store)
    }

    /// Keeps a record, which gets its number, once all its objects are durable. It is durable when this returns.
    pub(crate) fn add(&self, batch: Batch<'_>, record: Record) -> Result<u64, Unkept> {
        self.add_unpruned(batch, record).inspect(|_| self.prune_when_due())
    }

    /// The same, and nothing is removed for it: what is old may be needed by whoever adds it.
    pub(crate) fn add_unpruned(&self, batch: Batch<'_>, mut record: Record) -> Result<u64, Unkept> {
        let mut counts = lock(&self.counts);
        let _lock = self.lock_file()?;
        let added = batch.finish()?;
        record.id = counts.last + 1;
        // Another driver of this user may have given it.
        while self.path(record.id).try_exists()? {
            record.id += 1;
        }
        if let Some(run) = record.run.strip_prefix("undo-").filter(|rest| rest.is_empty()) {
            record.run = format!("undo-{}{run}", record.id);
        }
        let text = serde_json::to_vec(&record).map_err(io::Error::from)?;
        if text.len() as u64 > limits::RECORD_BYTES_MAX {
            return Err(Unkept::too_large("its names alone are too long"));
        }
        atomic::write(&self.path(record.id), &text)?;
        counts.last = record.id;
        counts.bytes += added;
        counts.records += 1;
        counts.since_prune += 1;
        Ok(record.id)
    }

    /// Removes what is too old or too much, now and then. What does not work out is tried again.
    pub(crate) fn prune_when_due(&self) {
        let mut counts = lock(&self.counts);
        let is_much = counts.bytes > limits::STORE_BYTES_MAX || counts.records > limits::RECORDS_MAX;
        if counts.since_prune < limits::PRUNE_EVERY && !is_much {
            return;
        }
        let pruned = self.lock_file().and_then(|_lock| self.prune(&mut counts, self.clock.now_ms()));
        if let Err(error) = pruned {
            tracing::warn!(%error, "what was kept of overwritten files is not tidied up");
        }
    }

    /// All records, oldest first. One that cannot be read was not finished, or is not ours.
    pub(crate) fn records(&self) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        for file in fs::read_dir(self.list())? {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let bytes = atomic::read(&path, limits::RECORD_BYTES_MAX).ok().flatten().unwrap_or_default();
            let record = serde_json::from_slice::<Record>(&bytes).ok();
            records.extend(record.filter(|record| self.path(record.id) == path));
        }
        records.sort_by_key(|record| record.id);
        Ok(records)
    }

    /// A place for objects that belong to one record.
    pub(crate) fn batch(&self) -> Batch<'_> {
        self.objects.batch()
    }

    /// The content of a file that was kept.
    pub(crate) fn content(&self, sha256: &str) -> io::Result<Vec<u8>> {
        self.objects.read(sha256)
    }

    /// Whether that content is kept.
    pub(crate) fn holds(&self, sha256: &str) -> bool {
        self.objects.holds(sha256)
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn list(&self) -> PathBuf {
        self.dir.join("list")
    }

    fn path(&self, id: u64) -> PathBuf {
        self.list().join(format!("{id:012}.json"))
    }

    /// The highest number ever given, which is kept aside from the records: they go.
    fn given(&self) -> PathBuf {
        self.list().join("given")
    }

    fn highest(&self) -> io::Result<u64> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let given = atomic::read(&self.given(), 64)?.and_then(|text| number(&String::from_utf8_lossy(&text)));
        let mut last = given.unwrap_or(0);
        for file in fs::read_dir(self.list())? {
            let name = file?.file_name();
            let id = name.to_str().and_then(|name| number(name.strip_suffix(".json")?));
            last = last.max(id.unwrap_or(0));
        }
        Ok(last)
    }

    fn lock_file(&self) -> io::Result<Lock> {
        Lock::acquire(&self.dir, &self.clock).map_err(io::Error::other)
    }
}
