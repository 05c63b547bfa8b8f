//! Non-blocking fast path over a generation-checked cache of directories: opens and reads what is in the host's caches
//! already, without ever waiting for the disk. Whatever is not plain, such as links, directories and things not
//! cached, is left to the ordinary way.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::{read, write};
use protocol::identity::ProcessIdentity;

use super::Disk;
use super::dir::DefaultOwner;
use super::fail::Fail;
use super::meta::{ENTER, Meta};
use super::text_cache::FileVersion;
use crate::path::VPath;
use crate::stat::Stat;

/// What directories allow that were passed a short while ago.
pub(crate) struct DirectoryCache {
    clock: Clock,
    /// Goes up before and after every change to a directory; what was seen before counts no longer.
    generation: AtomicU64,
    directories: RwLock<HashMap<String, Passed>>,
}

/// The way to a directory. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Passed {
    /// The directories from the root on, this one last.
    metas: Arc<[Meta]>,
    default_owner: DefaultOwner,
    generation: u64,
    at: Instant,
}

impl Passed {
    /// Whether somebody may go this way.
    pub fn lets(&self, who: &ProcessIdentity) -> bool {
        self.metas.iter().all(|meta| meta.allows(who, ENTER))
    }
}

impl DirectoryCache {
    pub fn new(clock: Clock) -> DirectoryCache {
        DirectoryCache { clock, generation: AtomicU64::new(0), directories: RwLock::default() }
    }

    /// The number to remember a walk with; taken before it begins.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// The way to a directory, as far as it is remembered.
    fn get(&self, directory: &str) -> Option<Passed> {
        let directories = read(&self.directories);
        directories.get(directory).filter(|passed| self.is_fresh(passed, self.clock.instant())).cloned()
    }

    /// Whether a way counts still for somebody who asks at that time.
    pub fn is_fresh(&self, passed: &Passed, at: Instant) -> bool {
        self.is_unchanged(passed)
            && at.saturating_duration_since(passed.at) < limits::files::DIRECTORY_REMEMBERED
    }

    /// Whether no directory was changed since a way was gone. What was looked at by its path only surely lies
    /// behind those directories if this is asked afterwards.
    pub fn is_unchanged(&self, passed: &Passed) -> bool {
        passed.generation == self.generation()
    }

    /// Remembers the directories on the way to one.
    pub fn put(&self, directory: &VPath, metas: Vec<Meta>, default_owner: DefaultOwner, generation: u64) {
        let mut directories = write(&self.directories);
        if directories.len() >= limits::files::DIRECTORIES_REMEMBERED_MAX {
            directories.clear();
        }
        let passed = Passed { metas: metas.into(), default_owner, generation, at: self.clock.instant() };
        directories.insert(directory.as_str().to_string(), passed);
    }
}

/// A change to a directory under way. Whoever looked at directories before it began, or while it lasts, has
/// seen what counts no longer when it is over.
pub(crate) struct CacheInvalidation<'a>(&'a DirectoryCache);

impl Drop for CacheInvalidation<'_> {
    fn drop(&mut self) {
        self.0.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl Disk {
    /// Something about a directory is about to change: to be held until it has.
    pub(crate) fn invalidate_directories(&self) -> CacheInvalidation<'_> {
        self.directory_cache.generation.fetch_add(1, Ordering::SeqCst);
        CacheInvalidation(&self.directory_cache)
    }
}

/// A regular file that was opened without waiting.
pub(crate) struct Plain {
    pub file: File,
    pub stat: Stat,
    pub version: FileVersion,
    pub passed: Passed,
}

