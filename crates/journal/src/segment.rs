//! Preallocated log segment, one of two: made of zeros once, so that later writes change neither its size nor its
//! blocks and one `fdatasync` is all they need. Its head tells the epoch, which is new at every reuse.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use base::limits;
use rustix::fs::{Mode, OFlags, fsync, openat};
use rustix::io::Errno;

use crate::record::{self, Checksum, HEAD_BYTES, Record};

/// Where the first record begins: no write of a record touches the block of the head.
pub(crate) const FIRST_RECORD_AT: u64 = 4_096;

const MAGIC: &[u8; 8] = b"gsvjrn01";
const HEADER_BYTES: usize = 8 + 8 + 16 + 16;
const ZEROS: usize = 64 * 1024;

/// One run of the machine.
pub type BootId = [u8; 16];

/// What the head of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub epoch: u64,
    /// In which run of the machine its records are written.
    pub boot: BootId,
}

/// The name of the file with this number.
fn name(number: usize) -> &'static str {
    if number == 0 { "0" } else { "1" }
}

/// Opens one of the two files if it is there and whole.
pub(crate) fn open(dir: impl AsFd, number: usize) -> io::Result<Option<Arc<File>>> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(dir, name(number), flags, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            let metadata = file.metadata()?;
            let is_whole = metadata.is_file() && metadata.len() == limits::files::JOURNAL_BYTES;
            Ok(is_whole.then(|| Arc::new(file)))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes one of the two files. Its blocks are really written: those that are only set aside would cost the file
/// system a change of its own at each first use.
pub(crate) fn make(dir: impl AsFd, number: usize, header: &SegmentHeader) -> io::Result<Arc<File>> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(dir, name(number), flags, Mode::RUSR | Mode::WUSR)?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.set_len(0)?;
    let zeros = vec![0; ZEROS];
    let mut at = 0;
    while at < limits::files::JOURNAL_BYTES {
        let length = zeros.len().min(usize::try_from(limits::files::JOURNAL_BYTES - at).unwrap_or(ZEROS));
        file.write_all_at(&zeros[..length], at)?;
        at += length as u64;
    }
    file.write_all_at(&header.bytes(), 0)?;
    fsync(&file)?;
    Ok(Arc::new(file))
}

/// Begins a new epoch: what is in the file counts no longer.
pub(crate) fn clean(file: &File, header: &SegmentHeader) -> io::Result<()> {
    file.write_all_at(&header.bytes(), 0)?;
    file.sync_data()
}

impl SegmentHeader {
    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.boot);
        let checksum = record::checksum(&bytes[..32]);
        bytes[32..].copy_from_slice(&checksum);
        bytes
    }

    /// What the head of a file says; nothing if it is none.
    pub fn read(file: &File) -> io::Result<Option<SegmentHeader>> {
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0)?;
        let (mut epoch, mut boot) = ([0; 8], BootId::default());
        epoch.copy_from_slice(&bytes[8..16]);
        boot.copy_from_slice(&bytes[16..32]);
        let header = SegmentHeader { epoch: u64::from_le_bytes(epoch), boot };
        Ok((header.bytes() == bytes).then_some(header))
    }
}

/// The records of a file as they follow each other; the first one that is not whole ends it.
pub(crate) fn read(file: &File, epoch: u64) -> io::Result<Vec<(u64, Record)>> {
    let mut records: Vec<(u64, Record)> = Vec::new();
    let mut at = FIRST_RECORD_AT;
    while at + HEAD_BYTES as u64 <= limits::files::JOURNAL_BYTES {
        let mut head = [0; HEAD_BYTES];
        file.read_exact_at(&mut head, at)?;
        let Some((number, length)) = record::parse_head(&head, epoch) else { break };
        at += HEAD_BYTES as u64;
        let follows = records.last().is_none_or(|(before, _)| before.checked_add(1) == Some(number));
        if !follows || at + length as u64 > limits::files::JOURNAL_BYTES {
            break;
        }
        let mut body = vec![0; length];
        file.read_exact_at(&mut body, at)?;
        at += length as u64;
        if record::head(epoch, number, length, &record::checksum(&body)) != head {
            break;
        }
        let Some(record) = Record::parse(&body) else { break };
        records.push((number, record));
    }
    Ok(records)
}

/// Where the last record of a file ends.
#[cfg(any(test, feature = "inspect"))]
pub(crate) fn end_of(file: &File, epoch: u64) -> io::Result<u64> {
    let bytes =
        read(file, epoch)?.iter().map(|(_, record)| (HEAD_BYTES + record.body().len()) as u64).sum::<u64>();
    Ok(FIRST_RECORD_AT + bytes)
}

