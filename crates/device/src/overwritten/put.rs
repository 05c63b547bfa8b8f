//! Putting a path back to what it was. No link is followed, neither at the path nor on the way to it.

use std::io;
use std::path::Path;

use super::{Overwritten, State, present};
use crate::files::{Entry, Files};

/// What is at a real path now. Where its directory is gone, that is nothing.
pub(crate) fn present_at(files: &Files, path: &Path) -> io::Result<State> {
    match files.entry_exactly(path) {
        Err(error) if is_missing(&error) => Ok(State::Absent),
        entry => present(&entry?),
    }
}

/// Makes a path what it was. A directory is made, and removed where it is empty; a file keeps the mode that it has now.
pub(crate) fn put(files: &Files, store: &Overwritten, path: &Path, wanted: &State) -> io::Result<()> {
    match wanted {
        State::Absent => remove(files, path),
        State::File { sha256, mode, .. } => put_file(files, path, &store.content(sha256)?, *mode),
        State::Link { target } => {
            let entry = entry(files, path)?;
            if entry.metadata_itself().is_ok_and(|found| !found.is_dir()) {
                entry.remove()?;
            }
            entry.make_link(target)
        }
        State::Dir { .. } => make_directories(files, path),
        State::Other => Err(io::Error::other("it has no content that could be kept")),
    }
}

/// The same with a content at hand.
pub(crate) fn put_file(files: &Files, path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    let entry = entry(files, path)?;
    let is_new = entry.metadata_itself().is_err();
    entry.replace(content)?;
    match mode {
        Some(mode) if is_new => entry.set_mode(mode),
        _ => Ok(()),
    }
}

fn remove(files: &Files, path: &Path) -> io::Result<()> {
    let entry = match files.entry_exactly(path) {
        Err(error) if is_missing(&error) => return Ok(()),
        entry => entry?,
    };
    match entry.metadata_itself() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(found) if found.is_dir() => entry.remove_empty_directory().map(drop),
        _ => entry.remove(),
    }
}

/// The entry of a path whose directories are made where they are gone.
fn entry(files: &Files, path: &Path) -> io::Result<Entry> {
    match files.entry_exactly(path) {
        Err(error) if is_missing(&error) => {
            path.parent().map_or(Ok(()), |parent| make_directories(files, parent))?;
            files.entry_exactly(path)
        }
        entry => entry,
    }
}

fn make_directories(files: &Files, path: &Path) -> io::Result<()> {
    let entry = entry(files, path)?;
    match entry.metadata_itself() {
        Ok(found) if found.is_dir() => Ok(()),
        _ => entry.make_directory(),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
