//! `fs.write`: a whole file, all or nothing.

use std::io;

use protocol::fs::{Write, Written};

use crate::files::Files;

pub(super) fn write(files: &Files, args: &Write) -> Result<Written, String> {
    let place = files.place(&args.path)?;
    let failed = |error: io::Error| format!("Failed to write '{}': {error}", place.text());
    let entry = files.entry_to_write(&place).map_err(failed)?;
    let _one_at_a_time = files.lock_edit(entry.real());
    entry.replace(args.content.as_bytes()).map_err(failed)?;
    Ok(Written { path: place.text(), size: args.content.len() as u64 })
}
