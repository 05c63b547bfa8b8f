//! Plan of the mounts: what goes where, taken by descriptor before anything changes, put in place from the outside in.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use base::limits::sandbox::{INVERTED_ENTRIES_MAX, RUN_DIRECTORY_MAX_BYTES};
use rustix::fs::{AtFlags, FileType, Mode};
use rustix::mount::MountAttrFlags;

use super::covers::Covers;
use super::mounts;
use crate::failure::{At, Failure};
use crate::spec::{Inverted, Overlay, Spec, real_path};
use crate::sys::mount_attr::{NO_DEV, NO_SUID, READ_ONLY};

/// Size of an empty directory in memory that only holds mount points.
const HOLLOW_BYTES: u64 = 4 * 1024 * 1024;

pub(super) struct Plan {
    pieces: Vec<Piece>,
}

/// A file system in memory of which every empty directory is a part: to make and to remove one for each takes longer
/// than all the rest.
pub(super) struct Hollows(OwnedFd);

struct Piece {
    target: PathBuf,
    content: Content,
}

enum Content {
    /// An empty directory of this mode, sealed when all is in place.
    Hollow { mode: u32 },
    /// An empty directory in memory for the command's own use.
    Scratch { mount: OwnedFd },
    /// A tree or file of the machine that may be writable, or an overlay.
    Mount { mount: OwnedFd, is_directory: bool },
    /// A tree or file of the machine that is taken when everything is read-only, as it is then. One that cannot be
    /// taken is left out if it may be.
    ReadOnly { place: OwnedFd, is_directory: bool, may_be_missing: bool },
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
            plan.push(hollow, Content::Hollow { mode: 0o555 });
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
                plan.take_read_only(&cache.target, false)?;
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

