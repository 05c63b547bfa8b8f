//! Plug-in interface of the gateway: what a feature area gives to it, and what it gets of it.
//!
//! A [`Subsystem`] is a feature area: its handlers, HTTP routes, lifecycle, alarms, metrics and settings behind one
//! trait. The [`Gateway`] handle is the only thing it gets of the gateway: store, clock, randomness, files, calls on
//! somebody's behalf, signals. Subsystems do not see each other: they make calls, as a client would.
//! The kernel implements what is behind the handle ([`Core`]); so do tests of areas.

mod call;
mod caller;
mod capabilities;
mod handle;
mod metrics;
mod outgoing_signal;
mod routed;
mod subsystem;
mod visitor;

pub use call::{Call, Cx};
pub use caller::{Caller, Origin, Peer, Permit};
pub use capabilities::Capabilities;
pub use handle::{Around, Core, Gateway, Later, Recalled};
pub use metrics::Gauges;
pub use outgoing_signal::{OutgoingSignal, RunEvent, SignalBody};
pub use routed::{Continued, Located, Reply, Rewrite, RoutedCall, Watch};
pub use subsystem::{Gone, Subsystem};
pub use visitor::Visitor;
