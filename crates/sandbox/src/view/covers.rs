//! Covers over hidden places: an empty file or directory of mode 000 on top of each, under every name that it has.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use base::limits::sandbox::COVER_ATTEMPTS_MAX;
use rustix::fs::FileType;

use super::devices::Staging;
use super::mounts;
use super::plan::inside_writable;
use crate::failure::{At, Failure};
use crate::spec::{Spec, real_path};

mod aliases;

use aliases::MountTable;

/// What is to be hidden, by the names it really has.
pub(super) struct Covers {
    /// Hidden directories in which something is to be seen: the way to it stays, everything else goes.
    pub(super) hollow: Vec<PathBuf>,
    /// Everything else.
    pub(super) covered: BTreeSet<PathBuf>,
    /// Where the same could be seen too, if no other mount is on top.
    aliases: BTreeSet<PathBuf>,
}

impl Covers {
    /// Resolves what is hidden, while the machine's own view stands. What does not exist is not there to be hidden.
    pub(super) fn find(spec: &Spec) -> Result<Covers, Failure> {
        let inverted = spec.inverted.iter();
        let by_name = inverted.flat_map(|inverted| inverted.hide.iter().map(|name| inverted.dir.join(name)));
        let mut real = BTreeSet::new();
        for path in spec.hidden.iter().cloned().chain(by_name) {
            match real_path(&path) {
                Ok(found) => drop(real.insert(found)),
                // A link that leads to itself leads to no secret.
                Err(error) if is_out_of_reach(&error) || is_loop(&error) => {}
                Err(error) => return Err(error).at_path("find out where the hidden place is:", &path),
            }
        }
        let mut covers = Covers { hollow: Vec::new(), covered: BTreeSet::new(), aliases: BTreeSet::new() };
        if !real.is_empty() {
            let table = MountTable::read()?;
            covers.aliases = real.iter().flat_map(|path| table.other_names(path)).collect();
        }
        for path in real {
            if always_visible(spec).any(|place| *place == path) {
                let why = "it is what the command works on";
                return Err(Failure::refused(format!("hide {}", path.display()), why));
            }
            // Inside a writable tree the cover comes on top of the tree.
            if always_visible(spec).any(|place| place.starts_with(&path)) && !inside_writable(spec, &path) {
                covers.hollow.push(path);
            } else {
                covers.covered.insert(path);
            }
        }
        Ok(covers)
    }

    /// Covers everything, and the machine's sockets. To be called when all else is in place.
    pub(super) fn apply(&self, sockets: &[PathBuf], staging: &Staging) -> Result<(), Failure> {
        for path in &self.covered {
            cover(path, staging, false)?;
        }
        for path in self.aliases.iter().chain(sockets) {
            cover(path, staging, true)?;
        }
        Ok(())
    }
}

/// Covers a resolved path. A symbolic link in it means that something else is there now: that is fine where the view
/// shows other files than the machine does, and else somebody has exchanged it just now.
fn cover(path: &Path, staging: &Staging, may_be_other: bool) -> Result<(), Failure> {
    for _ in 0..COVER_ATTEMPTS_MAX {
        let place = match mounts::open(path) {
            Ok(place) => place,
            Err(error) if is_out_of_reach(&error) => return Ok(()),
            Err(error) if may_be_other && is_loop(&error) => return Ok(()),
            Err(error) => return Err(error).at_path("find the hidden place", path),
        };
        let cover = match mounts::kind(&place).at_path("look at", path)? {
            FileType::Directory => staging.empty_directory(),
            FileType::Symlink if may_be_other => return Ok(()),
            FileType::Symlink => {
                return Err(Failure::refused(format!("cover {}", path.display()), "it became a link"));
            }
            _ => staging.empty_file(),
        };
        match mounts::attach(cover.at_path("prepare the cover of", path)?, &place) {
            // It was removed just now. Whatever has its name meanwhile is covered in the next attempt.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.at_path("cover", path),
        }
    }
    Err(Failure::refused(format!("cover {}", path.display()), "it is removed and made again all the time"))
}

fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

/// What the command is to see wherever it lies.
fn always_visible(spec: &Spec) -> impl Iterator<Item = &PathBuf> {
    let overlays = spec.overlays.iter().chain(&spec.cache_overlays).map(|overlay| &overlay.target);
    std::iter::once(&spec.workspace).chain(&spec.writable).chain(overlays)
}

/// Whether nobody who runs as this user, without more rights, could get there either.
fn is_out_of_reach(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
}
