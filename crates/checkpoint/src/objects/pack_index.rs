//! Pack index, git's version 2: sorted names with a fan-out table, checksums and offsets.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::oid::Oid;
use crate::atomic;

/// One object of a pack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackEntry {
    pub(crate) oid: Oid,
    pub(crate) offset: u32,
    pub(crate) crc: u32,
}

/// An index in memory.
pub(super) struct PackIndex {
    bytes: Vec<u8>,
    count: usize,
}

const MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
const FAN_OUT: usize = MAGIC.len();
const NAMES: usize = FAN_OUT + 256 * 4;
const DIGESTS: usize = 2 * Oid::BYTES;
/// An index of two million objects, far more than the limits of checkpoints let in.
const BYTES_MAX: u64 = 128 * 1024 * 1024;

impl PackIndex {
    /// Reads an index; a torn one is none.
    pub(super) fn read(path: &Path) -> io::Result<Option<PackIndex>> {
        let Some(bytes) = atomic::read(path, BYTES_MAX)? else { return Ok(None) };
        if bytes.len() < NAMES + DIGESTS || !bytes.starts_with(MAGIC) {
            return Ok(None);
        }
        let (content, digest) = bytes.split_at(bytes.len() - Oid::BYTES);
        let count = number(&bytes, FAN_OUT + 255 * 4) as usize;
        let is_whole = bytes.len() == NAMES + count * (Oid::BYTES + 8) + DIGESTS;
        if !is_whole || Sha256::digest(content).as_slice() != digest {
            return Ok(None);
        }
        Ok(Some(PackIndex { bytes, count }))
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Where an object begins in the pack.
    pub(super) fn find(&self, oid: &Oid) -> Option<u64> {
        let first = usize::from(oid.0[0]);
        let mut low = if first == 0 { 0 } else { number(&self.bytes, FAN_OUT + (first - 1) * 4) as usize };
        let mut high = (number(&self.bytes, FAN_OUT + first * 4) as usize).min(self.count);
        while low < high {
            let middle = (low + high) / 2;
            match self.name(middle).cmp(&oid.0[..]) {
                std::cmp::Ordering::Equal => return Some(u64::from(self.entry(middle).offset)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// All objects, in the order of their names.
    pub(super) fn entries(&self) -> impl Iterator<Item = PackEntry> {
        (0..self.count).map(|at| self.entry(at))
    }

    fn name(&self, at: usize) -> &[u8] {
        &self.bytes[NAMES + at * Oid::BYTES..][..Oid::BYTES]
    }

    fn entry(&self, at: usize) -> PackEntry {
        let mut oid = [0; Oid::BYTES];
        oid.copy_from_slice(self.name(at));
        let checks = NAMES + self.count * Oid::BYTES;
        let crc = number(&self.bytes, checks + at * 4);
        PackEntry { oid: Oid(oid), offset: number(&self.bytes, checks + (self.count + at) * 4), crc }
    }
}

/// The bytes of an index of these objects, in the pack with this digest.
pub(super) fn encode(mut entries: Vec<PackEntry>, pack_digest: &[u8]) -> Vec<u8> {
    entries.sort_unstable_by_key(|entry| entry.oid);
    let mut bytes = MAGIC.to_vec();
    let mut at = 0;
    for first in 0..=u8::MAX {
        while entries.get(at).is_some_and(|entry| entry.oid.0[0] <= first) {
            at += 1;
        }
        bytes.extend((at as u32).to_be_bytes());
    }
    entries.iter().for_each(|entry| bytes.extend(entry.oid.0));
    entries.iter().for_each(|entry| bytes.extend(entry.crc.to_be_bytes()));
    entries.iter().for_each(|entry| bytes.extend(entry.offset.to_be_bytes()));
    bytes.extend(pack_digest);
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest.as_slice());
    bytes
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(number)
}
