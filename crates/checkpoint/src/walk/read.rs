//! Torn-read detection: one file is read into the store, twice where it changes meanwhile, and marked as torn where it
//! does again.

use std::fs::File;
use std::io::{self, Read as _, Seek};
use std::os::fd::OwnedFd;

use base::limits::checkpoint as limits;
use rustix::io::Errno;

use crate::error::Fault;
use crate::faults::step;
use crate::label::Why;
use crate::objects::{Hasher, ObjectKind, Oid, Streamed, Writer};
use crate::place;
use crate::state::{FileKind, FileState};

/// What became of a file.
pub(super) enum Read {
    /// It is in the store. Torn: as no moment had it, perhaps.
    Kept { oid: Oid, state: FileState, is_torn: bool },
    /// It is not there any more.
    Gone,
    /// It is not in the store.
    Not(Why),
}

/// How often a file that changes is read before it is taken as it comes.
const TRIES: usize = 2;

/// Reads a file. Its name comes from its content as it was read the first time; only new content is read again, to be
/// packed, and is then named by what was packed.
pub(super) fn read(
    writer: &mut Writer<'_>,
    dir: &OwnedFd,
    name: &[u8],
    bytes_max: u64,
) -> Result<Read, Fault> {
    let mut file = match place::open_file(dir, name) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(Read::Gone),
        Err(_) => return Ok(Read::Not(Why::Unreadable)),
    };
    let mut last = None;
    for _ in 0..TRIES {
        let before = place::state_of(&file)?;
        let size = before.key.size;
        if before.kind != FileKind::File {
            return Ok(Read::Not(Why::Special));
        }
        if size > bytes_max {
            return Ok(Read::Not(Why::TooLarge));
        }
        let Ok(named) = name_of(&mut file, size) else { return Ok(Read::Not(Why::Unreadable)) };
        step("file read")?;
        let packed = match named {
            Some(oid) if writer.contains(&oid) => Some(oid),
            Some(_) => pack(writer, &mut file, size)?,
            None => None,
        };
        let state = place::state_of(&file)?;
        match packed {
            Some(oid) if packed == named && state.key == before.key => {
                return Ok(Read::Kept { oid, state, is_torn: false });
            }
            Some(oid) => last = Some((oid, FileState { key: before.key, ..state })),
            None => {}
        }
    }
    Ok(match last {
        Some((oid, state)) => Read::Kept { oid, state, is_torn: true },
        None => Read::Not(Why::Torn),
    })
}

/// The name of the first so many bytes; `None` when there are fewer. What is appended meanwhile shows in the state.
fn name_of(file: &mut File, size: u64) -> io::Result<Option<Oid>> {
    file.rewind()?;
    let mut hasher = Hasher::new(ObjectKind::Blob, size);
    let mut chunk = vec![0; limits::CHUNK_BYTES.min(size as usize)];
    let mut left = size;
    while left > 0 {
        let wanted = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match file.read(&mut chunk[..wanted]) {
            Ok(0) => return Ok(None),
            Ok(read) => {
                hasher.update(&chunk[..read]);
                left -= read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(hasher.finish()))
}

fn pack(writer: &mut Writer<'_>, file: &mut File, size: u64) -> Result<Option<Oid>, Fault> {
    file.rewind()?;
    match writer.stream(ObjectKind::Blob, size, &mut file.take(size))? {
        Streamed::Packed(oid) => Ok(Some(oid)),
        Streamed::OtherLength => Ok(None),
    }
}
