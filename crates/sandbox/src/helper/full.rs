//! Full mode, outer process: joins the run's namespaces, makes those of the call, starts process 1 and mirrors how the
//! command ended.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::PipeFlags;

use super::{FAILED, init};
use crate::cgroup::{Door, Group};
use crate::failure::{At, Failure};
use crate::setup::Reporter;
use crate::spec::Spec;
use crate::sys::{self, Fork};
use crate::view;

/// Runs the command and returns its wait status.
pub(super) fn run(spec: &Spec, user: OwnedFd, network: OwnedFd, report: &Reporter) -> Result<i32, Failure> {
    let spec = &spec.resolved()?;
    // The table shows the sockets of the network namespace that one is in.
    let sockets = view::listed_sockets()?;
    // To be made as the user of the machine, before the namespaces take that right away.
    let (group, door) = Group::make(&spec.limits).unzip();
    enter(&user, &network)?;
    drop((user, network));
    sys::block_signals().at("hold signals back")?;
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).at("open a pipe");
    let (status_read, status_write) = pipe()?;
    // Closes when this process ends, however it ends.
    let (life_read, life_write) = pipe()?;
    match sys::fork().at("start process 1")? {
        Fork::Child => {
            drop((status_read, life_write));
            match enter_group(door).and_then(|()| init::run(spec, &sockets, report, life_read, status_write))
            {
                Ok(never) => match never {},
                Err(failure) => {
                    report.failed(&failure);
                    sys::exit_now(FAILED)
                }
            }
        }
        Fork::Parent(pid) => {
            drop((status_write, life_read, door));
            let status = mirror(pid, status_read);
            drop(life_write);
            if group.is_some_and(|group| group.ran_out_of_memory()) {
                report.out_of_memory();
            }
            status
        }
    }
}

/// Where there is a group, nothing starts outside it.
fn enter_group(door: Option<Door>) -> Result<(), Failure> {
    door.map_or(Ok(()), Door::enter).at("enter the control group")
}

fn enter(user: &OwnedFd, network: &OwnedFd) -> Result<(), Failure> {
    if rustix::process::getuid().is_root() {
        // Only root can, and root's groups open what its number alone does not.
        rustix::thread::set_thread_groups(&[]).at("give up supplementary groups")?;
    }
    sys::enter(user.as_fd(), libc::CLONE_NEWUSER).at("join the user namespace")?;
    sys::enter(network.as_fd(), libc::CLONE_NEWNET).at("join the network namespace")?;
    let fresh = libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    sys::unshare(fresh).at("make namespaces for the command")?;
    // Becoming all-powerful in the user namespace has taken this away on some kernels.
    sys::die_with_parent().at("bind the helper's life to the driver's")
}

/// Waits for process 1, with which everything inside has ended. The status is the command's; a process 1 that wrote
/// none was killed, or failed and has told why.
fn mirror(pid: sys::Pid, status: OwnedFd) -> Result<i32, Failure> {
    let mut bytes = [0; 4];
    let told = File::from(status).read_exact(&mut bytes).is_ok();
    let ended = sys::wait(pid, true).at("wait for process 1")?;
    Ok(match (told, ended) {
        (true, _) => i32::from_ne_bytes(bytes),
        (false, Some((_, own))) => own,
        (false, None) => FAILED << 8,
    })
}
