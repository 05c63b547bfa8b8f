//! Process 1 of a call: sets up what the command sees, gives up all rights, starts the command, reaps what ends,
//! passes signals from outside on, and ends with the command. The kernel then ends everything else inside.

use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use base::limits::sandbox::{MEMORY_WATCH, OUT_OF_MEMORY_SCORE};

use super::{command, memory};
use crate::failure::{At, Failure};
use crate::privileges::{self, Families};
use crate::setup::Reporter;
use crate::spec::Spec;
use crate::sys::{self, Fork, Pid, SignalReader};
use crate::{rules, view};

/// Does all of it and ends. Returns only when the command was not started.
pub(super) fn run(
    spec: &Spec,
    sockets: &[PathBuf],
    report: &Reporter,
    life: OwnedFd,
    status: OwnedFd,
) -> Result<Infallible, Failure> {
    sys::die_with_parent().at("bind process 1 to its helper")?;
    rustix::thread::set_name(c"gsv-sandbox").at("name process 1")?;
    let signals = SignalReader::new().at("read signals")?;
    view::build(spec, sockets)?;
    let score = OUT_OF_MEMORY_SCORE.to_string();
    std::fs::write("/proc/self/oom_score_adj", score).at("offer itself when memory is short")?;
    confine(spec)?;
    match sys::fork().at("start the command's process")? {
        Fork::Child => command::become_command(spec, report),
        Fork::Parent(pid) => {
            privileges::release_standard_streams();
            let watch = Watch { command: pid, signals, life, report, memory_bytes: spec.limits.memory_bytes };
            // Without the status the helper takes this process's own.
            drop(File::from(status).write_all(&watch.until_the_end().to_ne_bytes()));
            sys::exit_now(0)
        }
    }
}

/// Gives up everything, for this process and the command alike.
fn confine(spec: &Spec) -> Result<(), Failure> {
    privileges::drop_capabilities()?;
    sys::no_new_privileges().at("give up new privileges")?;
    rules::restrict_writes(&view::writable_places(spec))?;
    sys::set_dumpable(false).at("hide process 1")?;
    privileges::filter_calls(Families::Local)
}

struct Watch<'a> {
    command: Pid,
    signals: SignalReader,
    life: OwnedFd,
    report: &'a Reporter,
    memory_bytes: u64,
}

impl Watch<'_> {
    /// Waits until the command has ended, and returns its wait status.
    fn until_the_end(&self) -> i32 {
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(MEMORY_WATCH.subsec_nanos()) };
        loop {
            let mut waiting = [
                PollFd::new(&self.signals, PollFlags::IN),
                // Nothing is ever written to it: any event is the helper's end.
                PollFd::new(&self.life, PollFlags::IN),
            ];
            let ready = poll(&mut waiting, Some(&tick));
            let orphaned = waiting.get(1).is_some_and(|life| !life.revents().is_empty());
            if orphaned || ready.is_err_and(|error| error != rustix::io::Errno::INTR) {
                sys::exit_now(super::FAILED);
            }
            if let Some(status) = self.signals_came() {
                return status;
            }
            if ready == Ok(0) && memory::used_bytes() > self.memory_bytes {
                self.report.out_of_memory();
                return libc::SIGKILL;
            }
        }
    }

    /// Reaps, or passes on to the command's group what came from outside; the status when it was the command that ended.
    fn signals_came(&self) -> Option<i32> {
        while let Some(signal) = self.signals.next() {
            if signal.number == libc::SIGCHLD {
                while let Ok(Some((pid, status))) = sys::wait(-1, false) {
                    if pid == self.command {
                        return Some(status);
                    }
                }
            } else if signal.from_outside {
                // It may have ended just now.
                drop(sys::kill(-self.command, signal.number));
            }
        }
        None
    }
}
