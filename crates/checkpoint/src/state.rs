//! Key of a stat cache: what `lstat` says of a file, and whether that proves that its content is still the same.

use base::limits::checkpoint as limits;
use rustix::fs::{FileType, Stat};

use crate::record::{Decoder, Encoder};

/// File type of `lstat`, as far as a snapshot tells types apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    File,
    Dir,
    Link,
    /// A socket, a device or a FIFO.
    Special,
}

/// A file's state at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) kind: FileKind,
    /// Permission bits, set-uid and the like among them.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) dev: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) key: Key,
}

/// What changes whenever content may have changed: nobody but the kernel sets the time of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) inode: u64,
}

impl FileState {
    // The types of these fields differ between operating systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    pub(crate) fn of(stat: &Stat) -> FileState {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Dir,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Special,
        };
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let mtime_ns = ns(stat.st_mtime as i64, stat.st_mtime_nsec as i64);
        FileState {
            kind,
            mode: stat.st_mode as u32 & 0o7777,
            uid: stat.st_uid as u32,
            gid: stat.st_gid as u32,
            dev: stat.st_dev as u64,
            mtime_ns,
            key: Key {
                size: stat.st_size as u64,
                mtime_ns,
                ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
                inode: stat.st_ino as u64,
            },
        }
    }
}

impl Key {
    /// Whether a change right after this moment would show. Clocks of file systems stand still for a while, so what
    /// changed just before the walk began may change again without another time.
    pub(crate) fn is_past_clock_grain(&self, began_ns: i64) -> bool {
        let counts_seconds = |ns: i64| ns % 1_000_000_000 == 0;
        let coarse = counts_seconds(self.mtime_ns) && counts_seconds(self.ctime_ns);
        let grain = if coarse { limits::CLOCK_GRAIN_COARSE_NS } else { limits::CLOCK_GRAIN_NS };
        self.ctime_ns < began_ns.saturating_sub(grain)
    }

    pub(crate) fn encode(&self, to: &mut Encoder) {
        to.u64(self.size);
        to.i64(self.mtime_ns);
        to.i64(self.ctime_ns);
        to.u64(self.inode);
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Key> {
        let (size, mtime_ns) = (from.u64()?, from.i64()?);
        Some(Key { size, mtime_ns, ctime_ns: from.i64()?, inode: from.u64()? })
    }
}
