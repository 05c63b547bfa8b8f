//! Record format of the log: one record for each small write, and tombstones, after which a path's records count no
//! longer. A record is a head (epoch, number, length, checksum) and a body.
//!
//! Nothing that is read back is trusted: a record counts only with the right epoch, number, length and checksum.

use sha2::{Digest, Sha256};

use base::limits;

/// Bytes before each record's body: epoch, number, length, checksum.
pub(crate) const HEAD_BYTES: usize = 8 + 8 + 4 + CHECKSUM_BYTES;
/// The longest body there can be.
pub(crate) const BODY_BYTES_MAX: usize =
    limits::files::JOURNAL_CONTENT_MAX_BYTES + limits::files::PATH_MAX_BYTES + 128;

const CHECKSUM_BYTES: usize = 16;
/// The bits a mode may have.
const MODE_MASK: u32 = 0o7777;
const WRITE: u8 = 1;
const TOMBSTONE: u8 = 2;

/// The beginning of a digest.
pub(crate) type Checksum = [u8; CHECKSUM_BYTES];

/// What tells a file from others, and from itself before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub ino: u64,
    pub modified_ns: i64,
    pub size: u64,
}

impl Identity {
    // The host decides how wide these numbers are.
    #[allow(clippy::unnecessary_cast)]
    pub fn of(host: &rustix::fs::Stat) -> Identity {
        let size = u64::try_from(host.st_size).unwrap_or(0);
        let seconds = (host.st_mtime as i64).saturating_mul(1_000_000_000);
        let modified_ns = seconds.saturating_add(host.st_mtime_nsec as i64);
        Identity { ino: host.st_ino as u64, modified_ns, size }
    }
}

/// Owner, group and mode of a file, as numbers: the journal gives them no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
}

/// A small write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where, free of links.
    pub path: String,
    pub attributes: Attributes,
    /// What was there before.
    pub replaced: Option<Identity>,
    /// What is there afterwards.
    pub placed: Identity,
    pub content: Vec<u8>,
}

/// What one record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A file was written.
    Write(Written),
    /// Tombstone: earlier records of this path, and of everything below it, count no longer.
    Tombstone(String),
}

impl Record {
    /// The body; the head is added when its number is known.
    pub fn body(&self) -> Vec<u8> {
        match self {
            Record::Write(written) => written.body(),
            Record::Tombstone(path) => {
                let mut body = Vec::with_capacity(path.len() + 3);
                body.push(TOMBSTONE);
                put_path(&mut body, path);
                body
            }
        }
    }

    /// What a body says; nothing if it is none.
    pub fn parse(body: &[u8]) -> Option<Record> {
        let mut rest = Rest(body);
        let kind = rest.take::<1>()?[0];
        let length = usize::from(u16::from_le_bytes(rest.take()?));
        let path = String::from_utf8(rest.bytes(length)?.to_vec()).ok()?;
        match kind {
            TOMBSTONE => rest.0.is_empty().then_some(Record::Tombstone(path)),
            WRITE => Written::parse(path, rest).map(Record::Write),
            _ => None,
        }
    }
}

impl Written {
    fn body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.path.len() + self.content.len() + 96);
        body.push(WRITE);
        put_path(&mut body, &self.path);
        for number in [self.attributes.uid, self.attributes.gid, self.attributes.mode] {
            body.extend(number.to_le_bytes());
        }
        body.push(u8::from(self.replaced.is_some()));
        let nothing = Identity { ino: 0, modified_ns: 0, size: 0 };
        for identity in [self.replaced.unwrap_or(nothing), self.placed] {
            body.extend(identity.ino.to_le_bytes());
            body.extend(identity.modified_ns.to_le_bytes());
            body.extend(identity.size.to_le_bytes());
        }
        body.extend_from_slice(&self.content);
        body
    }

    fn parse(path: String, mut rest: Rest) -> Option<Written> {
        let attributes = Attributes { uid: rest.u32()?, gid: rest.u32()?, mode: rest.u32()? };
        let was_there = rest.take::<1>()?[0] != 0;
        let replaced = rest.identity()?;
        let placed = rest.identity()?;
        let content = rest.0.to_vec();
        let fits =
            content.len() as u64 == placed.size && content.len() <= limits::files::JOURNAL_CONTENT_MAX_BYTES;
        (fits && attributes.mode & !MODE_MASK == 0).then_some(Written {
            path,
            attributes,
            replaced: was_there.then_some(replaced),
            placed,
            content,
        })
    }
}

