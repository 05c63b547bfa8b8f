//! The child's side: this program run once more, which gives everything up and then serves blocks, one at a time, on its
//! only thread and without an async runtime.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, FromRawFd};
use std::time::Duration;

use base::limits::guest::{ADDRESS_SPACE_BYTES, CPU_SECONDS};
use rustix::event::{PollFd, PollFlags, poll};
use sandbox::Seclusion;
use serde_json::value::RawValue;

use crate::frame;
use crate::message::{FromGuest, GuestKind, ToGuest};

/// The word that makes this program a guest.
pub(crate) const WORD: &str = "guest";

/// A kind of guest: its name, what it does while it still has rights (to load what it needs), and how it serves.
pub struct Kind {
    /// As the gateway asks for it.
    pub name: &'static str,
    /// Serves blocks until the gateway goes. It calls [`Channel::seclude`] before it looks at any.
    pub serve: fn(Channel),
}

/// Does a guest's work and does not return, if this program was started as one. To be called first thing in `main`, while
/// there is one thread.
pub fn run_if_guest(kinds: &[Kind]) {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(WORD) {
        return;
    }
    let kind = arguments.next().and_then(|name| kinds.iter().find(|kind| kind.name == name));
    let parent = arguments.next().and_then(|number| number.parse().ok());
    if let (Some(kind), Some(parent)) = (kind, parent) {
        // SAFETY: standard input is the socket that the gateway made; nothing else in this process uses it.
        let socket = unsafe { File::from_raw_fd(0) };
        (kind.serve)(Channel { socket, parent, secluded: false });
    }
    std::process::exit(EXIT);
}

/// How a guest ends whose gateway went, or that was started wrongly.
const EXIT: i32 = 70;

/// The socket to the gateway.
pub struct Channel {
    socket: File,
    parent: u32,
    secluded: bool,
}

/// What the gateway says.
pub enum Incoming {
    /// A new block.
    Block { id: String, body: String },
    /// The answer to a call.
    Answer(Answer),
}

/// The answer to a call.
pub struct Answer {
    pub block: String,
    /// The number of the call.
    pub call: u64,
    /// JSON, or why it failed.
    pub result: Result<String, String>,
}

impl Channel {
    /// Gives everything up but this channel, and tells the gateway so. Whatever fails, the child ends.
    pub fn seclude(&mut self) {
        let seclusion =
            Seclusion { memory_bytes: ADDRESS_SPACE_BYTES, cpu_seconds: CPU_SECONDS, parent: self.parent };
        if sandbox::seclude(&seclusion).is_err() {
            std::process::exit(EXIT);
        }
        self.secluded = true;
        let ready =
            FromGuest { kind: GuestKind::Ready, block: "".into(), call: 0, name: "".into(), body: None };
        self.say(&ready);
    }

    /// Waits for the gateway to say something, so long at most; for ever without a limit. `None` when it did not.
    pub fn receive(&mut self, wait: Option<Duration>) -> Option<Incoming> {
        if !self.secluded {
            std::process::exit(EXIT);
        }
        if let Some(wait) = wait {
            let timeout = rustix::event::Timespec {
                tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: wait.subsec_nanos().into(),
            };
            let mut sockets = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
            match poll(&mut sockets, Some(&timeout)) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
        // The gateway is gone, or is not one: nothing is left to do.
        let Ok(text) = frame::read(&mut self.socket) else { std::process::exit(EXIT) };
        let Ok(told) = serde_json::from_slice::<ToGuest<'_>>(&text) else { std::process::exit(EXIT) };
        let body = told.body.map(|body| body.get().to_string());
        Some(match (told.call, told.error) {
            (None, _) => Incoming::Block { id: told.block.into_owned(), body: body.unwrap_or_default() },
            (Some(call), error) => Incoming::Answer(Answer {
                block: told.block.into_owned(),
                call,
                result: match error {
                    Some(error) => Err(error.into_owned()),
                    None => Ok(body.unwrap_or_else(|| "null".to_string())),
                },
            }),
        })
    }

    /// Asks for a call. The arguments are JSON. False when they are more than a frame takes.
    pub fn call(&mut self, block: &str, call: u64, name: &str, args: &str) -> bool {
        self.send(GuestKind::Call, block, call, name, args)
    }

    /// Logs a line.
    pub fn log(&mut self, block: &str, line: &str) -> bool {
        let Ok(line) = serde_json::to_string(line) else { return false };
        self.send(GuestKind::Log, block, 0, "", &line)
    }

    /// The block ended; what it came to is JSON. False when that is more than a frame takes.
    pub fn done(&mut self, block: &str, body: &str) -> bool {
        self.send(GuestKind::Done, block, 0, "", body)
    }

    fn send(&mut self, kind: GuestKind, block: &str, call: u64, name: &str, body: &str) -> bool {
        let Ok(body) = serde_json::from_str::<&RawValue>(body) else { return false };
        self.say(&FromGuest { kind, block: block.into(), call, name: name.into(), body: Some(body) })
    }

    fn say(&mut self, message: &FromGuest<'_>) -> bool {
        let Ok(text) = serde_json::to_vec(message) else { return false };
        match frame::write(&mut self.socket, &text) {
            Ok(()) => self.socket.flush().is_ok(),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => false,
            Err(_) => std::process::exit(EXIT),
        }
    }
}
