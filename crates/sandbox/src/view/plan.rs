//! Plan of the mounts: what goes where, taken by descriptor before anything changes, put in place from the outside in.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base::limits::sandbox::{INVERTED_ENTRIES_MAX, RUN_DIRECTORY_MAX_BYTES};
use rustix::fs::FileType;
use rustix::mount::MountAttrFlags;

use super::covers::Covers;
use super::mounts;
use crate::failure::{At, Failure};
use crate::spec::{Inverted, Overlay, Spec};
use crate::sys::mount_attr::{NO_DEV, NO_SUID, READ_ONLY};

/// Size of an empty directory in memory that only holds mount points.
const HOLLOW_BYTES: u64 = 4 * 1024 * 1024;

pub(super) struct Plan {
    pieces: Vec<Piece>,
}

struct Piece {
    target: PathBuf,
    content: Content,
}

enum Content {
    /// An empty directory in memory, sealed when all is in place if it is not for the command's own use.
    Hollow { mount: OwnedFd, sealed: bool },
    /// A tree or file of the machine, or an overlay.
    Mount { mount: OwnedFd, is_directory: bool },
    /// A symbolic link to make again: it cannot be mounted.
    Link { to: PathBuf },
}

impl Plan {
    pub(super) fn new(spec: &Spec, covers: &Covers) -> Result<Plan, Failure> {
        if spec.workspace.parent().is_none() {
            return Err(Failure::refused("confine the command", "the whole machine cannot be the workspace"));
        }
        let mut plan = Plan { pieces: Vec::new() };
        plan.run_directory()?;
        for target in ["/tmp", "/var/tmp"].map(Path::new) {
            if fs::symlink_metadata(target).is_ok_and(|found| found.is_dir())
                && !inside_writable(spec, target)
            {
                plan.take(target, &spec.tmp, 0)?;
            }
        }
        for hollow in &covers.hollow {
            plan.hollow(hollow, 0o555, HOLLOW_BYTES, true)?;
        }
        for inverted in spec.inverted.iter().filter(|inverted| !inside_writable(spec, &inverted.dir)) {
            plan.invert(spec, inverted)?;
        }
        for overlay in &spec.overlays {
            plan.overlay(overlay)?;
        }
        for cache in &spec.cache_overlays {
            // On a disk that takes no overlay, or with mounts in it, a cache is read-only as everything is.
            if plan.overlay(cache).is_err() {
                plan.take(&cache.target, &cache.target, READ_ONLY)?;
            }
        }
        for place in std::iter::once(&spec.workspace).chain(&spec.writable) {
            if !spec.overlays.iter().any(|overlay| &overlay.target == place) {
                plan.take(place, place, NO_SUID | NO_DEV)?;
            }
        }
        // Outer places first; of two at the same place the writable one, which was planned later, is on top.
        plan.pieces.sort_by_key(|piece| piece.target.components().count());
        Ok(plan)
    }

    /// Puts everything in place.
    pub(super) fn place(self) -> Result<(), Failure> {
        let mut to_seal = Vec::new();
        for Piece { target, content } in self.pieces {
            let put = |mount: &OwnedFd, is_directory: bool| {
                let point =
                    mounts::mount_point(&target, is_directory).at_path("find the place for", &target)?;
                mounts::attach(mount, &point).at_path("mount", &target)
            };
            match content {
                Content::Hollow { mount, sealed } => {
                    put(&mount, true)?;
                    if sealed {
                        to_seal.push((target, mount));
                    }
                }
                Content::Mount { mount, is_directory } => put(&mount, is_directory)?,
                Content::Link { to } => {
                    rustix::fs::symlink(&to, &target).at_path("make the link", &target)?;
                }
            }
        }
        for (target, mount) in to_seal {
            mounts::restrict(&mount, false, READ_ONLY).at_path("seal", &target)?;
        }
        Ok(())
    }

    fn push(&mut self, target: &Path, content: Content) {
        self.pieces.push(Piece { target: target.to_owned(), content });
    }

    /// Plans that a place of the machine is seen at a target, as writable as it is now.
    fn take(&mut self, target: &Path, source: &Path, attributes: u64) -> Result<(), Failure> {
        let source_fd = mounts::open(source).at_path("open", source)?;
        let is_directory = mounts::kind(&source_fd).at_path("look at", source)? == FileType::Directory;
        let mount = mounts::copy(&source_fd).at_path("take", source)?;
        mounts::restrict(&mount, true, attributes | NO_SUID | NO_DEV).at_path("restrict", source)?;
        self.push(target, Content::Mount { mount, is_directory });
        Ok(())
    }

    fn hollow(&mut self, target: &Path, mode: u32, bytes: u64, sealed: bool) -> Result<(), Failure> {
        let mount = mounts::memory(mode, bytes).at("make a file system in memory")?;
        self.push(target, Content::Hollow { mount, sealed });
        Ok(())
    }

