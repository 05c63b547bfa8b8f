//! Resumable directory copies: a record of each copy that was begun and has not ended. With it the same command goes on
//! where it was, instead of copying into the directory that it made itself.

use std::path::{Path, PathBuf};

use base::clock::Clock;
use base::limits;

use super::location::Location;
use super::tree::show;

/// The record of one copy.
pub struct Unfinished {
    /// Nowhere to keep it when absent; the copy does not depend on it.
    path: Option<PathBuf>,
    /// Where the copy that was begun goes: into the destination under the source's name, or to the destination itself.
    pub inside: Option<bool>,
}

/// What the record says of a copy into an existing directory.
const INSIDE: &str = "inside";
/// What it says of others.
const ITSELF: &str = "itself";

impl Unfinished {
    /// Looks for an earlier attempt at the same copy. `whose` tells apart gateways and users.
    pub async fn find(whose: &str, source: &Location, destination: &Location, clock: &Clock) -> Unfinished {
        let Some(directory) = terminal::line_editor::state_directory() else {
            return Unfinished { path: None, inside: None };
        };
        let directory = directory.join("copies");
        sweep(&directory, clock.now_ms());
        let name = format!("{whose}\0{}\0{}", absolute(source), absolute(destination));
        // Memory can always be read.
        let name = transfer::hash(&mut name.as_bytes(), name.len() as u64).await.unwrap_or_default();
        let path = directory.join(transfer::hex(name));
        let inside = std::fs::read_to_string(&path).ok().map(|text| text.trim() == INSIDE);
        Unfinished { path: Some(path), inside }
    }

    /// The copy begins.
    pub fn begin(&self, inside: bool) {
        let Some(path) = &self.path else { return };
        let directory = path.parent().unwrap_or(Path::new("."));
        let kept = std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(path, if inside { INSIDE } else { ITSELF }));
        if let Err(error) = kept {
            tracing::debug!(path = %path.display(), %error, "a copy is not recorded");
        }
    }

    /// The copy is complete.
    pub fn end(&self) {
        if let Some(path) = &self.path
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::debug!(path = %path.display(), %error, "the record of a copy stays");
        }
    }
}

/// Forgets copies that nobody went on with.
fn sweep(directory: &Path, now_ms: i64) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.take(limits::device_files::READ_ENTRIES_MAX).flatten() {
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let changed_ms = changed
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
            .and_then(|since| i64::try_from(since.as_millis()).ok());
        if changed_ms.is_some_and(|changed_ms| now_ms - changed_ms > limits::cli::COPY_RECORD_KEPT_MS)
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::debug!(%error, "the record of a copy stays");
        }
    }
}

/// The location as it is written from any directory.
fn absolute(location: &Location) -> String {
    match location {
        Location::Local(path) => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        }
        Location::Remote(_) => show(location),
    }
}
