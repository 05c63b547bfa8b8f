//! Admission control of TCP connections: so many that speak HTTP in all, and so many of one address. One that has become
//! a WebSocket no longer counts here; the kernel counts those.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use auth::network;
use base::limits;
use base::sync::lock;

/// Connections that are open, by the address they come from.
#[derive(Clone, Default)]
pub(crate) struct Admission {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// The place of one connection, given back when dropped.
pub(crate) struct Admitted {
    admission: Admission,
    address: IpAddr,
}

impl Admission {
    /// A place for a connection, unless there are too many. Those of a proxy come from many people, so that only the
    /// total holds for them.
    pub(crate) fn admit(&self, peer: IpAddr, is_proxy: bool) -> Option<Admitted> {
        let address = network::customer(peer);
        let mut open = lock(&self.open);
        let total: usize = open.values().sum();
        let own = open.get(&address).copied().unwrap_or_default();
        let is_crowded = !is_proxy && own >= limits::socket::HTTP_CONNECTIONS_PER_ADDRESS_MAX;
        if is_crowded || total >= limits::socket::HTTP_CONNECTIONS_MAX {
            return None;
        }
        *open.entry(address).or_default() += 1;
        drop(open);
        Some(Admitted { admission: self.clone(), address })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = lock(&self.admission.open);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_takes_all_places_and_places_are_given_back() {
        let admission = Admission::default();
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut held: Vec<Admitted> = (0..10_000).map_while(|_| admission.admit(one, false)).collect();
        assert_eq!(held.len(), limits::socket::HTTP_CONNECTIONS_PER_ADDRESS_MAX);
        held.extend(admission.admit(other, false));
        assert_eq!(held.len(), limits::socket::HTTP_CONNECTIONS_PER_ADDRESS_MAX + 1, "another has room");
        held.extend((0..10_000).map_while(|_| admission.admit(one, true)));
        assert_eq!(held.len(), limits::socket::HTTP_CONNECTIONS_MAX, "a proxy is held by the total only");
        assert!(admission.admit(other, false).is_none());
        drop(held);
        assert!(lock(&admission.open).is_empty());
        assert!(admission.admit(one, false).is_some());
    }
}
