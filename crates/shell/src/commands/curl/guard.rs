//! Which addresses may be reached. Only addresses of the public internet that are not this machine's own are, unless
//! root says otherwise.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Host;

use super::Trouble;

/// Which addresses may be reached.
pub(super) struct Guard {
    private: bool,
    /// For tests of redirects: one address that may be reached although it is not public.
    #[cfg(test)]
    pub except: Option<SocketAddr>,
}

impl Guard {
    /// With `private`, every address may be reached.
    pub fn new(private: bool) -> Guard {
        Guard {
            private,
            #[cfg(test)]
            except: None,
        }
    }

    /// The addresses of a host that may be reached. The connection must go to one of these and nowhere else:
    /// a second lookup of the name might answer differently.
    pub async fn addresses(&self, host: &Host<&str>, port: u16) -> Result<Vec<SocketAddr>, Trouble> {
        let found: Vec<SocketAddr> = match host {
            Host::Ipv4(ip) => vec![SocketAddr::new(IpAddr::V4(*ip), port)],
            Host::Ipv6(ip) => vec![SocketAddr::new(IpAddr::V6(*ip), port)],
            Host::Domain(name) => match tokio::net::lookup_host((*name, port)).await {
                Ok(found) => found.collect(),
                Err(_) => Vec::new(),
            },
        };
        let Some(first) = found.first().copied() else {
            return Err(Trouble::new(6, format!("Could not resolve host: {host}")));
        };
        let allowed: Vec<SocketAddr> = found.into_iter().filter(|address| self.allows(address)).collect();
        if allowed.is_empty() {
            let kind = kind_of(first.ip()).unwrap_or("this machine's own");
            let why = format!("Refused: {host} is {} ({kind}; config/shell/network_private)", first.ip());
            return Err(Trouble::refusal(7, why));
        }
        Ok(allowed)
    }

    fn allows(&self, address: &SocketAddr) -> bool {
        #[cfg(test)]
        if self.except == Some(*address) {
            return true;
        }
        self.private || (kind_of(address.ip()).is_none() && !is_own(address.ip()))
    }
}

/// Whether it is an address of this machine, by which the gateway itself can be reached: only those can be bound.
fn is_own(ip: IpAddr) -> bool {
    std::net::UdpSocket::bind((ip, 0)).is_ok()
}

/// What an address is, unless it is one of the public internet.
fn kind_of(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => kind_of_v4(ip),
        IpAddr::V6(ip) => kind_of_v6(ip),
    }
}

fn kind_of_v4(ip: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = ip.octets();
    match (a, b, c) {
        (0, _, _) => Some("unspecified"),
        (127, _, _) => Some("loopback"),
        (10, _, _) | (172, 16..=31, _) | (192, 168, _) => Some("private"),
        (169, 254, _) => Some("link-local"),
        (100, 64..=127, _) => Some("shared by a carrier"),
        (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (198, 18 | 19, _) | (192, 88, 99) => {
            Some("reserved")
        }
        (224..=239, _, _) => Some("multicast"),
        (240.., _, _) => Some("reserved"),
        _ => None,
    }
}

fn kind_of_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let parts = ip.segments();
    let inside = |high: u16, low: u16| kind_of_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        // An IPv4 address in other clothes: mapped, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] => inside(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inside(high, low),
        [0x2002, high, low, ..] => inside(high, low),
        [0x2001, 0, ..] => Some("tunnelled"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("reserved"),
        [0xfc00..=0xfdff, ..] => Some("private"),
        [0xfe80..=0xfeff, ..] => Some("link-local"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_addresses_are_known() {
        let own: IpAddr = "127.0.0.1".parse().unwrap();
        assert!(is_own(own));
        for foreign in ["1.1.1.1", "8.8.8.8", "203.0.113.7"] {
            assert!(!is_own(foreign.parse().unwrap()), "{foreign}");
        }
    }

    #[test]
    fn only_the_public_internet_is_public() {
        let refused = [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.170",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ];
        for text in refused {
            assert!(kind_of(text.parse().unwrap()).is_some(), "{text} must not be public");
        }
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.1.2.3",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ];
        for text in public {
            assert_eq!(kind_of(text.parse().unwrap()), None, "{text} is public");
        }
    }
}
