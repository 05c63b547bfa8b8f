//! The part of the probe that runs inside the sandbox: tries one thing after another and prints how each went.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use base::limits::sandbox::PROBE_TRIAL;
use rustix::fs::FlockOperation;

use crate::sys::{self, Fork};

/// The argument that makes the helper do this.
pub(crate) const INSIDE_WORD: &str = "probe";

/// What an action that succeeded is told as.
pub(super) const WORKED: &str = "worked";

/// Tries pairs of an action and what it is done to; returns the exit code.
pub(crate) fn inside(mut arguments: impl Iterator<Item = OsString>) -> i32 {
    let mut out = io::stdout();
    // Writing too much is then an error, and not the end.
    sys::ignore_signal(libc::SIGXFSZ);
    while let (Some(action), Some(object)) = (arguments.next(), arguments.next()) {
        let told = match attempt(&action.to_string_lossy(), &object) {
            Ok(()) => WORKED.to_owned(),
            Err(error) => error.to_string(),
        };
        if writeln!(out, "{}", told.replace('\n', " ")).is_err() {
            return 1;
        }
    }
    0
}

fn attempt(action: &str, object: &OsString) -> io::Result<()> {
    let path = Path::new(object);
    let text = object.to_string_lossy();
    let number = || text.parse::<u64>().map_err(io::Error::other);
    match action {
        "write" => OpenOptions::new().append(true).create(true).open(path)?.write_all(b"x"),
        "cut" => OpenOptions::new().write(true).truncate(true).open(path).map(drop),
        "mode" => fs::set_permissions(path, fs::Permissions::from_mode(0o777)),
        "read" => fs::read(path).map(drop),
        "tcp" => {
            let address = text.parse().map_err(io::Error::other)?;
            TcpStream::connect_timeout(&address, PROBE_TRIAL / 4)?.write_all(b"x")
        }
        "unix" => UnixStream::connect(path)?.write_all(b"x"),
        "signal" => exists(number()?),
        "linger" => linger(path),
        "fork" => fork_often(number()?),
        "fill" => {
            OpenOptions::new().write(true).create(true).truncate(false).open("/tmp/fill")?.set_len(number()?)
        }
        _ => Err(io::Error::other("unknown action")),
    }
}

/// Whether a process can be signalled. No signal is sent.
fn exists(pid: u64) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("no process"))?;
    Ok(rustix::process::test_kill_process(pid)?)
}

/// Leaves a process behind that holds a lock on a file.
fn linger(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    rustix::fs::flock(file.as_fd(), FlockOperation::LockExclusive)?;
    if matches!(sys::fork()?, Fork::Child) {
        sys::new_session()?;
        std::thread::sleep(PROBE_TRIAL);
        sys::exit_now(0);
    }
    Ok(())
}

/// Starts as many processes, which all wait to be ended with the rest.
fn fork_often(count: u64) -> io::Result<()> {
    for _ in 0..count {
        if matches!(sys::fork()?, Fork::Child) {
            std::thread::sleep(PROBE_TRIAL);
            sys::exit_now(0);
        }
    }
    Ok(())
}