/// Paths are at most `limits::files::PATH_MAX_BYTES` long, which two bytes can tell.
fn put_path(body: &mut Vec<u8>, path: &str) {
    let length = u16::try_from(path.len()).unwrap_or(u16::MAX);
    body.extend(length.to_le_bytes());
    body.extend_from_slice(&path.as_bytes()[..usize::from(length)]);
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(length)?;
        self.0 = tail;
        Some(head)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn identity(&mut self) -> Option<Identity> {
        let ino = u64::from_le_bytes(self.take()?);
        let modified_ns = i64::from_le_bytes(self.take()?);
        Some(Identity { ino, modified_ns, size: u64::from_le_bytes(self.take()?) })
    }
}

/// The digest of a body, which may take a while and needs no number.
pub(crate) fn checksum(bytes: &[u8]) -> Checksum {
    cut(Sha256::digest(bytes).as_slice())
}

/// The head of a record.
pub(crate) fn head(epoch: u64, number: u64, length: usize, body: &Checksum) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&epoch.to_le_bytes());
    head[8..16].copy_from_slice(&number.to_le_bytes());
    head[16..20].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    let mut digest = Sha256::new();
    digest.update(&head[..20]);
    digest.update(body);
    head[20..].copy_from_slice(&cut(digest.finalize().as_slice()));
    head
}

fn cut(digest: &[u8]) -> Checksum {
    let mut checksum = Checksum::default();
    checksum.copy_from_slice(&digest[..CHECKSUM_BYTES]);
    checksum
}

/// The number and length that a head tells, if it is of this epoch.
pub(crate) fn parse_head(head: &[u8; HEAD_BYTES], epoch: u64) -> Option<(u64, usize)> {
    let mut rest = Rest(head);
    let is_ours = u64::from_le_bytes(rest.take()?) == epoch;
    let number = u64::from_le_bytes(rest.take()?);
    let length = usize::try_from(rest.u32()?).ok()?;
    (is_ours && length <= BODY_BYTES_MAX).then_some((number, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: &[u8], replaced: bool) -> Record {
        let identity = |ino| Identity { ino, modified_ns: -5, size: content.len() as u64 };
        Record::Write(Written {
            path: "/home/ann/ä".into(),
            attributes: Attributes { uid: 1_000, gid: 100, mode: 0o1640 },
            replaced: replaced.then(|| identity(7)),
            placed: identity(8),
            content: content.to_vec(),
        })
    }

    #[test]
    fn a_body_is_read_back_and_half_of_it_is_none() {
        for record in [written(b"text", true), written(b"", false), Record::Tombstone("/tmp".into())] {
            let body = record.body();
            assert!(body.len() <= BODY_BYTES_MAX);
            assert_eq!(Record::parse(&body), Some(record));
            for end in 0..body.len() {
                assert_eq!(Record::parse(&body[..end]), None, "{end} bytes");
            }
            assert_eq!(Record::parse(&[&body[..], b"x"].concat()), None);
        }
    }

    #[test]
    fn a_head_counts_in_its_epoch_only() {
        let head = head(3, 9, 100, &checksum(b"body"));
        assert_eq!(parse_head(&head, 3), Some((9, 100)));
        assert_eq!(parse_head(&head, 4), None);
        assert_eq!(parse_head(&super::head(3, 9, BODY_BYTES_MAX + 1, &checksum(b"")), 3), None);
    }
}
