//! Who makes a call, and where the answer goes.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;

use bytes::Bytes;
use protocol::error::Error;
use protocol::frame;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{Gid, Pid, Uid};
use tokio::sync::oneshot;

use crate::connections::Connection;
use crate::grants::Capabilities;
use crate::metrics::Metrics;
use crate::outbox::Outgoing;

/// Who makes a call.
#[derive(Clone)]
pub struct Caller {
    /// The account.
    pub identity: Arc<ProcessIdentity>,
    /// What kind of connection it came over; processes call as users.
    pub role: Role,
    /// What it may do.
    pub capabilities: Arc<Capabilities>,
    /// What it came over.
    pub origin: Origin,
}

impl Caller {
    /// Whose call it is.
    pub fn uid(&self) -> Uid {
        self.identity.uid
    }

    /// True for root.
    pub fn is_root(&self) -> bool {
        self.uid().is_root()
    }

    /// Whether it is in a group.
    pub fn is_in(&self, gid: Gid) -> bool {
        self.identity.gids.contains(&gid)
    }
}

/// What a call came over.
#[derive(Clone)]
pub enum Origin {
    /// A socket.
    Connection(Arc<Connection>),
    /// A process; its calls to devices outlive the gateway.
    Process(Pid),
}

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

    fn len(&self) -> usize {
        self.text.map_or(0, str::len)
    }
}

/// From this size on passing data on in pieces is cheaper than copying it.
const RELAY_BYTES_MIN: usize = 32 * 1024;

/// Where an answer goes. Whoever holds the ticket owes exactly one answer.
pub struct Ticket {
    /// The caller's id for the request.
    pub id: String,
    /// The call's name, for the books.
    pub call: &'static str,
    started: Instant,
    metrics: Arc<Metrics>,
    reply: Reply,
}

enum Reply {
    Connection(Arc<Connection>),
    Inside(Mutex<Option<oneshot::Sender<Result<String, Error>>>>),
}

impl Ticket {
    /// For a request from a socket.
    pub(crate) fn for_connection(
        metrics: &Arc<Metrics>,
        connection: &Arc<Connection>,
        id: &str,
        call: &'static str,
    ) -> Ticket {
        connection.begin_request();
        Ticket {
            id: id.to_string(),
            call,
            started: Instant::now(),
            metrics: metrics.clone(),
            reply: Reply::Connection(connection.clone()),
        }
    }

    /// For a request from within the program; the answer's raw data arrives at the receiver.
    pub(crate) fn inside(
        metrics: &Arc<Metrics>,
        id: &str,
        call: &'static str,
    ) -> (Ticket, oneshot::Receiver<Result<String, Error>>) {
        let (sender, receiver) = oneshot::channel();
        let ticket = Ticket {
            id: id.to_string(),
            call,
            started: Instant::now(),
            metrics: metrics.clone(),
            reply: Reply::Inside(Mutex::new(Some(sender))),
        };
        (ticket, receiver)
    }

    /// The start of the answer's text; handlers append their data.
    pub(crate) fn head(&self) -> String {
        match self.reply {
            Reply::Connection(_) => frame::response_head(&self.id, 320),
            Reply::Inside(_) => String::new(),
        }
    }

    /// Answers with a text that began with `head`, or with an error.
    pub(crate) fn answer(self, result: Result<String, Error>) {
        match result {
            Ok(mut text) => {
                self.metrics.answered(self.call, None, self.started.elapsed());
                match &self.reply {
                    Reply::Connection(connection) => {
                        text.push('}');
                        connection.send(text);
                    }
                    Reply::Inside(_) => self.hand_over(Ok(text)),
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Answers with raw data from a device.
    pub(crate) fn relay(self, data: Relayed<'_>) {
        self.metrics.answered(self.call, None, self.started.elapsed());
        match &self.reply {
            Reply::Connection(connection) => match data.whole.filter(|_| data.len() >= RELAY_BYTES_MIN) {
                Some(whole) => {
                    let value = whole.slice_ref(data.text.unwrap_or_default().as_bytes());
                    connection.outbox.send(Outgoing::Relay(frame::response_head(&self.id, 0), value));
                }
                None => connection.send(frame::response(&self.id, data.text)),
            },
            Reply::Inside(_) => self.hand_over(Ok(data.text.unwrap_or("null").to_string())),
        }
    }

    /// Answers with an error.
    pub(crate) fn fail(self, error: Error) {
        self.metrics.answered(self.call, Some(error.code), self.started.elapsed());
        match &self.reply {
            Reply::Connection(connection) => connection.send(frame::failure(&self.id, &error)),
            Reply::Inside(_) => self.hand_over(Err(error)),
        }
    }

    fn hand_over(&self, result: Result<String, Error>) {
        let Reply::Inside(slot) = &self.reply else { return };
        let sender = slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        // The caller may have stopped waiting; then nobody needs the answer.
        if let Some(Err(unwanted)) = sender.map(|sender| sender.send(result)) {
            drop(unwanted);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Reply::Connection(connection) = &self.reply {
            connection.end_request();
        }
    }
}