/// A record as it is written.
pub(crate) fn add(buffer: &mut Vec<u8>, epoch: u64, number: u64, body: &[u8], checksum: &Checksum) {
    buffer.extend(record::head(epoch, number, body.len(), checksum));
    buffer.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader = SegmentHeader { epoch: 5, boot: [1; 16] };

    fn forget(number: u64) -> Record {
        Record::Tombstone(format!("/tmp/{number}"))
    }

    /// A file with three records, and where each ends.
    fn filled() -> (tempfile::TempDir, Arc<File>, Vec<u64>) {
        let dir = tempfile::tempdir().unwrap();
        let file = make(File::open(dir.path()).unwrap(), 0, &HEADER).unwrap();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for number in 7..10 {
            let body = forget(number).body();
            add(&mut bytes, HEADER.epoch, number, &body, &record::checksum(&body));
            ends.push(FIRST_RECORD_AT + bytes.len() as u64);
        }
        file.write_all_at(&bytes, FIRST_RECORD_AT).unwrap();
        (dir, file, ends)
    }

    fn numbers(file: &File) -> Vec<u64> {
        read(file, HEADER.epoch).unwrap().into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn records_are_read_back_until_the_epoch_changes() {
        let (dir, file, _) = filled();
        let expected: Vec<_> = (7..10).map(|number| (number, forget(number))).collect();
        assert_eq!(read(&file, HEADER.epoch).unwrap(), expected);
        assert_eq!(SegmentHeader::read(&file).unwrap(), Some(HEADER));
        let next = SegmentHeader { epoch: 6, ..HEADER };
        clean(&file, &next).unwrap();
        assert_eq!(SegmentHeader::read(&file).unwrap(), Some(next));
        assert_eq!(read(&file, next.epoch).unwrap(), []);
        assert_eq!(file.metadata().unwrap().len(), limits::files::JOURNAL_BYTES);
        let again = open(File::open(dir.path()).unwrap(), 0).unwrap().unwrap();
        assert_eq!(SegmentHeader::read(&again).unwrap(), Some(next));
        assert!(open(File::open(dir.path()).unwrap(), 1).unwrap().is_none());
    }

    #[test]
    fn a_torn_end_is_no_record() {
        let (_dir, file, ends) = filled();
        let (begin, end) = (ends[1], ends[2]);
        let mut whole = vec![0; usize::try_from(end - begin).unwrap()];
        file.read_exact_at(&mut whole, begin).unwrap();
        for kept in 0..whole.len() {
            let mut torn = whole.clone();
            torn[kept..].fill(0);
            if torn == whole {
                continue;
            }
            file.write_all_at(&torn, begin).unwrap();
            assert_eq!(numbers(&file), [7, 8], "{kept} bytes");
        }
    }

    #[test]
    fn a_flipped_bit_ends_the_reading() {
        let (_dir, file, ends) = filled();
        let (begin, end) = (ends[0], ends[1]);
        for at in begin..end {
            for bit in 0..8 {
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                file.write_all_at(&[byte[0] ^ (1 << bit)], at).unwrap();
                assert_eq!(numbers(&file), [7], "bit {bit} at {at}");
                file.write_all_at(&byte, at).unwrap();
            }
        }
        assert_eq!(numbers(&file), [7, 8, 9]);
    }

    #[test]
    fn a_damaged_head_says_nothing() {
        let (_dir, file, _) = filled();
        for at in 0..HEADER_BYTES as u64 {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 4], at).unwrap();
            assert_eq!(SegmentHeader::read(&file).unwrap(), None, "at {at}");
            file.write_all_at(&byte, at).unwrap();
        }
    }

    #[test]
    fn a_full_file_is_read_to_its_end() {
        let (_dir, file, _) = filled();
        let (mut bytes, mut number) = (Vec::new(), 0);
        let body = Record::Tombstone("x".repeat(4_000)).body();
        while FIRST_RECORD_AT as usize + bytes.len() + HEAD_BYTES + body.len()
            <= limits::files::JOURNAL_BYTES as usize
        {
            add(&mut bytes, HEADER.epoch, number, &body, &record::checksum(&body));
            number += 1;
        }
        file.write_all_at(&bytes, FIRST_RECORD_AT).unwrap();
        assert_eq!(numbers(&file).len() as u64, number);
    }
}
