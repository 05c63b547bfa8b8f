//! URL normalisation: the gateway's address as people type it becomes a WebSocket URL.

use std::net::IpAddr;

use tokio_tungstenite::tungstenite::http::Uri;

/// Where a socket is opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// For the handshake.
    pub url: String,
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
}

/// Whether what is sent to a URL can be read on the way: it goes to another machine, and not over TLS. So it is with an
/// address that makes no sense.
pub fn is_exposed(url: &str) -> bool {
    Address::parse(url).map_or(true, |address| !address.is_tls && !address.is_this_machine())
}

impl Address {
    /// Whether it names this machine: `localhost`, a name below it, or a loopback address.
    fn is_this_machine(&self) -> bool {
        let name = self.host.trim_end_matches('.').to_ascii_lowercase();
        let ip = name.parse::<IpAddr>().map(|ip| ip.to_canonical().is_loopback());
        ip.unwrap_or_else(|_| name == "localhost" || name.ends_with(".localhost"))
    }

    /// What a person's text means, or why it means nothing.
    pub(crate) fn parse(text: &str) -> Result<Address, String> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("ws", text));
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "ws" | "http" => false,
            "wss" | "https" => true,
            other => return Err(format!("{other}:// is no address of a gateway: use a ws:// or wss:// URL")),
        };
        let scheme = if is_tls { "wss" } else { "ws" };
        let rest = rest.split('#').next().unwrap_or(rest);
        let uri: Uri = format!("{scheme}://{rest}").parse().map_err(|why| format!("not a URL: {why}"))?;
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
            return Err("the URL names no host".to_string());
        };
        // The gateway shows a page at `/`; its socket is at `/ws`.
        let url = if uri.path() == "/" && uri.query().is_none() {
            format!("{scheme}://{}/ws", rest.trim_end_matches('/'))
        } else {
            format!("{scheme}://{rest}")
        };
        let behind = uri.authority().and_then(|authority| authority.as_str().rsplit_once(host));
        let port = match (uri.port_u16(), behind) {
            (Some(port), _) => port,
            (None, Some((_, ""))) => {
                if is_tls {
                    443
                } else {
                    80
                }
            }
            (None, _) => return Err("the URL names no port that there is".to_string()),
        };
        let host = host.trim_matches(['[', ']']).to_string();
        Ok(Address { url, host, port, is_tls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_addresses_become_socket_addresses() {
        for (given, opened) in [
            ("ws://localhost:8787/ws", "ws://localhost:8787/ws"),
            ("http://127.0.0.1:8787", "ws://127.0.0.1:8787/ws"),
            ("HTTP://[::1]:80/", "ws://[::1]:80/ws"),
            ("gateway.lan:8787", "ws://gateway.lan:8787/ws"),
            ("ws://gateway/other?x=1", "ws://gateway/other?x=1"),
            ("https://gsv.example/", "wss://gsv.example/ws"),
            ("wss://gsv.example:8443/ws", "wss://gsv.example:8443/ws"),
        ] {
            assert_eq!(Address::parse(given).map(|address| address.url).as_deref(), Ok(opened), "{given}");
        }
    }

    #[test]
    fn hosts_and_ports_are_found() {
        let at = |text: &str| {
            let address = Address::parse(text).unwrap();
            (address.host, address.port, address.is_tls)
        };
        assert_eq!(at("https://gsv.example"), ("gsv.example".to_string(), 443, true));
        assert_eq!(at("ws://[::1]:8787/ws"), ("::1".to_string(), 8787, false));
        assert_eq!(at("gateway.lan"), ("gateway.lan".to_string(), 80, false));
    }

    #[test]
    fn only_tls_and_this_machine_keep_secrets() {
        for safe in [
            "wss://gsv.example/ws",
            "https://10.0.0.7",
            "ws://localhost:8787/ws",
            "LOCALHOST:8787",
            "ws://dev.localhost",
            "ws://127.0.0.1:1",
            "ws://127.9.9.9",
            "ws://[::1]:8787/ws",
            "ws://[::ffff:127.0.0.1]/ws",
        ] {
            assert!(!is_exposed(safe), "{safe}");
        }
        for exposed in [
            "ws://gateway.lan:8787/ws",
            "http://10.0.0.7:8787",
            "ws://[fd00::1]/ws",
            "ws://0.0.0.0:8787",
            "ws://localhost.evil.example",
            "ws://notlocalhost",
            "ws://",
        ] {
            assert!(is_exposed(exposed), "{exposed}");
        }
    }

    #[test]
    fn nonsense_is_explained() {
        for given in ["ftp://gateway", "ws://", "wss://", "ws://a b/", "ws://host:99999/"] {
            assert!(Address::parse(given).is_err(), "{given}");
        }
    }
}
