//! The device driver: offers this machine's files and shell to a gateway.
//!
//! [`run`] connects and stays connected. [`machine`] holds the router of all handlers: `implements` is its list
//! of names. [`files`] is the only door to the disk, `shell` keeps the commands, `outbox` the answers that may not have
//! arrived, `ledger` those that a gateway may ask for again, `overwritten` what agents' changes can be undone with.
//! [`service`] installs the driver as a service of the user. Nothing here prints.

mod agents;
mod confined;
mod driver;
pub mod files;
mod fs;
mod ledger;
pub mod machine;
mod online;
mod options;
mod outbox;
mod overwritten;
pub mod service;
mod shell;
pub mod unreadable;

pub use agents::{Agents, Enforced};
pub use driver::{Report, RunError, run};
pub use options::{Options, implements};
pub use overwritten::Overwritten;
