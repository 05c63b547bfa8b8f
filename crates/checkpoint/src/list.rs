//! Catalogue of checkpoints with an atomic commit point: one small file each, renamed into place last, so that an entry
//! means a whole checkpoint.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::limits::checkpoint as limits;

use crate::atomic;
use crate::faults::step;
use crate::label::{Id, Summary};

/// The list of one workspace.
pub(crate) struct List {
    dir: PathBuf,
}

impl List {
    pub(crate) fn new(store: &Path) -> List {
        List { dir: store.join("list") }
    }

    pub(crate) fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.dir)
    }

    /// All entries, oldest first. One that cannot be read was not finished.
    pub(crate) fn entries(&self) -> io::Result<Vec<Summary>> {
        let mut entries = Vec::new();
        for file in fs::read_dir(&self.dir)? {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let bytes = atomic::read(&path, limits::ENTRY_BYTES_MAX).ok().flatten().unwrap_or_default();
            let summary = serde_json::from_slice::<Summary>(&bytes).ok();
            entries.extend(summary.filter(|summary| self.path(summary.id) == path));
        }
        entries.sort_by_key(|summary| summary.id);
        Ok(entries)
    }

    /// The number of the next checkpoint.
    pub(crate) fn next(&self, entries: &[Summary]) -> io::Result<Id> {
        let last = entries.last().map_or(0, |summary| summary.id.0);
        let given = atomic::read(&self.given(), 64)?.and_then(|text| String::from_utf8(text).ok());
        let given = given.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        Ok(Id(last.max(given) + 1))
    }

    pub(crate) fn add(&self, summary: &Summary) -> io::Result<()> {
        step("entry")?;
        atomic::write(&self.path(summary.id), &serde_json::to_vec(summary)?)
    }

    /// Removes entries. The highest number given is kept first, so that it is not given again.
    pub(crate) fn remove(&self, gone: &[Id], entries: &[Summary]) -> io::Result<()> {
        if let Some(last) = entries.last() {
            atomic::write(&self.given(), last.id.to_string().as_bytes())?;
        }
        for id in gone {
            step("entry removed")?;
            atomic::remove(&self.path(*id))?;
        }
        atomic::sync_parent(&self.given())
    }

    fn path(&self, id: Id) -> PathBuf {
        self.dir.join(format!("{:010}.json", id.0))
    }

    fn given(&self) -> PathBuf {
        self.dir.join("given")
    }
}
