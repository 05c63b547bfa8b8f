//! Admission control of sockets that have not logged in: so many in all, so many of one address, and the oldest of
//! whoever has most makes room. What one of them may hold is bounded in `connections`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::network;
use base::limits;

use crate::connections::Connection;

/// Sockets without a login, the oldest first.
#[derive(Default)]
pub(crate) struct Pending {
    all: BTreeMap<u64, Arc<Connection>>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
}

impl Pending {
    /// Takes a socket in; another may have to go for it.
    pub(crate) fn insert(&mut self, connection: &Arc<Connection>) -> Option<Arc<Connection>> {
        let address = network::customer(connection.peer);
        self.all.insert(connection.number, connection.clone());
        let own = self.by_address.entry(address).or_default();
        own.insert(connection.number);
        let address = if own.len() > limits::socket::PENDING_SOCKETS_PER_ADDRESS_MAX {
            address
        } else if self.all.len() > limits::socket::PENDING_SOCKETS_MAX {
            // Whoever opens many pushes out its own and not those of others.
            *self.by_address.iter().max_by_key(|(_, own)| own.len())?.0
        } else {
            return None;
        };
        let last = self.oldest_of(address)?;
        self.remove(last)
    }

    /// The oldest socket of an address; one that is logging in only if all are.
    fn oldest_of(&self, address: IpAddr) -> Option<u64> {
        let own = self.by_address.get(&address)?;
        let is_idle = |number: &&u64| self.all.get(number).is_some_and(|one| !one.is_logging_in());
        own.iter().find(is_idle).or_else(|| own.first()).copied()
    }

    /// Forgets a socket: it has logged in, or is gone.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Arc<Connection>> {
        let connection = self.all.remove(&number)?;
        let address = network::customer(connection.peer);
        if let Some(own) = self.by_address.get_mut(&address) {
            own.remove(&number);
            if own.is_empty() {
                self.by_address.remove(&address);
            }
        }
        Some(connection)
    }

    /// All of them, the oldest first.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.all.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How long until the oldest has had its time; `None` when there is none.
    pub(crate) fn next_overdue_in(&self, now: Instant) -> Option<Duration> {
        let (_, oldest) = self.all.first_key_value()?;
        let open_for = now.saturating_duration_since(oldest.opened);
        Some(limits::socket::PENDING_SOCKET_TIMEOUT.saturating_sub(open_for) + Duration::from_millis(1))
    }

    /// Those that have had their time.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<Arc<Connection>> {
        let late = |open: &&Arc<Connection>| {
            now.saturating_duration_since(open.opened) > limits::socket::PENDING_SOCKET_TIMEOUT
        };
        self.all.values().take_while(late).cloned().collect()
    }
}
