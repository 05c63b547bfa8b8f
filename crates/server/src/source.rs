//! Client address resolution: where a request comes from when proxies may stand between, by the rightmost address that is
//! not a trusted proxy's.
//!
//! What a header says counts only if the peer itself is a trusted proxy; anybody can write one. A request that any proxy
//! passed on is never local, whatever address it names.

use std::net::{IpAddr, SocketAddr};

use auth::network::Network;
use axum::http::HeaderMap;
use kernel::Source;

/// Addresses in one header that are looked at.
const HOPS_MAX: usize = 32;
const FORWARDED: &str = "forwarded";
const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// Proxies whose word counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(Vec<Network>);

impl TrustedProxies {
    pub(crate) fn new(networks: Vec<Network>) -> TrustedProxies {
        TrustedProxies(networks)
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Where a request comes from that came over a connection of `peer`.
    pub(crate) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> Source {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return Source { ip: peer, is_local: peer.is_loopback() && !is_proxied(headers) };
        }
        let ip = match (self.client(x_forwarded_for(headers)), self.client(forwarded(headers))) {
            (Hops::Client(one), Hops::None) | (Hops::None, Hops::Client(one)) => one,
            (Hops::Client(one), Hops::Client(other)) if one == other => one,
            // Nothing that can be relied on: counted with everybody who comes this way.
            _ => peer,
        };
        Source { ip, is_local: false }
    }

    /// The address nearest to us that is not a trusted proxy's, or the farthest one if all are.
    fn client(&self, hops: Option<Vec<Option<IpAddr>>>) -> Hops {
        let Some(hops) = hops else { return Hops::None };
        let mut client = None;
        for hop in hops.iter().rev().take(HOPS_MAX) {
            let Some(hop) = hop else { return Hops::Unreadable };
            client = Some(*hop);
            if !self.contains(*hop) {
                break;
            }
        }
        client.map_or(Hops::Unreadable, Hops::Client)
    }
}

/// What a header says about the client.
enum Hops {
    /// There is no such header.
    None,
    Client(IpAddr),
    /// An address that had to be looked at is hidden, or is none.
    Unreadable,
}

/// Whether a proxy passed the request on.
pub(crate) fn is_proxied(headers: &HeaderMap) -> bool {
    [FORWARDED, X_FORWARDED_FOR, "x-real-ip"].iter().any(|name| headers.contains_key(*name))
}

/// The addresses of `X-Forwarded-For`, the client's first; `None` without the header.
fn x_forwarded_for(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    let text = joined(headers, X_FORWARDED_FOR)?;
    Some(text.split(',').map(address).collect())
}

/// The same of `Forwarded` (RFC 7239).
fn forwarded(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    let text = joined(headers, FORWARDED)?;
    let hop = |element: &str| {
        let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
        address(value.trim().trim_matches('"'))
    };
    Some(text.split(',').map(hop).collect())
}

/// All lines of a header as one list. A line that is no text hides an address.
fn joined(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines: Vec<&str> =
        headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("unknown")).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// An address with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn source(peer: &str, headers: &[(&'static str, &'static str)]) -> (String, bool) {
        let trusted = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap(), "127.0.0.1".parse().unwrap()]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let found = trusted.source(peer.parse().unwrap(), &map);
        (found.ip.to_string(), found.is_local)
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_nothing_it_passes_on_is_local() {
        let said = [(X_FORWARDED_FOR, "203.0.113.9")];
        assert_eq!(source("192.0.2.1", &said), ("192.0.2.1".into(), false), "a stranger may write anything");
        assert_eq!(source(PROXY, &said), ("203.0.113.9".into(), false));
        assert_eq!(source(PROXY, &[(X_FORWARDED_FOR, "127.0.0.5")]), ("127.0.0.5".into(), false));
        assert_eq!(source("127.0.0.1", &[]), ("127.0.0.1".into(), false), "it is declared a proxy");
        assert_eq!(source("127.0.0.2", &[]), ("127.0.0.2".into(), true));
        assert_eq!(source("127.0.0.2", &said), ("127.0.0.2".into(), false), "a proxy that is not declared");
        assert_eq!(source("::ffff:10.0.0.1", &said), ("203.0.113.9".into(), false));
    }

    #[test]
    fn the_rightmost_address_that_is_not_trusted_counts() {
        for (list, client) in [
            ("198.51.100.7, 203.0.113.9", "203.0.113.9"),
            ("198.51.100.7, 203.0.113.9, 10.1.1.1", "203.0.113.9"),
            ("10.2.2.2, 10.1.1.1", "10.2.2.2"),
            ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("unknown, 203.0.113.9", "203.0.113.9"),
            ("203.0.113.9, unknown", PROXY),
            ("203.0.113.9, unknown, 10.1.1.1", PROXY),
            ("", PROXY),
        ] {
            assert_eq!(source(PROXY, &[(X_FORWARDED_FOR, list)]).0, client, "{list}");
        }
        let lines = [(X_FORWARDED_FOR, "198.51.100.7"), (X_FORWARDED_FOR, "203.0.113.9")];
        assert_eq!(source(PROXY, &lines).0, "203.0.113.9", "the last line was added last");
    }

    #[test]
    fn the_standard_header_is_read_too_and_two_that_disagree_are_not_believed() {
        for (value, client) in [
            ("for=203.0.113.9;proto=https", "203.0.113.9"),
            (r#"For="[2001:db8::1]:4711""#, "2001:db8::1"),
            ("for=198.51.100.7, proto=http;for=203.0.113.9", "203.0.113.9"),
            ("for=_hidden", PROXY),
            ("proto=https", PROXY),
        ] {
            assert_eq!(source(PROXY, &[(FORWARDED, value)]).0, client, "{value}");
        }
        let both = |forwarded: &'static str| [(X_FORWARDED_FOR, "203.0.113.9"), (FORWARDED, forwarded)];
        assert_eq!(source(PROXY, &both("for=203.0.113.9")).0, "203.0.113.9");
        assert_eq!(source(PROXY, &both("for=198.51.100.7")).0, PROXY);
        assert_eq!(source(PROXY, &both("for=_hidden")).0, PROXY);
    }
}
