//! One block in one child: hands it over, makes the calls that it asks for, and ends it at its limits. The child is not
//! believed: whatever it sends is bounded, is about this block, and names a call that blocks may make.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use base::limits::guest as limits;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use protocol::calls::{Calling, Calls};
use protocol::error::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::frame;
use crate::message::{FromGuest, GuestKind, ToGuest};
use crate::pool::{Hired, Pool, Tenant};

/// A block to be run.
pub struct Block {
    /// Names it to the child.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// JSON: what the child makes of it is between it and whoever made the block.
    pub body: String,
    /// The calls that it may make.
    pub may_call: &'static [&'static str],
    /// Time of its own: what passes while no call of it is under way.
    pub own_time: Duration,
    /// All the time it may take, if that is limited here.
    pub total: Option<Duration>,
    /// Lines and bytes of log.
    pub log: (usize, usize),
}

/// How a block went.
#[derive(Debug)]
pub struct Report {
    /// What the child said it came to, as JSON.
    pub outcome: Result<String, Failure>,
    pub logs: Vec<String>,
    /// What was called, in order.
    pub calls: Vec<CallNote>,
}

/// A call that a block made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNote {
    pub name: String,
    /// JSON, cut after some hundred bytes.
    pub args: String,
    /// Why it failed; none while it is under way.
    pub result: Option<Result<(), String>>,
}

/// Why a block did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No child could be had.
    #[error("{0}")]
    NotStarted(String),
    /// Its own time was up.
    #[error("Execution timed out")]
    OwnTime,
    /// Its whole time was up.
    #[error("Execution timed out: the block ran for {0:?} in all, waiting included")]
    Total(Duration),
    /// The child ended in the middle of it.
    #[error("The block crashed its sandbox ({0})")]
    Crashed(String),
    /// The system ended the child, as it does when memory or processor time is used up.
    #[error("The block used more memory or processor time than it may")]
    UsedUp,
    /// It sent more than it may.
    #[error("{0}")]
    Flooded(String),
    /// It said what no child says.
    #[error("The sandbox of the block broke its protocol: {0}")]
    Lied(String),
    /// Nobody waits for it any more.
    #[error("Nobody waits for the block any more")]
    Abandoned,
}

type Outcome = (u64, usize, Result<String, Error>);

/// What is known of a block that runs.
struct Running<'a> {
    block: &'a Block,
    calls: &'a Calls,
    under_way: FuturesUnordered<std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    waiting: VecDeque<(u64, usize, Calling)>,
    notes: Vec<CallNote>,
    made: u64,
    logs: Vec<String>,
    log_bytes: usize,
    sent_bytes: u64,
    out: VecDeque<Bytes>,
    out_bytes: usize,
}

impl Block {
    /// Runs it. What it still called when it ended is waited for, so that nothing is under way afterwards.
    pub async fn run(self, pool: &Pool, calls: &Calls, is_abandoned: impl Fn() -> bool + Send) -> Report {
        let mut hired = match pool.hire(&self.tenant).await {
            Ok(hired) => hired,
            Err(why) => {
                let outcome = Err(Failure::NotStarted(why));
                return Report { outcome, logs: Vec::new(), calls: Vec::new() };
            }
        };
        let mut running = Running::new(&self, calls);
        let mut outcome = running.drive(pool, &mut hired, &is_abandoned).await;
        match &outcome {
            Ok(_) => pool.give_back(&self.tenant, hired),
            Err(Failure::Crashed(_)) => {
                let status = pool.dismiss(hired).await;
                outcome = Err(crashed(status));
            }
            Err(_) => drop(hired),
        }
        // What a block asked for before it ended is made; what one that was ended asked for is not begun.
        if outcome.is_err() {
            running.waiting.clear();
        }
        running.start_waiting();
        while !matches!(outcome, Err(Failure::Abandoned)) && !running.under_way.is_empty() {
            tokio::select! {
                Some((_, place, result)) = running.under_way.next() => {
                    running.note(place, &result);
                    running.start_waiting();
                }
                () = pool.clock().sleep(limits::LOOK_EVERY) => {
                    if is_abandoned() {
                        break;
                    }
                }
            }
        }
        Report { outcome, logs: running.logs, calls: running.notes }
    }
}

