//! Caller's side: a `Command` that runs this program once more as the helper, with the descriptors it needs.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::network::NetworkNamespace;
use crate::request::{HELPER_WORD, Request, Run};
use crate::setup::{self, Setup};
use crate::spec::{Mode, Spec};

/// Starts helpers. The program behind it calls `run_if_helper` first thing in its `main`.
#[derive(Clone, Debug)]
pub struct Sandbox {
    helper: PathBuf,
}

/// A command that is ready to be started, and who to ask how its set-up went.
#[derive(Debug)]
pub struct Confined {
    /// Starts the helper, which ends as the command does: by the same code or signal. Standard input, output and error
    /// are the caller's to set. Start it from a thread that lives as long as the command may, and drop it then.
    pub command: Command,
    /// Tells, after the child has ended, whether the command was started. Keep it until then: a command about whose
    /// start nobody would learn is not started.
    pub setup: Setup,
}

impl Sandbox {
    /// Helpers are this very program, even if its file was replaced meanwhile.
    pub fn this_program() -> Sandbox {
        Sandbox { helper: "/proc/self/exe".into() }
    }

    /// Helpers are another program.
    pub fn with_helper(helper: PathBuf) -> Sandbox {
        Sandbox { helper }
    }

    /// Opens the network namespace that the commands of one run share.
    pub fn network(&self) -> io::Result<NetworkNamespace> {
        NetworkNamespace::open(|request, more| self.helper(request, more))
    }

    /// The command of a spec. Full mode needs a network namespace, Landlock mode none.
    pub fn command(&self, spec: &Spec, network: Option<&NetworkNamespace>) -> io::Result<Confined> {
        let (setup, report) = setup::channel()?;
        let report_number = report.as_raw_fd();
        let mut descriptors = vec![report];
        let namespaces = match (spec.mode, network) {
            (Mode::Landlock, _) => None,
            (Mode::Full, None) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a network namespace is needed"));
            }
            (Mode::Full, Some(network)) => {
                let (user, net) = network.descriptors()?;
                let numbers = (user.as_raw_fd(), net.as_raw_fd());
                descriptors.extend([user, net]);
                Some(numbers)
            }
        };
        let request = Request::Run(Box::new(Run {
            parent: std::process::id(),
            report: report_number,
            namespaces,
            spec: Cow::Borrowed(spec),
        }));
        Ok(Confined { command: self.helper(&request, descriptors)?, setup })
    }

    /// A command that runs the helper with a request and the descriptors that it names, and nothing else of ours.
    fn helper(&self, request: &Request<'_>, mut descriptors: Vec<OwnedFd>) -> io::Result<Command> {
        let file = request.to_file()?;
        let mut command = Command::new(&self.helper);
        command.arg(HELPER_WORD).arg(file.as_raw_fd().to_string());
        command.env_clear();
        // Names that are relative to where we are would mean something else inside.
        command.current_dir("/");
        descriptors.push(file);
        // SAFETY: `fcntl` is async-signal-safe, and nothing is allocated or freed between fork and exec.
        unsafe {
            command.pre_exec(move || descriptors.iter().try_for_each(|fd| inherit(fd.as_raw_fd())));
        }
        Ok(command)
    }
}

/// Lets a descriptor pass to the next program. It is called in the child only, so no other child gets it.
fn inherit(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointer.
    match unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
