//! CPU accounting of a thread from another one: how long it has been busy, and how urgent it is. The one place that
//! needs raw calls.
#![allow(unsafe_code)]

use std::time::Duration;

/// The clock of one thread.
pub(crate) struct CpuClock {
    #[cfg(target_os = "linux")]
    id: libc::clockid_t,
    #[cfg(target_os = "linux")]
    thread: libc::id_t,
}

#[cfg(target_os = "linux")]
impl CpuClock {
    /// The clock of the thread that asks.
    pub(crate) fn of_this_thread() -> Option<CpuClock> {
        let mut id = 0;
        // SAFETY: the thread is the one that runs, and `id` outlives the call.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut id) };
        // SAFETY: it takes nothing and cannot fail.
        let thread = u32::try_from(unsafe { libc::gettid() }).ok()?;
        (failed == 0).then_some(CpuClock { id, thread })
    }

    /// What the system calls the thread.
    pub(crate) fn thread(&self) -> Option<u32> {
        Some(self.thread)
    }

    /// Lets every other thread go first from now on.
    pub(crate) fn make_least_urgent(&self) -> std::io::Result<()> {
        // SAFETY: it takes no pointers; a thread that is gone is an error.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, self.thread, 19) } == 0 {
            return Ok(());
        }
        Err(std::io::Error::last_os_error())
    }

    /// What it shows; `None` once the thread has ended.
    pub(crate) fn read(&self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` outlives the call; an id whose thread is gone is an error.
        if unsafe { libc::clock_gettime(self.id, &raw mut time) } != 0 {
            return None;
        }
        Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
    }
}

/// Elsewhere the clock of another thread cannot be read in this way; time and the interpreter's own limits hold.
#[cfg(not(target_os = "linux"))]
impl CpuClock {
    /// None.
    pub(crate) fn of_this_thread() -> Option<CpuClock> {
        None
    }

    /// Nothing.
    pub(crate) fn thread(&self) -> Option<u32> {
        None
    }

    /// Nothing.
    pub(crate) fn read(&self) -> Option<Duration> {
        None
    }

    /// Nothing either.
    pub(crate) fn make_least_urgent(&self) -> std::io::Result<()> {
        Ok(())
    }
}
