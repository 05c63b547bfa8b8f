//! `fs.write`: a whole file, all or nothing.

use protocol::fs::{Write, Written};

use crate::files::{Failure, Files};

pub(super) fn write(files: &Files, args: &Write) -> Result<Written, Failure> {
    let place = files.local_path(&args.path)?;
    let failed = |error| Failure::of("write", &place, &error);
    let entry = files.entry_to_write(&place).map_err(failed)?;
    let _one_at_a_time = files.lock_edit(entry.real());
    entry.replace(args.content.as_bytes()).map_err(failed)?;
    Ok(Written { path: place.text(), size: args.content.len() as u64 })
}
