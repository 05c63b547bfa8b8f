//! Atomic durable replacement of small files: temporary beside it, fsync, rename, fsync of the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::faults::step;

/// Writes a file whole or not at all, durable when this returns.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let written = write_new(&temporary, content)
        .and_then(|()| step("rename"))
        .and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        remove(&temporary).ok();
        return Err(error);
    }
    sync_parent(path)
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    step("write")?;
    file.write_all(content)?;
    file.sync_all()
}

/// A new empty file that only we can read; what a crash left under the name is replaced.
pub fn create(path: &Path) -> io::Result<File> {
    remove(path)?;
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Removes a file that may not be there.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes what was renamed into or removed from a directory durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// Reads a file that is expected to be small; `None` when it is not there.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut content = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        return Err(io::Error::other("the file is larger than it should be"));
    }
    Ok(Some(content))
}
