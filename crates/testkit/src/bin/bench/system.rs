//! System calls that the benchmark needs and the standard library does not offer.
#![allow(unsafe_code)] // getrlimit, setrlimit and kill take plain values; there is no safe call for them in std.

use anyhow::{Context, Result};

/// Raises the limit of open files as far as allowed and returns it; children inherit it.
pub(crate) fn raise_open_files(wanted: u64) -> Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live, properly typed value.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(std::io::Error::last_os_error()).context("read the limit of open files");
    }
    if limit.rlim_cur >= wanted {
        return Ok(limit.rlim_cur);
    }
    let raised = libc::rlimit { rlim_cur: wanted.min(limit.rlim_max), rlim_max: limit.rlim_max };
    // SAFETY: as above; the value is only read.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } != 0 {
        return Err(std::io::Error::last_os_error()).context("raise the limit of open files");
    }
    Ok(raised.rlim_cur)
}

/// Asks a child process to stop.
pub(crate) fn terminate(pid: u32) -> Result<()> {
    let pid = libc::pid_t::try_from(pid).context("a process id is out of range")?;
    // SAFETY: kill takes two integers.
    if unsafe { libc::kill(pid, libc::SIGTERM) } != 0 {
        return Err(std::io::Error::last_os_error()).context("stop a child process");
    }
    Ok(())
}
