//! Admission control of sockets that have not logged in: so many in all, so many of one address, and the oldest of
//! whoever has most makes room. What one of them may hold is bounded in `connections`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::network;
use base::limits;

/// Sockets without a login, the oldest first, by their numbers.
pub(crate) struct Pending<S> {
    all: BTreeMap<u64, Waiting<S>>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
}

/// One of them.
pub(crate) struct Waiting<S> {
    pub(crate) socket: Arc<S>,
    pub(crate) peer: IpAddr,
    pub(crate) since: Instant,
}

impl<S> Default for Pending<S> {
    fn default() -> Pending<S> {
        Pending { all: BTreeMap::new(), by_address: HashMap::new() }
    }
}

impl<S> Pending<S> {
    /// Takes a socket in; another may have to go for it, at best one that is not busy logging in.
    pub(crate) fn insert(
        &mut self,
        number: u64,
        waiting: Waiting<S>,
        is_busy: impl Fn(&S) -> bool,
    ) -> Option<Arc<S>> {
        let address = network::customer(waiting.peer);
        self.all.insert(number, waiting);
        let own = self.by_address.entry(address).or_default();
        own.insert(number);
        let address = if own.len() > limits::socket::PENDING_SOCKETS_PER_ADDRESS_MAX {
            address
        } else if self.all.len() > limits::socket::PENDING_SOCKETS_MAX {
            // Whoever opens many pushes out its own and not those of others.
            *self.by_address.iter().max_by_key(|(_, own)| own.len())?.0
        } else {
            return None;
        };
        let own = self.by_address.get(&address)?;
        let is_idle = |number: &&u64| self.all.get(number).is_some_and(|one| !is_busy(&one.socket));
        let oldest = own.iter().find(is_idle).or_else(|| own.first()).copied()?;
        self.remove(oldest)
    }

    /// Forgets a socket: it has logged in, or is gone.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Arc<S>> {
        let waiting = self.all.remove(&number)?;
        let address = network::customer(waiting.peer);
        if let Some(own) = self.by_address.get_mut(&address) {
            own.remove(&number);
            if own.is_empty() {
                self.by_address.remove(&address);
            }
        }
        Some(waiting.socket)
    }

    /// All of them, the oldest first.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<S>> {
        self.all.values().map(|waiting| &waiting.socket)
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
        let open_for = now.saturating_duration_since(oldest.since);
        Some(limits::socket::PENDING_SOCKET_TIMEOUT.saturating_sub(open_for) + Duration::from_millis(1))
    }

    /// Those that have had their time.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<Arc<S>> {
        let late = |waiting: &&Waiting<S>| {
            now.saturating_duration_since(waiting.since) > limits::socket::PENDING_SOCKET_TIMEOUT
        };
        self.all.values().take_while(late).map(|waiting| waiting.socket.clone()).collect()
    }
}
