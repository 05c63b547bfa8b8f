//! Writing one pack: objects are appended to a temporary file, which becomes a pack with an index when it is finished.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;

use base::limits::checkpoint as limits;
use flate2::Crc;
use sha2::{Digest, Sha256};

use super::Objects;
use super::deflate::Deflater;
use super::oid::{Hasher, ObjectKind, Oid};
use super::pack_index::{self, PackEntry};
use crate::atomic;
use crate::error::Fault;
use crate::faults::step;

/// A pack under way. Dropped before it is finished it leaves nothing.
pub(crate) struct Writer<'a> {
    objects: &'a Objects,
    path: PathBuf,
    /// Made with the first object: a workspace in which nothing changed needs no pack.
    file: Option<BufWriter<File>>,
    /// Names objects without keeping them.
    is_dry: bool,
    bytes: u64,
    entries: Vec<PackEntry>,
    names: HashSet<Oid>,
    deflater: Deflater,
}

/// What became of a file that was to be packed.
pub(crate) enum Streamed {
    /// It is in the pack under the name that its bytes have.
    Packed(Oid),
    /// It had another length than was said; nothing of it is in the pack.
    OtherLength,
}

const HEADER: &[u8; 12] = b"PACK\0\0\0\x02\0\0\0\0";

impl<'a> Writer<'a> {
    pub(super) fn new(objects: &'a Objects, is_dry: bool) -> Writer<'a> {
        Writer {
            objects,
            path: objects.dir().join("incoming.tmp"),
            file: None,
            is_dry,
            bytes: HEADER.len() as u64,
            entries: Vec::new(),
            names: HashSet::new(),
            deflater: Deflater::new(),
        }
    }

    /// Whether an object is in the store or in this pack, or need not be.
    pub(crate) fn contains(&self, oid: &Oid) -> bool {
        self.is_dry || self.names.contains(oid) || self.objects.contains(oid)
    }

    fn open(&mut self) -> Result<&mut BufWriter<File>, Fault> {
        if self.file.is_none() {
            step("pack created")?;
            let mut file = BufWriter::with_capacity(limits::CHUNK_BYTES, atomic::create(&self.path)?);
            file.write_all(HEADER)?;
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("the pack is not open").into())
    }

    /// Adds an object that is in memory, unless it is there.
    pub(crate) fn add(&mut self, kind: ObjectKind, content: &[u8]) -> Result<Oid, Fault> {
        let oid = Oid::of(kind, content);
        if !self.contains(&oid) {
            self.stream(kind, content.len() as u64, &mut { content })?;
        }
        Ok(oid)
    }

    /// Adds an object of which only the length is known, and names it by the bytes that came.
    pub(crate) fn stream(
        &mut self,
        kind: ObjectKind,
        size: u64,
        from: &mut impl Read,
    ) -> Result<Streamed, Fault> {
        let start = self.bytes;
        match self.append(kind, size, from) {
            Ok(Some((oid, _))) if self.contains(&oid) => self.rewind(start).map(|()| Streamed::Packed(oid)),
            Ok(Some((oid, crc))) => {
                self.names.insert(oid);
                self.entries.push(PackEntry { oid, offset: start as u32, crc });
                Ok(Streamed::Packed(oid))
            }
            Ok(None) => self.rewind(start).map(|()| Streamed::OtherLength),
            Err(fault) => Err(fault),
        }
    }

    fn append(
        &mut self,
        kind: ObjectKind,
        size: u64,
        from: &mut impl Read,
    ) -> Result<Option<(Oid, u32)>, Fault> {
        step("object")?;
        if self.bytes + size > limits::PACK_BYTES_MAX {
            return Err(Fault::TooLarge("it has more bytes than one pack can hold".into()));
        }
        self.open()?;
        let (mut crc, mut written) = (Crc::new(), 0);
        let (deflater, Some(file)) = (&mut self.deflater, &mut self.file) else {
            return Ok(None);
        };
        let mut emit = |piece: &[u8]| {
            crc.update(piece);
            written += piece.len() as u64;
            file.write_all(piece)
        };
        emit(&header(kind, size))?;
        let mut hasher = Hasher::new(kind, size);
        let mut chunk = vec![0; limits::CHUNK_BYTES.min(size as usize + 1)];
        let (mut read, mut started) = (0, false);
        loop {
            let length = fill(from, &mut chunk)?;
            read += length as u64;
            if read > size {
                break;
            }
            if !started {
                deflater.start(&chunk[..length])?;
                started = true;
            }
            hasher.update(&chunk[..length]);
            let last = length < chunk.len();
            deflater.push(&chunk[..length], last, &mut emit)?;
            if last {
                break;
            }
        }
        self.bytes += written;
        Ok((read == size).then(|| (hasher.finish(), crc.sum())))
    }

    /// Adds an object as another pack has it.
    pub(crate) fn add_packed(&mut self, entry: &PackEntry, packed: &[u8]) -> Result<(), Fault> {
        step("object")?;
        if self.names.insert(entry.oid) {
            self.entries.push(PackEntry { offset: self.bytes as u32, ..*entry });
            self.open()?.write_all(packed)?;
            self.bytes += packed.len() as u64;
        }
        Ok(())
    }

    /// How long the pack is so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn rewind(&mut self, to: u64) -> Result<(), Fault> {
        let file = self.open()?;
        file.seek(SeekFrom::Start(to))?;
        file.get_ref().set_len(to)?;
        self.bytes = to;
        Ok(())
    }

