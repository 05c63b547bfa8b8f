//! `fs.read`: files and listings. What a file is to a reader is the matter of `content`.

use std::io::{self, BufReader};

use base::limits;
use content::Side;
use content::lines::Window;
use content::read::{BLOCK_BYTES, content};
use protocol::fs::{Listing, Read, ReadResult};

use crate::files::{Entry, Failure, Files, LocalPath};

pub(super) fn read(files: &Files, args: &Read) -> Result<ReadResult, Failure> {
    let place = files.local_path(&args.path)?;
    let failed = |error: io::Error| Failure::of("read", &place, &error);
    let entry = files.entry(&place).map_err(failed)?;
    if entry.metadata_itself().map_err(failed)?.is_dir() {
        return list(&entry, &place);
    }
    let file = entry.open().map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let window = Window { offset: args.offset, limit: args.limit };
    let reader = BufReader::with_capacity(BLOCK_BYTES, file);
    let rendered = content(Side::Device, reader, &place.text(), size, window).map_err(failed)?;
    rendered.map(ReadResult::File).map_err(Failure::from)
}

fn list(entry: &Entry, place: &LocalPath) -> Result<ReadResult, Failure> {
    let failed = |error: io::Error| Failure::of("read", place, &error);
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for child in entry.list().map_err(failed)? {
        let child = child.map_err(failed)?;
        // A link counts as a file, wherever it leads.
        let is_dir = child.file_type().is_ok_and(|kind| kind.is_dir());
        let name = child.file_name().to_string_lossy().into_owned();
        if is_dir {
            directories.push(name)
        } else {
            files.push(name)
        }
        if files.len() + directories.len() > limits::device_files::READ_ENTRIES_MAX {
            let max = limits::device_files::READ_ENTRIES_MAX;
            return Err(format!("Directory '{}' has more than {max} entries", place.text()).into());
        }
    }
    files.sort();
    directories.sort();
    Ok(ReadResult::Directory(Listing { path: place.text(), files, directories }))
}
