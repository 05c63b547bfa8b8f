//! Address table of the DNS responder: each allowed name that is asked for gets a loopback address of its own, which is
//! never given to another one. By the address it came in at, a connection is known by its name.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;

use base::limits::egress::ADDRESSES_MAX;
use base::sync::lock;

/// 127.64.0.0/16: all of 127.0.0.0/8 arrives at the loopback interface, and nobody else listens there.
const NETWORK: u32 = u32::from_be_bytes([127, 64, 0, 0]);

// The table does not outgrow its network.
const _: () = assert!(ADDRESSES_MAX < 1 << 16);

/// Names and their addresses.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    by_name: HashMap<String, u32>,
    /// The name of the first address, of the second, and so on.
    names: Vec<String>,
}

impl Names {
    /// The address of a name; `None` when all are given away.
    pub(crate) fn address(&self, name: &str) -> Option<Ipv4Addr> {
        let mut table = lock(&self.0);
        if let Some(number) = table.by_name.get(name) {
            return Some(Ipv4Addr::from_bits(NETWORK + number));
        }
        if table.names.len() >= ADDRESSES_MAX {
            return None;
        }
        table.names.push(name.to_string());
        // The first is 127.64.0.1.
        let number = table.names.len() as u32;
        table.by_name.insert(name.to_string(), number);
        Some(Ipv4Addr::from_bits(NETWORK + number))
    }

    /// The name that was given an address.
    pub(crate) fn name(&self, address: Ipv4Addr) -> Option<String> {
        let number = address.to_bits().checked_sub(NETWORK)?;
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        lock(&self.0).names.get(index).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_address_and_no_other_gets_it() {
        let names = Names::default();
        let first = names.address("a.example").unwrap();
        assert_eq!(first, Ipv4Addr::new(127, 64, 0, 1));
        assert_eq!(names.address("b.example"), Some(Ipv4Addr::new(127, 64, 0, 2)));
        assert_eq!(names.address("a.example"), Some(first));
        assert_eq!(names.name(first).as_deref(), Some("a.example"));
        for other in ["127.64.0.0", "127.64.0.3", "127.0.0.1", "0.0.0.0", "255.255.255.255"] {
            assert_eq!(names.name(other.parse().unwrap()), None, "{other}");
        }
    }

    #[test]
    fn when_all_are_given_away_nobody_gets_one() {
        let names = Names::default();
        for number in 0..ADDRESSES_MAX {
            assert!(names.address(&format!("x{number}.example")).is_some());
        }
        assert_eq!(names.address("late.example"), None);
        assert!(names.address("x0.example").is_some());
    }
}
