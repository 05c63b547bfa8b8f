//! One command: its output as it comes, its end, and what is told of both.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use protocol::shell::ExecResult;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::buffer::{Buffer, Taken};
use super::child;

/// Where `exec.status` frames go.
pub(crate) type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// A command that was started.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) pid: u32,
    pub(super) cwd: PathBuf,
    pub(super) call_id: String,
    pub(super) started_at: i64,
    clock: Clock,
    pub(super) tell: Tell,
    state: Mutex<State>,
    news: watch::Sender<u64>,
}

pub(super) struct State {
    pub(super) stdout: Buffer,
    pub(super) stderr: Buffer,
    pub(super) tail: Buffer,
    unread: Buffer,
    pub(super) end: Option<End>,
    /// Whether a caller knows the session, so that its end is told.
    known: bool,
    touched: Instant,
    /// Bytes of the last answer, which may come back until the next question.
    handed_over: usize,
    /// Until then a full buffer makes the command wait instead of losing its oldest bytes.
    awaited_until: Instant,
    /// How much is still read after the shell has ended; beyond it others write.
    left_after_exit: Option<usize>,
    stdin: Option<mpsc::Sender<Vec<u8>>>,
    stdin_bytes: usize,
}

#[derive(Clone)]
pub(super) struct End {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<String>,
    pub(super) timed_out: bool,
    pub(super) ended_at: i64,
}

impl State {
    /// Whether there is as much unread output as is kept.
    fn is_full(&self) -> bool {
        self.unread.len() + self.handed_over > limits::SHELL_OUTPUT_BYTES_MAX
    }

    /// Whether somebody has asked lately.
    fn is_awaited(&self) -> bool {
        Instant::now() < self.awaited_until
    }

    /// Whether the command is made to wait for somebody to take its output.
    fn is_held(&self) -> bool {
        self.end.is_none() && self.is_full() && self.is_awaited()
    }
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
                // Each of the two readers may find it not yet full and then add what it reads.
                unread: Buffer::new(cap + 2 * limits::SHELL_READ_BYTES),
                end: None,
                known: false,
                touched: Instant::now(),
                handed_over: 0,
                awaited_until: Instant::now() + limits::SHELL_UNREAD_WAIT,
                left_after_exit: None,
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
        self.wait_until(limit, |state| state.end.is_some()).await;
    }

    /// Waits for the end or for as much output as is kept, at most `limit`.
    pub(crate) async fn wait_for_end_or_full(&self, limit: Duration) {
        self.ask(limit);
        self.wait_until(limit, |state| state.end.is_some() || state.is_full()).await;
    }

    /// Waits for output or the end, at most `limit`; says whether there is any. Output that comes in a burst
    /// is waited for a little.
    pub(crate) async fn wait_for_news(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.ask(limit);
        if !self.wait_until(limit, |state| state.end.is_some() || !state.unread.is_empty()).await {
            return false;
        }
        let left = deadline.saturating_duration_since(Instant::now()).min(limits::SHELL_COALESCE);
        self.wait_until(left, |state| state.end.is_some() || state.is_full()).await;
        true
    }

    async fn wait_until(&self, limit: Duration, is: impl Fn(&State) -> bool) -> bool {
        let mut news = self.news.subscribe();
        matches!(timeout(limit, news.wait_for(|_| is(&self.lock()))).await, Ok(Ok(_)))
    }

    /// Somebody asks and waits so long: the last answer has arrived, and output is not dropped meanwhile.
    fn ask(&self, wait: Duration) {
        let mut state = self.lock();
        state.handed_over = 0;
        state.awaited_until = Instant::now() + wait + limits::SHELL_UNREAD_WAIT;
        drop(state);
        self.say_news();
    }

    fn say_news(&self) {
        self.news.send_modify(|version| *version += 1);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// When it was last asked for or changed its state.
    pub(crate) fn touched(&self) -> Instant {
        self.lock().touched
    }

    /// How it stands, with the output since the last answer; a character that is not complete is left out
    /// unless `all` is wanted. From the first answer that says `running` on, its end will be told.
    pub(crate) fn answer(&self, all: bool) -> (ExecResult, Taken) {
        let mut state = self.lock();
        state.touched = Instant::now();
        if state.end.is_none() && !state.known {
            state.known = true;
            self.tell_status(&state, "started");
        }
        let ended = state.end.is_some();
        let taken = state.unread.take(all || ended);
        state.handed_over = taken.len();
        state.awaited_until = Instant::now() + limits::SHELL_UNREAD_WAIT;
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
        state.handed_over = 0;
        state.unread.put_back(taken);
        state.touched = Instant::now();
        drop(state);
        self.say_news();
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
        let mut buffer = vec![0; limits::SHELL_READ_BYTES];
        loop {
            self.wait_for_room().await;
            let got = match pipe.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(got) => got,
            };
            let mut state = self.lock();
            // After the end output is read and dropped: whoever was left in the background can go on writing.
            if state.end.is_some() {
                continue;
            }
            if let Some(left) = &mut state.left_after_exit {
                *left = left.saturating_sub(got);
            }
            match stream {
                Stream::Stdout => state.stdout.push(&buffer[..got]),
                Stream::Stderr => state.stderr.push(&buffer[..got]),
            }
            state.tail.push(&buffer[..got]);
            state.unread.push(&buffer[..got]);
            if !state.is_awaited() {
                state.unread.keep(limits::SHELL_OUTPUT_BYTES_MAX);
            }
            drop(state);
            self.say_news();
        }
    }

    /// A command that writes faster than its output is asked for has to wait, as long as somebody asks.
    async fn wait_for_room(&self) {
        let mut news = self.news.subscribe();
        loop {
            let until = {
                let state = self.lock();
                if !state.is_held() {
                    return;
                }
                state.awaited_until
            };
            // Whether there is news or the time is up is seen above.
            drop(timeout_at(until, news.changed()).await);
        }
    }

    async fn watch_over(self: Arc<Self>, mut child: Child, time_limit: Duration) {
        let stdout = child.stdout.take().map(|pipe| tokio::spawn(self.clone().collect(Stream::Stdout, pipe)));
        let stderr = child.stderr.take().map(|pipe| tokio::spawn(self.clone().collect(Stream::Stderr, pipe)));
        let (status, timed_out) = match timeout(time_limit, child.wait()).await {
            Ok(status) => (status.ok(), false),
            Err(_) => (self.end_by_force(&mut child).await, true),
        };
        self.drain([stdout, stderr].into_iter().flatten().collect()).await;
        self.finish(status, timed_out);
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
        self.lock().left_after_exit = Some(limits::SHELL_OUTPUT_BYTES_MAX);
        let slice = limits::SHELL_DRAIN / 10;
        let mut left = limits::SHELL_DRAIN;
        while !left.is_zero() {
            if timeout(slice, &mut drained).await.is_ok() {
                return;
            }
            let state = self.lock();
            if state.left_after_exit == Some(0) {
                return;
            }
            if !state.is_held() {
                left = left.saturating_sub(slice);
            }
        }
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
        self.say_news();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
