//! At-least-once delivery to the gateway: answers and status signals, each kept until a pong proves that it was read,
//! and sent again after the next connect. The gateway drops answers it has no use for; status signals carry an id of
//! their own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use client::Connection;
use tokio::sync::{Notify, watch};

use crate::machine::{Reply, TakeBack};

/// One connected period, numbered.
#[derive(Clone)]
struct Link {
    connection: Connection,
    number: u64,
}

/// Everything that is not known to have arrived.
pub(crate) struct Outbox {
    kept: Mutex<Unconfirmed>,
    link: watch::Sender<Option<Link>>,
    /// Something was sent that no pong has confirmed yet.
    pub(crate) sent: Notify,
    /// A status waits to be sent.
    pub(crate) waiting: Notify,
}

struct Unconfirmed {
    clock: Clock,
    replies: Shelf,
    statuses: Shelf,
    last_number: u64,
    /// Counts what was sent on this link; a pong confirms everything up to its own number.
    last_sent: u64,
}

struct Item {
    key: u64,
    text: String,
    since: Instant,
    take_back: Option<TakeBack>,
    /// The link it was last handed to.
    tried: Option<u64>,
    /// Its number on the link that is there now.
    sent: Option<u64>,
}

/// Items in order, within bounds; the oldest go first.
struct Shelf {
    items: VecDeque<Item>,
    bytes: usize,
    items_max: usize,
    bytes_max: usize,
    age_max: Option<Duration>,
}

impl Outbox {
    pub(crate) fn new(clock: Clock) -> Arc<Outbox> {
        let shelf = |items_max, bytes_max, age_max| Shelf {
            items: VecDeque::new(),
            bytes: 0,
            items_max,
            bytes_max,
            age_max,
        };
        Arc::new(Outbox {
            kept: Mutex::new(Unconfirmed {
                clock,
                replies: shelf(
                    limits::device::REPLIES_KEPT_MAX,
                    limits::device::REPLIES_KEPT_MAX_BYTES,
                    Some(limits::device::REPLY_KEPT),
                ),
                statuses: shelf(
                    limits::device::EVENTS_KEPT_MAX,
                    limits::device::REPLIES_KEPT_MAX_BYTES,
                    None,
                ),
                last_number: 0,
                last_sent: 0,
            }),
            link: watch::Sender::new(None),
            sent: Notify::new(),
            waiting: Notify::new(),
        })
    }

    /// Sends an answer, on the socket that is there now. `asked_on` is the link the request came by: what it
    /// alone was to get is taken back when another link has taken its place.
    pub(crate) async fn reply(&self, mut reply: Reply, asked_on: u64) {
        let link = self.link.borrow().clone();
        let same = link.as_ref().is_some_and(|link| link.number == asked_on);
        if let Some(take_back) = reply.take_back.take_if(|_| !same) {
            reply.text = take_back();
        }
        let (key, text) = self.keep_reply(reply.text, reply.take_back, link.as_ref());
        let Some(link) = link else { return };
        if link.connection.send_text(text).await.is_ok() {
            self.mark_sent(key, link.number);
            if let Some(then) = reply.then.filter(|_| same) {
                tokio::spawn(then);
            }
        }
    }

    /// Keeps a status signal for the sender of this link, or of the next one.
    pub(crate) fn status(&self, text: String) {
        let mut kept = lock(&self.kept);
        let item = kept.item(text, None, None);
        // Statuses hand nothing over, so there is nothing to take back.
        drop(kept.statuses.push(item));
        drop(kept);
        self.waiting.notify_one();
    }

    /// A new socket: returns its number. Everything kept is to be sent on it, again where need be.
    pub(crate) fn connected(&self, connection: &Connection) -> u64 {
        self.start_over();
        let number = lock(&self.kept).next_number();
        self.link.send_replace(Some(Link { connection: connection.clone(), number }));
        number
    }

    /// The socket is gone.
    pub(crate) fn disconnected(&self) {
        self.link.send_replace(None);
        self.start_over();
    }

    /// Sends everything that was not tried on this link yet.
    pub(crate) async fn flush(&self) {
        let Some(link) = self.link.borrow().clone() else { return };
        loop {
            let next = lock(&self.kept).next_untried(link.number);
            let Some((key, text)) = next else { return };
            if link.connection.send_text(text).await.is_err() {
                return;
            }
            self.mark_sent(key, link.number);
        }
    }

