//! Resumable subscription: signals in order, over as many connections as it takes.
//!
//! ```no_run
//! # use client::{Connection, Signals};
//! # use protocol::sys::{Connect, ResumeStatus, Streams};
//! # async fn follow(url: &str, handshake: Connect) -> Result<(), client::Error> {
//! let mut signals = Signals::new();
//! loop {
//!     let (connection, _events) = Connection::open(url).await?;
//!     // Before the login, so that nothing is missed.
//!     signals.attach(&connection);
//!     let wanted = Connect { resume: Some(signals.resume()), streams: Some(Streams::Compact), ..handshake.clone() };
//!     let connected = connection.connect(&wanted).await?;
//!     if signals.resumed(&connected) == ResumeStatus::Refresh {
//!         // Something was missed (or this is the first time): read what matters anew.
//!     }
//!     while let Some(signal) = signals.next().await {
//!         println!("{} {:?} {}", signal.name, signal.seq, signal.payload);
//!     }
//!     // The connection was lost; the next one goes on where this one ended.
//! }
//! # }
//! ```

use std::sync::Mutex;

use base::limits;
use base::sync::lock;
use protocol::sys::{Connected, Resume, ResumeStatus};
use tokio::sync::mpsc;

use crate::Connection;

/// A signal with its place in the user's sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its name, such as `proc.run.stream`.
    pub name: String,
    /// Raw JSON.
    pub payload: String,
    /// Its place among the signals of this user; older gateways do not count.
    pub seq: Option<u64>,
}

/// The signals of one user in order. Read it while waiting for answers too: once many wait, the socket is not read
/// further, and the gateway merges what comes after.
#[derive(Default)]
pub struct Signals {
    queue: Option<mpsc::Receiver<Signal>>,
    last_seq: Option<u64>,
}

impl Signals {
    /// Attached to nothing yet.
    pub fn new() -> Signals {
        Signals::default()
    }

    /// From now on gives the signals of this connection, which then are no longer among its [`crate::Events`]. Call
    /// it before [`Connection::connect`]. What waited on an earlier connection is dropped: it comes again.
    pub fn attach(&mut self, connection: &Connection) {
        self.queue = Some(connection.subscribe());
    }

    /// For `sys.connect`: asks for what came after the last signal that was read here. The first time nothing can
    /// follow, but the answer says where the count stands, so that no later gap goes unnoticed.
    pub fn resume(&self) -> Resume {
        Resume { seq: self.last_seq.unwrap_or(0) }
    }

    /// Takes note of the answer of `sys.connect`. With `Replayed` the missed signals come first; with `Refresh`
    /// only new ones come, and whoever was shown something before reads it anew.
    pub fn resumed(&mut self, connected: &Connected) -> ResumeStatus {
        match &connected.resume {
            Some(resumed) if resumed.status == ResumeStatus::Replayed => ResumeStatus::Replayed,
            Some(resumed) => {
                self.last_seq = Some(resumed.to);
                ResumeStatus::Refresh
            }
            None => ResumeStatus::Refresh,
        }
    }

    /// The next signal; `None` when the connection has ended and everything was read. Safe to cancel.
    pub async fn next(&mut self) -> Option<Signal> {
        let signal = self.queue.as_mut()?.recv().await?;
        self.last_seq = signal.seq.or(self.last_seq);
        Some(signal)
    }

    /// The `seq` of the last signal that was read here, over all connections.
    pub fn last_seq(&self) -> Option<u64> {
        self.last_seq
    }
}

impl Connection {
    /// The signals of this connection alone; see [`Signals`] for what outlives it.
    pub fn signals(&self) -> Signals {
        let mut signals = Signals::new();
        signals.attach(self);
        signals
    }
}

/// Where the signals of one connection go.
#[derive(Default)]
pub(crate) struct Subscription {
    sender: Mutex<Slot>,
}

#[derive(Default)]
enum Slot {
    /// Among the events.
    #[default]
    None,
    To(mpsc::Sender<Signal>),
    /// The connection has ended.
    Over,
}

impl Subscription {
    /// Starts to collect; a second subscriber takes the place of the first.
    pub(crate) fn subscribe(&self) -> mpsc::Receiver<Signal> {
        let (sender, receiver) = mpsc::channel(limits::client::SIGNALS_MAX);
        let mut slot = lock(&self.sender);
        if !matches!(*slot, Slot::Over) {
            *slot = Slot::To(sender);
        }
        receiver
    }

    /// Whom to give a signal to, if not the events.
    pub(crate) fn sender(&self) -> Option<mpsc::Sender<Signal>> {
        match &*lock(&self.sender) {
            Slot::To(sender) => Some(sender.clone()),
            Slot::None | Slot::Over => None,
        }
    }

    /// The subscriber sees the end of the queue.
    pub(crate) fn close(&self) {
        *lock(&self.sender) = Slot::Over;
    }
}
