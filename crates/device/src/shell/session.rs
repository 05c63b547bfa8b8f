//! Child process session: the child that runs a command, between its pipes and the session that callers see.

use std::io;
use std::ops::Deref;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use session::{About, End, Stream, Tell};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use sandbox::{Setup, Told};

use super::child;
use crate::confined::{Lease, Run};

/// A command that was started.
pub(crate) struct Session {
    pub(crate) pid: u32,
    core: session::Session,
    /// How much is still read after the shell has ended; beyond it others write.
    left_after_exit: OnceLock<AtomicUsize>,
}

impl Deref for Session {
    type Target = session::Session;

    fn deref(&self) -> &session::Session {
        &self.core
    }
}

/// What is known of a child that was just started.
pub(crate) struct Started<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) call_id: &'a str,
    pub(crate) time_limit: Duration,
    pub(crate) confined: Option<Confined>,
}

/// The sandbox around a child.
pub(crate) struct Confined {
    /// Tells whether the command was started at all.
    pub(crate) setup: Setup,
    /// What it shares with the other commands of its run.
    pub(crate) run: Arc<Run>,
    /// Its copy of the package caches. Held until the helper has ended, and its mounts are gone.
    pub(crate) caches: Option<Lease>,
    /// Since when.
    pub(crate) since_ms: i64,
}

impl Session {
    /// Takes over a child that was just started.
    pub(crate) fn begin(mut child: Child, started: Started<'_>, clock: Clock, tell: Tell) -> Arc<Session> {
        let Started { cwd, call_id, time_limit, confined } = started;
        let pid = child.id().unwrap_or(0);
        let (core, lines) = session::Session::begin(About {
            id: base::random::uuid(),
            cwd: cwd.to_string_lossy().into_owned(),
            pid: Some(pid),
            call_id: Some(call_id.to_string()),
            output_bytes_max: limits::shell::OUTPUT_MAX_BYTES,
            clock,
            tell,
        });
        let session = Arc::new(Session { pid, core, left_after_exit: OnceLock::new() });
        if let Some(pipe) = child.stdin.take() {
            tokio::spawn(session.clone().feed(pipe, lines));
        }
        tokio::spawn(session.clone().watch_over(child, time_limit, confined));
        session
    }

    /// Signals the command's whole group, while it runs.
    pub(crate) fn signal(&self, signal: i32) -> std::io::Result<()> {
        if self.has_ended() { Ok(()) } else { child::signal_group(self.pid, signal) }
    }

    async fn feed(self: Arc<Self>, mut pipe: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
        while let Some(line) = lines.recv().await {
            let written = async {
                pipe.write_all(&line).await?;
                pipe.flush().await
            };
            if written.await.is_err() {
                self.close_stdin();
                return;
            }
            self.took_stdin(line.len());
        }
    }

