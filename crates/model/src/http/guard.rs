//! Whether a provider may be an address inside one's own network.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use crate::failure::{Cause, Failure};

/// Whether private and loopback addresses may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateHosts {
    /// They may.
    #[default]
    Allow,
    /// They may not, whatever name leads to them.
    Deny,
}

const DENIED: &str = "Model providers at private addresses are not allowed here";

impl PrivateHosts {
    /// Checks an address that is written as numbers; names are checked when they are looked up.
    pub(super) fn check_literal(self, uri: &Uri) -> Result<(), Failure> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) if !self.allows(address) => Err(Failure::new(Cause::Request, DENIED)),
            _ => Ok(()),
        }
    }

    fn allows(self, address: IpAddr) -> bool {
        self == PrivateHosts::Allow || is_public(address)
    }
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || a == 0
                || shared)
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            // Only the global unicast range, without the prefixes that carry another address inside.
            (first & 0xe000) == 0x2000 && first != 0x2002 && v6.segments()[..2] != [0x2001, 0]
        }
    }
}

/// Looks names up, and keeps back the addresses that are not allowed.
#[derive(Clone, Debug)]
pub(super) struct Guard(PrivateHosts);

impl Guard {
    pub fn new(hosts: PrivateHosts) -> Guard {
        Guard(hosts)
    }
}

impl Service<Name> for Guard {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let hosts = self.0;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let allowed: Vec<SocketAddr> =
                found.iter().copied().filter(|address| hosts.allows(address.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, DENIED));
            }
            Ok(allowed.into_iter())
        })
    }
}

/// Whether the guard is what an error came from.
pub(super) fn refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(inner) = next {
        if inner.to_string() == DENIED {
            return true;
        }
        next = inner.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "2002:7f00:1::",
            "::",
        ] {
            assert!(!is_public(private.parse().expect(private)), "{private}");
        }
        for public in ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "172.15.0.1"] {
            assert!(is_public(public.parse().expect(public)), "{public}");
        }
    }

    #[test]
    fn literals_are_checked() {
        let uri: Uri = "http://[::1]:8080/v1".parse().expect("a URI");
        assert!(PrivateHosts::Deny.check_literal(&uri).is_err());
        assert!(PrivateHosts::Allow.check_literal(&uri).is_ok());
    }
}