    /// `/run` is where the machine's sockets are. Some systems keep their programs there as well.
    fn run_directory(&mut self) -> Result<(), Failure> {
        let run = Path::new("/run");
        if !fs::symlink_metadata(run).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        self.hollow(run, 0o755, RUN_DIRECTORY_MAX_BYTES, false)?;
        let older = Path::new("/var/run");
        if fs::symlink_metadata(older).is_ok_and(|found| found.is_dir()) {
            self.hollow(older, 0o755, RUN_DIRECTORY_MAX_BYTES, false)?;
        }
        for kept in ["current-system", "wrappers", "opengl-driver"] {
            let path = run.join(kept);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => self.link(&path)?,
                Ok(found) if found.is_dir() => self.take(&path, &path, READ_ONLY)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn link(&mut self, path: &Path) -> Result<(), Failure> {
        let to = fs::read_link(path).at_path("read the link", path)?;
        self.push(path, Content::Link { to });
        Ok(())
    }

    /// Plans an empty directory and, in it, what exists now and is not hidden.
    fn invert(&mut self, spec: &Spec, inverted: &Inverted) -> Result<(), Failure> {
        let Ok(dir) = fs::canonicalize(&inverted.dir) else { return Ok(()) };
        let found = fs::metadata(&dir).at_path("look at", &dir)?;
        if !found.is_dir() {
            return Ok(());
        }
        self.hollow(&dir, found.mode() & 0o777, HOLLOW_BYTES, true)?;
        let mut count = 0;
        for entry in fs::read_dir(&dir).at_path("list", &dir)? {
            let entry = entry.at_path("list", &dir)?;
            count += 1;
            if count > INVERTED_ENTRIES_MAX {
                let why = format!("it has more than {INVERTED_ENTRIES_MAX} entries");
                return Err(Failure::refused(format!("show part of {}", dir.display()), why));
            }
            let name = entry.file_name();
            let hidden = inverted.hide.iter().any(|hide| hide.as_os_str() == name);
            if !hidden && !is_planned(spec, &dir, &name) {
                self.show(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Shows one entry of an inverted directory. One that is gone already stays away; sockets and pipes of the machine
    /// do as well.
    fn show(&mut self, path: &Path) -> Result<(), Failure> {
        let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
        let kind = found.file_type();
        if kind.is_symlink() {
            return self.link(path);
        }
        if kind.is_socket() || kind.is_fifo() || kind.is_block_device() || kind.is_char_device() {
            return Ok(());
        }
        match self.take(path, path, READ_ONLY) {
            // A mount of somebody else's that cannot be entered or copied is not shown.
            Err(failure) if failure.is_refusal() => Ok(()),
            other => other,
        }
    }

    fn overlay(&mut self, overlay: &Overlay) -> Result<(), Failure> {
        let open = |path: &Path| mounts::open(path).at_path("open", path);
        let (lower, upper, work) = (open(&overlay.target)?, open(&overlay.upper)?, open(&overlay.work)?);
        borrow_mode(&overlay.target, &overlay.upper)?;
        // By descriptor: names could have characters that mean something in options.
        let name = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
        let (lower_name, upper_name, work_name) = (name(&lower), name(&upper), name(&work));
        let options = [
            ("lowerdir", lower_name.as_str()),
            ("upperdir", upper_name.as_str()),
            ("workdir", work_name.as_str()),
        ];
        let flags: &[&str] = if overlay.kept { &["userxattr"] } else { &["userxattr", "volatile"] };
        let mount = mounts::filesystem("overlay", &options, flags, MountAttrFlags::MOUNT_ATTR_NODEV)
            .at_path("lay an overlay over", &overlay.target)?;
        self.push(&overlay.target, Content::Mount { mount, is_directory: true });
        Ok(())
    }
}

/// Gives the upper directory the mode of the tree that it stands for: the root of an overlay has the upper's. Without
/// the right to write where the tree is somebody else's, or more would be allowed than in earnest.
fn borrow_mode(lower: &Path, upper: &Path) -> Result<(), Failure> {
    let found = fs::metadata(lower).at_path("look at", lower)?;
    let ours = found.uid() == rustix::process::getuid().as_raw();
    let mode = if ours { found.mode() & 0o777 } else { 0o555 };
    let now = fs::metadata(upper).at_path("look at", upper)?;
    if now.mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(upper, fs::Permissions::from_mode(mode)).at_path("set the mode of", upper)
}

/// Whether a place is in the workspace or another tree that the command changes.
pub(super) fn inside_writable(spec: &Spec, path: &Path) -> bool {
    let overlays = spec.overlays.iter().map(|overlay| &overlay.target);
    std::iter::once(&spec.workspace)
        .chain(&spec.writable)
        .chain(overlays)
        .any(|place| path.starts_with(place))
}

/// Whether something else of the plan is put at this very place.
fn is_planned(spec: &Spec, dir: &Path, name: &OsStr) -> bool {
    let path = dir.join(name);
    let overlays = spec.overlays.iter().chain(&spec.cache_overlays).map(|overlay| &overlay.target);
    let inverted = spec.inverted.iter().map(|inverted| &inverted.dir);
    std::iter::once(&spec.workspace)
        .chain(&spec.writable)
        .chain(overlays)
        .chain(inverted)
        .any(|other| *other == path)
}
