//! Change detection by fingerprint: a hash over the metadata of directories and all below them tells whether anything
//! has changed since the last one, without opening a file.
//!
//! As with files that were shown, a change can hide within one tick of the file system's clock: whoever keeps what was
//! read must have seen the same fingerprint for a while before the reading began ([`Fingerprint::stable_after`]).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use base::limits;
use rustix::fs::{AtFlags, FileType, Mode, RawDir, openat, statat};
use rustix::io::Errno;

use super::text_cache::FileVersion;
use super::{DIRECTORY, Disk};
use crate::path::VPath;

/// What directories were like. Two that are equal mean that nothing has changed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    seen: u64,
    fine: bool,
}

impl Fingerprint {
    /// How long it must have stayed the same before what is read then may be kept.
    pub fn stable_after(&self) -> Duration {
        if self.fine { limits::files::UNCHANGED_MIN_FINE } else { limits::files::UNCHANGED_MIN }
    }
}

/// Room for the names that the machine tells at once.
const NAMES_BYTES: usize = 2_048;

/// What is seen so far.
struct Fingerprinting {
    hasher: DefaultHasher,
    /// Names that may still be looked at.
    left: usize,
    fine: bool,
}

impl Fingerprinting {
    fn see(&mut self, host: &rustix::fs::Stat) {
        let version = FileVersion::of(host);
        version.hash(&mut self.hasher);
        self.fine &= version.is_fine();
    }
}

impl Disk {
    /// The fingerprint of directories or files, the ways to them and everything below them. Nothing when that is not enough to know
    /// them: where links lead elsewhere, there is too much, or owners are not kept with files.
    pub(crate) fn fingerprint(&self, roots: &[VPath]) -> Option<Fingerprint> {
        if !self.attributes {
            return None;
        }
        let (hasher, left) = (DefaultHasher::new(), limits::files::FINGERPRINT_NAMES_MAX);
        let mut progress = Fingerprinting { hasher, left, fine: true };
        let mut before = "";
        for root in roots {
            root.as_str().hash(&mut progress.hasher);
            let known = std::mem::replace(&mut before, root.as_str());
            if self.fingerprint_way(root, known, &mut progress)? {
                let host = root.as_str().trim_start_matches('/');
                let fd = openat(&*self.files, host, DIRECTORY, Mode::empty()).ok()?;
                fingerprint_below(fd, 0, &mut progress)?;
            }
        }
        Some(Fingerprint { seen: progress.hasher.finish(), fine: progress.fine })
    }

    /// Everything on the way, but for what it shares with a way that was just seen. True when there is a directory at
    /// its end.
    fn fingerprint_way(&self, root: &VPath, known: &str, progress: &mut Fingerprinting) -> Option<bool> {
        let host = root.as_str().trim_start_matches('/');
        let known = known.trim_start_matches('/');
        let is_known = |end: &usize| host.get(..=*end).is_some_and(|way| known.starts_with(way));
        let ends = host.match_indices('/').map(|(at, _)| at).chain([host.len()]);
        let ends = ends.filter(|end| !is_known(end));
        for end in ends {
            match statat(&*self.files, &host[..end], AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    progress.see(&stat);
                    match FileType::from_raw_mode(stat.st_mode) {
                        FileType::Directory => {}
                        FileType::RegularFile if end == host.len() => return Some(false),
                        _ => return None,
                    }
                }
                Err(Errno::NOENT) => {
                    end.hash(&mut progress.hasher);
                    return Some(false);
                }
                Err(_) => return None,
            }
        }
        Some(true)
    }
}

fn fingerprint_below(fd: OwnedFd, depth: usize, progress: &mut Fingerprinting) -> Option<()> {
    let mut room = [MaybeUninit::uninit(); NAMES_BYTES];
    let mut names = RawDir::new(&fd, &mut room);
    while let Some(entry) = names.next() {
        let entry = entry.ok()?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        progress.left = progress.left.checked_sub(1)?;
        let stat = statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        name.to_bytes().hash(&mut progress.hasher);
        progress.see(&stat);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory if depth < limits::native_shell::SKILL_DEPTH_MAX => {
                let inner = openat(&fd, name, DIRECTORY, Mode::empty()).ok()?;
                fingerprint_below(inner, depth + 1, progress)?;
            }
            FileType::Directory => {}
            _ => return None,
        }
    }
    Some(())
}
