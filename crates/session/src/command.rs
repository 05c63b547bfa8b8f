//! Shared state of one command, with back-pressure on its writer: its output as it comes, its stdin, its end, and
//! those who wait for them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use protocol::shell::ExecResult;
use protocol::signal::ExecStatus;
use tokio::sync::{mpsc, watch};

use crate::buffer::{Buffer, Taken};

/// Where the status of a command that callers know is told.
pub type Tell = Arc<dyn Fn(ExecStatus) + Send + Sync>;

/// What is known of a command when it starts.
pub struct About {
    pub id: String,
    /// Where it starts.
    pub cwd: String,
    /// Its process id, if it has one.
    pub pid: Option<u32>,
    pub call_id: Option<String>,
    /// Bytes kept per stream; the tail wins.
    pub output_bytes_max: usize,
    /// For the times that are told, and for all waiting.
    pub clock: Clock,
    /// Told when callers know the command, and when it ends after that.
    pub tell: Tell,
}

/// A command that was started.
pub struct Session {
    pub id: String,
    /// When it started, in milliseconds.
    pub started_at: i64,
    pub(crate) about: About,
    state: Mutex<SessionState>,
    news: watch::Sender<u64>,
}

pub(crate) struct SessionState {
    pub(crate) stdout: Buffer,
    pub(crate) stderr: Buffer,
    pub(crate) tail: Buffer,
    unread: Buffer,
    pub(crate) end: Option<End>,
    pub(crate) ended_at: i64,
    /// Whether a caller knows the session, so that its end is told.
    known: bool,
    touched: Instant,
    /// Bytes of the last answer, which may come back until the next question.
    handed_over: usize,
    /// Until then a full buffer makes the command wait instead of losing its oldest bytes.
    awaited_until: Instant,
    stdin: Option<mpsc::Sender<Vec<u8>>>,
    stdin_bytes: usize,
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIG15`.
    pub signal: Option<String>,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Why it failed, where the code, the signal and the time do not say it.
    pub error: Option<String>,
    /// Where it was at its end.
    pub cwd: Option<String>,
    /// Hosts that its sandbox kept it from, as a person could allow them.
    pub refused_hosts: Vec<String>,
}

/// Which of a command's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Its output.
    Stdout,
    /// Its complaints.
    Stderr,
}

/// Why stdin was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdinRefused {
    Closed,
    /// The command does not read it.
    Full,
}

impl Session {
    /// A command that starts now, and what callers will write to its stdin.
    pub fn begin(about: About) -> (Session, mpsc::Receiver<Vec<u8>>) {
        let cap = about.output_bytes_max;
        let (stdin, lines) = mpsc::channel(limits::shell::STDIN_WRITES_MAX);
        let now = about.clock.instant();
        let state = SessionState {
            stdout: Buffer::new(cap),
            stderr: Buffer::new(cap),
            tail: Buffer::new(limits::shell::TAIL_BYTES),
            // Each of the two readers may find it not yet full and then add what it reads.
            unread: Buffer::new(cap + 2 * limits::shell::READ_BYTES),
            end: None,
            ended_at: 0,
            known: false,
            touched: now,
            handed_over: 0,
            awaited_until: now + limits::shell::UNREAD_WAIT,
            stdin: Some(stdin),
            stdin_bytes: 0,
        };
        let session = Session {
            id: about.id.clone(),
            started_at: about.clock.now_ms(),
            about,
            state: Mutex::new(state),
            news: watch::Sender::new(0),
        };
        (session, lines)
    }

    /// Takes in what the command wrote. After the end it is dropped: whoever was left in the background can go
    /// on writing.
    pub fn push(&self, stream: Stream, bytes: &[u8]) {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            return;
        }
        match stream {
            Stream::Stdout => state.stdout.push(bytes),
            Stream::Stderr => state.stderr.push(bytes),
        }
        state.tail.push(bytes);
        state.unread.push(bytes);
        if !self.is_awaited(&state) {
            let kept = self.about.output_bytes_max;
            state.unread.keep(kept);
        }
        drop(state);
        self.say_news();
    }

    /// A command that writes faster than its output is asked for has to wait, as long as somebody asks.
    pub async fn wait_for_room(&self) {
        if !self.is_held() {
            return;
        }
        let mut news = self.news.subscribe();
        loop {
            let until = {
                let state = lock(&self.state);
                if !self.holds(&state) {
                    return;
                }
                state.awaited_until
            };
            // Whether there is news or the time is up is seen above.
            let wait = until.saturating_duration_since(self.about.clock.instant());
            drop(self.about.clock.timeout(wait, news.changed()).await);
        }
    }

    /// Whether the command is made to wait for somebody to take its output.
    pub fn is_held(&self) -> bool {
        self.holds(&lock(&self.state))
    }

    fn holds(&self, state: &SessionState) -> bool {
        state.end.is_none() && self.is_full(state) && self.is_awaited(state)
    }

    /// Whether somebody has asked lately.
    fn is_awaited(&self, state: &SessionState) -> bool {
        self.about.clock.instant() < state.awaited_until
    }

    /// Whether there is as much unread output as is kept.
    fn is_full(&self, state: &SessionState) -> bool {
        state.unread.len() + state.handed_over > self.about.output_bytes_max
    }

    /// Waits for the end, at most `limit`.
    pub async fn wait_for_end(&self, limit: Duration) {
        self.wait_until(limit, |state| state.end.is_some()).await;
    }

    /// Waits for the end or for as much output as is kept, at most `limit`.
    pub async fn wait_for_end_or_full(&self, limit: Duration) {
        self.ask(limit);
        self.wait_until(limit, |state| state.end.is_some() || self.is_full(state)).await;
    }

    /// Waits for output or the end, at most `limit`; says whether there is any. Output that comes in a burst
    /// is waited for a little.
    pub async fn wait_for_news(&self, limit: Duration) -> bool {
        let deadline = self.about.clock.instant() + limit;
        self.ask(limit);
        if !self.wait_until(limit, |state| state.end.is_some() || !state.unread.is_empty()).await {
            return false;
        }
        let left =
            deadline.saturating_duration_since(self.about.clock.instant()).min(limits::shell::COALESCE);
        self.wait_until(left, |state| state.end.is_some() || self.is_full(state)).await;
        true
    }

    async fn wait_until(&self, limit: Duration, is: impl Fn(&SessionState) -> bool) -> bool {
        let mut news = self.news.subscribe();
        let news = news.wait_for(|_| is(&lock(&self.state)));
        matches!(self.about.clock.timeout(limit, news).await, Ok(Ok(_)))
    }

    /// Somebody asks and waits so long: the last answer has arrived, and output is not dropped meanwhile.
    fn ask(&self, wait: Duration) {
        let mut state = lock(&self.state);
        state.handed_over = 0;
        state.awaited_until = self.about.clock.instant() + wait + limits::shell::UNREAD_WAIT;
        drop(state);
        self.say_news();
    }

    fn say_news(&self) {
        self.news.send_modify(|version| *version += 1);
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        lock(&self.state).end.is_some()
    }

    /// When it was last asked for or changed its state.
    pub fn touched(&self) -> Instant {
        lock(&self.state).touched
    }

    /// How long it has not been asked for and has not changed its state.
    pub fn untouched_for(&self) -> Duration {
        self.about.clock.instant().saturating_duration_since(self.touched())
    }

    /// How it stands, with the output since the last answer; a character that is not complete is left out
    /// unless `all` is wanted. From the first answer that says `running` on, its end will be told.
    pub fn answer(&self, all: bool) -> (ExecResult, Taken) {
        let mut state = lock(&self.state);
        state.touched = self.about.clock.instant();
        if state.end.is_none() && !state.known {
            state.known = true;
            self.tell_status(&state, "started");
        }
        let ended = state.end.is_some();
        let taken = state.unread.take(all || ended);
        state.handed_over = taken.len();
        state.awaited_until = self.about.clock.instant() + limits::shell::UNREAD_WAIT;
        let mut result = self.result(&state);
        result.output = taken.text();
        result.truncated =
            Some(taken.is_cut() || (ended && (state.stdout.is_cut() || state.stderr.is_cut())));
        (result, taken)
    }

    /// Says `running` and hands nothing over: for a caller that may not hear it.
    pub fn answer_later(&self) -> ExecResult {
        let state = lock(&self.state);
        ExecResult { truncated: Some(false), ..self.running(&state) }
    }

    /// Output that did not arrive will be in the next answer.
    pub fn put_back(&self, taken: Taken) {
        let mut state = lock(&self.state);
        state.handed_over = 0;
        state.unread.put_back(taken);
        state.touched = self.about.clock.instant();
        drop(state);
        self.say_news();
    }

    /// Leaves text for the command to read.
    pub fn write(&self, input: &str) -> Result<(), StdinRefused> {
        let mut state = lock(&self.state);
        let Some(stdin) = &state.stdin else { return Err(StdinRefused::Closed) };
        if state.stdin_bytes + input.len() > limits::shell::STDIN_MAX_BYTES {
            return Err(StdinRefused::Full);
        }
        match stdin.try_send(input.as_bytes().to_vec()) {
            Ok(()) => state.stdin_bytes += input.len(),
            Err(mpsc::error::TrySendError::Full(_)) => return Err(StdinRefused::Full),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(StdinRefused::Closed),
        }
        Ok(())
    }

    /// The command has read so many bytes of what waited for it.
    pub fn took_stdin(&self, bytes: usize) {
        let mut state = lock(&self.state);
        state.stdin_bytes = state.stdin_bytes.saturating_sub(bytes);
    }

    /// No more stdin: the command sees the end of it once it has read what waits.
    pub fn close_stdin(&self) {
        lock(&self.state).stdin = None;
    }

    /// It has ended. Only the first end counts.
    pub fn finish(&self, end: End) {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            return;
        }
        let event = match (end.timed_out, end.exit_code) {
            (true, _) => "timed_out",
            (false, Some(0)) => "finished",
            _ => "failed",
        };
        state.end = Some(end);
        state.ended_at = self.about.clock.now_ms();
        state.stdin = None;
        state.touched = self.about.clock.instant();
        if state.known {
            self.tell_status(&state, event);
        }
        drop(state);
        self.say_news();
    }
}

#[cfg(test)]
mod tests;
