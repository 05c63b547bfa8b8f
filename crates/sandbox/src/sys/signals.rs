//! Signals: blocking them all, reading them from a descriptor, and ending by one.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{Pid, exit_now};

fn every_signal() -> libc::sigset_t {
    // SAFETY: all zeros is a valid value, and the call only fills it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        set
    }
}

fn set_mask(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is only read, and the old one is not asked for.
    match unsafe { libc::sigprocmask(how, std::ptr::from_ref(set), std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Holds back every signal that can be.
pub(crate) fn block_signals() -> io::Result<()> {
    set_mask(libc::SIG_SETMASK, &every_signal())
}

/// Holds back none.
pub(crate) fn unblock_signals() -> io::Result<()> {
    set_mask(libc::SIG_UNBLOCK, &every_signal())
}

/// Lets every signal do what it does by default: ignored ones would stay ignored in the next program.
pub(crate) fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: a default is no function that could run. That some signals cannot be set is no matter.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Has a signal do nothing.
pub(crate) fn ignore_signal(signal: i32) {
    // SAFETY: ignoring is no function that could run.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Sends a signal. Somebody who is gone is no error.
pub(crate) fn kill(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: takes no pointer.
    if unsafe { libc::kill(pid, signal) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// Ends this process as a wait status says that another ended: by the same code or the same signal.
pub(crate) fn die_by(status: i32) -> ! {
    if libc::WIFEXITED(status) {
        exit_now(libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    // SAFETY: the set is made here and only read; a default is no function that could run.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
    // A signal that does not end a process cannot have ended the other.
    exit_now(128 + signal)
}

/// Descriptor from which blocked signals are read.
pub(crate) struct SignalReader(OwnedFd);

/// A signal that came, and whether somebody who is not in this process namespace sent it.
pub(crate) struct Signal {
    pub(crate) number: i32,
    pub(crate) from_outside: bool,
}

impl SignalReader {
    pub(crate) fn new() -> io::Result<SignalReader> {
        let set = every_signal();
        // SAFETY: the set is only read.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for us.
        Ok(SignalReader(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that waits.
    pub(crate) fn next(&self) -> Option<Signal> {
        // SAFETY: all zeros is a valid value of this structure of numbers, and the call fills at most its size.
        let (info, read) = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size);
            (info, usize::try_from(read) == Ok(size))
        };
        let number = i32::try_from(info.ssi_signo).ok()?;
        read.then_some(Signal { number, from_outside: info.ssi_pid == 0 })
    }
}

impl AsFd for SignalReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
