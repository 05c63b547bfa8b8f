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
use std::os::fd::{OwnedFd, RawFd};

use crate::failure::{At, Failure};
use crate::request::{HELPER_WORD, Request, Run};
use crate::setup::Reporter;
use crate::spec::Mode;
use crate::{probe, sys};

/// Exit code of a helper that could not do its work. The status pipe tells it from a command's own.
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
    let Some(Ok(request)) = number.map(|number| sys::inherited(number).and_then(Request::read)) else {
        sys::exit_now(FAILED);
    };
    match request {
        Request::Network { socket } => match sys::inherited(socket) {
            Ok(socket) => sys::exit_now(network::make(&socket)),
            Err(_) => sys::exit_now(FAILED),
        },
        Request::Run(run) => match sys::inherited(run.report) {
            Ok(report) => run_command(&run, Reporter::new(report)),
            Err(_) => sys::exit_now(FAILED),
        },
    }
}

fn run_command(run: &Run<'_>, report: Reporter) -> ! {
    match attempt(run, &report) {
        Ok(status) => sys::die_by(status),
        Err(failure) => {
            report.failed(&failure);
            sys::exit_now(FAILED)
        }
    }
}

/// Runs the command and returns its wait status.
fn attempt(run: &Run<'_>, report: &Reporter) -> Result<i32, Failure> {
    let namespaces = run.namespaces.map(|(user, network)| [user, network]);
    let mut keep = namespaces.map_or_else(Vec::new, Vec::from);
    keep.push(run.report);
    sys::close_all_but(&keep).at("close inherited descriptors")?;
    sys::die_with_parent().at("bind the helper's life to the driver's")?;
    if sys::parent() != run.parent {
        return Err(Failure::refused("start", "the driver has ended"));
    }
    match (run.spec.mode, namespaces) {
        (Mode::Full, Some([user, network])) => {
            let take = |number| -> Result<OwnedFd, Failure> { sys::inherited(number).at("take a namespace") };
            full::run(&run.spec, &take(user)?, &take(network)?, report)
        }
        (Mode::Full, None) => Err(Failure::refused("start", "there is no network namespace")),
        (Mode::Landlock, _) => landlock_only::run(&run.spec, report),
    }
}
