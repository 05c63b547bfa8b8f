//! Landlock mode: no namespaces. The command runs under Landlock and seccomp; what it leaves behind is ended by walking
//! its descendants.

use std::fs;

use base::limits::sandbox::SWEEP_ROUNDS_MAX;

use super::command;
use crate::failure::{At, Failure};
use crate::privileges::{self, Families};
use crate::rules;
use crate::setup::Reporter;
use crate::spec::Spec;
use crate::sys::{self, Fork, Pid};

/// Runs the command and returns its wait status.
pub(super) fn run(spec: &Spec, report: &Reporter) -> Result<i32, Failure> {
    let spec = &spec.resolved()?;
    sys::adopt_orphans().at("adopt orphans")?;
    sys::block_signals().at("hold signals back")?;
    match sys::fork().at("start the command's process")? {
        Fork::Child => match confine(spec) {
            Ok(()) => command::become_command(spec, report),
            Err(failure) => {
                report.failed(&failure);
                sys::exit_now(super::FAILED)
            }
        },
        Fork::Parent(pid) => {
            privileges::release_standard_streams();
            let status = wait_for(pid)?;
            sweep();
            Ok(status)
        }
    }
}

fn confine(spec: &Spec) -> Result<(), Failure> {
    sys::die_with_parent().at("bind the command to its helper")?;
    std::env::set_current_dir(&spec.cwd).at_path("enter", &spec.cwd)?;
    if rustix::process::getuid().is_root() {
        privileges::drop_capabilities()?;
    }
    sys::no_new_privileges().at("give up new privileges")?;
    let mut writable = vec![spec.workspace.clone(), spec.tmp.clone()];
    writable.extend(spec.writable.iter().cloned());
    let by_name =
        spec.inverted.iter().flat_map(|inverted| inverted.hide.iter().map(|name| inverted.dir.join(name)));
    let hidden: Vec<_> = spec.hidden.iter().cloned().chain(by_name).collect();
    rules::restrict_all(&writable, &hidden)?;
    privileges::filter_calls(Families::Unix)
}

/// Waits for the command, passing signals on that come for the group which it is no longer in.
fn wait_for(command: Pid) -> Result<i32, Failure> {
    let signals = sys::SignalReader::new().at("read signals")?;
    loop {
        let mut waiting = [rustix::event::PollFd::new(&signals, rustix::event::PollFlags::IN)];
        match rustix::event::poll(&mut waiting, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).at("wait for the command"),
        }
        while let Some(signal) = signals.next() {
            if signal.number != libc::SIGCHLD {
                drop(sys::kill(-command, signal.number));
                continue;
            }
            while let Ok(Some((pid, status))) = sys::wait(-1, false) {
                if pid == command {
                    return Ok(status);
                }
            }
        }
    }
}

/// Ends what is left. Each round ends one generation, whose children then are ours.
fn sweep() {
    for _ in 0..SWEEP_ROUNDS_MAX {
        let own = std::process::id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let pids: Vec<Pid> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // One that has just ended needs no signal, and is reaped all the same.
            drop(sys::kill(pid, libc::SIGKILL));
            drop(sys::wait(pid, true));
        }
    }
}
