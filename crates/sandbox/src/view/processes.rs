//! `/proc` of the new process namespace, with everything read-only that is the machine's and not a process's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::mount::MountFlags;

use super::mounts;
use crate::failure::{At, Failure};
use crate::privileges;
use crate::sys::mount_attr::READ_ONLY;

/// Mounts a fresh `/proc`. Containers that mask theirs refuse it: then there is no full mode.
pub(super) fn mount(processes: u64) -> Result<(), Failure> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None).at("mount a /proc of its own")?;
    privileges::limit_processes(processes)?;
    let is_root = rustix::process::getuid().is_root();
    for entry in fs::read_dir("/proc").at("list /proc")? {
        let entry = entry.at("list /proc")?;
        let name = entry.file_name();
        if name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let (name, kind) = (name.to_string_lossy(), entry.file_type().at("look at /proc")?);
        // To an ordinary user the rest is read-only by its modes.
        let always = matches!(name.as_ref(), "sys" | "irq" | "bus" | "fs" | "sysrq-trigger");
        if always || (is_root && (kind.is_dir() || is_writable(&entry)?)) {
            let path = Path::new("/proc").join(name.as_ref());
            let place = mounts::open(&path).at_path("open", &path)?;
            mounts::pin(&place, READ_ONLY).at_path("protect", &path)?;
        }
    }
    Ok(())
}

/// Whether its mode lets anybody write. To a link it does not apply.
fn is_writable(entry: &fs::DirEntry) -> Result<bool, Failure> {
    let found = entry.metadata().at("look at /proc")?;
    Ok(!found.is_symlink() && found.permissions().mode() & 0o222 != 0)
}
