//! Closed-loop load generator: a fixed number of requests in flight on a fixed number of sockets, the next one sent
//! when an answer comes. It checks that every answer belongs to a request that is under way and succeeded.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base::clock::Clock;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::wire::{self, Socket};

/// How long answers may stay away before a run is given up.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Most requests one socket may have in flight here: their slot is two digits of the id.
const SLOTS_MAX: usize = 100;

/// How many sockets, and how many requests each keeps in flight.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Sockets.
    pub connections: usize,
    /// Requests under way on each.
    pub in_flight: usize,
}

impl Shape {
    /// One request at a time on one socket.
    pub(crate) const ONE: Shape = Shape { connections: 1, in_flight: 1 };
    /// 64 in flight: 8 sockets with 8 requests each.
    pub(crate) const SIXTY_FOUR: Shape = Shape { connections: 8, in_flight: 8 };
}

/// What is asked, and what a good answer looks like.
#[derive(Clone)]
pub(crate) struct Question {
    pub call: &'static str,
    pub args: serde_json::Value,
    /// Must stand in the head of every answer.
    pub expected: &'static str,
    /// The least size of an answer.
    pub answer_bytes_min: usize,
}

impl Question {
    /// The text sent from a slot. Ids have the length of a UUID, as real clients use them.
    pub(crate) fn text(&self, slot: usize) -> String {
        wire::request(&format!("00000000-0000-4000-8000-0000000000{slot:02}"), self.call, &self.args)
    }

    /// The text sent from a slot of one of several sockets: `{place}` in an argument becomes a number of its own.
    fn text_at(&self, socket: usize, slot: usize) -> String {
        self.text(slot).replace("{place}", &format!("{socket}-{slot}"))
    }
}

/// When a run warms up, counts and ends.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// Not counted.
    pub warm_up: Duration,
    /// Counted.
    pub timed: Duration,
}

/// What a run counted.
#[derive(Default)]
pub(crate) struct Sample {
    pub answers: u64,
    pub bytes: u64,
    /// The time they were counted in.
    pub seconds: f64,
    /// How long each took, when one request at a time was in flight.
    pub latencies_ns: Vec<u64>,
    /// Answers in the warm-up, so that processor time can be shared out fairly.
    pub answers_warming_up: u64,
}

impl Sample {
    /// Answers per second.
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }

    /// Mebibytes of answers per second.
    pub(crate) fn mib_rate(&self) -> f64 {
        self.bytes as f64 / self.seconds / (1024.0 * 1024.0)
    }

    /// The latency in microseconds that this share of the answers did not exceed.
    pub(crate) fn percentile_us(&self, share: f64) -> f64 {
        let mut sorted = self.latencies_ns.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        sorted.get(index).map_or(f64::NAN, |nanoseconds| *nanoseconds as f64 / 1_000.0)
    }
}

/// Keeps all sockets busy for one window. The sockets are given back for the next round.
pub(crate) async fn run(
    sockets: &mut Vec<Socket>,
    in_flight: usize,
    question: &Question,
    window: Window,
) -> Result<Sample> {
    ensure!(in_flight <= SLOTS_MAX, "at most {SLOTS_MAX} requests in flight per socket");
    let start = Clock::system().instant() + window.warm_up;
    let mut workers = JoinSet::new();
    for (number, socket) in sockets.drain(..).enumerate() {
        let requests = (0..in_flight).map(|slot| Message::text(question.text_at(number, slot))).collect();
        let worker = Worker::new(socket, requests, question, start, start + window.timed);
        workers.spawn(tokio::time::timeout(window.warm_up + window.timed + SILENCE_MAX, worker.work()));
    }
    let mut total = Sample { seconds: window.timed.as_secs_f64(), ..Sample::default() };
    while let Some(done) = workers.join_next().await {
        let worker = done.context("a worker panicked")?.context("answers stayed away")??;
        total.answers += worker.sample.answers;
        total.bytes += worker.sample.bytes;
        total.answers_warming_up += worker.sample.answers_warming_up;
        total.latencies_ns.extend(worker.sample.latencies_ns);
        sockets.push(worker.socket);
    }
    ensure!(total.answers > 0, "no answer came within the window");
    Ok(total)
}

/// One socket and its requests.
struct Worker {
    socket: Socket,
    requests: Vec<Message>,
    sent_at: Vec<Option<Instant>>,
    outstanding: usize,
    expected: &'static str,
    answer_bytes_min: usize,
    start: Instant,
    stop: Instant,
    sample: Sample,
}

impl Worker {
    fn new(
        socket: Socket,
        requests: Vec<Message>,
        question: &Question,
        start: Instant,
        stop: Instant,
    ) -> Worker {
        Worker {
            socket,
            sent_at: vec![None; requests.len()],
            requests,
            outstanding: 0,
            expected: question.expected,
            answer_bytes_min: question.answer_bytes_min,
            start,
            stop,
            sample: Sample::default(),
        }
    }

