//! Upload registry of the driver, and garbage collection of abandoned partial files.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use base::limits;
use base::sync::lock;

use crate::files::Entry;

/// Uploads under way, by partial file, and when abandoned ones were last looked for.
pub struct Uploads {
    pub(super) running: Arc<transfer::Uploads<PathBuf>>,
    /// The directory that was looked through last, and when.
    swept: Mutex<Option<(PathBuf, i64)>>,
    clock: Clock,
}

impl Uploads {
    pub(crate) fn new(clock: Clock) -> Uploads {
        Uploads { running: Arc::default(), swept: Mutex::default(), clock }
    }

    /// Removes partial files beside the target that were abandoned long ago. What does not work out is left
    /// for another time: the upload at hand does not depend on it.
    pub(super) fn sweep(&self, target: &Entry) {
        let dir = target.real().with_file_name("");
        let now = self.clock.now_ms();
        let mut swept = lock(&self.swept);
        // Many files are often sent into one directory: it is looked through once.
        if swept
            .as_ref()
            .is_some_and(|(last, at)| *last == dir && now - at < limits::device_files::UPLOAD_SWEEP_MS)
        {
            return;
        }
        *swept = Some((dir, now));
        drop(swept);
        let Ok(names) = target.beside(OsStr::new(".")).and_then(|dir| {
            dir.list().map(|names| {
                names
                    .take(limits::device_files::READ_ENTRIES_MAX)
                    .filter_map(|found| Some(found.ok()?.file_name()))
                    .collect::<Vec<_>>()
            })
        }) else {
            return;
        };
        for name in names.iter().filter(|name| name.to_str().is_some_and(transfer::is_partial)) {
            if let Err(error) = target.beside(name).and_then(|partial| remove_abandoned(&partial, now)) {
                tracing::debug!(name = %name.display(), %error, "an abandoned upload is left");
            }
        }
    }
}

/// A lock on it means that an upload is at work.
fn remove_abandoned(partial: &Entry, now: i64) -> io::Result<()> {
    let file = partial.open()?;
    let written_ms = file.metadata()?.mtime().saturating_mul(1_000);
    if now.saturating_sub(written_ms) < limits::device_files::UPLOAD_PARTIAL_KEPT_MS
        || file.try_lock().is_err()
    {
        return Ok(());
    }
    partial.remove()
}
