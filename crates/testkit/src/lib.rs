//! For tests: a whole gateway on a free port, and raw sockets that speak to it.

pub mod gateway;
pub mod peer;

pub use gateway::Gateway;
pub use peer::Peer;