    /// Puts everything in place. To be called when everything is read-only.
    pub(super) fn place(self, hollows: &Hollows) -> Result<(), Failure> {
        let mut points = Points::default();
        let mut to_seal = Vec::new();
        for Piece { target, content } in self.pieces {
            match content {
                Content::Hollow { mode } => {
                    let mount = Rc::new(hollows.directory(to_seal.len(), mode)?);
                    points.put(&mount, &target, true)?;
                    points.hollows.insert(target.clone(), mount.clone());
                    to_seal.push((target, mount));
                }
                Content::Scratch { mount } => {
                    points.put(&mount, &target, true)?;
                    points.hollows.insert(target, Rc::new(mount));
                }
                Content::Mount { mount, is_directory } => points.put(&mount, &target, is_directory)?,
                Content::ReadOnly { place, is_directory, may_be_missing } => {
                    match mounts::copy(&place).at_path("take", &target) {
                        // A mount of somebody else's that cannot be copied is not shown.
                        Err(failure) if may_be_missing && failure.is_refusal() => {}
                        mount => points.put(&mount?, &target, is_directory)?,
                    }
                }
                Content::Link { to } => points.link(&to, &target)?,
            }
        }
        for (target, mount) in to_seal {
            mounts::restrict(&*mount, false, READ_ONLY).at_path("seal", &target)?;
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

    /// Plans that a place of the machine is seen where it is, and can only be read.
    fn take_read_only(&mut self, path: &Path, may_be_missing: bool) -> Result<(), Failure> {
        let place = mounts::open(path).at_path("open", path)?;
        let is_directory = mounts::kind(&place).at_path("look at", path)? == FileType::Directory;
        self.push(path, Content::ReadOnly { place, is_directory, may_be_missing });
        Ok(())
    }

    /// Plans an empty directory for the command's own use.
    fn scratch(&mut self, target: &Path) -> Result<(), Failure> {
        let mount = mounts::memory(0o755, RUN_DIRECTORY_MAX_BYTES)
            .at_path("make a file system in memory for", target)?;
        self.push(target, Content::Scratch { mount });
        Ok(())
    }

    /// `/run` is where the machine's sockets are. Some systems keep their programs there as well.
    fn run_directory(&mut self) -> Result<(), Failure> {
        let run = Path::new("/run");
        if !fs::symlink_metadata(run).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        self.scratch(run)?;
        let older = Path::new("/var/run");
        if fs::symlink_metadata(older).is_ok_and(|found| found.is_dir()) {
            self.scratch(older)?;
        }
        for kept in ["current-system", "wrappers", "opengl-driver"] {
            let path = run.join(kept);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => self.link(&path)?,
                Ok(found) if found.is_dir() => self.take_read_only(&path, false)?,
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
        let Ok(dir) = real_path(&inverted.dir) else { return Ok(()) };
        let found = fs::metadata(&dir).at_path("look at", &dir)?;
        if !found.is_dir() {
            return Ok(());
        }
        self.push(&dir, Content::Hollow { mode: found.mode() & 0o777 });
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
                self.show(&entry)?;
            }
        }
        Ok(())
    }

    /// Shows one entry of an inverted directory. One that is gone already stays away; sockets and pipes of the machine
    /// do as well.
    fn show(&mut self, entry: &fs::DirEntry) -> Result<(), Failure> {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { return Ok(()) };
        if kind.is_symlink() {
            return self.link(&path);
        }
        if kind.is_socket() || kind.is_fifo() || kind.is_block_device() || kind.is_char_device() {
            return Ok(());
        }
        match self.take_read_only(&path, true) {
            // What is somebody else's and cannot be entered is not shown.
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

impl Hollows {
    /// Makes the file system. It is put where the view's own `/dev` comes on top of it: parts can only be taken of what
    /// is mounted somewhere.
    pub(super) fn mount() -> Result<Hollows, Failure> {
        let step = "make a file system in memory";
        let mount = mounts::memory(0o700, HOLLOW_BYTES).at(step)?;
        let place = mounts::open(Path::new("/dev")).at(step)?;
        mounts::attach(&mount, place).at(step)?;
        Ok(Hollows(mount))
    }

    fn directory(&self, number: usize, mode: u32) -> Result<OwnedFd, Failure> {
        let (step, name) = ("make an empty directory", number.to_string());
        let directory = mounts::mount_point_in(&self.0, OsStr::new(&name), true).at(step)?;
        // By its name: a descriptor that only stands for a place cannot change it.
        rustix::fs::chmodat(&self.0, name.as_str(), Mode::from_raw_mode(mode), AtFlags::empty()).at(step)?;
        mounts::copy(directory).at(step)
    }
}

/// Places for mounts. In directories that were made for the view they are found without a walk from the root.
#[derive(Default)]
struct Points {
    hollows: HashMap<PathBuf, Rc<OwnedFd>>,
}

impl Points {
    fn put(&mut self, mount: &OwnedFd, target: &Path, is_directory: bool) -> Result<(), Failure> {
        let point = match self.hollow_above(target) {
            Some((hollow, name)) => mounts::mount_point_in(hollow, name, is_directory),
            None => mounts::mount_point(target, is_directory),
        };
        let point = point.at_path("find the place for", target)?;
        mounts::attach(mount, &point).at_path("mount", target)?;
        // What was there is beneath this one now.
        self.hollows.remove(target);
        Ok(())
    }

    fn link(&self, to: &Path, target: &Path) -> Result<(), Failure> {
        let made = match self.hollow_above(target) {
            Some((hollow, name)) => rustix::fs::symlinkat(to, hollow, name),
            None => rustix::fs::symlink(to, target),
        };
        made.at_path("make the link", target)
    }

    /// The empty directory that a place is directly in, and its name there.
    fn hollow_above<'a>(&self, target: &'a Path) -> Option<(&OwnedFd, &'a OsStr)> {
        let hollow = self.hollows.get(target.parent()?)?;
        Some((hollow, target.file_name()?))
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
