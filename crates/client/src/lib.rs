//! WebSocket client library of the gateway: connect, log in, call, receive signals. The command line and the device
//! driver are built on it.
//!
//! [`Connection`] is the handle, [`Events`] what arrives unasked, [`Signals`] the signals among it, without gaps
//! over reconnects, [`Link`] one end of a file transfer. One task per connection reads and writes at the same time,
//! so a large outgoing message never keeps an answer from arriving.

mod address;
mod connection;
mod link;
mod opening;
mod pending;
mod session;
mod signals;
mod socket;
mod transfers;

pub use address::is_exposed;
pub use connection::{Connection, Events};
pub use link::{Line, Link};
pub use session::{Answer, Session};
pub use signals::{Signal, Signals};

use bytes::Bytes;

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
    /// TLS did not come about: the gateway cannot prove that it is the one.
    #[error("cannot trust {url}: {why}")]
    Untrusted {
        /// What was tried.
        url: String,
        /// What is wrong.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// The connection ended before the answer came.
    #[error("the connection to the gateway was lost: {0}")]
    Closed(String),
    /// No answer in time.
    #[error("no answer to {call} within {seconds} seconds")]
    Timeout {
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
        /// Whether the result is to be remembered.
        durable: bool,
        /// Whether it may have been asked before.
        again: bool,
    },
    /// A signal, unless [`Connection::signals`] was asked for them.
    Signal(Signal),
    /// A binary message of no transfer that was registered here.
    Binary(Bytes),
    /// A pong, with the payload of the ping it answers.
    Pong(Bytes),
    /// The connection ended; nothing comes after this.
    Closed(Ended),
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why, for people.
    pub why: String,
    /// The close code the gateway gave, if it closed the socket and gave one.
    pub code: Option<u16>,
}

impl Ended {
    /// Not closed by the gateway, or without a code.
    pub fn because(why: impl Into<String>) -> Ended {
        Ended { why: why.into(), code: None }
    }
}
