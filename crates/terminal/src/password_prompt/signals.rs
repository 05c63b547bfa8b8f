//! Deferred signals by the self-pipe trick: what would end or stop the program waits in a pipe until the terminal was set
//! back. Not `tokio::signal`, whose handlers stay for good: afterwards Ctrl-C must do what it did before.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::failure::Result;

/// What a person or the system sends to a program at a terminal.
const SIGNALS: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP];

/// Where the handler writes; never closed, as a handler may run late.
static OUTLET: AtomicI32 = AtomicI32::new(-1);

struct Pipe {
    inbox: UnixStream,
    _outlet: UnixStream,
}

/// Signals that wait, while this lives. Those that came and were not taken are sent again when it is dropped.
pub struct Held {
    pipe: &'static Pipe,
    before: Vec<(i32, libc::sigaction)>,
}

impl Held {
    /// Makes signals wait from now on; those that are ignored stay so.
    pub fn hold() -> Result<Held> {
        let mut held = Held { pipe: pipe()?, before: Vec::new() };
        held.install()?;
        Ok(held)
    }

    fn install(&mut self) -> Result<()> {
        for signal in SIGNALS {
            let before = raw::action_of(signal)?;
            if before.sa_sigaction != libc::SIG_IGN {
                raw::catch(signal)?;
                self.before.push((signal, before));
            }
        }
        Ok(())
    }

    /// The next signal that came.
    pub fn next(&self) -> Option<i32> {
        let mut number = [0];
        match (&self.pipe.inbox).read(&mut number) {
            Ok(1) => Some(i32::from(number[0])),
            _ => None,
        }
    }

    /// Readable when a signal came.
    pub fn inbox(&self) -> BorrowedFd<'_> {
        self.pipe.inbox.as_fd()
    }

    /// A signal does what it did before; what goes on after it holds signals again.
    pub fn let_through(&mut self, signal: i32) {
        self.release();
        raw::send(signal);
        if stops(signal)
            && let Err(failure) = self.install()
        {
            tracing::debug!("signals are not held: {}", failure.message);
        }
    }

    fn release(&mut self) {
        for (signal, before) in self.before.drain(..) {
            raw::put_back(signal, &before);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
        while let Some(signal) = self.next() {
            raw::send(signal);
        }
    }
}

/// Whether the program goes on some time after this signal.
pub fn stops(signal: i32) -> bool {
    signal == libc::SIGTSTP
}

fn pipe() -> Result<&'static Pipe> {
    static PIPE: OnceLock<Pipe> = OnceLock::new();
    if let Some(pipe) = PIPE.get() {
        return Ok(pipe);
    }
    let (inbox, outlet) = UnixStream::pair()?;
    inbox.set_nonblocking(true)?;
    outlet.set_nonblocking(true)?;
    let pipe = PIPE.get_or_init(|| Pipe { inbox, _outlet: outlet });
    OUTLET.store(pipe._outlet.as_raw_fd(), Ordering::Relaxed);
    Ok(pipe)
}

/// What the standard library has no interface for.
#[allow(unsafe_code)]
mod raw {
    use std::io::{Error, Result};
    use std::sync::atomic::Ordering;

    use super::OUTLET;

    pub fn action_of(signal: i32) -> Result<libc::sigaction> {
        // SAFETY: with a null action the call only fills in the struct, which lives for the whole call and for which
        // all zeros is a valid value.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            match libc::sigaction(signal, std::ptr::null(), &mut action) {
                0 => Ok(action),
                _ => Err(Error::last_os_error()),
            }
        }
    }

    pub fn catch(signal: i32) -> Result<()> {
        let handler: extern "C" fn(i32) = handle;
        // SAFETY: all zeros is a valid action; the handler lives for ever and does only what handlers may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            match libc::sigaction(signal, &action, std::ptr::null_mut()) {
                0 => Ok(()),
                _ => Err(Error::last_os_error()),
            }
        }
    }

    pub fn put_back(signal: i32, before: &libc::sigaction) {
        // SAFETY: the action is one that was in force before.
        if unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) } != 0 {
            tracing::debug!("signal {signal} stays caught: {}", Error::last_os_error());
        }
    }

    /// Sends a signal to this thread, which has taken it before the call returns.
    pub fn send(signal: i32) {
        // SAFETY: the call takes a number and touches no memory.
        if unsafe { libc::raise(signal) } != 0 {
            tracing::debug!("signal {signal} was not sent: {}", Error::last_os_error());
        }
    }

    extern "C" fn handle(signal: i32) {
        let number = [u8::try_from(signal).unwrap_or(0)];
        // SAFETY: `write` may be called in a handler; the descriptor is never closed, the byte lives long enough, and
        // `errno` is left as it was. A full pipe loses nothing: there are signals waiting already.
        unsafe {
            let errno = errno();
            let before = *errno;
            libc::write(OUTLET.load(Ordering::Relaxed), number.as_ptr().cast(), 1);
            *errno = before;
        }
    }

    /// SAFETY of callers: the pointer is the calling thread's own.
    fn errno() -> *mut i32 {
        // SAFETY: the call gives the address of a variable of this thread, which lives as long as the thread.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::__errno_location()
        }
        // SAFETY: the same.
        #[cfg(not(target_os = "linux"))]
        unsafe {
            libc::__error()
        }
    }
}
