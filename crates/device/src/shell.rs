//! `shell.exec`: commands of the local shell that outlive the call that started them.
//!
//! A command runs in a session of its own, so that it has no terminal and can be signalled as a group. When
//! the driver stops, running commands are ended. When the driver itself is killed, Linux kills the command's
//! shell with it; what the shell has started is not killed, nor is the shell elsewhere: they lose their pipes
//! and end by that, unless they need neither input nor output.

mod child;
mod exec;
mod rehearse;
mod session;
mod table;

pub(crate) use child::shell as program;
pub use exec::exec;
pub(crate) use table::Shells;
