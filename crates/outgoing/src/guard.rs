//! SSRF guard: which addresses a request may reach. The gateway's machine can reach more than the person who asks, so
//! only the public internet without the machine's own addresses is open, unless root says otherwise.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use base::limits;
use url::Host;

use crate::address::{embedded, special_purpose};
use crate::error::Error;
use crate::settings::{Family, PrivateHosts, Settings};

/// The addresses of a host that may be reached. The connection must go to one of these and nowhere else: a second
/// lookup of the name might answer differently (DNS rebinding).
pub(crate) async fn addresses(settings: &Settings, host: &Host, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let found = match host {
        Host::Ipv4(address) => vec![IpAddr::V4(*address)],
        Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        Host::Domain(name) => settings.resolver.resolve(name).await.unwrap_or_else(|error| {
            tracing::debug!(name, %error, "a name could not be resolved");
            Vec::new()
        }),
    };
    let wanted = |address: &IpAddr| match settings.family {
        Some(Family::V4) => address.is_ipv4(),
        Some(Family::V6) => address.is_ipv6(),
        None => true,
    };
    let mut refused = None;
    let mut allowed = Vec::new();
    for address in found.into_iter().filter(wanted).take(limits::outgoing::ADDRESSES_MAX) {
        match refusal(settings, SocketAddr::new(address, port)) {
            None => allowed.push(SocketAddr::new(address, port)),
            Some(purpose) => refused = refused.or(Some((address, purpose))),
        }
    }
    match refused {
        _ if !allowed.is_empty() => Ok(allowed),
        Some((address, purpose)) => Err(Error::Refused { host: host.to_string(), address, purpose }),
        None => Err(Error::Unresolved { host: host.to_string() }),
    }
}

/// Why an address may not be reached; `None` when it may.
fn refusal(settings: &Settings, address: SocketAddr) -> Option<&'static str> {
    if settings.hosts == PrivateHosts::Allow || settings.exceptions.contains(&address) {
        return None;
    }
    special_purpose(address.ip()).or_else(|| is_own(address.ip()).then_some("this machine's own"))
}

/// Whether it is an address of this machine, by which the gateway itself can be reached: only those can be bound. Where
/// the operating system lets programs bind any address, all are refused.
fn is_own(address: IpAddr) -> bool {
    let inner = match address {
        IpAddr::V6(address) => embedded(address).map(IpAddr::V4),
        IpAddr::V4(_) => None,
    };
    [Some(address), inner].into_iter().flatten().any(|address| UdpSocket::bind((address, 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolver::Resolver;

    fn settings(hosts: PrivateHosts, answers: &'static [&'static str]) -> Settings {
        let resolver =
            Resolver::new(|_| async { Ok(answers.iter().map(|text| text.parse().unwrap()).collect()) });
        Settings { resolver, ..Settings::new(hosts) }
    }

    async fn checked(settings: &Settings, host: &str) -> Result<Vec<String>, Error> {
        let found = addresses(settings, &Host::parse(host).unwrap(), 80).await?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_machines_own_addresses_are_known() {
        for own in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"] {
            assert!(is_own(own.parse().unwrap()), "{own}");
        }
        for foreign in ["1.1.1.1", "8.8.8.8", "203.0.113.7", "::ffff:8.8.8.8", "2606:4700::1111"] {
            assert!(!is_own(foreign.parse().unwrap()), "{foreign}");
        }
    }

    #[test]
    fn the_address_this_machine_is_known_by_is_its_own() {
        // No packet is sent: the operating system only says which address it would send from.
        let from = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("8.8.8.8:53")?;
            socket.local_addr()
        });
        // A machine without a network has no such address.
        if let Ok(from) = from {
            assert!(is_own(from.ip()), "{from}");
        }
    }

    #[tokio::test]
    async fn of_a_names_addresses_only_the_public_ones_are_left() {
        let mixed = settings(PrivateHosts::Deny, &["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"]);
        assert_eq!(checked(&mixed, "mixed").await.unwrap(), ["8.8.8.8:80", "[2606:4700::1111]:80"]);
        let only_v4 = Settings { family: Some(Family::V4), ..mixed };
        assert_eq!(checked(&only_v4, "mixed").await.unwrap(), ["8.8.8.8:80"]);
        let private = settings(PrivateHosts::Deny, &["198.18.0.1", "10.0.0.1"]);
        let refused = checked(&private, "inside").await.unwrap_err().to_string();
        assert_eq!(refused, "inside is 198.18.0.1, which may not be reached from here (benchmarking)");
        let open = Settings { hosts: PrivateHosts::Allow, ..private };
        assert_eq!(checked(&open, "inside").await.unwrap(), ["198.18.0.1:80", "10.0.0.1:80"]);
        let unknown = settings(PrivateHosts::Allow, &[]);
        assert!(matches!(checked(&unknown, "nobody").await, Err(Error::Unresolved { .. })));
    }

    #[tokio::test]
    async fn numbers_are_checked_without_asking_anybody() {
        let deny = settings(PrivateHosts::Deny, &["8.8.8.8"]);
        for text in ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:7f00:1]", "240.0.0.1", "0"] {
            assert!(matches!(checked(&deny, text).await, Err(Error::Refused { .. })), "{text}");
        }
    }
}
