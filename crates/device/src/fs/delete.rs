//! `fs.delete`: a file, or a directory with everything in it, but never what the machine stands on.

use std::io;

use protocol::fs::{Delete, Deleted};

use crate::files::Files;

pub(super) fn delete(files: &Files, args: &Delete) -> Result<Deleted, String> {
    let place = files.place(&args.path)?;
    let failed = |error: io::Error| format!("Failed to delete '{}': {error}", place.text());
    let entry = files.entry_itself(&place).map_err(failed)?;
    let is_dir = entry.metadata_itself().map_err(failed)?.is_dir();
    if let Some(what) = files.protected(entry.real()).filter(|_| is_dir) {
        return Err(format!("Refused to delete '{}': it is or contains {what}", place.text()));
    }
    entry.remove().map_err(failed)?;
    Ok(Deleted { path: place.text() })
}
