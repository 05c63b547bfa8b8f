//! One command: its output as it comes, its end, and what is told of both.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use protocol::shell::{ExecResult, Status};
use protocol::signal::ExecStatus;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::buffer::{Buffer, Taken};
use super::child;

/// Where `exec.status` frames go.
pub(crate) type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// A command that was started.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) pid: u32,
    cwd: PathBuf,
    call_id: String,
    started_at: i64,
    clock: Clock,
    tell: Tell,
    state: Mutex<State>,
    news: watch::Sender<u64>,
}

struct State {
    stdout: Buffer,
    stderr: Buffer,
    tail: Buffer,
    unread: Buffer,
    end: Option<End>,
    /// Whether a caller knows the session, so that its end is told.
    known: bool,
    touched: Instant,
    stdin: Option<mpsc::Sender<Vec<u8>>>,
    stdin_bytes: usize,
}

#[derive(Clone)]
struct End {
    exit_code: Option<i32>,
    signal: Option<String>,
    timed_out: bool,
    ended_at: i64,
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

/// Why stdin was not written.
pub(crate) enum StdinRefused {
    Closed,
    Full,
}

impl Session {
    /// Takes over a child that was just started.
    pub(crate) fn begin(
        mut child: Child,
        cwd: PathBuf,
        call_id: &str,
        time_limit: Duration,
        clock: Clock,
        tell: Tell,
    ) -> Arc<Session> {
        let cap = limits::SHELL_OUTPUT_BYTES_MAX;
        let (stdin, lines) = mpsc::channel(limits::SHELL_STDIN_WRITES_MAX);
        let session = Arc::new(Session {
            id: base::random::uuid(),
            pid: child.id().unwrap_or(0),
            cwd,
            call_id: call_id.to_string(),
            started_at: clock.now_ms(),
            clock,
            tell,
            state: Mutex::new(State {
                stdout: Buffer::new(cap),
                stderr: Buffer::new(cap),
                tail: Buffer::new(limits::SHELL_TAIL_BYTES),
                unread: Buffer::new(cap),
                end: None,
                known: false,
                touched: Instant::now(),
                stdin: Some(stdin),
                stdin_bytes: 0,
            }),
            news: watch::Sender::new(0),
        });
        if let Some(pipe) = child.stdin.take() {
            tokio::spawn(session.clone().feed(pipe, lines));
        }
        tokio::spawn(session.clone().watch_over(child, time_limit));
        session
    }

    /// Waits for the end, at most `limit`.
    pub(crate) async fn wait_for_end(&self, limit: Duration) {
        let mut news = self.news.subscribe();
        drop(timeout(limit, news.wait_for(|_| self.has_ended())).await);
    }

    /// Waits for output or the end, at most `limit`. Output that comes in a burst is waited for a little.
    pub(crate) async fn wait_for_news(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut news = self.news.subscribe();
        let anything = news.wait_for(|_| {
            let state = self.lock();
            state.end.is_some() || !state.unread.is_empty()
        });
        if !matches!(tokio::time::timeout_at(deadline, anything).await, Ok(Ok(_))) {
            return;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        self.wait_for_end(left.min(limits::SHELL_COALESCE)).await;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// When it was last asked for or changed its state.
    pub(crate) fn touched(&self) -> Instant {
        self.lock().touched
    }

    /// How it stands, with the output since the last answer. From the first answer that says `running` on, its
    /// end will be told.
    pub(crate) fn answer(&self) -> (ExecResult, Taken) {
        let mut state = self.lock();
        state.touched = Instant::now();
        if state.end.is_none() && !state.known {
            state.known = true;
            self.tell_status(&state, "started");
        }
        let ended = state.end.is_some();
        let taken = state.unread.take(ended);
        let mut result = self.result(&state);
        result.output = taken.text();
        result.truncated =
            Some(taken.is_cut() || (ended && (state.stdout.is_cut() || state.stderr.is_cut())));
        (result, taken)
    }

    /// Says `running` and hands nothing over: for a caller that may not hear it.
    pub(crate) fn answer_later(&self) -> ExecResult {
        let state = self.lock();
        ExecResult { truncated: Some(false), ..self.running(&state) }
    }

    /// Output that did not arrive will be in the next answer.
    pub(crate) fn put_back(&self, taken: Taken) {
        let mut state = self.lock();
        state.unread.put_back(taken);
        state.touched = Instant::now();
        drop(state);
        self.news.send_modify(|version| *version += 1);
    }

    /// Leaves text for the command to read.
    pub(crate) fn write(&self, input: &str) -> Result<(), StdinRefused> {
        let mut state = self.lock();
        let Some(stdin) = &state.stdin else { return Err(StdinRefused::Closed) };
        if state.stdin_bytes + input.len() > limits::SHELL_STDIN_BYTES_MAX {
            return Err(StdinRefused::Full);
        }
        match stdin.try_send(input.as_bytes().to_vec()) {
            Ok(()) => state.stdin_bytes += input.len(),
            Err(mpsc::error::TrySendError::Full(_)) => return Err(StdinRefused::Full),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(StdinRefused::Closed),
        }
        Ok(())
    }

    /// No more stdin: the command sees the end of it once it has read what waits.
    pub(crate) fn close_stdin(&self) {
        self.lock().stdin = None;
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
            let mut state = self.lock();
            state.stdin_bytes = state.stdin_bytes.saturating_sub(line.len());
        }
    }

    async fn collect(self: Arc<Self>, stream: Stream, mut pipe: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 * 1024];
        // After the end output is read and dropped: whoever was left in the background can go on writing.
        while let Ok(got) = pipe.read(&mut buffer).await {
            if got == 0 {
                return;
            }
            let mut state = self.lock();
            if state.end.is_some() {
                continue;
            }
            match stream {
                Stream::Stdout => state.stdout.push(&buffer[..got]),
                Stream::Stderr => state.stderr.push(&buffer[..got]),
            }
            state.tail.push(&buffer[..got]);
            state.unread.push(&buffer[..got]);
            drop(state);
            self.news.send_modify(|version| *version += 1);
        }
    }

