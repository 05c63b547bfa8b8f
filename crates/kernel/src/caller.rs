//! Who makes a call, and where the answer goes.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;

use protocol::error::Error;
use protocol::frame;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{Gid, Pid, Uid};
use tokio::sync::oneshot;

use crate::connections::Connection;
use crate::grants::Capabilities;
use crate::metrics::Metrics;

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
    pub(crate) fn relay(self, data: Option<&str>) {
        self.metrics.answered(self.call, None, self.started.elapsed());
        match &self.reply {
            Reply::Connection(connection) => connection.send(frame::response(&self.id, data)),
            Reply::Inside(_) => self.hand_over(Ok(data.unwrap_or("null").to_string())),
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
