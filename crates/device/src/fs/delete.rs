//! `fs.delete`: a file, or a directory with everything in it, but never what the machine stands on.

use protocol::error::Error;
use protocol::fs::{Delete, Deleted};

use crate::files::{Failure, Files};
use crate::overwritten::Keeper;

pub(super) fn delete(files: &Files, keeper: &Keeper, args: &Delete) -> Result<Deleted, Failure> {
    let place = files.local_path(&args.path)?;
    let failed = |error| Failure::of("delete", &place, &error);
    let entry = files.entry_itself(&place).map_err(failed)?;
    let refused = |what: &str| {
        Failure::Refused(Error::forbidden(format!("Refused to delete '{}': it is {what}", place.text())))
    };
    if let Some(what) = files.protected(entry.real()) {
        return Err(refused(&format!("or contains {what}")));
    }
    if entry.is_mount_point().map_err(failed)? {
        return Err(refused("a mount point"));
    }
    keeper.before_delete(&entry)?;
    entry.remove().map_err(failed)?;
    Ok(Deleted { path: place.text() })
}
