//! Helper process: this program run once more, which sets the sandbox up and runs the command in it.
//!
//! In full mode there are three processes. The *helper* joins the namespaces of the run, waits, and ends as the command
//! did. Its child is process 1 of a new process namespace (`init.rs`): it makes the view of the files, gives up all
//! rights, reaps, and takes everything with it when it ends. Its child is the *command*.

mod command;
mod full;
mod init;
mod landlock_only;
mod memory;
mod network;

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::failure::{At, Failure};
use crate::request::{HELPER_WORD, Request, Run};
use crate::setup::Reporter;
use crate::spec::Mode;
use crate::{probe, sys};

/// Exit code of a helper that could not do its work. The socket tells it from a command's own.
const FAILED: i32 = 125;

/// Does the helper's work and does not return, if this program was started as the helper. To be called first thing in
/// `main`, while there is one thread.
pub fn run_if_helper() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(HELPER_WORD)) {
        return;
    }
    let argument = arguments.next();
    if argument.as_deref() == Some(OsStr::new(probe::INSIDE_WORD)) {
        sys::exit_now(probe::inside(arguments));
    }
    let number = argument.and_then(|text| text.to_str()?.parse::<RawFd>().ok());
    let Some(Ok(socket)) = number.map(sys::inherited).map(|socket| socket.map(UnixStream::from)) else {
        sys::exit_now(FAILED);
    };
    let Ok((request, descriptors)) = wait_for_request(&socket) else { sys::exit_now(FAILED) };
    match request {
        Request::Network => sys::exit_now(network::make(socket)),
        Request::Run(run) => run_command(&run, descriptors, Reporter::new(socket)),
    }
}

/// Waits until there is something to do, which may be long after the start: until then this process holds nothing but
/// its socket and the standard streams, and nobody of the same user can look into it. Without the driver it ends.
fn wait_for_request(socket: &UnixStream) -> Result<(Request<'static>, Vec<OwnedFd>), Failure> {
    sys::close_all_but(&[socket.as_raw_fd()]).at("close inherited descriptors")?;
    sys::die_with_parent().at("bind the helper's life to the driver's")?;
    sys::set_dumpable(false).at("hide the helper")?;
    let request = Request::receive(socket.as_fd()).at("wait for a request")?;
    // The tables of a process that cannot be looked into are closed to itself as well.
    sys::set_dumpable(true).at("open the helper's own tables")?;
    request.ok_or_else(|| Failure::refused("start", "the driver has ended"))
}

/// Runs the command, tells how it ended, and ends in the same way. Everything that the command started is gone by then;
/// what was mounted goes when this process does, which nobody needs to wait for.
fn run_command(run: &Run<'_>, descriptors: Vec<OwnedFd>, report: Reporter) -> ! {
    match attempt(run, descriptors, &report) {
        Ok(status) => {
            sys::close_standard_streams();
            report.ended(status);
            sys::die_by(status)
        }
        Err(failure) => {
            report.failed(&failure);
            sys::exit_now(FAILED)
        }
    }
}

/// Runs the command and returns its wait status.
fn attempt(run: &Run<'_>, descriptors: Vec<OwnedFd>, report: &Reporter) -> Result<i32, Failure> {
    if sys::parent() != run.parent {
        return Err(Failure::refused("start", "the driver has ended"));
    }
    match (run.spec.mode, <[OwnedFd; 2]>::try_from(descriptors)) {
        (Mode::Full, Ok([user, network])) => full::run(&run.spec, user, network, report),
        (Mode::Full, Err(_)) => Err(Failure::refused("start", "there is no network namespace")),
        (Mode::Landlock, _) => landlock_only::run(&run.spec, report),
    }
}
