//! Handle of a running proxy, as its owner sees it: sockets in, hosts out, and what was tried. It stops when it is
//! dropped.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, RwLock};

use base::clock::Clock;
use base::limits::egress::CONNECTIONS_MAX;
use base::sync;
use outgoing::PrivateHosts;
use protocol::hosts::Allow;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::gate::Gate;
use crate::listener::accept;
use crate::log::{Log, Tried};
use crate::lookup::resolver;
use crate::names::Names;
use crate::relay::Meter;
use crate::{dns, http, socks, transparent};

/// Sockets that were opened inside a network namespace and listen there.
#[derive(Debug)]
pub struct Listeners {
    /// HTTP proxy, 127.0.0.1:3128.
    pub http: TcpListener,
    /// SOCKS 5 proxy, 127.0.0.1:1080.
    pub socks: TcpListener,
    /// DNS in packets, 127.0.0.1:53.
    pub dns_udp: UdpSocket,
    /// DNS over connections, 127.0.0.1:53.
    pub dns_tcp: TcpListener,
    /// Connections to names on port 80, 0.0.0.0:80.
    pub plain: TcpListener,
    /// Connections to names on port 443, 0.0.0.0:443.
    pub tls: TcpListener,
}

/// What a proxy works with.
pub struct Settings {
    /// The hosts that may be reached.
    pub allow: Allow,
    /// Called with what was tried, once for attempts that are alike and a limited number of times in all. It must not
    /// block.
    pub report: Box<dyn Fn(&Tried) + Send + Sync>,
    /// For the times of attempts and for giving up on silent connections.
    pub clock: Clock,
    /// How connections are opened: who looks names up, and which addresses may be reached.
    pub outgoing: outgoing::Settings,
}

impl Settings {
    /// The usual ones: the machine's clock and resolver, addresses of the public internet only, and no reports.
    pub fn new(allow: Allow) -> Settings {
        let outgoing =
            outgoing::Settings { resolver: resolver(), ..outgoing::Settings::new(PrivateHosts::Deny) };
        Settings { allow, report: Box::new(|_| {}), clock: Clock::system(), outgoing }
    }
}

/// A running proxy. Dropping it closes its sockets and every connection.
pub struct Proxy {
    gate: Arc<Gate>,
    /// Ends its tasks when it is dropped.
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Starts to accept. It must be called inside a tokio runtime, whose tasks it uses.
    pub fn start(listeners: Listeners, settings: Settings) -> io::Result<Proxy> {
        let Settings { allow, report, clock, outgoing } = settings;
        let gate = Arc::new(Gate {
            allow: RwLock::new(Arc::new(allow)),
            outgoing,
            report,
            clock,
            names: Names::default(),
            log: Log::default(),
            meter: Meter::default(),
        });
        let Listeners { http, socks, dns_udp, dns_tcp, plain, tls } = listeners;
        let [http, socks, dns_tcp] = [tcp(http)?, tcp(socks)?, tcp(dns_tcp)?];
        let transparent = [tcp(plain)?, tcp(tls)?];
        dns_udp.set_nonblocking(true)?;
        let dns_udp = tokio::net::UdpSocket::from_std(dns_udp)?;
        let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(http, free.clone(), gate.clone(), http::serve));
        tasks.spawn(accept(socks, free.clone(), gate.clone(), socks::serve));
        tasks.spawn(accept(dns_tcp, free.clone(), gate.clone(), dns::serve_stream));
        for listener in transparent {
            tasks.spawn(accept(listener, free.clone(), gate.clone(), transparent::serve));
        }
        tasks.spawn(dns::serve_packets(dns_udp, gate.clone()));
        Ok(Proxy { gate, _tasks: tasks })
    }

    /// What was tried so far, the newest last: a limited number of hosts that were allowed and of hosts that were not.
    pub fn log(&self) -> Vec<Tried> {
        self.gate.log.entries()
    }

    /// How many entries of the log had to make room for newer ones.
    pub fn forgotten(&self) -> u64 {
        self.gate.log.forgotten()
    }

    /// The hosts that may be reached now.
    pub fn allowed(&self) -> Arc<Allow> {
        self.gate.allowed()
    }

    /// Replaces the list, as when a person has allowed a host. Connections that are open stay open.
    pub fn set_allowed(&self, allow: Allow) {
        *sync::write(&self.gate.allow) = Arc::new(allow);
    }
}

fn tcp(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}
