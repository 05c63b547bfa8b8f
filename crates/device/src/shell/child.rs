//! Starting a shell and signalling its group: the one place that needs the operating system's raw calls.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{SyncSender, sync_channel};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// Starts commands, all from one thread that lives as long as this value. Linux ends a command's shell when
/// the thread that started it ends, however the driver ends.
pub(crate) struct Spawner {
    orders: SyncSender<Order>,
}

struct Order {
    command: Command,
    runtime: Handle,
    reply: SyncSender<io::Result<Child>>,
}

impl Spawner {
    pub(crate) fn new() -> Spawner {
        let (orders, queue) = sync_channel::<Order>(1);
        let spawning = move || {
            for Order { mut command, runtime, reply } in queue {
                let _inside = runtime.enter();
                // Whoever ordered waits for the reply.
                drop(reply.send(command.spawn()));
            }
        };
        // Without the thread every order fails and says so.
        if let Err(error) = std::thread::Builder::new().name("shell-spawner".into()).spawn(spawning) {
            tracing::error!(%error, "commands cannot be started");
        }
        Spawner { orders }
    }

    /// Starts a command in a session and group of its own.
    pub(crate) fn start(&self, mut command: Command) -> io::Result<Child> {
        set_apart(&mut command);
        let (reply, started) = sync_channel(1);
        let order = Order { command, runtime: Handle::current(), reply };
        self.orders.send(order).map_err(|_| io::Error::other("the spawner has ended"))?;
        started.recv().map_err(|_| io::Error::other("the spawner has ended"))?
    }
}

/// The words of a command that the user's shell reads.
pub(crate) fn words(input: &str) -> Vec<OsString> {
    vec![shell().into(), "-lc".into(), input.into()]
}

/// A command of the user's shell that is not confined.
pub(crate) fn plain(input: &str, cwd: &Path) -> Command {
    let mut command = Command::new(shell());
    command.arg("-lc").arg(input).current_dir(cwd);
    // The driver's own credential is not the command's business.
    command.env_remove("GSV_TOKEN").env_remove("GSV_PASSWORD");
    command
}

/// Gives a command pipes, and a session of its own that ends with the driver.
fn set_apart(command: &mut Command) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let driver = std::process::id();
    // SAFETY: `setsid`, `signal`, `prctl` and `getppid` are async-signal-safe, and nothing else happens between
    // fork and exec.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            // A driver that was started in the background ignores the interrupt key; its commands must not.
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            end_with(driver)
        });
    }
}

#[cfg(target_os = "linux")]
fn end_with(driver: u32) -> io::Result<()> {
    // SAFETY: neither call takes a pointer.
    let parent = unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
            return Err(io::Error::last_os_error());
        }
        libc::getppid()
    };
    // A driver that ended just before is not noticed otherwise.
    if u32::try_from(parent) == Ok(driver) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

#[cfg(not(target_os = "linux"))]
fn end_with(_: u32) -> io::Result<()> {
    Ok(())
}

/// Sends a signal to the group of a command. A group that is gone is no error.
pub(crate) fn signal_group(pid: u32, signal: i32) -> io::Result<()> {
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 1) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    // SAFETY: `kill` takes no pointers; the group id is checked to be one of ours and not everybody's.
    if unsafe { libc::kill(-pid, signal) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// `$SHELL` when it is an absolute path to a program, else `/bin/sh`.
pub(crate) fn shell() -> PathBuf {
    let named = std::env::var_os("SHELL").map(PathBuf::from).filter(|path| path.is_absolute());
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    named.filter(is_program).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
