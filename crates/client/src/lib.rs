//! A WebSocket client of the gateway: open, log in, call, listen. The command line and the device driver
//! both stand on it.

use std::time::Duration;

use bytes::Bytes;
use protocol::spec::Syscall;
use protocol::sys::{Connect, Connected};
use tokio::sync::mpsc;

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket could not be opened.
    #[error("cannot reach {url}: {why}")]
    Unreachable {
        /// What was tried.
        url: String,
        /// Why it failed.
        why: String,
    },
    /// The connection ended before the answer came.
    #[error("the connection to the gateway was lost: {0}")]
    Closed(String),
    /// No answer in time.
    #[error("no answer to {call} within {seconds} seconds")]
    Timeout {
        /// The call.
        call: String,
        /// The limit.
        seconds: u64,
    },
    /// The gateway refused.
    #[error("{0}")]
    Gateway(protocol::error::Error),
    /// The answer does not look as it should.
    #[error("the answer to {call} could not be read: {why}")]
    Decode {
        /// The call.
        call: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What arrives without being an answer.
#[derive(Debug)]
pub enum Event {
    /// The gateway asks something of this driver.
    Request {
        /// Comes back in the answer.
        id: String,
        /// The syscall.
        call: String,
        /// Raw JSON object.
        args: String,
    },
    /// A signal.
    Signal {
        /// Its name.
        name: String,
        /// Raw JSON.
        payload: String,
    },
    /// A binary message of no transfer that was registered here.
    Binary(Bytes),
    /// A pong, with the payload of the ping it answers.
    Pong(Bytes),
    /// The connection ended; nothing comes after this.
    Closed(String),
}

/// A connection. Cheap to clone; the socket closes when the last clone is dropped or `close` is called.
#[derive(Clone)]
pub struct Connection {}

/// Everything that arrives unasked, in order. A reader that does not keep up slows the socket.
pub struct Events {
    /// The queue.
    pub queue: mpsc::Receiver<Event>,
}

impl Connection {
    /// Opens a socket; nobody is logged in yet.
    pub async fn open(_url: &str) -> Result<(Connection, Events), Error> {
        unimplemented!()
    }

    /// Sends `sys.connect`.
    pub async fn connect(&self, _args: &Connect) -> Result<Connected, Error> {
        unimplemented!()
    }

    /// A typed call, on the gateway itself.
    pub async fn call<S: Syscall>(&self, _args: &S) -> Result<S::Result, Error> {
        unimplemented!()
    }

    /// A typed call on a target (`None` and `gsv` are the gateway), with a limit of its own.
    pub async fn call_on<S: Syscall>(
        &self,
        _target: Option<&str>,
        _args: &S,
        _timeout: Duration,
    ) -> Result<S::Result, Error> {
        unimplemented!()
    }

    /// Any call, raw JSON object in, raw JSON out (`null` when the answer has no data).
    pub async fn call_raw(&self, _call: &str, _args: &str, _timeout: Duration) -> Result<String, Error> {
        unimplemented!()
    }

    /// Sends one text message, waiting for room.
    pub async fn send_text(&self, _text: String) -> Result<(), Error> {
        unimplemented!()
    }

    /// Sends one binary message, waiting for room.
    pub async fn send_binary(&self, _message: Bytes) -> Result<(), Error> {
        unimplemented!()
    }

    /// Sends a ping, waiting for room.
    pub async fn ping(&self, _payload: Bytes) -> Result<(), Error> {
        unimplemented!()
    }

    /// From now on binary messages of this transfer arrive here (payload without the id) and not as events.
    /// Messages that came before the registration are kept for it, within a bound.
    pub fn transfer(&self, _id: u32) -> mpsc::Receiver<Bytes> {
        unimplemented!()
    }

    /// Forgets a transfer.
    pub fn transfer_done(&self, _id: u32) {
        unimplemented!()
    }

    /// Closes the socket with a close frame and waits a little for the other side.
    pub async fn close(&self) {
        unimplemented!()
    }
}