    async fn watch_over(self: Arc<Self>, mut child: Child, time_limit: Duration) {
        let stdout = child.stdout.take().map(|pipe| tokio::spawn(self.clone().collect(Stream::Stdout, pipe)));
        let stderr = child.stderr.take().map(|pipe| tokio::spawn(self.clone().collect(Stream::Stderr, pipe)));
        let (status, timed_out) = match timeout(time_limit, child.wait()).await {
            Ok(status) => (status.ok(), false),
            Err(_) => (self.end_by_force(&mut child).await, true),
        };
        let drained = async {
            for reader in [stdout, stderr].into_iter().flatten() {
                // A reader that panicked has nothing more to give.
                drop(reader.await);
            }
        };
        drop(timeout(limits::SHELL_DRAIN, drained).await);
        self.finish(status, timed_out);
    }

    async fn end_by_force(&self, child: &mut Child) -> Option<std::process::ExitStatus> {
        for (signal, pause) in
            [(libc::SIGTERM, limits::SHELL_KILL_AFTER), (libc::SIGKILL, limits::STOP_TIMEOUT)]
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

    fn finish(&self, status: Option<std::process::ExitStatus>, timed_out: bool) {
        use std::os::unix::process::ExitStatusExt;
        let signal = status.and_then(|status| status.signal()).map(|number| format!("SIG{number}"));
        let exit_code = status.and_then(|status| status.code());
        let mut state = self.lock();
        state.end = Some(End { exit_code, signal, timed_out, ended_at: self.clock.now_ms() });
        state.stdin = None;
        state.touched = Instant::now();
        if state.known {
            let event = match (timed_out, exit_code) {
                (true, _) => "timed_out",
                (false, Some(0)) => "finished",
                _ => "failed",
            };
            self.tell_status(&state, event);
        }
        drop(state);
        self.news.send_modify(|version| *version += 1);
    }

    fn result(&self, state: &State) -> ExecResult {
        let Some(end) = state.end.clone() else { return self.running(state) };
        let error = match &end {
            End { timed_out: true, .. } => Some("Command timed out".to_string()),
            End { signal: Some(signal), .. } => Some(format!("Command failed: {signal}")),
            End { exit_code: Some(0), .. } => None,
            End { exit_code: Some(code), .. } => Some(format!("Command exited with code {code}")),
            _ => Some("Command failed".to_string()),
        };
        ExecResult {
            status: if error.is_none() { Status::Completed } else { Status::Failed },
            error,
            exit_code: if end.timed_out { None } else { end.exit_code },
            stdout: Some(state.stdout.text()),
            stderr: Some(state.stderr.text()),
            ended_at: Some(end.ended_at),
            duration_ms: Some((end.ended_at - self.started_at).max(0)),
            signal: end.signal,
            timed_out: Some(end.timed_out),
            ..self.running(state)
        }
    }

    fn running(&self, state: &State) -> ExecResult {
        ExecResult {
            ok: true,
            status: Status::Running,
            output: String::new(),
            error: None,
            exit_code: None,
            session_id: Some(self.id.clone()),
            truncated: None,
            stdout: None,
            stderr: None,
            tail: Some(state.tail.tail()),
            cwd: Some(self.cwd.to_string_lossy().into_owned()),
            pid: Some(self.pid),
            started_at: Some(self.started_at),
            ended_at: None,
            duration_ms: None,
            signal: None,
            timed_out: None,
        }
    }

    fn tell_status(&self, state: &State, event: &str) {
        let end = state.end.as_ref();
        let status = ExecStatus {
            event_id: Some(base::random::uuid()),
            session_id: self.id.clone(),
            event: event.to_string(),
            call_id: Some(self.call_id.clone()),
            exit_code: end.and_then(|end| end.exit_code),
            signal: end.and_then(|end| end.signal.clone()),
            output_tail: Some(state.tail.tail()),
            started_at: Some(self.started_at),
            ended_at: end.map(|end| end.ended_at),
        };
        (self.tell)(protocol::frame::signal("exec.status", &status));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