    async fn work(mut self) -> Result<Worker> {
        for slot in 0..self.requests.len() {
            self.ask(slot).await?;
        }
        self.socket.flush().await?;
        while self.outstanding > 0 {
            let message = self.socket.next().await;
            self.take(message).await?;
            // Everything that is ready is handled before one flush, as the servers do it.
            while self.outstanding > 0
                && let Some(message) = self.socket.next().now_or_never()
            {
                self.take(message).await?;
            }
            self.socket.flush().await?;
        }
        Ok(self)
    }

    async fn ask(&mut self, slot: usize) -> Result<()> {
        self.sent_at[slot] = Some(Clock::system().instant());
        self.outstanding += 1;
        Ok(self.socket.feed(self.requests[slot].clone()).await?)
    }

    async fn take(
        &mut self,
        message: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
    ) -> Result<()> {
        let Some(message) = message else { bail!("the server closed the socket") };
        let Message::Text(text) = message.context("the socket broke")? else { return Ok(()) };
        if text.starts_with(r#"{"type":"sig""#) {
            return Ok(());
        }
        let slot = self.slot_of(&text)?;
        let now = Clock::system().instant();
        let Some(sent) = self.sent_at[slot].take() else { bail!("a request was answered twice") };
        self.outstanding -= 1;
        if now < self.start {
            self.sample.answers_warming_up += 1;
        } else if now < self.stop {
            self.sample.answers += 1;
            self.sample.bytes += text.len() as u64;
            if self.requests.len() == 1 {
                self.sample.latencies_ns.push((now - sent).as_nanos() as u64);
            }
        }
        if now < self.stop { self.ask(slot).await } else { Ok(()) }
    }

    fn slot_of(&self, text: &Utf8Bytes) -> Result<usize> {
        let head = &text.as_bytes()[..text.len().min(160)];
        let good = text.len() >= self.answer_bytes_min
            && head.windows(self.expected.len()).any(|window| window == self.expected.as_bytes());
        if !good {
            bail!("not the answer that was asked for: {}", String::from_utf8_lossy(head));
        }
        let id = wire::frame_id(text.as_bytes()).context("an answer has no id")?;
        let digits = id.last_chunk::<2>().context("an answer's id is too short")?;
        let slot = std::str::from_utf8(digits)?.parse::<usize>().context("an answer has a foreign id")?;
        ensure!(slot < self.requests.len(), "an answer has a foreign id");
        Ok(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{driver, echo, relay};
    use serde_json::json;
    use tokio::net::TcpListener;

    const WINDOW: Window = Window { warm_up: Duration::from_millis(5), timed: Duration::from_millis(50) };

    fn read(expected: &'static str, answer_bytes_min: usize) -> Question {
        Question { call: "fs.read", args: json!({"path": "/x"}), expected, answer_bytes_min }
    }

    async fn sockets(address: std::net::SocketAddr, count: usize) -> Vec<Socket> {
        let mut sockets = Vec::new();
        for _ in 0..count {
            sockets.push(wire::open(address, "/client", wire::busy()).await.unwrap());
        }
        sockets
    }

    #[tokio::test]
    async fn the_echo_gives_everything_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(echo::serve(listener));
        let mut sockets = sockets(address, 3).await;
        let sample = run(&mut sockets, 4, &read(r#""type":"req""#, 10), WINDOW).await.unwrap();
        assert_eq!(sockets.len(), 3);
        assert_eq!(sample.bytes, sample.answers * read("", 0).text(0).len() as u64);
    }

    #[tokio::test]
    async fn the_relay_brings_each_client_its_own_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(relay::serve(listener));
        let attached = wire::open(address, "/driver", wire::busy()).await.unwrap();
        tokio::spawn(driver::answer_relay(attached));
        let mut sockets = sockets(address, 3).await;
        // The generator refuses an answer whose slot is not under way, so a mix-up would show.
        let question = read(r#""ok":true"#, driver::SMALL_BYTES);
        run(&mut sockets, 4, &question, WINDOW).await.unwrap();
        let again = run(&mut sockets, 1, &question, WINDOW).await.unwrap();
        assert_eq!(again.latencies_ns.len() as u64, again.answers);
    }

    #[tokio::test]
    async fn an_answer_that_is_not_asked_for_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(echo::serve(listener));
        let refused = run(&mut sockets(address, 1).await, 1, &read(r#""ok":true"#, 0), WINDOW).await;
        assert!(refused.is_err());
    }

    #[test]
    fn percentiles_are_taken_from_sorted_latencies() {
        let sample =
            Sample { latencies_ns: (1..=101).rev().map(|n| n * 1_000).collect(), ..Sample::default() };
        assert_eq!(sample.percentile_us(0.5), 51.0);
        assert_eq!(sample.percentile_us(0.99), 100.0);
        assert!(Sample::default().percentile_us(0.5).is_nan());
    }
}
