//! Status pipe of a set-up: tells the caller whether the command was started at all, apart from how it ended.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use base::limits::sandbox::FAILURE_MAX_BYTES;
use rustix::pipe::PipeFlags;

use crate::failure::Failure;
use crate::spec::Outcome;

const STARTED: &[u8] = b"started\n";
const OUT_OF_MEMORY: &[u8] = b"memory\n";
const FAILED: &[u8] = b"failed\n";

/// The caller's end. Ask it when the child has ended.
#[derive(Debug)]
pub struct Setup(std::fs::File);

/// The helper's end.
pub(crate) struct Reporter(std::fs::File);

/// Both ends of a pipe for one command.
pub(crate) fn channel() -> io::Result<(Setup, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // Whatever holds the other end, asking does not wait.
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((Setup(read.into()), write))
}

impl Setup {
    /// What became of the set-up. A helper that said nothing has not started the command.
    pub fn outcome(mut self) -> Outcome {
        let mut said = Vec::new();
        let mut part = [0; 1024];
        while said.len() < FAILURE_MAX_BYTES {
            match self.0.read(&mut part) {
                Ok(0) => break,
                Ok(read) => said.extend_from_slice(part.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        parse(&said)
    }
}

fn parse(said: &[u8]) -> Outcome {
    let (started, rest) = match said.strip_prefix(STARTED) {
        Some(rest) => (true, rest),
        None => (false, said),
    };
    match (started, rest.strip_prefix(FAILED)) {
        (_, Some(text)) => Outcome::NotStarted(String::from_utf8_lossy(text).into_owned()),
        (true, None) if rest.starts_with(OUT_OF_MEMORY) => Outcome::OutOfMemory,
        (true, None) => Outcome::Started,
        (false, None) => Outcome::NotStarted("the sandbox ended before the command was started".into()),
    }
}

impl Reporter {
    pub(crate) fn new(pipe: OwnedFd) -> Reporter {
        Reporter(pipe.into())
    }

    /// The next thing that happens is the command.
    pub(crate) fn started(&self) -> io::Result<()> {
        (&self.0).write_all(STARTED)
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        let mut text = [FAILED, failure.to_string().as_bytes()].concat();
        text.truncate(FAILURE_MAX_BYTES / 2);
        self.tell(&text);
    }

    pub(crate) fn out_of_memory(&self) {
        self.tell(OUT_OF_MEMORY);
    }

    fn tell(&self, text: &[u8]) {
        // A caller that no longer listens needs no answer.
        drop((&self.0).write_all(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_no_start() {
        assert_eq!(parse(b"started\n"), Outcome::Started);
        assert_eq!(parse(b"started\nmemory\n"), Outcome::OutOfMemory);
        assert_eq!(parse(b"started\nfailed\nno such file"), Outcome::NotStarted("no such file".into()));
        assert_eq!(parse(b"failed\nx"), Outcome::NotStarted("x".into()));
        for silent in [&b""[..], b"start", b"memory\n"] {
            assert!(matches!(parse(silent), Outcome::NotStarted(_)), "{silent:?}");
        }
    }

    #[test]
    fn asking_does_not_wait_for_whoever_holds_the_other_end() {
        let (setup, write) = channel().unwrap();
        let reporter = Reporter::new(write);
        reporter.started().unwrap();
        assert_eq!(setup.outcome(), Outcome::Started);
        drop(reporter);
    }
}