    /// The number a ping should carry now: everything sent before it is confirmed by its pong.
    pub(crate) fn last_sent(&self) -> u64 {
        lock(&self.kept).last_sent
    }

    /// A pong came back for the ping with this number.
    pub(crate) fn confirm(&self, number: u64) {
        let mut kept = lock(&self.kept);
        kept.replies.remove_sent(number);
        kept.statuses.remove_sent(number);
    }

    fn keep_reply(&self, text: String, take_back: Option<TakeBack>, link: Option<&Link>) -> (u64, String) {
        let mut kept = lock(&self.kept);
        let item = kept.item(text.clone(), take_back, link.map(|link| link.number));
        let key = item.key;
        let given_up = kept.replies.push(item);
        drop(kept);
        run_all(given_up);
        (key, text)
    }

    /// Nothing counts as sent any more, and what only the lost socket was to get is taken back. That reaches
    /// into the sessions, which reach back here to tell their status: never under the lock.
    fn start_over(&self) {
        let mut kept = lock(&self.kept);
        let now = kept.clock.instant();
        let given_up = kept.replies.drop_old(now);
        let back = kept.start_over();
        drop(kept);
        run_all(given_up);
        for (key, take_back) in back {
            let text = take_back();
            lock(&self.kept).replies.set_text(key, text);
        }
    }

    fn mark_sent(&self, key: u64, number: u64) {
        let current = self.link.borrow().as_ref().map(|link| link.number);
        if current == Some(number) {
            lock(&self.kept).mark_sent(key);
            self.sent.notify_one();
        }
    }
}

/// The answers these take the place of have been given up already.
fn run_all(given_up: Vec<TakeBack>) {
    for take_back in given_up {
        drop(take_back());
    }
}

impl Unconfirmed {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn item(&mut self, text: String, take_back: Option<TakeBack>, tried: Option<u64>) -> Item {
        Item { key: self.next_number(), text, since: self.clock.instant(), take_back, tried, sent: None }
    }

    fn start_over(&mut self) -> Vec<(u64, TakeBack)> {
        let mut back = Vec::new();
        for item in self.replies.items.iter_mut().chain(self.statuses.items.iter_mut()) {
            item.sent = None;
            back.extend(item.take_back.take().map(|take_back| (item.key, take_back)));
        }
        back
    }

    fn mark_sent(&mut self, key: u64) {
        self.last_sent += 1;
        let number = self.last_sent;
        let mut items = self.replies.items.iter_mut().chain(self.statuses.items.iter_mut());
        if let Some(item) = items.find(|item| item.key == key) {
            item.sent = Some(number);
        }
    }

    fn next_untried(&mut self, link: u64) -> Option<(u64, String)> {
        let mut items = self.replies.items.iter_mut().chain(self.statuses.items.iter_mut());
        let item = items.find(|item| item.tried != Some(link))?;
        item.tried = Some(link);
        Some((item.key, item.text.clone()))
    }
}

impl Shelf {
    /// Returns what must be taken back of the items that had to go.
    #[must_use]
    fn push(&mut self, item: Item) -> Vec<TakeBack> {
        let now = item.since;
        self.bytes += item.text.len();
        self.items.push_back(item);
        let mut given_up = self.drop_old(now);
        while self.items.len() > self.items_max || (self.bytes > self.bytes_max && self.items.len() > 1) {
            // What is on a living socket has most likely arrived; what is not, has not.
            given_up
                .extend(self.drop_first().filter(|item| item.sent.is_none()).and_then(|item| item.take_back));
        }
        given_up
    }

    #[must_use]
    fn drop_old(&mut self, now: Instant) -> Vec<TakeBack> {
        let Some(age_max) = self.age_max else { return Vec::new() };
        let mut given_up = Vec::new();
        while self.items.front().is_some_and(|item| now.saturating_duration_since(item.since) >= age_max) {
            given_up.extend(self.drop_first().and_then(|item| item.take_back));
        }
        given_up
    }

    fn drop_first(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes = self.bytes.saturating_sub(item.text.len());
        Some(item)
    }

    fn set_text(&mut self, key: u64, text: String) {
        if let Some(item) = self.items.iter_mut().find(|item| item.key == key) {
            self.bytes = self.bytes.saturating_sub(item.text.len()) + text.len();
            item.text = text;
        }
    }

    fn remove_sent(&mut self, number: u64) {
        self.items.retain(|item| item.sent.is_none_or(|sent| sent > number));
        self.bytes = self.items.iter().map(|item| item.text.len()).sum();
    }
}
