//! View of the files: a private copy of the machine's mounts, edited in place until it shows what the command may see.
//!
//! The order matters. What is to be writable is taken by descriptor while the original view stands, so that names that
//! change meanwhile lead nowhere else; then everything becomes read-only; then the pieces are put in place, the outer
//! before the inner; then what is protected is pinned and what is hidden is covered.

mod covers;
mod devices;
mod mounts;
mod names;
mod pins;
mod plan;
mod processes;
mod sockets;

use std::path::{Path, PathBuf};

use rustix::mount::MountPropagationFlags;

use crate::failure::{At, Failure};
use crate::spec::Spec;
use crate::sys::mount_attr::{NO_DEV, NO_SUID, READ_ONLY};
use covers::Covers;
use plan::{Hollows, Plan};

pub(crate) use sockets::listed_sockets;

/// Builds the view. To be called in a mount namespace of its own, by process 1 of a new process namespace, with all
/// capabilities in the user namespace that owns both.
pub(crate) fn build(spec: &Spec, sockets: &[PathBuf]) -> Result<(), Failure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).at("part from the machine's mounts")?;
    let covers = Covers::find(spec)?;
    let plan = Plan::new(spec, &covers)?;
    let nodes = devices::take_nodes()?;
    let names = names::read();
    let root = mounts::open(Path::new("/")).at("open the root directory")?;
    mounts::restrict(&root, true, READ_ONLY | NO_SUID | NO_DEV).at("make everything read-only")?;
    let hollows = Hollows::mount()?;
    let staging = devices::mount(nodes, spec.limits.shared_memory_bytes, &names)?;
    plan.place(&hollows)?;
    runtime_directory()?;
    pins::protect(spec, &covers.covered)?;
    covers.apply(sockets, &staging)?;
    names.apply(&staging)?;
    processes::mount(spec.limits.processes)?;
    // The directory that was inherited lies beneath the new mounts: relative names would miss all of them.
    std::env::set_current_dir(&spec.cwd).at_path("enter", &spec.cwd)
}

/// The directory that programs expect their sockets in, where the machine has such directories.
fn runtime_directory() -> Result<(), Failure> {
    let run = Path::new("/run");
    if !run.is_dir() {
        return Ok(());
    }
    let path = run.join("user").join(rustix::process::getuid().as_raw().to_string());
    std::fs::create_dir_all(&path).at_path("make", &path)?;
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&path, private).at_path("make", &path)
}

/// Where the command may write, as the view shows it.
pub(crate) fn writable_places(spec: &Spec) -> Vec<PathBuf> {
    let mut places = vec![spec.workspace.clone()];
    places.extend(spec.writable.iter().cloned());
    places.extend(spec.overlays.iter().chain(&spec.cache_overlays).map(|overlay| overlay.target.clone()));
    places.extend(["/tmp", "/var/tmp", "/run", "/dev"].map(PathBuf::from));
    places
}
