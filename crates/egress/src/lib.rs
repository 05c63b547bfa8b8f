//! Allow-list proxy (egress filter) for confined commands: lets named hosts pass and tells which others were wanted.
//!
//! A confined command lives in a network namespace without a way out. Listening sockets are opened inside it and handed
//! over; [`Proxy`] accepts on them in the driver's process. Programs reach it by proxy variables
//! ([`proxy_environment`]), and those that ignore them by names: the DNS responder gives every allowed name an address
//! of its own in 127.64.0.0/16, and what is connected to there goes on to that name.
//!
//! Names are checked against an [`Allow`] list, then resolved once, outside, and every address is checked by the guard
//! of crate `outgoing`. TLS is never opened: whoever answers an allowed name is trusted with what is sent there. How
//! the sockets come out of the namespace is not known here.

mod dns;
mod environment;
mod gate;
mod http;
mod listener;
mod log;
mod lookup;
mod names;
mod proxy;
mod relay;
mod socks;
mod transparent;

pub use environment::{Ports, UNSET_VARIABLES, proxy_environment};
pub use log::{Outcome, Refusal, Tried};
pub use lookup::resolver;
pub use protocol::hosts::Allow;
pub use proxy::{Listeners, Proxy, Settings};
