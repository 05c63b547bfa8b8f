//! Settings of a client: timeouts, the pool, which addresses may be reached; and the peer of a connection.

use std::net::SocketAddr;
use std::time::Duration;

use base::limits;

use crate::resolver::Resolver;

/// What the connections of a client have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether addresses that are not of the public internet may be reached.
    pub hosts: PrivateHosts,
    /// How long looking up a name, opening a connection and TLS may take together.
    pub connect_timeout: Duration,
    /// Which addresses are used; any when `None`.
    pub family: Option<Family>,
    /// Unused connections kept per host; with 0 a connection serves one request.
    pub idle_connections_max: usize,
    /// Who looks names up.
    pub resolver: Resolver,
    /// Addresses that may be reached although they are not public: for tests, whose servers are all on this machine.
    pub exceptions: Vec<SocketAddr>,
}

impl Settings {
    /// The usual limits.
    pub fn new(hosts: PrivateHosts) -> Settings {
        Settings {
            hosts,
            connect_timeout: limits::outgoing::CONNECT_TIMEOUT,
            family: None,
            idle_connections_max: limits::outgoing::IDLE_CONNECTIONS_MAX,
            resolver: Resolver::system(),
            exceptions: Vec::new(),
        }
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address, which the guard has checked.
    pub address: SocketAddr,
    /// How long looking it up and connecting took, without TLS.
    pub connect_time: Duration,
}

/// Whether addresses that are not of the public internet may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateHosts {
    /// They may.
    #[default]
    Allow,
    /// They may not, whatever name leads to them.
    Deny,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}
