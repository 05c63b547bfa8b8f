//! Status of a set-up, told over the helper's socket: whether the command was started at all, and how it ended, which is
//! known before the helper has cleared away what it set up.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use base::limits::sandbox::FAILURE_MAX_BYTES;
use rustix::event::{PollFd, PollFlags, poll};

use crate::failure::Failure;
use crate::spec::Outcome;

const STARTED: &[u8] = b"started\n";
const OUT_OF_MEMORY: &[u8] = b"memory\n";
const FAILED: &[u8] = b"failed\n";
/// End of the text of a failure.
const TEXT_END: u8 = 0;
/// The raw wait status follows, in decimal, and a line end.
const ENDED: &[u8] = b"ended ";

/// The caller's end.
#[derive(Debug)]
pub struct Setup {
    socket: UnixStream,
    said: Vec<u8>,
    is_closed: bool,
}

/// What a helper has told by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The command has ended like this, and no process of it is left. Its mounts may not be gone yet: they are when the
    /// helper has ended too.
    Ended(ExitStatus),
    /// The helper is gone or going, and has told nothing of the kind.
    Closed,
    /// Nothing yet.
    Nothing,
}

/// The helper's end.
pub(crate) struct Reporter(UnixStream);

impl Setup {
    pub(crate) fn new(socket: UnixStream) -> io::Result<Setup> {
        // Whatever holds the other end, asking does not wait.
        socket.set_nonblocking(true)?;
        Ok(Setup { socket, said: Vec::new(), is_closed: false })
    }

    /// The socket, for whoever waits until there is news to listen to.
    pub fn socket(&self) -> io::Result<UnixStream> {
        self.socket.try_clone()
    }

    /// Listens to what the helper has told since it was last asked.
    pub fn listen(&mut self) -> Told {
        let mut part = [0; 1024];
        while !self.is_closed {
            match self.socket.read(&mut part) {
                Ok(0) => self.is_closed = true,
                Ok(read) => self.said.extend_from_slice(part.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_closed = true,
            }
            // More than this no helper has to tell.
            self.is_closed |= self.said.len() > FAILURE_MAX_BYTES;
        }
        match parse(&self.said).1 {
            Some(status) => Told::Ended(status),
            None if self.is_closed => Told::Closed,
            None => Told::Nothing,
        }
    }

    /// Waits until the command has ended; nothing when its helper ended without telling how.
    pub fn wait(&mut self) -> io::Result<Option<ExitStatus>> {
        loop {
            match self.listen() {
                Told::Ended(status) => return Ok(Some(status)),
                Told::Closed => return Ok(None),
                Told::Nothing => {}
            }
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], None) {
                Err(rustix::io::Errno::INTR) => {}
                other => drop(other?),
            }
        }
    }

    /// What became of the set-up. A helper that said nothing has not started the command.
    pub fn outcome(mut self) -> Outcome {
        self.listen();
        parse(&self.said).0
    }
}

fn parse(said: &[u8]) -> (Outcome, Option<ExitStatus>) {
    let mut rest = said;
    let (mut started, mut out_of_memory, mut failure, mut ended) = (false, false, None, None);
    loop {
        if let Some(after) = rest.strip_prefix(STARTED) {
            (started, rest) = (true, after);
        } else if let Some(after) = rest.strip_prefix(OUT_OF_MEMORY) {
            (out_of_memory, rest) = (true, after);
        } else if let Some(after) = rest.strip_prefix(FAILED) {
            let end = after.iter().position(|byte| *byte == TEXT_END).unwrap_or(after.len());
            let (text, after) = after.split_at(end);
            // The first reason is the better one.
            failure.get_or_insert_with(|| String::from_utf8_lossy(text).into_owned());
            rest = after.get(1..).unwrap_or_default();
        } else {
            let line = rest.strip_prefix(ENDED).and_then(|after| after.strip_suffix(b"\n"));
            let number = line.and_then(|line| str::from_utf8(line).ok()?.parse().ok());
            ended = ended.or(number.map(ExitStatus::from_raw));
            break;
        }
    }
    let outcome = match (started, failure) {
        (_, Some(text)) => Outcome::NotStarted(text),
        (true, None) if out_of_memory => Outcome::OutOfMemory,
        (true, None) => Outcome::Started,
        (false, None) => Outcome::NotStarted("the sandbox ended before the command was started".into()),
    };
    (outcome, ended)
}

impl Reporter {
    pub(crate) fn new(socket: UnixStream) -> Reporter {
        Reporter(socket)
    }

    /// The next thing that happens is the command.
    pub(crate) fn started(&self) -> io::Result<()> {
        (&self.0).write_all(STARTED)
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        let mut text = [FAILED, failure.to_string().as_bytes()].concat();
        text.truncate(FAILURE_MAX_BYTES / 4);
        text.push(TEXT_END);
        self.tell(&text);
    }

    pub(crate) fn out_of_memory(&self) {
        self.tell(OUT_OF_MEMORY);
    }

    /// Everything has ended, the command by this wait status.
    pub(crate) fn ended(&self, status: i32) {
        self.tell(&[ENDED, status.to_string().as_bytes(), b"\n"].concat());
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
        let outcome = |said: &[u8]| parse(said).0;
        assert_eq!(outcome(b"started\n"), Outcome::Started);
        assert_eq!(outcome(b"started\nmemory\n"), Outcome::OutOfMemory);
        assert_eq!(outcome(b"started\nfailed\nno such file"), Outcome::NotStarted("no such file".into()));
        assert_eq!(outcome(b"failed\nx\0failed\ny\0"), Outcome::NotStarted("x".into()));
        for silent in [&b""[..], b"start", b"memory\n", b"ended 0\n"] {
            assert!(matches!(outcome(silent), Outcome::NotStarted(_)), "{silent:?}");
        }
    }

    #[test]
    fn only_a_whole_line_tells_the_end() {
        let ended = |said: &[u8]| parse(said).1.map(ExitStatusExt::into_raw);
        assert_eq!(ended(b"started\nended 256\n"), Some(256));
        assert_eq!(ended(b"started\nmemory\nended 9\n"), Some(9));
        assert_eq!(ended(b"started\nfailed\nended 0\n\0ended 32512\n"), Some(32512));
        for silent in [&b"started\nended 25"[..], b"started\nended \n", b"started\nended x\n", b"ended"] {
            assert_eq!(ended(silent), None, "{silent:?}");
        }
    }

    #[test]
    fn asking_does_not_wait_for_whoever_holds_the_other_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut setup = Setup::new(ours).unwrap();
        let reporter = Reporter::new(theirs);
        reporter.started().unwrap();
        assert_eq!(setup.listen(), Told::Nothing);
        reporter.ended(0);
        assert_eq!(setup.listen(), Told::Ended(ExitStatus::from_raw(0)));
        assert_eq!(setup.outcome(), Outcome::Started);
        drop(reporter);
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let mut setup = Setup::new(ours).unwrap();
        assert_eq!((setup.listen(), setup.wait().unwrap()), (Told::Closed, None));
    }
}
