//! Reading a pack: objects by name through the index, their packed bytes by offset.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::ZlibDecoder;

use super::oid::{ObjectKind, Oid};
use super::pack_index::{PackEntry, PackIndex};
use crate::atomic;
use crate::error::Fault;

/// A pack with its index.
pub(crate) struct Pack {
    path: PathBuf,
    file: File,
    bytes: u64,
    index: PackIndex,
}

impl Pack {
    /// Opens the pack of an index; `None` when either is not whole.
    pub(super) fn open(index_path: &Path) -> Result<Option<Pack>, Fault> {
        let Some(index) = PackIndex::read(index_path)? else { return Ok(None) };
        let path = index_path.with_extension("pack");
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let bytes = file.metadata()?.len();
        Ok(Some(Pack { path, file, bytes, index }))
    }

    /// The name of its file.
    pub(crate) fn name(&self) -> &std::ffi::OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// How many objects it has.
    pub(crate) fn count(&self) -> usize {
        self.index.count()
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn find(&self, oid: &Oid) -> Option<u64> {
        self.index.find(oid)
    }

    /// Its objects with the length of their packed bytes, in the order in which they lie.
    pub(crate) fn entries(&self) -> Vec<(PackEntry, u64)> {
        let mut entries: Vec<PackEntry> = self.index.entries().collect();
        entries.sort_unstable_by_key(|entry| entry.offset);
        let ends: Vec<u64> = entries.iter().skip(1).map(|entry| u64::from(entry.offset)).collect();
        let end = self.bytes.saturating_sub(Oid::BYTES as u64);
        let ends = ends.into_iter().chain([end]);
        entries
            .into_iter()
            .zip(ends)
            .map(|(entry, end)| (entry, end - u64::from(entry.offset).min(end)))
            .collect()
    }

    /// The packed bytes of an object, to be copied into another pack.
    pub(crate) fn packed(&self, entry: &PackEntry, bytes: u64) -> io::Result<Vec<u8>> {
        let mut packed = vec![0; bytes as usize];
        self.file.read_exact_at(&mut packed, u64::from(entry.offset))?;
        Ok(packed)
    }

    /// Kind, length and content of the object at an offset.
    pub(super) fn object(&self, offset: u64) -> Result<(ObjectKind, u64, impl Read), Fault> {
        let mut packed = BufReader::new(At { file: &self.file, offset });
        let (kind, size) = header(&mut packed)?;
        Ok((kind, size, ZlibDecoder::new(packed).take(size + 1)))
    }

    /// Removes the pack: the index first, without which it does not count.
    pub(crate) fn remove(&self) -> io::Result<()> {
        atomic::remove(&self.path.with_extension("idx"))?;
        crate::faults::step("pack half removed")?;
        fs::remove_file(&self.path)
    }
}

/// The header of an entry: four bits of length with the kind, then seven bits of length a byte.
fn header(from: &mut impl Read) -> Result<(ObjectKind, u64), Fault> {
    let damaged = || Fault::Damaged("an object of an unknown kind".into());
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    let kind = ObjectKind::of_number(byte[0] >> 4 & 7).ok_or_else(damaged)?;
    let (mut size, mut shift) = (u64::from(byte[0] & 15), 4);
    while byte[0] & 0x80 != 0 {
        from.read_exact(&mut byte)?;
        if shift > 57 {
            return Err(damaged());
        }
        size |= u64::from(byte[0] & 0x7f) << shift;
        shift += 7;
    }
    Ok((kind, size))
}

/// Reads on from an offset, without the file's own position.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
