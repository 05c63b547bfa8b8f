//! Child processes that serve: started, found by the address they print, ended with the benchmark.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base::clock::Clock;

use crate::system;

/// How long a server may take to print its address, and to stop when asked.
const LIMIT: Duration = Duration::from_secs(20);
/// What every server prints before its address.
const MARK: &str = "listening on http://";

/// A running server. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts a server and waits for its address; its errors go to `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Server> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log).context("create a log file")?)
            .spawn()
            .with_context(|| format!("start {}", command.get_program().display()))?;
        let stdout = child.stdout.take().context("a child has no output")?;
        match read_address(stdout) {
            Ok(address) => Ok(Server { child, log: log.into(), address }),
            Err(error) => {
                end(&mut child);
                Err(error.context(tail(log)))
            }
        }
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The last lines it logged, to explain a failure.
    pub(crate) fn last_words(&self) -> String {
        tail(&self.log)
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        stop(&mut self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Asks a child to stop and waits until it has.
pub(crate) fn stop(child: &mut Child) -> Result<()> {
    system::terminate(child.id())?;
    let deadline = Clock::system().instant() + LIMIT;
    while child.try_wait().context("wait for a child")?.is_none() {
        if Clock::system().instant() > deadline {
            end(child);
            bail!("a server did not stop within {} seconds", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Kills a child and collects it.
pub(crate) fn end(child: &mut Child) {
    // Both fail only when the child is gone already, which is what is wanted.
    child.kill().unwrap_or_default();
    child.wait().map(|_status| ()).unwrap_or_default();
}

/// Called in a child: ends the process when its parent is gone.
pub(crate) fn exit_with_parent() {
    std::thread::spawn(|| {
        let mut nothing = Vec::new();
        // The parent never writes; the pipe closes when it ends, however it ends.
        let closed = std::io::stdin().read_to_end(&mut nothing);
        std::process::exit(i32::from(closed.is_err()));
    });
}

fn read_address(stdout: ChildStdout) -> Result<SocketAddr> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut sender = Some(sender);
        // Reading goes on to the end, or the server would one day block on a full pipe.
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(address) = parse_address(&line)
                && let Some(sender) = sender.take()
            {
                sender.send(address).unwrap_or_default();
            }
        }
    });
    match receiver.recv_timeout(LIMIT) {
        Ok(address) => Ok(address),
        Err(RecvTimeoutError::Timeout) => bail!("no address within {} seconds", LIMIT.as_secs()),
        Err(RecvTimeoutError::Disconnected) => bail!("the server ended without printing its address"),
    }
}

fn parse_address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(MARK)?;
    rest.split(|letter: char| letter.is_whitespace() || letter == '/').next()?.parse().ok()
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(5)..];
    if last.is_empty() { "it logged nothing".into() } else { format!("it logged: {}", last.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_the_line() {
        let expected = "127.0.0.1:8787".parse().ok();
        assert_eq!(parse_address("listening on http://127.0.0.1:8787"), expected);
        assert_eq!(parse_address("gsv 0.0.0 listening on http://127.0.0.1:8787/ - open it"), expected);
        assert_eq!(parse_address("hello"), None);
    }

    #[test]
    fn a_program_that_prints_no_address_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo wrong >&2"]);
        let Err(error) = Server::start(&mut command, &folder.path().join("log")) else {
            panic!("a server without an address was accepted")
        };
        assert!(format!("{error:#}").contains("it logged: wrong"), "{error:#}");
    }
}
