//! Command session: a running command between its writer and its callers, with its output as it comes, its stdin and
//! its end. Who runs the command, the operating system or an interpreter, is not known here.

mod ask;
mod buffer;
mod command;
mod report;

pub use ask::signal_number;
pub use buffer::{Buffer, Taken};
pub use command::{About, End, Session, StdinRefused, Stream, Tell};
