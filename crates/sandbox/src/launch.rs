//! Caller's side: a `Command` that runs this program once more as the helper, and the request that the helper waits for.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::network::NetworkNamespace;
use crate::request::{HELPER_WORD, Request, Run};
use crate::setup::Setup;
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
    /// Tells when the command has ended and how, and whether it was started. Keep it until then: a command about whose
    /// start nobody would learn is not started.
    pub setup: Setup,
}

/// A helper that is started before there is a command for it: it has read and set up nothing, and knows nothing.
#[derive(Debug)]
pub struct Ahead {
    /// Starts the helper; what is said of [`Confined::command`] is true of it. Drop it when the helper was started.
    pub command: Command,
    /// Hands the helper its command.
    pub helper: Waiting,
}

/// A helper that waits for its one command. It ends when this is dropped.
#[derive(Debug)]
pub struct Waiting {
    socket: UnixStream,
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
        let Ahead { command, helper } = self.ahead()?;
        NetworkNamespace::open(command, helper.socket)
    }

    /// The command of a spec. Full mode needs a network namespace, Landlock mode none.
    pub fn command(&self, spec: &Spec, network: Option<&NetworkNamespace>) -> io::Result<Confined> {
        let Ahead { command, helper } = self.ahead()?;
        Ok(Confined { command, setup: helper.run(spec, network)? })
    }

    /// A helper for whatever command comes next. Its environment is empty, and of our descriptors it has a socket.
    pub fn ahead(&self) -> io::Result<Ahead> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.helper);
        command.arg(HELPER_WORD).arg(theirs.as_raw_fd().to_string());
        command.env_clear();
        // Names that are relative to where we are would mean something else inside.
        command.current_dir("/");
        // SAFETY: `fcntl` is async-signal-safe, and nothing is allocated or freed between fork and exec.
        unsafe {
            command.pre_exec(move || inherit(theirs.as_raw_fd()));
        }
        Ok(Ahead { command, helper: Waiting { socket } })
    }
}

impl Waiting {
    /// Hands over the command, before the helper was started or after. Full mode needs a network namespace, Landlock
    /// mode none. An error means that the helper has not got it.
    pub fn run(self, spec: &Spec, network: Option<&NetworkNamespace>) -> io::Result<Setup> {
        let namespaces = match (spec.mode, network) {
            (Mode::Landlock, _) => Vec::new(),
            (Mode::Full, None) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a network namespace is needed"));
            }
            (Mode::Full, Some(network)) => network.descriptors().into(),
        };
        let run = Run { parent: std::process::id(), spec: Cow::Borrowed(spec) };
        Request::Run(Box::new(run)).send(self.socket.as_fd(), &namespaces)?;
        Setup::new(self.socket)
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