    async fn collect(self: Arc<Self>, stream: Stream, mut pipe: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; limits::shell::READ_BYTES];
        loop {
            self.wait_for_room().await;
            let got = match pipe.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(got) => got,
            };
            if let Some(left) = self.left_after_exit.get() {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left.saturating_sub(got))
                })
                .unwrap_or_default();
            }
            self.push(stream, &buffer[..got]);
        }
    }

    async fn watch_over(
        self: Arc<Self>,
        mut child: Child,
        time_limit: Duration,
        mut confined: Option<Confined>,
    ) {
        let stdout = child.stdout.take().map(|pipe| tokio::spawn(self.clone().collect(Stream::Stdout, pipe)));
        let stderr = child.stderr.take().map(|pipe| tokio::spawn(self.clone().collect(Stream::Stderr, pipe)));
        let (status, timed_out) = match timeout(time_limit, end_of(&mut child, confined.as_mut())).await {
            Ok(status) => (status, false),
            Err(_) => (self.end_by_force(&mut child).await, true),
        };
        self.drain([stdout, stderr].into_iter().flatten().collect()).await;
        let mut end = how_it_ended(status, timed_out);
        if let Some(confined) = confined {
            self.close_sandbox(child, confined, &mut end).await;
        }
        self.finish(end);
    }

    /// Tells what the sandbox kept a command from, and takes the checkpoint after it.
    async fn close_sandbox(&self, child: Child, confined: Confined, end: &mut End) {
        let Confined { setup, run, caches, since_ms } = confined;
        clear_away(child, run.clone(), caches);
        match setup.outcome() {
            sandbox::Outcome::Started => {}
            sandbox::Outcome::OutOfMemory => {
                self.push(
                    Stream::Stderr,
                    b"gsv: ended because it used more memory than a confined command may\n",
                );
            }
            sandbox::Outcome::NotStarted(why) => {
                *end = End {
                    exit_code: None,
                    error: Some(format!("The sandbox could not be set up: {why}")),
                    ..end.clone()
                };
                return;
            }
        }
        for refused in run.refused_since(since_ms) {
            self.push(Stream::Stderr, format!("gsv: {refused}\n").as_bytes());
            end.refused_hosts.extend(refused.entry);
        }
        match tokio::task::spawn_blocking(move || run.take_after()).await {
            Ok(lines) => {
                for line in lines {
                    self.push(Stream::Stderr, format!("gsv: {line}\n").as_bytes());
                }
            }
            Err(error) => tracing::warn!(%error, "no checkpoint after a command of an agent"),
        }
    }

    /// Reads what the command has left in its pipes. Time in which the readers wait for somebody to take
    /// output does not count, but there is no more to wait for than pipes can hold.
    async fn drain(&self, readers: Vec<JoinHandle<()>>) {
        let drained = async {
            for reader in readers {
                // A reader that panicked has nothing more to give.
                drop(reader.await);
            }
        };
        tokio::pin!(drained);
        let output_left =
            self.left_after_exit.get_or_init(|| AtomicUsize::new(limits::shell::OUTPUT_MAX_BYTES));
        let slice = limits::shell::DRAIN / 10;
        let mut left = limits::shell::DRAIN;
        while !left.is_zero() {
            if timeout(slice, &mut drained).await.is_ok() || output_left.load(Ordering::Relaxed) == 0 {
                return;
            }
            if !self.is_held() {
                left = left.saturating_sub(slice);
            }
        }
    }

    async fn end_by_force(&self, child: &mut Child) -> Option<ExitStatus> {
        for (signal, pause) in
            [(libc::SIGTERM, limits::shell::KILL_AFTER), (libc::SIGKILL, limits::lifecycle::STOP_TIMEOUT)]
        {
            if let Err(error) = child::signal_group(self.pid, signal) {
                tracing::warn!(pid = self.pid, %error, "a command could not be signalled");
            }
            if signal == libc::SIGTERM {
                // The whole group gets the time, also when the shell itself ends at once.
                sleep(pause).await;
            } else if let Ok(status) = timeout(pause, child.wait()).await {
                return status.ok();
            }
        }
        None
    }
}

/// How a child ended. Of a confined command its helper tells that, when no process of it is left, and clears away
/// afterwards what nobody waits for.
async fn end_of(child: &mut Child, confined: Option<&mut Confined>) -> Option<ExitStatus> {
    let Some(confined) = confined else { return child.wait().await.ok() };
    tokio::select! {
        status = child.wait() => status.ok(),
        Some(status) = told(&mut confined.setup) => Some(status),
    }
}

/// What the helper tells of the command's end; nothing when it ends without telling.
async fn told(setup: &mut Setup) -> Option<ExitStatus> {
    let news = UnixStream::from_std(setup.socket().ok()?).ok()?;
    loop {
        news.readable().await.ok()?;
        let listen = || match setup.listen() {
            Told::Nothing => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            told => Ok(told),
        };
        match news.try_io(Interest::READABLE, listen) {
            Ok(Told::Ended(status)) => return Some(status),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => return None,
        }
    }
}

/// Waits for the helper in the background, and gives back what it had mounted.
fn clear_away(mut child: Child, run: Arc<Run>, mut caches: Option<Lease>) {
    if let Some(caches) = &mut caches {
        caches.is_coming_back();
    }
    tokio::spawn(async move {
        if let Err(error) = child.wait().await {
            tracing::warn!(%error, "the end of a sandbox could not be waited for");
        }
        drop((caches, run));
    });
}

fn how_it_ended(status: Option<ExitStatus>, timed_out: bool) -> End {
    use std::os::unix::process::ExitStatusExt;
    End {
        exit_code: status.and_then(|status| status.code()).filter(|_| !timed_out),
        signal: status.and_then(|status| status.signal()).map(|number| format!("SIG{number}")),
        timed_out,
        ..End::default()
    }
}
