//! Starting a shell and signalling its group: the one place that needs the operating system's raw calls.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Starts a command through the user's shell, in a session and group of its own.
pub(crate) fn start(input: &str, cwd: &Path) -> io::Result<Child> {
    let mut command = Command::new(shell());
    command.arg("-lc").arg(input).current_dir(cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The driver's own credential is not the command's business.
    command.env_remove("GSV_TOKEN").env_remove("GSV_PASSWORD");
    // SAFETY: `setsid` is async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    command.spawn()
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
fn shell() -> PathBuf {
    let named = std::env::var_os("SHELL").map(PathBuf::from).filter(|path| path.is_absolute());
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    named.filter(is_program).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
