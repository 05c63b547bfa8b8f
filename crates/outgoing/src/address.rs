//! Table of special-purpose addresses (the IANA registries of RFC 6890): what an address is, unless it belongs to the
//! public internet. What is in no table and not global unicast is refused as well.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network and what it is for.
struct Range<Bits> {
    network: Bits,
    prefix: u32,
    purpose: &'static str,
}

const fn v4(network: [u8; 4], prefix: u32, purpose: &'static str) -> Range<u32> {
    Range { network: u32::from_be_bytes(network), prefix, purpose }
}

const fn v6(high: [u16; 4], low: u16, prefix: u32, purpose: &'static str) -> Range<u128> {
    let [a, b, c, d] = high;
    Range { network: Ipv6Addr::new(a, b, c, d, 0, 0, 0, low).to_bits(), prefix, purpose }
}

/// The first row that matches counts.
const V4: &[Range<u32>] = &[
    v4([0, 0, 0, 0], 8, "unspecified"),
    v4([10, 0, 0, 0], 8, "private"),
    v4([100, 64, 0, 0], 10, "carrier-grade NAT"),
    v4([127, 0, 0, 0], 8, "loopback"),
    v4([169, 254, 0, 0], 16, "link-local"),
    v4([172, 16, 0, 0], 12, "private"),
    v4([192, 0, 0, 0], 24, "reserved"),
    v4([192, 0, 2, 0], 24, "documentation"),
    v4([192, 88, 99, 0], 24, "6to4 relay"),
    v4([192, 168, 0, 0], 16, "private"),
    v4([198, 18, 0, 0], 15, "benchmarking"),
    v4([198, 51, 100, 0], 24, "documentation"),
    v4([203, 0, 113, 0], 24, "documentation"),
    v4([224, 0, 0, 0], 4, "multicast"),
    v4([255, 255, 255, 255], 32, "broadcast"),
    v4([240, 0, 0, 0], 4, "reserved"),
];

/// The first row that matches counts. Addresses with another one inside are judged by that one, see [`embedded`].
const V6: &[Range<u128>] = &[
    v6([0; 4], 0, 128, "unspecified"),
    v6([0; 4], 1, 128, "loopback"),
    v6([0xfc00, 0, 0, 0], 0, 7, "private"),
    v6([0xfe80, 0, 0, 0], 0, 10, "link-local"),
    v6([0xfec0, 0, 0, 0], 0, 10, "site-local"),
    v6([0xff00, 0, 0, 0], 0, 8, "multicast"),
    v6([0x2001, 0, 0, 0], 0, 32, "a Teredo tunnel"),
    v6([0x2001, 0, 0, 0], 0, 23, "reserved"),
    v6([0x2001, 0xdb8, 0, 0], 0, 32, "documentation"),
    v6([0x3fff, 0, 0, 0], 0, 20, "documentation"),
];

/// The only part of IPv6 that is routed on the public internet.
const GLOBAL_UNICAST: Range<u128> = v6([0x2000, 0, 0, 0], 0, 3, "");

/// What an address is for; `None` when it belongs to the public internet.
pub(crate) fn special_purpose(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => purpose_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => purpose_v4(inner),
            None => purpose_v6(address),
        },
    }
}

fn purpose_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let found = V4.iter().find(|range| (bits ^ range.network) >> (32 - range.prefix) == 0);
    found.map(|range| range.purpose)
}

fn purpose_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let is_in = |range: &&Range<u128>| (bits ^ range.network) >> (128 - range.prefix) == 0;
    match V6.iter().find(is_in) {
        Some(range) => Some(range.purpose),
        None if is_in(&&GLOBAL_UNICAST) => None,
        None => Some("reserved"),
    }
}

/// The IPv4 address that packets to this one end up at: mapped (`::ffff:a.b.c.d`), NAT64 (`64:ff9b::/96`) and 6to4
/// (`2002::/16`). The other forms with one inside (compatible, translated, Teredo, a local NAT64) are refused whole.
pub(crate) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let inner = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(inner(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(inner(high, low)),
        [0x2002, high, low, ..] => Some(inner(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