impl Disk {
    /// Opens a regular file for reading if that needs no waiting.
    pub(crate) fn open_now(&self, who: &ProcessIdentity, path: &VPath) -> Option<Result<(File, Stat), Fail>> {
        Some(self.open_plain_now(who, path)?.map(|plain| (plain.file, plain.stat)))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::io::{self, IoSliceMut, Read};
    use std::os::fd::AsFd;

    use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    use super::*;
    use crate::disk::dir::modified_ms;
    use crate::disk::meta::READ;
    use crate::disk::mounts;
    use crate::fault::Code;
    use crate::live;
    use crate::stat::FileKind;

    impl Disk {
        /// Opens a regular file for reading if that needs no waiting.
        pub(crate) fn open_plain_now(
            &self,
            who: &ProcessIdentity,
            path: &VPath,
        ) -> Option<Result<Plain, Fail>> {
            if !mounts::is_kept(path.as_str()) || live::covers(path) {
                return None;
            }
            if path.parts().any(|part| mounts::is_reserved(OsStr::new(part))) {
                return None;
            }
            let (parent, _) = path.as_str().rsplit_once('/')?;
            let passed = self.directory_cache.get(parent)?;
            if !passed.lets(who) {
                // The walk has words of its own for these.
                let is_workspace = path.as_str().starts_with(mounts::WORKSPACES);
                return (!is_workspace).then(|| Err(Code::Denied.into()));
            }
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            let resolve = ResolveFlags::BENEATH
                | ResolveFlags::NO_SYMLINKS
                | ResolveFlags::NO_MAGICLINKS
                | ResolveFlags::CACHED;
            let fd =
                openat2(&*self.files, path.as_str().trim_start_matches('/'), flags, Mode::empty(), resolve)
                    .ok()?;
            let host = fstat(&fd).ok()?;
            if FileType::from_raw_mode(host.st_mode) != FileType::RegularFile {
                return None;
            }
            let kept = if self.attributes { Meta::read(fd.as_fd()).ok()? } else { None };
            let meta = kept.unwrap_or_else(|| passed.default_owner.meta(FileKind::File));
            if !self.directory_cache.is_unchanged(&passed) {
                return None;
            }
            if !meta.allows(who, READ) {
                return Some(Err(Code::Denied.into()));
            }
            let Meta { uid, gid, mode } = meta;
            let modified_ms = modified_ms(&host);
            let size = u64::try_from(host.st_size).unwrap_or(0);
            let stat = Stat { kind: FileKind::File, size, mode, uid, gid, modified_ms };
            Some(Ok(Plain { file: File::from(fd), stat, version: FileVersion::of(&host), passed }))
        }
    }

    /// Reads a file from its beginning as far as it is in the page cache, and fails where it would have to wait.
    pub(crate) struct Cached<'a> {
        pub file: &'a File,
        pub at: u64,
    }

    impl Read for Cached<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = preadv2(self.file, &mut [IoSliceMut::new(buffer)], self.at, ReadWriteFlags::NOWAIT)?;
            self.at += read as u64;
            Ok(read)
        }
    }

    /// A whole file of `size` bytes if all of it is in the page cache.
    pub fn read_now(file: &File, size: u64) -> Option<Vec<u8>> {
        if size > limits::files::READ_MAX_BYTES {
            return None;
        }
        let mut bytes = vec![0u8; size as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            let mut rest = [IoSliceMut::new(&mut bytes[filled..])];
            match preadv2(file, &mut rest, filled as u64, ReadWriteFlags::NOWAIT) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        bytes.truncate(filled);
        Some(bytes)
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io::{self, Read};

    use super::*;

    impl Disk {
        /// Only Linux can say what needs no waiting.
        pub(crate) fn open_plain_now(
            &self,
            _who: &ProcessIdentity,
            _path: &VPath,
        ) -> Option<Result<Plain, Fail>> {
            None
        }
    }

    /// Nothing is opened without waiting, so nothing is read so.
    pub(crate) struct Cached<'a> {
        pub file: &'a File,
        pub at: u64,
    }

    impl Read for Cached<'_> {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// Only Linux can say what is in the page cache.
    pub fn read_now(_file: &File, _size: u64) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::Cached;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::read_now;
#[cfg(target_os = "linux")]
pub(crate) use linux::Cached;
#[cfg(target_os = "linux")]
pub use linux::read_now;
