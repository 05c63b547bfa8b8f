//! Rights that are given up before a command runs: capabilities, resource limits, system calls.

mod filter;

use std::fs::OpenOptions;
use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::failure::{At, Failure};
use crate::spec::Limits;
use crate::sys;
pub(crate) use filter::Families;

/// Gives up all capabilities, and that root would get them back by executing a program.
pub(crate) fn drop_capabilities() -> Result<(), Failure> {
    sys::lock_root_out().at("lock root's privileges out")?;
    sys::empty_bounding_set().at("empty the bounding set")?;
    rustix::thread::clear_ambient_capability_set().at("empty the ambient set")?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).at("give up capabilities")
}

/// Installs the filter of system calls.
pub(crate) fn filter_calls(families: Families) -> Result<(), Failure> {
    let program = filter::program(families).ok_or_else(|| {
        Failure::refused("filter system calls", "this processor's system calls are not known")
    })?;
    sys::install_filter(&program).at("filter system calls")
}

/// Installs the filter of a guest: what is not on its list kills it.
pub(crate) fn filter_all_but_computing() -> Result<(), Failure> {
    let program = filter::allowed::program().ok_or_else(|| {
        Failure::refused("filter system calls", "this processor's system calls are not known")
    })?;
    sys::install_filter(&program).at("filter system calls")
}

/// Limits of the command's process and all it starts.
pub(crate) fn limit_resources(limits: &Limits) -> Result<(), Failure> {
    let both = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    let limit = |resource, value| setrlimit(resource, both(value)).at("limit resources");
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, limits.file_bytes)?;
    let open = rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    limit(Resource::Nofile, limits.open_files.min(open))?;
    let processes = rustix::process::getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
    limit(Resource::Nproc, limits.processes.min(processes))
}

/// Limits the numbers that processes of this namespace can have, where each namespace has a limit of its own: the limit
/// per user does not hold for root.
pub(crate) fn limit_processes(most: u64) -> Result<(), Failure> {
    // On older kernels the same file is the limit of the whole machine.
    if kernel_version() < Some((6, 14)) {
        return Ok(());
    }
    // The kernel takes no number below this.
    let most = most.max(u64::from(LOWEST_PROCESS_LIMIT));
    std::fs::write("/proc/sys/kernel/pid_max", most.to_string()).at("limit the number of processes")
}

/// Lowest limit of numbers of processes that the kernel takes on machines of up to 37 processors.
const LOWEST_PROCESS_LIMIT: u32 = 301;

fn kernel_version() -> Option<(u32, u32)> {
    let name = rustix::system::uname();
    let mut numbers = name.release().to_str().ok()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Takes standard input, output and error away from a process that only watches: whoever reads at their other end
/// shall see them end with the command. Without it they end a little later.
pub(crate) fn release_standard_streams() {
    let release = || -> io::Result<()> {
        let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        Ok(rustix::stdio::dup2_stderr(&null)?)
    };
    drop(release());
}
