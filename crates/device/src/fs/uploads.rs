//! The uploads under way, and the partial files of those that were abandoned.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::clock::Clock;
use base::limits;
use tokio::sync::Notify;

use crate::files::Entry;
use crate::machine::Machine;

/// The suffix of partial files.
pub(super) const PARTIAL: &str = "gsv-part";

/// Uploads under way, by partial file: a newer one of the same file ends an older one that lost its caller.
pub struct Uploads {
    running: Mutex<HashMap<PathBuf, Arc<Notify>>>,
    /// The directory that was looked through last, and when.
    swept: Mutex<Option<(PathBuf, i64)>>,
    clock: Clock,
}

impl Uploads {
    pub(crate) fn new(clock: Clock) -> Uploads {
        Uploads { running: Mutex::default(), swept: Mutex::default(), clock }
    }

    pub(super) fn end_older(&self, partial: &Path) {
        if let Some(older) = self.lock().remove(partial) {
            older.notify_one();
        }
    }

    /// Removes partial files beside the target that were abandoned long ago. What does not work out is left
    /// for another time: the upload at hand does not depend on it.
    pub(super) fn sweep(&self, target: &Entry) {
        let dir = target.real().with_file_name("");
        let now = self.clock.now_ms();
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        // Many files are often sent into one directory: it is looked through once.
        if swept.as_ref().is_some_and(|(last, at)| *last == dir && now - at < limits::UPLOAD_SWEEP_MS) {
            return;
        }
        *swept = Some((dir, now));
        drop(swept);
        let Ok(names) = target.beside(OsStr::new(".")).and_then(|dir| {
            dir.list().map(|names| {
                names
                    .take(limits::READ_ENTRIES_MAX)
                    .filter_map(|found| Some(found.ok()?.file_name()))
                    .collect::<Vec<_>>()
            })
        }) else {
            return;
        };
        for name in names.iter().filter(|name| is_partial(name)) {
            if let Err(error) = target.beside(name).and_then(|partial| remove_abandoned(&partial, now)) {
                tracing::debug!(name = %name.display(), %error, "an abandoned upload is left");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Notify>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry in the table; dropping it takes it out.
pub(super) struct Running {
    machine: Arc<Machine>,
    partial: PathBuf,
    ended: Arc<Notify>,
}

impl Running {
    pub(super) fn enter(machine: &Arc<Machine>, partial: &Path) -> Running {
        let (partial, ended) = (partial.to_path_buf(), Arc::new(Notify::new()));
        machine.uploads.lock().insert(partial.clone(), ended.clone());
        Running { machine: machine.clone(), partial, ended }
    }

    /// Told when a newer upload takes over.
    pub(super) fn ended(&self) -> &Notify {
        &self.ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.machine.uploads.lock();
        if running.get(&self.partial).is_some_and(|ended| Arc::ptr_eq(ended, &self.ended)) {
            running.remove(&self.partial);
        }
    }
}

/// `.name.0123456789abcdef.gsv-part`, as uploads name them.
fn is_partial(name: &OsStr) -> bool {
    let Some(name) = name.to_str().and_then(|name| name.strip_prefix('.')) else { return false };
    let mut parts = name.rsplitn(3, '.');
    let is_tag = |tag: &str| tag.len() == 16 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.next() == Some(PARTIAL) && parts.next().is_some_and(is_tag) && parts.next().is_some()
}

/// A lock on it means that an upload is at work.
fn remove_abandoned(partial: &Entry, now: i64) -> io::Result<()> {
    let file = partial.open()?;
    let written_ms = file.metadata()?.mtime().saturating_mul(1_000);
    if now.saturating_sub(written_ms) < limits::UPLOAD_PARTIAL_KEPT_MS || file.try_lock().is_err() {
        return Ok(());
    }
    partial.remove()
}
