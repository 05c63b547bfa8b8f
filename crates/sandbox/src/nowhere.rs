//! Systems on which there is no sandbox: everything compiles, and every attempt says so.

use std::convert::Infallible;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::probe::Strength;
use crate::spec::{Outcome, Spec};

const WHY: &str = "there is no sandbox on this system yet";

/// There is no helper here: the program goes on.
pub fn run_if_helper() {}

/// A sandbox that can be asked and always refuses.
#[derive(Clone, Debug)]
pub struct Sandbox;

/// A command that cannot be made here.
#[derive(Debug)]
pub struct Confined {
    /// Never there.
    pub command: Command,
    /// Never there.
    pub setup: Setup,
}

/// A helper that cannot be started here.
#[derive(Debug)]
pub struct Ahead {
    /// Never there.
    pub command: Command,
    /// Never there.
    pub helper: Waiting,
}

/// A helper that is never there.
#[derive(Debug)]
pub struct Waiting(Infallible);

/// What nobody ever tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// As on Linux.
    Ended(ExitStatus),
    /// As on Linux.
    Closed,
    /// As on Linux.
    Nothing,
}

/// What became of a set-up that never began.
#[derive(Debug)]
pub struct Setup(Infallible);

/// A network namespace that cannot be opened here.
#[derive(Debug)]
pub struct NetworkNamespace(Infallible);

/// Sockets that cannot be opened here.
#[derive(Debug)]
pub struct Listeners {
    /// Never there.
    pub http: std::net::TcpListener,
    /// Never there.
    pub socks: std::net::TcpListener,
    /// Never there.
    pub dns_udp: std::net::UdpSocket,
    /// Never there.
    pub dns_tcp: std::net::TcpListener,
    /// Never there.
    pub plain: std::net::TcpListener,
    /// Never there.
    pub tls: std::net::TcpListener,
}

impl Sandbox {
    /// As on Linux, where helpers are this very program.
    pub fn this_program() -> Sandbox {
        Sandbox
    }

    /// As on Linux, where helpers are another program.
    pub fn with_helper(_: PathBuf) -> Sandbox {
        Sandbox
    }

    /// Refuses.
    pub fn network(&self) -> io::Result<NetworkNamespace> {
        Err(io::Error::new(io::ErrorKind::Unsupported, WHY))
    }

    /// Refuses.
    pub fn command(&self, _: &Spec, _: Option<&NetworkNamespace>) -> io::Result<Confined> {
        Err(io::Error::new(io::ErrorKind::Unsupported, WHY))
    }

    /// Refuses.
    pub fn ahead(&self) -> io::Result<Ahead> {
        Err(io::Error::new(io::ErrorKind::Unsupported, WHY))
    }

    /// Finds nothing.
    pub fn probe(&self, _: &Path) -> Strength {
        Strength::none(WHY)
    }
}

impl Waiting {
    /// There is none to hand anything to.
    pub fn run(self, _: &Spec, _: Option<&NetworkNamespace>) -> io::Result<Setup> {
        match self.0 {}
    }
}

impl Setup {
    /// There is none to wait for.
    pub fn socket(&self) -> io::Result<UnixStream> {
        match self.0 {}
    }

    /// There is none to listen to.
    pub fn listen(&mut self) -> Told {
        match self.0 {}
    }

    /// There is none to wait for.
    pub fn wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.0 {}
    }

    /// There is none to ask.
    pub fn outcome(self) -> Outcome {
        match self.0 {}
    }
}

impl NetworkNamespace {
    /// There is none to ask.
    pub fn listeners(&self) -> io::Result<Listeners> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_sandbox_everything_is_refused() {
        run_if_helper();
        let sandbox = Sandbox::this_program();
        let strength = sandbox.probe(Path::new("/"));
        assert!(strength.words.is_empty() && !strength.is_full());
        assert_eq!(strength.cause.as_deref(), Some(WHY));
        let spec = Spec::new(vec!["/bin/true".into()], "/w".into(), "/t".into());
        let refused = Sandbox::with_helper("/bin/true".into()).command(&spec, None).map(|_| ());
        assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::Unsupported));
        assert_eq!(
            sandbox.ahead().map(|_| ()).map_err(|error| error.kind()),
            Err(io::ErrorKind::Unsupported)
        );
        assert_eq!(
            sandbox.network().map(|_| ()).map_err(|error| error.kind()),
            Err(io::ErrorKind::Unsupported)
        );
    }
}
