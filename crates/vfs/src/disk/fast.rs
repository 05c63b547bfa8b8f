//! Opening and reading what is in the host's caches already, without ever waiting for the disk. Whatever is not
//! plain, such as links, directories and things not cached, is left to the ordinary way.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use base::limits;

use super::Disk;
use super::dir::Place;
use super::meta::Meta;
use crate::path::VPath;

/// What directories allow that were passed a short while ago.
#[derive(Default)]
pub(crate) struct Remembered {
    /// Goes up before and after every change to a directory; what was seen before counts no longer.
    generation: AtomicU64,
    directories: RwLock<HashMap<String, Passed>>,
}

/// The way to a directory.
#[derive(Clone)]
struct Passed {
    /// The directories from the root on, this one last.
    metas: Vec<Meta>,
    place: Place,
    generation: u64,
    at: Instant,
}

impl Remembered {
    /// The number to remember a walk with; taken before it begins.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// What is remembered of a directory, with the generation that it holds for.
    fn get<T>(&self, directory: &str, look: impl FnOnce(&Passed) -> T) -> Option<(T, u64)> {
        let directories = self.directories.read().unwrap_or_else(PoisonError::into_inner);
        let passed = directories.get(directory)?;
        let fresh =
            passed.generation == self.generation() && passed.at.elapsed() < limits::DIRECTORY_REMEMBERED;
        fresh.then(|| (look(passed), passed.generation))
    }

    /// Remembers the directories on the way to one.
    pub fn put(&self, directory: &VPath, metas: Vec<Meta>, place: Place, generation: u64) {
        let mut directories = self.directories.write().unwrap_or_else(PoisonError::into_inner);
        if directories.len() >= limits::DIRECTORIES_REMEMBERED_MAX {
            directories.clear();
        }
        let passed = Passed { metas, place, generation, at: Instant::now() };
        directories.insert(directory.as_str().to_string(), passed);
    }
}

/// A change to a directory under way. Whoever looked at directories before it began, or while it lasts, has
/// seen what counts no longer when it is over.
pub(crate) struct Shift<'a>(&'a Remembered);

impl Drop for Shift<'_> {
    fn drop(&mut self) {
        self.0.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl Disk {
    /// Something about a directory is about to change: to be held until it has.
    pub(crate) fn shift(&self) -> Shift<'_> {
        self.remembered.generation.fetch_add(1, Ordering::SeqCst);
        Shift(&self.remembered)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::io::IoSliceMut;
    use std::os::fd::AsFd;

    use protocol::identity::ProcessIdentity;
    use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    use super::*;
    use crate::disk::dir::modified_ms;
    use crate::disk::fail::Fail;
    use crate::disk::meta::{ENTER, READ};
    use crate::disk::mounts;
    use crate::fault::Code;
    use crate::live;
    use crate::stat::{Kind, Stat};

    impl Disk {
        /// Opens a regular file for reading if that needs no waiting.
        pub(crate) fn open_now(
            &self,
            who: &ProcessIdentity,
            path: &VPath,
        ) -> Option<Result<(File, Stat), Fail>> {
            if !mounts::is_kept(path.as_str()) || live::covers(path) {
                return None;
            }
            if path.parts().any(|part| mounts::is_reserved(OsStr::new(part))) {
                return None;
            }
            let (parent, _) = path.as_str().rsplit_once('/')?;
            let ((passes, place), generation) = self.remembered.get(parent, |passed| {
                (passed.metas.iter().all(|meta| meta.allows(who, ENTER)), passed.place)
            })?;
            if !passes {
                return Some(Err(Code::Denied.into()));
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
            let meta = kept.unwrap_or_else(|| place.meta(Kind::File));
            // What was opened is only surely what lies behind those directories if none of them has changed
            // up to now.
            if self.remembered.generation() != generation {
                return None;
            }
            if !meta.allows(who, READ) {
                return Some(Err(Code::Denied.into()));
            }
            let Meta { uid, gid, mode } = meta;
            let modified_ms = modified_ms(&host);
            let size = u64::try_from(host.st_size).unwrap_or(0);
            let stat = Stat { kind: Kind::File, size, mode, uid, gid, modified_ms };
            Some(Ok((File::from(fd), stat)))
        }
    }

    /// A whole file of `size` bytes if all of it is in the page cache.
    pub fn read_now(file: &File, size: u64) -> Option<Vec<u8>> {
        if size > limits::FILE_READ_BYTES_MAX {
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
    use protocol::identity::ProcessIdentity;

    use super::*;
    use crate::disk::fail::Fail;
    use crate::stat::Stat;

    impl Disk {
        /// Only Linux can say what needs no waiting.
        pub(crate) fn open_now(
            &self,
            _who: &ProcessIdentity,
            _path: &VPath,
        ) -> Option<Result<(File, Stat), Fail>> {
            None
        }
    }

    /// Only Linux can say what is in the page cache.
    pub fn read_now(_file: &File, _size: u64) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::read_now;
#[cfg(target_os = "linux")]
pub use linux::read_now;
