//! Last steps of the command's own process: limits, signals as a fresh program expects them, no descriptor but the
//! standard ones, exec.

use std::path::Path;

use crate::failure::{At, Failure};
use crate::privileges;
use crate::setup::Reporter;
use crate::spec::Spec;
use crate::sys;

/// Exit code of a shell that found no program; here the socket tells more.
const NOT_FOUND: i32 = 127;

/// Becomes the command, or tells why not and ends.
pub(super) fn become_command(spec: &Spec, report: &Reporter) -> ! {
    if let Err(failure) = prepare(spec).and_then(|()| report.started().at("report the start")) {
        report.failed(&failure);
        sys::exit_now(super::FAILED);
    }
    let error = sys::execute(&spec.command, &spec.env);
    let program = spec.command.first().map(Path::new).unwrap_or(Path::new(""));
    report.failed(&Failure::new(format!("run {}", program.display()), error));
    sys::exit_now(NOT_FOUND)
}

fn prepare(spec: &Spec) -> Result<(), Failure> {
    if !spec.command.first().is_some_and(|program| Path::new(program).is_absolute()) {
        return Err(Failure::refused("run the command", "its program is not named by an absolute path"));
    }
    // A group of its own: what it sends to its group reaches nobody outside.
    sys::new_session().at("start a session")?;
    privileges::limit_resources(&spec.limits)?;
    sys::default_signals();
    sys::unblock_signals().at("let signals through")?;
    sys::close_all_on_exec().at("close descriptors")
}
