//! Binary records: numbers in little-endian order and byte strings with their length, with a digest at the end.

use sha2::{Digest, Sha256};

const DIGEST_BYTES: usize = 32;

/// Writes a record.
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    /// A record of a kind, which its first bytes name.
    pub(crate) fn new(magic: &[u8; 8]) -> Encoder {
        Encoder(magic.to_vec())
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Bytes whose number the reader knows.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Bytes with their number.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.raw(bytes);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let digest = Sha256::digest(&self.0);
        self.0.extend(digest.as_slice());
        self.0
    }
}

/// Reads a record; every read is `None` past its end.
pub(crate) struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// A record of this kind with the right digest.
    pub(crate) fn new(bytes: &'a [u8], magic: &[u8; 8]) -> Option<Decoder<'a>> {
        let (content, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
        let rest = content.strip_prefix(magic)?;
        (Sha256::digest(content).as_slice() == digest).then_some(Decoder(rest))
    }

    pub(crate) fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.raw(count as usize)
    }
}
