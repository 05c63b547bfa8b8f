//! Policy enforcement point: every way in (HTTP, SOCKS, transparent, DNS) asks here, and nothing else opens connections.
//!
//! A host is checked by its name, then looked up once, and each of its addresses passes the SSRF guard of crate
//! `outgoing`, which connects to an address it has checked.

use std::sync::{Arc, RwLock};

use base::clock::Clock;
use base::sync;
use protocol::hosts::{Allow, NameError, canonical};
use tokio::net::TcpStream;

use crate::log::{Log, Outcome, Refusal, Tried, printable};
use crate::names::Names;
use crate::relay::Meter;

/// Called with each host that was tried, once for attempts that are alike.
pub(crate) type Report = Box<dyn Fn(&Tried) + Send + Sync>;

/// Decides, connects and remembers.
pub(crate) struct Gate {
    pub(crate) allow: RwLock<Arc<Allow>>,
    pub(crate) outgoing: outgoing::Settings,
    pub(crate) report: Report,
    pub(crate) clock: Clock,
    pub(crate) names: Names,
    pub(crate) log: Log,
    pub(crate) meter: Meter,
}

/// Somebody's wish to reach a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// As the program named it.
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// Whose it is.
    pub(crate) token: Option<&'a str>,
}

impl Gate {
    /// The list as it is now.
    pub(crate) fn allowed(&self) -> Arc<Allow> {
        sync::read(&self.allow).clone()
    }

    /// Opens a connection, if that is allowed; else says why there is none. Either way it is noted.
    pub(crate) async fn open(&self, wish: Wish<'_>) -> Result<TcpStream, Outcome> {
        match self.connect(wish).await {
            Ok(stream) => {
                self.note(wish.host, Some(wish.port), wish.token, Outcome::Reached);
                Ok(stream)
            }
            Err(outcome) => {
                self.note(wish.host, Some(wish.port), wish.token, outcome.clone());
                Err(outcome)
            }
        }
    }

    async fn connect(&self, wish: Wish<'_>) -> Result<TcpStream, Outcome> {
        let name = canonical(wish.host).map_err(|error| Outcome::Refused(refusal(error)))?;
        if !self.allowed().allows(&name, wish.port) {
            return Err(Outcome::Refused(Refusal::NotListed));
        }
        if self.meter.is_spent() {
            return Err(Outcome::Refused(Refusal::Spent));
        }
        match outgoing::open_tcp(&self.outgoing, &name, wish.port).await {
            Ok((stream, _)) => Ok(stream),
            Err(error @ outgoing::Error::Refused { .. }) => {
                Err(Outcome::Refused(Refusal::Guarded(error.to_string())))
            }
            Err(error) => Err(Outcome::Failed(error.to_string())),
        }
    }

    /// Whether a name may be told an address: it can be reached on some port. If not, that it was asked for is noted.
    pub(crate) fn admits(&self, name: &str) -> bool {
        let refused = match canonical(name) {
            Ok(name) if self.allowed().allows_name(&name) => return true,
            Ok(_) => Refusal::NotListed,
            Err(error) => refusal(error),
        };
        self.note(name, None, None, Outcome::Refused(refused));
        false
    }

    /// Notes an attempt.
    pub(crate) fn note(&self, host: &str, port: Option<u16>, token: Option<&str>, outcome: Outcome) {
        let host = canonical(host).unwrap_or_else(|_| printable(host));
        let token = token.map(str::to_string);
        let tried = Tried { host, port, outcome, at_ms: self.clock.now_ms(), token, times: 1 };
        if self.log.note(&tried) {
            (self.report)(&tried);
        }
    }
}

fn refusal(error: NameError) -> Refusal {
    match error {
        NameError::Address => Refusal::Address,
        NameError::NotAscii | NameError::Malformed => Refusal::NoName,
    }
}
