//! Connection session of a driver: requests in, answers out, keepalive pings, until the socket ends.

use std::sync::Arc;

use base::clock::Clock;
use base::limits;
use base::shutdown::Shutdown;
use bytes::Bytes;
use client::{Connection, Ended, Event, Events};
use protocol::error::Error;
use protocol::frame;
use protocol::router::Router;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::ledger::{Entry, Ledger};
use crate::machine::{Asker, Cx, Machine, Reply, TakeBack, answer};
use crate::outbox::Outbox;

const KEEPALIVE: &[u8] = b"gsv-keepalive";
const CONFIRM: &str = "gsv-sent-";

/// What outlives the sockets.
pub(crate) struct Driver {
    pub(crate) machine: Arc<Machine>,
    pub(crate) router: Router<Cx>,
    pub(crate) implements: Vec<String>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) refusals: Arc<Semaphore>,
    pub(crate) clock: Clock,
}

/// What the gateway asks.
struct Request {
    id: String,
    call: String,
    args: String,
    /// Whether its result is remembered.
    is_durable: bool,
    /// Whether only its result is asked for.
    is_again: bool,
}

/// Works until the socket ends or a stop is asked for; says how it ended.
pub(crate) async fn work(
    driver: &Arc<Driver>,
    connection: &Connection,
    mut events: Events,
    shutdown: &mut Shutdown,
) -> Ended {
    let number = driver.outbox.connected(connection);
    let (lost, is_lost) = watch::channel(false);
    let (confirmed, confirmations) = watch::channel(0);
    let asker = Asker { connection: connection.clone(), lost: is_lost };
    let mut helpers = JoinSet::new();
    helpers.spawn(send_kept(driver.outbox.clone()));
    helpers.spawn(confirm(driver.outbox.clone(), connection.clone(), confirmations));
    let mut tick = interval(limits::device::KEEPALIVE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick.reset();
    let mut heard = driver.clock.instant();
    let how = loop {
        tokio::select! {
            event = events.queue.recv() => {
                heard = driver.clock.instant();
                match event {
                    Some(Event::Request { id, call, args, durable, again }) => {
                        let request = Request { id, call, args, is_durable: durable, is_again: again };
                        take_request(driver, &asker, number, request).await;
                    }
                    Some(Event::Pong(payload)) => {
                        if let Some(sent) = confirmed_number(&payload) {
                            driver.outbox.confirm(sent);
                            confirmed.send_replace(sent);
                        }
                    }
                    Some(Event::Closed(how)) => break how,
                    None => break Ended::because("the connection ended"),
                    Some(Event::Signal { .. } | Event::Binary(_)) => {}
                }
            }
            _ = tick.tick() => {
                if driver.clock.instant().saturating_duration_since(heard) >= limits::device::KEEPALIVE * 2 {
                    break Ended::because("the gateway has gone silent");
                }
                // The queue may be full of a large answer; the next tick comes soon enough.
                let ping = connection.ping(Bytes::from_static(KEEPALIVE));
                drop(timeout(limits::device::PING_WAIT, ping).await);
            }
            () = shutdown.requested() => break Ended::because("the driver is stopping"),
        }
    };
    driver.outbox.disconnected();
    lost.send_replace(true);
    how
}

/// Starts work on a request without waiting for it, as long as there is room. That a durable one has come is noted
/// before anything else is read: a later socket may ask for it.
async fn take_request(driver: &Arc<Driver>, asker: &Asker, number: u64, request: Request) {
    let Ok(slot) = driver.requests.clone().try_acquire_owned() else {
        let error = Error::device_busy();
        return say(driver, asker, frame::failure(&request.id, &error)).await;
    };
    let entry = match request.is_durable {
        true => driver.ledger.enter(&request.id, request.is_again),
        false => Entry::New,
    };
    match entry {
        Entry::New => {
            tokio::spawn(handle(driver.clone(), asker.clone(), number, request, slot));
        }
        // Its answer goes out on whatever socket there is by then.
        Entry::Open => {}
        Entry::Ended(text) => say(driver, asker, text).await,
        Entry::Forgotten => {
            say(driver, asker, frame::failure(&request.id, &Error::call_forgotten())).await;
        }
        Entry::NeverSeen => {
            say(driver, asker, frame::failure(&request.id, &Error::call_never_seen())).await;
        }
    }
}

/// Answers without work. A flood of requests is answered as fast as the socket takes the answers, and read no
/// faster.
async fn say(driver: &Arc<Driver>, asker: &Asker, text: String) {
    let Ok(slot) = driver.refusals.clone().acquire_owned().await else { return };
    let connection = asker.connection.clone();
    tokio::spawn(async move {
        // Nobody is left to be answered when the socket is gone.
        drop(connection.send_text(text).await);
        drop(slot);
    });
}

async fn handle(
    driver: Arc<Driver>,
    asker: Asker,
    number: u64,
    request: Request,
    slot: OwnedSemaphorePermit,
) {
    let Request { id, call, args, is_durable, .. } = request;
    let mut reply = if driver.implements.contains(&call) {
        let cx = Cx::new(driver.machine.clone(), &id, Some(asker));
        answer(&driver.router, cx, &call, &args).await
    } else {
        Reply { text: frame::failure(&id, &Error::unknown_syscall(&call)), then: None, take_back: None }
    };
    if is_durable {
        remember(&driver.ledger, id, &mut reply);
    }
    drop(slot);
    driver.outbox.reply(reply, number).await;
}

/// What is taken back of an answer is taken back of what is remembered, too.
fn remember(ledger: &Arc<Ledger>, id: String, reply: &mut Reply) {
    ledger.end(&id, &reply.text);
    let ledger = ledger.clone();
    reply.take_back = reply.take_back.take().map(|take_back| -> TakeBack {
        Box::new(move || {
            let text = take_back();
            ledger.end(&id, &text);
            text
        })
    });
}

async fn send_kept(outbox: Arc<Outbox>) {
    loop {
        outbox.flush().await;
        outbox.waiting.notified().await;
    }
}

/// After something was sent, a ping asks whether it was read; one at a time, however much is sent meanwhile.
async fn confirm(outbox: Arc<Outbox>, connection: Connection, mut confirmations: watch::Receiver<u64>) {
    loop {
        outbox.sent.notified().await;
        let number = outbox.last_sent();
        if connection.ping(Bytes::from(format!("{CONFIRM}{number}"))).await.is_err() {
            return;
        }
        // A pong that does not come is the business of the keepalive.
        drop(
            timeout(limits::device::KEEPALIVE * 2, confirmations.wait_for(|confirmed| *confirmed >= number))
                .await,
        );
    }
}

fn confirmed_number(payload: &[u8]) -> Option<u64> {
    std::str::from_utf8(payload).ok()?.strip_prefix(CONFIRM)?.parse().ok()
}
