//! Reply handle of a call: where the answer goes, and that there is exactly one.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use bytes::Bytes;
use protocol::error::Error;
use protocol::router;
use tokio::sync::oneshot;

use crate::connections::{Connection, Slot};
use crate::metrics::Metrics;
use crate::outbox::{Outgoing, TEXT_BYTES_MAX};

/// A device's data on its way to the caller.
#[derive(Clone, Copy)]
pub(crate) struct Relayed<'a> {
    /// Raw JSON.
    pub(crate) text: Option<&'a str>,
    /// The message that the text is a part of, so that large data need not be copied.
    pub(crate) whole: Option<&'a Bytes>,
}

impl<'a> Relayed<'a> {
    /// Text that the kernel wrote itself.
    pub(crate) fn rewritten(text: &'a str) -> Relayed<'a> {
        Relayed { text: Some(text), whole: None }
    }
}

/// From this size on passing data on in pieces is cheaper than copying it.
pub(crate) const RELAY_BYTES_MIN: usize = 32 * 1024;

/// Where an answer goes. Whoever holds the ticket owes exactly one answer.
pub struct Ticket {
    /// The caller's id for the request.
    pub id: String,
    /// The call's name, for the books.
    pub call: &'static str,
    started: Instant,
    clock: Clock,
    reply: Reply,
}

enum Reply {
    Connection(Slot),
    Inside(oneshot::Sender<Result<String, Error>>, Arc<Metrics>),
    Given,
}

impl Ticket {
    /// For a request from a socket that had arrived by then, with arguments of so many bytes.
    pub(crate) fn for_connection(
        connection: &Arc<Connection>,
        arrived: Instant,
        id: &str,
        call: &'static str,
        bytes: usize,
    ) -> Ticket {
        Ticket {
            id: id.to_string(),
            call,
            started: arrived,
            clock: connection.clock().clone(),
            reply: Reply::Connection(Slot::of_size(connection, bytes)),
        }
    }

    /// For a request from within the program; the answer's raw data arrives at the receiver.
    pub(crate) fn inside(
        metrics: &Arc<Metrics>,
        clock: &Clock,
        id: &str,
        call: &'static str,
    ) -> (Ticket, oneshot::Receiver<Result<String, Error>>) {
        let (sender, receiver) = oneshot::channel();
        let ticket = Ticket {
            id: id.to_string(),
            call,
            started: clock.instant(),
            clock: clock.clone(),
            reply: Reply::Inside(sender, metrics.clone()),
        };
        (ticket, receiver)
    }

    /// When the call came.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The start of the answer's text; handlers append their data.
    pub(crate) fn head(&self) -> String {
        match &self.reply {
            Reply::Connection(slot) => {
                let mut text = SPARE.take();
                slot.connection().codec().response_head(&mut text, &self.id, router::room_bytes());
                text
            }
            Reply::Inside(..) | Reply::Given => String::new(),
        }
    }

    /// Answers with a text that began with `head`, or with an error.
    pub(crate) fn answer(mut self, result: Result<String, Error>) {
        match result {
            Ok(mut text) => match self.take_reply(None) {
                Reply::Connection(slot) => {
                    text.push('}');
                    send_text(&slot, text);
                }
                inside => hand_over(inside, Ok(text)),
            },
            Err(error) => self.fail(error),
        }
    }

    /// Answers with raw data from a device.
    pub(crate) fn relay(mut self, data: Relayed<'_>) {
        match self.take_reply(None) {
            Reply::Connection(slot) => {
                let (outbox, codec) = (&slot.connection().outbox, slot.connection().codec());
                match (data.whole, data.text) {
                    (Some(whole), text) => {
                        let value = whole.slice_ref(text.unwrap_or_default().as_bytes());
                        let mut head = String::new();
                        codec.response_head(&mut head, &self.id, 0);
                        outbox.send(Outgoing::Relay(head, value));
                    }
                    (None, Some(text)) if text.len() > TEXT_BYTES_MAX => {
                        let mut whole = String::new();
                        codec.response(&mut whole, &self.id, Some(text));
                        outbox.send(Outgoing::Text(whole));
                    }
                    (None, text) => outbox.write(|out| codec.response(out, &self.id, text)),
                }
                part(&slot);
            }
            inside => hand_over(inside, Ok(data.text.unwrap_or("null").to_string())),
        }
    }

    /// Answers with an error.
    pub(crate) fn fail(mut self, error: Error) {
        self.give_error(error);
    }

    fn give_error(&mut self, error: Error) {
        match self.take_reply(Some(error.code)) {
            Reply::Connection(slot) => {
                send_text(&slot, slot.connection().codec().failure(&self.id, &error));
            }
            inside => hand_over(inside, Err(error)),
        }
    }

    fn take_reply(&mut self, code: Option<i32>) -> Reply {
        let metrics = match &self.reply {
            Reply::Connection(slot) => &slot.connection().metrics,
            Reply::Inside(_, metrics) => metrics,
            Reply::Given => return Reply::Given,
        };
        let took = self.clock.instant().saturating_duration_since(self.started);
        metrics.answered(self.call, code, took);
        std::mem::replace(&mut self.reply, Reply::Given)
    }

    /// Whether nobody can receive the answer any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        match &self.reply {
            Reply::Connection(slot) => slot.connection().outbox.is_sealed(),
            Reply::Inside(sender, _) => sender.is_closed(),
            Reply::Given => true,
        }
    }
}

thread_local! {
    /// The memory of the last answer on this thread, for the next one.
    static SPARE: Cell<String> = const { Cell::new(String::new()) };
}

fn send_text(slot: &Slot, mut text: String) {
    let outbox = &slot.connection().outbox;
    if text.len() > TEXT_BYTES_MAX {
        outbox.send(Outgoing::Text(text));
    } else {
        outbox.write(|out| out.push_str(&text));
        text.clear();
        text.shrink_to(limits::frame::ANSWER_ROOM_MAX_BYTES);
        SPARE.set(text);
    }
    part(slot);
}

/// Closes a connection whose call was to end it, now that it is answered.
fn part(slot: &Slot) {
    let connection = slot.connection();
    if let Some(close) = connection.parting.get() {
        connection.close(*close);
    }
}

fn hand_over(reply: Reply, result: Result<String, Error>) {
    if let Reply::Inside(sender, _) = reply {
        // The caller may have stopped waiting; then nobody needs the answer.
        drop(sender.send(result));
    }
}

impl Drop for Ticket {
    /// A ticket that is dropped unanswered, by a panic for instance, is answered all the same.
    fn drop(&mut self) {
        if !matches!(self.reply, Reply::Given) && !self.is_abandoned() {
            self.give_error(Error::internal("the call was given up; see the log"));
        }
    }
}
