//! Removal of the directories of an overlay, among them those of the kernel's that nobody may enter.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base::limits::sandbox::OVERLAY_DEPTH_MAX;

/// Removes an upper or work directory with everything in it. One that is not there is no error.
pub fn discard(directory: &Path) -> io::Result<()> {
    match open_up(directory, 0).and_then(|()| fs::remove_dir_all(directory)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives the owner back the right to look into every directory.
fn open_up(directory: &Path, depth: usize) -> io::Result<()> {
    if depth > OVERLAY_DEPTH_MAX {
        return Err(io::Error::other("a directory is too deep to be removed"));
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path(), depth + 1)?;
        }
    }
    Ok(())
}
