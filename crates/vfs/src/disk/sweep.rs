//! Garbage collection of what broken writes and uploads have left behind: from a directory when something is written
//! into it, and from all of them when the gateway starts. Nobody waits for it, so failures are only for the log.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Weak};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;

use super::dir::{Dir, modified_ms};
use super::{DIRECTORY, Disk, mounts};

impl Disk {
    /// Removes what is left of broken writes from a directory, once in a while.
    pub(super) fn sweep(&self, dir: &Dir) {
        let Ok(id) = dir.id() else { return };
        let now_ms = self.clock.now_ms();
        let mut swept = lock(&self.swept);
        if swept.get(&id).is_some_and(|at| now_ms.saturating_sub(*at) < limits::files::DRAFT_KEPT_MS) {
            return;
        }
        if swept.len() >= limits::files::DRAFT_SWEEPS_MAX {
            swept.clear();
        }
        swept.insert(id, now_ms);
        drop(swept);
        if let Err(errno) = sweep_one(dir.fd.as_fd(), now_ms, |_| {}) {
            tracing::warn!(%errno, path = %dir.path, "old drafts could not be looked for");
        }
    }

    /// Removes what is left anywhere, by a thread that gives way to everything else.
    pub(super) fn sweep_all(&self) {
        let (files, clock) = (Arc::downgrade(&self.files), self.clock.clone());
        let sweeping = std::thread::Builder::new().name("gsv-sweep".into()).spawn(move || {
            give_way();
            match sweep_below(&files, &clock) {
                Some(directories) => tracing::debug!(directories, "old drafts were looked for"),
                None => tracing::debug!("looking for old drafts was cut short"),
            }
        });
        if let Err(error) = sweeping {
            tracing::warn!(%error, "no thread for removing old drafts");
        }
    }
}

/// On Linux this is about the thread alone; elsewhere it would be about all of the program.
fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(errno) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%errno, "old drafts are looked for with ordinary priority");
    }
}

/// Goes through all directories; how many they were, or nothing if it did not get to the end. It ends early when
/// the files are closed.
fn sweep_below(files: &Weak<OwnedFd>, clock: &Clock) -> Option<usize> {
    let mut count = 0;
    let top = openat(&*files.upgrade()?, ".", DIRECTORY, Mode::empty()).ok()?;
    let mut stack = vec![(top, vec![OsString::from(".")])];
    while let Some((dir, pending)) = stack.last_mut() {
        let Some(name) = pending.pop() else {
            stack.pop();
            continue;
        };
        let opened = openat(dir.as_fd(), &*name, DIRECTORY, Mode::empty());
        let Ok(below) = opened else { continue };
        count += 1;
        if count > limits::files::SWEEP_DIRECTORIES_MAX || files.strong_count() == 0 {
            return None;
        }
        let mut names = Vec::new();
        let swept = sweep_one(below.as_fd(), clock.now_ms(), |name| names.push(name.to_os_string()));
        if let Err(errno) = swept {
            tracing::debug!(%errno, "a directory could not be looked through for old drafts");
        }
        if !names.is_empty() && stack.len() <= limits::files::SWEEP_DEPTH_MAX {
            stack.push((below, names));
        }
        std::thread::sleep(limits::files::SWEEP_PAUSE);
    }
    Some(count)
}

/// Removes old leftovers from one directory and tells the directories in it.
fn sweep_one(dir: BorrowedFd, now_ms: i64, mut below: impl FnMut(&OsStr)) -> Result<(), Errno> {
    let mut leftovers = Vec::new();
    let mut stream = rustix::fs::Dir::read_from(dir)?;
    while let Some(entry) = stream.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if mounts::is_reserved(name) {
            if leftovers.len() < limits::files::DRAFT_SWEEPS_MAX {
                leftovers.push(name.to_os_string());
            }
        } else if entry.file_type() == FileType::Directory && name != "." && name != ".." {
            below(name);
        }
    }
    for name in leftovers {
        if let Err(errno) = remove_old(dir, &name, now_ms) {
            tracing::debug!(%errno, name = %name.display(), "a leftover could not be removed");
        }
    }
    Ok(())
}

/// Removes a draft, a directory that was being made, or an upload, if it is old.
fn remove_old(dir: BorrowedFd, name: &OsStr, now_ms: i64) -> Result<(), Errno> {
    let host = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_draft = mounts::is_draft(name);
    let kept_ms =
        if is_draft { limits::files::DRAFT_KEPT_MS } else { limits::device_files::UPLOAD_PARTIAL_KEPT_MS };
    if now_ms.saturating_sub(modified_ms(&host)) < kept_ms {
        return Ok(());
    }
    match FileType::from_raw_mode(host.st_mode) {
        FileType::Directory if is_draft => unlinkat(dir, name, AtFlags::REMOVEDIR),
        FileType::RegularFile if is_draft => unlinkat(dir, name, AtFlags::empty()),
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(openat(dir, name, flags, Mode::empty())?);
            // A lock on it means that an upload is at work.
            if file.try_lock().is_ok() { unlinkat(dir, name, AtFlags::empty()) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}
