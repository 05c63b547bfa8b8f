//! `/dev` with the few devices that every program expects, and beside them the empty file and directory that covers are
//! made of.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::mount::MountAttrFlags;

use super::mounts;
use super::names::Names;
use crate::failure::{At, Failure};
use crate::sys::mount_attr::READ_ONLY;

const NODES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Directory of `/dev` in which covers and the files of `names.rs` are.
const STAGING: &str = ".sandbox";
const DEVICES_BYTES: u64 = 1024 * 1024;

/// The machine's nodes, taken before they become unusable.
pub(super) fn take_nodes() -> Result<Vec<(&'static str, OwnedFd)>, Failure> {
    let take = |name| {
        let path = Path::new("/dev").join(name);
        let mount = mounts::open(&path).and_then(mounts::copy).at_path("take", &path)?;
        Ok((name, mount))
    };
    NODES.into_iter().map(take).collect()
}

/// What covers are made of.
pub(super) struct Staging {
    directory: OwnedFd,
}

/// Makes `/dev`, read-only when it is complete.
pub(super) fn mount(
    nodes: Vec<(&'static str, OwnedFd)>,
    shared_memory_bytes: u64,
    names: &Names,
) -> Result<Staging, Failure> {
    let step = "make /dev";
    let dev = mounts::memory(0o755, DEVICES_BYTES).at(step)?;
    let place = mounts::open(Path::new("/dev")).at(step)?;
    mounts::attach(&dev, &place).at(step)?;
    for (name, node) in nodes {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(rustix::fs::openat(&dev, name, flags, Mode::RUSR).at(step)?);
        let point = rustix::fs::openat(&dev, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).at(step)?;
        mounts::attach(&node, &point).at(step)?;
    }
    for (name, to) in LINKS {
        rustix::fs::symlinkat(to, &dev, name).at(step)?;
    }
    let options = [("mode", "620"), ("ptmxmode", "666")];
    let terminals =
        mounts::filesystem("devpts", &options, &["newinstance"], MountAttrFlags::MOUNT_ATTR_NOEXEC);
    put(&dev, "pts", terminals).at("make terminals")?;
    put(&dev, "shm", mounts::memory(0o1777, shared_memory_bytes)).at("make shared memory")?;
    let staging = stage(names).at("prepare covers")?;
    mounts::restrict(&dev, false, READ_ONLY).at(step)?;
    Ok(staging)
}

fn put(dev: &OwnedFd, name: &str, mount: io::Result<OwnedFd>) -> io::Result<()> {
    rustix::fs::mkdirat(dev, name, Mode::from_raw_mode(0o755))?;
    let point = rustix::fs::openat(dev, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    mounts::attach(mount?, point)
}

fn stage(names: &Names) -> io::Result<Staging> {
    let path = Path::new("/dev").join(STAGING);
    fs::create_dir(&path)?;
    let none = || std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::create_dir(path.join("directory"))?;
    fs::set_permissions(path.join("directory"), none())?;
    fs::write(path.join("file"), "")?;
    fs::set_permissions(path.join("file"), none())?;
    for (name, text) in names.files() {
        fs::write(path.join(name), text)?;
    }
    Ok(Staging { directory: mounts::open(&path)? })
}

impl Staging {
    pub(super) fn empty_directory(&self) -> io::Result<OwnedFd> {
        self.copy("directory")
    }

    pub(super) fn empty_file(&self) -> io::Result<OwnedFd> {
        self.copy("file")
    }

    /// A mount of a staged file, read-only as `/dev` is.
    pub(super) fn copy(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.directory, name, flags, Mode::empty())?;
        mounts::copy(fd)
    }
}
