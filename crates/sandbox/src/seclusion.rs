//! Seclusion: a process gives up everything but computing and the one descriptor it talks over, for good. Not for
//! commands, which need files and children; for guests of the gateway, whose code is not ours.

#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, setrlimit};

/// How much a secluded process may use.
#[derive(Clone, Copy, Debug)]
pub struct Seclusion {
    /// Address space, the program itself included.
    pub memory_bytes: u64,
    /// Processor time, over its whole life.
    pub cpu_seconds: u64,
    /// The process that must still be the parent.
    pub parent: u32,
}

/// Gives everything up but standard input, output and error, which should be the one socket and nothing. To be called
/// while there is one thread. Whatever fails, the process must not go on.
///
/// The order matters: Landlock needs a descriptor, so descriptors are limited after it; the filter comes last.
#[cfg(target_os = "linux")]
pub fn seclude(seclusion: &Seclusion) -> Result<(), String> {
    use crate::failure::At;
    use crate::{privileges, rules, sys};

    let all = || -> Result<(), crate::failure::Failure> {
        sys::die_with_parent().at("die with the parent")?;
        // It may have died before that.
        if sys::parent() != seclusion.parent {
            return Err(crate::failure::Failure::refused("find the parent", "it is gone"));
        }
        sys::set_dumpable(false).at("close itself to others")?;
        let limit = |resource, value: u64| {
            let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX).min(value);
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).at("limit resources")
        };
        limit(Resource::Core, 0)?;
        limit(Resource::As, seclusion.memory_bytes)?;
        limit(Resource::Cpu, seclusion.cpu_seconds)?;
        limit(Resource::Nproc, 0)?;
        limit(Resource::Memlock, 0)?;
        rustix::thread::clear_ambient_capability_set().at("empty the ambient set")?;
        let none = rustix::thread::CapabilitySet::empty();
        let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, sets).at("give up capabilities")?;
        sys::no_new_privileges().at("give up new privileges")?;
        rules::restrict_everything()?;
        sys::close_all_but(&[]).at("close descriptors")?;
        limit(Resource::Nofile, 3)?;
        privileges::filter_all_but_computing()
    };
    all().map_err(|failure| std::io::Error::from(failure).to_string())
}

/// Where there is no such filter, the limits of resources that the system has.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn seclude(seclusion: &Seclusion) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |resource, value: u64| {
        let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX).min(value);
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| format!("limit resources: {error}"))
    };
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, seclusion.cpu_seconds)?;
    limit(Resource::Nproc, 0)?;
    limit(Resource::Nofile, 3)
}

/// There is nothing here that would hold code that is not ours.
#[cfg(not(unix))]
pub fn seclude(_: &Seclusion) -> Result<(), String> {
    Err("this system has nothing that holds guests".to_string())
}
