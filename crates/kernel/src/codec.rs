//! Codec: writes the frames of one generation of the protocol.
//!
//! The kernel decides what is said, the codec of the connection how it stands on the wire. Answers, signals and
//! requests reach it as values or raw JSON with a name; nothing else in this crate writes a frame.

use std::sync::OnceLock;

use bytes::Bytes;
use protocol::error::Error;
use protocol::frame;
use protocol::signal::alias;

/// How frames are written to a connection.
///
/// Data is appended by whoever has it, so that it need not be copied: a codec writes what comes before it. In every
/// generation an answer ends with one `}` behind its data, which the sender appends, and with large data may send on
/// its own; only signals and requests have more behind their data.
pub trait Codec: Send + Sync {
    /// The generation it writes. Connections of one generation share the texts of signals.
    fn generation(&self) -> &'static str;

    /// The start of a successful answer, appended to a text with room for so many bytes behind it; the data's JSON
    /// and `}` follow.
    fn response_head(&self, out: &mut String, id: &str, room: usize);

    /// A whole successful answer around raw data, or without any, appended to a text.
    fn response(&self, out: &mut String, id: &str, data: Option<&str>);

    /// A failed answer.
    fn failure(&self, id: &str, error: &Error) -> String;

    /// The start of a request, with room for so many bytes behind it; the arguments' JSON and
    /// [`Codec::request_tail`] follow.
    fn request_head(&self, id: &str, call: &str, room: usize) -> String;

    /// The end of a request.
    fn request_tail(&self, out: &mut String, memory: Memory);

    /// The start of a signal, with room for so many bytes behind it; the payload's JSON and [`Codec::signal_tail`]
    /// follow.
    fn signal_head(&self, name: &str, room: usize) -> String;

    /// The end of a signal, with its place in the receiver's sequence if it has one.
    fn signal_tail(&self, out: &mut String, seq: Option<u64>);

    /// Frames that say the same as a signal and follow it. They have no place in the sequence, and are not replayed.
    fn also(&self, _name: &str, _payload: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The frames of one signal, each written once, by the first connection of its generation that sends it.
#[derive(Debug, Default)]
pub(crate) struct Frames([OnceLock<(&'static str, Bytes)>; GENERATIONS]);

/// So many generations share the texts of their signals; one more would write its own for each connection.
const GENERATIONS: usize = 2;

impl Frames {
    /// The frame for a codec, which `write` writes if nobody has.
    pub(crate) fn of(&self, codec: &dyn Codec, write: impl Fn() -> String) -> Bytes {
        let generation = codec.generation();
        for frame in &self.0 {
            let (written_for, text) = frame.get_or_init(|| (generation, write().into()));
            if *written_for == generation {
                return text.clone();
            }
        }
        write().into()
    }
}

/// Whether a driver is to remember the result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// No.
    None,
    /// Until it is asked for.
    Durable,
    /// The request may have been sent before: the driver is asked what became of it.
    Again,
}

/// The generation of today: `call`, `args`, `data`, `sig`.
pub struct Current;

impl Codec for Current {
    fn generation(&self) -> &'static str {
        "current"
    }

    fn response_head(&self, out: &mut String, id: &str, room: usize) {
        frame::response_head_into(out, id, room);
    }

    fn response(&self, out: &mut String, id: &str, data: Option<&str>) {
        frame::response_into(out, id, data);
    }

    fn failure(&self, id: &str, error: &Error) -> String {
        frame::failure(id, error)
    }

    fn request_head(&self, id: &str, call: &str, room: usize) -> String {
        frame::request_head(id, call, room)
    }

    fn request_tail(&self, out: &mut String, memory: Memory) {
        match memory {
            Memory::None => out.push('}'),
            Memory::Durable => frame::durable_tail(out, false),
            Memory::Again => frame::durable_tail(out, true),
        }
    }

    fn signal_head(&self, name: &str, room: usize) -> String {
        frame::signal_head(name, room)
    }

    fn signal_tail(&self, out: &mut String, seq: Option<u64>) {
        match seq {
            Some(seq) => frame::signal_tail(out, seq),
            None => out.push('}'),
        }
    }
}

/// The same frames, and signals under their older names beside them: for shipped clients of 0.1.x, which know no
/// others.
pub struct Aliased;

impl Codec for Aliased {
    fn generation(&self) -> &'static str {
        Current.generation()
    }

    fn response_head(&self, out: &mut String, id: &str, room: usize) {
        Current.response_head(out, id, room);
    }

    fn response(&self, out: &mut String, id: &str, data: Option<&str>) {
        Current.response(out, id, data);
    }

    fn failure(&self, id: &str, error: &Error) -> String {
        Current.failure(id, error)
    }

    fn request_head(&self, id: &str, call: &str, room: usize) -> String {
        Current.request_head(id, call, room)
    }

    fn request_tail(&self, out: &mut String, memory: Memory) {
        Current.request_tail(out, memory);
    }

    fn signal_head(&self, name: &str, room: usize) -> String {
        Current.signal_head(name, room)
    }

    fn signal_tail(&self, out: &mut String, seq: Option<u64>) {
        Current.signal_tail(out, seq);
    }

    fn also(&self, name: &str, payload: &str) -> Vec<String> {
        alias::told_as(name, payload).iter().map(|(name, payload)| frame::signal(name, payload)).collect()
    }
}