impl<'a> Running<'a> {
    fn new(block: &'a Block, calls: &'a Calls) -> Running<'a> {
        Running {
            block,
            calls,
            under_way: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            notes: Vec::new(),
            made: 0,
            logs: Vec::new(),
            log_bytes: 0,
            sent_bytes: 0,
            out: VecDeque::new(),
            out_bytes: 0,
        }
    }

    async fn drive(
        &mut self,
        pool: &Pool,
        hired: &mut Hired,
        is_abandoned: &(impl Fn() -> bool + Send),
    ) -> Result<String, Failure> {
        let clock = pool.clock();
        let begun = clock.instant();
        let (mut own_used, mut own_since) = (Duration::ZERO, Some(begun));
        let body = serde_json::value::RawValue::from_string(self.block.body.clone());
        let body = body.map_err(|error| Failure::NotStarted(format!("the block is not JSON: {error}")))?;
        let first =
            ToGuest { block: self.block.id.as_str().into(), call: None, body: Some(&body), error: None };
        self.tell(&first)?;
        let mut look_at = begun + limits::LOOK_EVERY;
        loop {
            while let Some(text) = frame::take(&mut hired.guest.read).map_err(too_long)? {
                if let Some(outcome) = self.said(&text)? {
                    return Ok(outcome);
                }
            }
            self.start_waiting();
            // While a call is under way the time is the call's; what the child does not take is its own again.
            let now = clock.instant();
            let is_own = (self.under_way.is_empty() && self.waiting.is_empty()) || !self.out.is_empty();
            match own_since {
                Some(since) if !is_own => {
                    own_used += now.saturating_duration_since(since);
                    own_since = None;
                }
                None if is_own => own_since = Some(now),
                _ => {}
            }
            let deadline = self.deadline(begun, own_since.map(|since| (since, own_used)));
            let (reader, mut writer) = hired.guest.socket.split();
            let mut reader = reader;
            tokio::select! {
                biased;
                read = reader.read_buf(&mut hired.guest.read) => match read {
                    Ok(0) | Err(_) => return Err(Failure::Crashed(String::new())),
                    Ok(bytes) => {
                        self.sent_bytes += bytes as u64;
                        if self.sent_bytes > limits::BLOCK_SENT_MAX_BYTES {
                            return Err(Failure::Flooded("The block sent more data than it may".to_string()));
                        }
                    }
                },
                Some((call, place, result)) = self.under_way.next(), if !self.under_way.is_empty() => {
                    self.note(place, &result);
                    self.answer(call, result)?;
                }
                written = write(&mut writer, self.out.front_mut()), if !self.out.is_empty() => match written {
                    Ok(bytes) => self.wrote(bytes),
                    Err(_) => return Err(Failure::Crashed(String::new())),
                },
                () = clock.sleep_until(deadline.unwrap_or(look_at)), if deadline.is_some() => {
                    let total = self.block.total.filter(|total| clock.instant() >= begun + *total);
                    return Err(total.map_or(Failure::OwnTime, Failure::Total));
                }
                () = clock.sleep_until(look_at) => {
                    if is_abandoned() {
                        return Err(Failure::Abandoned);
                    }
                    look_at = clock.instant() + limits::LOOK_EVERY;
                }
            }
        }
    }

    /// When its time is up, as it looks now.
    fn deadline(&self, begun: Instant, own: Option<(Instant, Duration)>) -> Option<Instant> {
        let own = own.map(|(since, used)| since + self.block.own_time.saturating_sub(used));
        let total = self.block.total.map(|total| begun + total);
        own.into_iter().chain(total).min()
    }

    /// Takes what the child said; what the block came to once it has ended.
    fn said(&mut self, text: &[u8]) -> Result<Option<String>, Failure> {
        let said: FromGuest<'_> =
            serde_json::from_slice(text).map_err(|error| Failure::Lied(error.to_string()))?;
        if said.block != self.block.id {
            return Err(Failure::Lied("it spoke of another block".to_string()));
        }
        let body = said.body.map_or("null", |body| body.get());
        match said.kind {
            GuestKind::Ready => Err(Failure::Lied("it was ready in the middle of a block".to_string())),
            GuestKind::Done => Ok(Some(body.to_string())),
            GuestKind::Log => self.log(body).map(|()| None),
            GuestKind::Call => self.call(said.call, &said.name, body).map(|()| None),
        }
    }

    fn log(&mut self, body: &str) -> Result<(), Failure> {
        let line: String = serde_json::from_str(body).map_err(|error| Failure::Lied(error.to_string()))?;
        let (lines, bytes) = self.block.log;
        self.log_bytes += line.len() + 1;
        if self.logs.len() >= lines || self.log_bytes > bytes {
            let why = format!("The block logged more than {lines} lines or {bytes} bytes");
            return Err(Failure::Flooded(why));
        }
        self.logs.push(line);
        Ok(())
    }

    fn call(&mut self, call: u64, name: &str, args: &str) -> Result<(), Failure> {
        self.made += 1;
        if self.made > limits::CALLS_MAX {
            return Err(Failure::Flooded(format!("The block made more than {} calls", limits::CALLS_MAX)));
        }
        if self.under_way.len() + self.waiting.len() >= limits::CALLS_OUTSTANDING_MAX {
            let most = limits::CALLS_OUTSTANDING_MAX;
            return Err(Failure::Flooded(format!("The block had more than {most} calls under way at once")));
        }
        if !self.block.may_call.contains(&name) {
            return self.answer(call, Err(Error::forbidden(format!("{name} is not for code in a sandbox"))));
        }
        let place = self.notes.len();
        let shown = args[..args.floor_char_boundary(limits::NOTED_MAX_BYTES)].to_string();
        self.notes.push(CallNote { name: name.to_string(), args: shown, result: None });
        let (calls, name, args) = (self.calls.clone(), name.to_string(), args.to_string());
        self.waiting.push_back((call, place, Box::pin(async move { calls.raw(&name, &args).await })));
        Ok(())
    }

    fn start_waiting(&mut self) {
        while self.under_way.len() < limits::CALLS_AT_ONCE {
            let Some((call, place, calling)) = self.waiting.pop_front() else { return };
            self.under_way.push(Box::pin(async move { (call, place, calling.await) }));
        }
    }

    fn note(&mut self, place: usize, result: &Result<String, Error>) {
        if let Some(note) = self.notes.get_mut(place) {
            note.result = Some(result.as_ref().map(drop).map_err(|error| error.message.clone()));
        }
    }

    fn answer(&mut self, call: u64, result: Result<String, Error>) -> Result<(), Failure> {
        let data = match result {
            Ok(data) if data.len() + 1024 > limits::FRAME_MAX_BYTES => {
                Err("the answer is larger than a block can take".to_string())
            }
            Ok(data) => serde_json::value::RawValue::from_string(data)
                .map_err(|_| "the answer was not JSON".to_string()),
            Err(error) => Err(error.message),
        };
        let (body, error) = match &data {
            Ok(data) => (Some(&**data), None),
            Err(error) => (None, Some(error.as_str().into())),
        };
        self.tell(&ToGuest { block: self.block.id.as_str().into(), call: Some(call), body, error })
    }

    fn tell(&mut self, message: &ToGuest<'_>) -> Result<(), Failure> {
        let text = serde_json::to_vec(message).ok().and_then(|text| frame::encode(&text));
        let text =
            text.ok_or_else(|| Failure::NotStarted("the block is larger than it may be".to_string()))?;
        self.out_bytes += text.len();
        if self.out_bytes > limits::UNREAD_MAX_BYTES {
            return Err(Failure::Flooded("The block did not take the answers to its calls".to_string()));
        }
        self.out.push_back(text.into());
        Ok(())
    }

    fn wrote(&mut self, bytes: usize) {
        self.out_bytes = self.out_bytes.saturating_sub(bytes);
        if self.out.front().is_some_and(|front| !front.has_remaining()) {
            self.out.pop_front();
        }
    }
}

async fn write(
    to: &mut tokio::net::unix::WriteHalf<'_>,
    front: Option<&mut Bytes>,
) -> std::io::Result<usize> {
    match front {
        Some(front) => to.write_buf(front).await,
        None => Ok(0),
    }
}

fn too_long(length: usize) -> Failure {
    Failure::Flooded(format!("The block sent {length} bytes at once, which is more than it may"))
}

/// What the end of a child means.
fn crashed(status: Option<std::process::ExitStatus>) -> Failure {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Some(status) if matches!(status.signal(), Some(9 | 24)) => Failure::UsedUp,
        Some(status) => Failure::Crashed(status.to_string()),
        None => Failure::Crashed("nobody knows how".to_string()),
    }
}
