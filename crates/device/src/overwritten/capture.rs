//! Snapshots of single files and trees, taken through the open directory that a call goes on to change.

use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use base::limits::overwritten as limits;
use cap_std::fs::MetadataExt as _;

use super::objects::{Batch, digest_of};
use super::{Item, State};
use crate::files::Entry;

/// Why something can not be kept, in words that stand after "because".
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Unkept {
    why: String,
}

impl Unkept {
    pub(super) fn too_large(why: &str) -> Unkept {
        Unkept { why: why.to_string() }
    }

    /// The driver has no store.
    pub(super) fn no_store(why: &str) -> Unkept {
        Unkept { why: why.to_string() }
    }
}

impl From<io::Error> for Unkept {
    fn from(error: io::Error) -> Unkept {
        let why = match checkpoint::is_disk_full(&error) {
            true => "the disk of the driver's own files is full".to_string(),
            false => error.to_string(),
        };
        Unkept { why }
    }
}

/// What is at an entry now. Contents are read and not kept.
pub(crate) fn present(entry: &Entry) -> io::Result<State> {
    state(entry, digest_of)
}

/// The same with the content taken into a batch.
pub(crate) fn captured(entry: &Entry, batch: &mut Batch<'_>) -> Result<State, Unkept> {
    let mut unkept = None;
    let taken = state(entry, |file| {
        batch.add(file).map_err(|why| {
            unkept = Some(why);
            io::Error::other("not kept")
        })
    });
    match unkept {
        Some(why) => Err(why),
        None => Ok(taken?),
    }
}

fn state(
    entry: &Entry,
    content: impl FnOnce(std::fs::File) -> io::Result<(String, u64)>,
) -> io::Result<State> {
    let found = match entry.metadata_itself() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
        found => found?,
    };
    if found.is_symlink() {
        return Ok(State::Link { target: entry.link_target()? });
    }
    if found.is_dir() {
        return Ok(State::Dir { mode: Some(found.mode() & 0o7777) });
    }
    if !found.is_file() {
        return Ok(State::Other);
    }
    let file = entry.open()?;
    let metadata = file.metadata()?;
    let mode = Some(metadata.permissions().mode() & 0o7777);
    let changed_ms = Some(metadata.mtime().saturating_mul(1_000) + metadata.mtime_nsec() / 1_000_000);
    let (sha256, size) = content(file)?;
    Ok(State::File { sha256, size, mode, changed_ms })
}

/// Everything at and below an entry, as it is about to be deleted. Links are not followed.
pub(super) fn tree(entry: &Entry, batch: &mut Batch<'_>, items: &mut Vec<Item>) -> Result<(), Unkept> {
    below(entry, batch, items, 0)
}

fn below(entry: &Entry, batch: &mut Batch<'_>, items: &mut Vec<Item>, depth: usize) -> Result<(), Unkept> {
    batch.items += 1;
    if batch.items > limits::CALL_ITEMS_MAX {
        return Err(Unkept::too_large(&format!("it holds more than {} files", limits::CALL_ITEMS_MAX)));
    }
    if depth > limits::DEPTH_MAX {
        return Err(Unkept::too_large("its directories are nested too deeply"));
    }
    let before = captured(entry, batch)?;
    let is_dir = matches!(before, State::Dir { .. });
    let path: PathBuf = entry.real().to_path_buf();
    items.push(Item { path, before, after: State::Absent });
    if !is_dir {
        return Ok(());
    }
    let inside = entry.enter()?;
    for child in inside.list()? {
        let child = child?;
        below(&inside.child(&child.file_name())?, batch, items, depth + 1)?;
    }
    Ok(())
}
