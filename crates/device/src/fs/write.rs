//! `fs.write`: a whole file, all or nothing.

use protocol::fs::{Write, Written};

use crate::files::{Failure, Files};
use crate::overwritten::{Keeper, State};

pub(super) fn write(files: &Files, keeper: &Keeper, args: &Write) -> Result<Written, Failure> {
    let place = files.local_path(&args.path)?;
    let failed = |error| Failure::of("write", &place, &error);
    let made = keeper.missing_directories(files, &place);
    let entry = files.entry_to_write(&place).map_err(failed)?;
    let _one_at_a_time = files.lock_edit(entry.real());
    keeper.before_write(&entry, || State::file(args.content.as_bytes()), made)?;
    entry.replace(args.content.as_bytes()).map_err(failed)?;
    Ok(Written { path: place.text(), size: args.content.len() as u64 })
}