    /// Makes the pack durable and its objects part of the store; the bytes that adds, none when it is empty.
    pub(crate) fn finish(mut self) -> Result<u64, Fault> {
        Ok(self.put_in_place()?.map_or(0, |(_, bytes)| bytes))
    }

    /// The same; the name of the pack's file.
    pub(crate) fn finish_named(mut self) -> Result<Option<OsString>, Fault> {
        Ok(self.put_in_place()?.map(|(name, _)| name))
    }

    fn put_in_place(&mut self) -> Result<Option<(OsString, u64)>, Fault> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        self.open()?.flush()?;
        let digest = self.complete()?;
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let pack = self.objects.dir().join(format!("pack-{hex}.pack"));
        step("pack synced")?;
        fs::rename(&self.path, &pack)?;
        step("pack renamed")?;
        let index = pack_index::encode(std::mem::take(&mut self.entries), &digest);
        atomic::write(&pack.with_extension("idx"), &index)?;
        let name = pack.file_name().unwrap_or_default().to_os_string();
        Ok(Some((name, self.bytes + (Oid::BYTES + index.len()) as u64)))
    }

    /// The number of objects into the header, the digest of all to the end, and both to the disk. The digest covers
    /// the number, which is known only now, so the file is read once more.
    fn complete(&mut self) -> Result<[u8; Oid::BYTES], Fault> {
        let (count, bytes) = (self.entries.len() as u32, self.bytes);
        let file = self.open()?.get_mut();
        file.write_all_at(&count.to_be_bytes(), 8)?;
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; limits::CHUNK_BYTES];
        loop {
            let read = fill(file, &mut chunk)?;
            hasher.update(&chunk[..read]);
            if read < chunk.len() {
                break;
            }
        }
        let digest: [u8; Oid::BYTES] = hasher.finalize().into();
        step("pack completed")?;
        file.write_all_at(&digest, bytes)?;
        file.set_permissions(Permissions::from_mode(0o400))?;
        file.sync_all()?;
        Ok(digest)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // Of a finished pack nothing is left under this name; of another one a crash may leave as much.
        if self.file.is_some() {
            atomic::remove(&self.path).ok();
        }
    }
}

/// The header of an entry: four bits of length with the kind, then seven bits of length a byte.
fn header(kind: ObjectKind, size: u64) -> Vec<u8> {
    let mut bytes = vec![(kind as u8) << 4 | (size & 15) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}

/// Reads until the buffer is full or nothing comes any more.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
