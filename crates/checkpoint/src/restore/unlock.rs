//! Permission repair: directories that an agent closed (`chmod 000`) are opened again before a restore looks at the
//! present: what is in them could neither be kept nor compared.

use std::os::fd::OwnedFd;

use rustix::fs::Mode;
#[cfg(any(target_os = "linux", target_os = "android"))]
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::place;
use crate::snapshot::{Name, Snapshot, split};
use crate::state::FileKind;

/// Bits without which the owner cannot look into a directory.
const ENTER: u32 = 0o500;

/// Gives directories that are closed now and were not in the checkpoint the modes they had, outer ones first. What was
/// changed, to be put back when the restore does not take place.
pub(super) fn unlock(root: &OwnedFd, target: &Snapshot) -> Vec<(Name, u32)> {
    let mut changed = Vec::new();
    // Root gets in everywhere.
    if rustix::process::geteuid().is_root() {
        return changed;
    }
    for (name, entry) in target.entries.iter().filter(|(_, entry)| entry.kind == FileKind::Dir) {
        if entry.mode & ENTER == ENTER
            && let Some(mode) = closed(root, name)
            && set_mode(root, name, entry.mode)
        {
            changed.push((name.clone(), mode));
        }
    }
    changed
}

/// Closes them again, inner ones first.
pub(super) fn lock_again(root: &OwnedFd, changed: &[(Name, u32)]) {
    for (name, mode) in changed.iter().rev() {
        set_mode(root, name, *mode);
    }
}

/// The mode of a directory that cannot be looked into.
fn closed(root: &OwnedFd, name: &[u8]) -> Option<u32> {
    let (parent, last) = split(name);
    let dir = place::open_beneath(root, parent).ok()?;
    let state = place::state_at(&dir, last).ok()??;
    (state.kind == FileKind::Dir && state.mode & ENTER != ENTER).then_some(state.mode)
}

/// Sets a mode by name, for want of a descriptor. A link that took the place meanwhile is not followed.
fn set_mode(root: &OwnedFd, name: &[u8], mode: u32) -> bool {
    let (parent, last) = split(name);
    let Ok(dir) = place::open_beneath(root, parent) else { return false };
    // The type of raw modes differs between operating systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    change(&dir, last, Mode::from_raw_mode(mode as _)).is_ok()
}

/// Linux has no call for it; a descriptor that need not be able to read has a name of its own.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn change(dir: &OwnedFd, name: &[u8], mode: Mode) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), mode)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn change(dir: &OwnedFd, name: &[u8], mode: Mode) -> Result<(), Errno> {
    rustix::fs::chmodat(dir, name, mode, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
}
