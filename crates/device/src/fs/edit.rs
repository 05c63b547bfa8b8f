//! `fs.edit`: exact text for exact text.

use std::io::{self, Read as _};

use base::limits;
use content::Side;
use content::edit::{edited, refuse_empty};
use protocol::fs::{Edit, Edited};

use crate::files::{Failure, Files};
use crate::overwritten::{Keeper, State};

pub(super) fn edit(files: &Files, keeper: &Keeper, args: &Edit) -> Result<Edited, Failure> {
    refuse_empty(args)?;
    let place = files.local_path(&args.path)?;
    let unreadable = |error: io::Error| Failure::of("read", &place, &error);
    let entry = files.entry_to_change(&place).map_err(unreadable)?;
    let _one_at_a_time = files.lock_edit(entry.real());
    let file = entry.open().map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(limits::device_files::READ_TEXT_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let path = place.text();
    let (bytes, replacements) = edited(Side::Device, &path, bytes, args)?;
    keeper.before_write(&entry, || State::file(&bytes), Vec::new())?;
    entry.replace(&bytes).map_err(|error| Failure::of("write", &place, &error))?;
    Ok(Edited { path, replacements })
}
