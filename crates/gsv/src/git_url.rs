//! Addresses for the git program: the HTTP side of a gateway whose socket address is known.

use terminal::failure::{Failure, Result};
use url::Url;

/// Where a gateway's socket is below its address.
const SOCKET: &str = "/ws";

/// The address of a repository for `git clone`.
pub fn of_repo(gateway: &str, repo: &str) -> Result<String> {
    let mut url = http(gateway)?;
    let path = url.path().strip_suffix(SOCKET).unwrap_or_default().to_string();
    url.set_path(&format!("{path}/git/{repo}.git"));
    Ok(url.to_string())
}

/// Scheme, host and port of a gateway, as git writes them: what git's settings for one server are named by.
pub fn origin(gateway: &str) -> Result<String> {
    Ok(http(gateway)?.origin().ascii_serialization())
}

/// The same, and the machine's other names for itself.
pub fn origins(gateway: &str) -> Result<Vec<String>> {
    let mut url = http(gateway)?;
    let mut origins = vec![origin(gateway)?];
    if matches!(url.host_str(), Some("localhost" | "127.0.0.1")) {
        for name in ["localhost", "127.0.0.1"] {
            url.set_host(Some(name)).map_err(|why| no_address(gateway, &why.to_string()))?;
            origins.push(url.origin().ascii_serialization());
        }
    }
    origins.sort();
    origins.dedup();
    Ok(origins)
}

/// Whether git means a gateway with a scheme and a host.
pub fn is_of(gateway: &str, scheme: &str, host: &str) -> bool {
    let asked = origin(&format!("{scheme}://{host}"));
    asked.is_ok_and(|asked| origins(gateway).is_ok_and(|origins| origins.contains(&asked)))
}

fn http(gateway: &str) -> Result<Url> {
    let http = match gateway.split_once("://") {
        Some(("wss" | "https", rest)) => format!("https://{rest}"),
        Some(("ws" | "http", rest)) => format!("http://{rest}"),
        _ => return Err(no_address(gateway, "it is neither ws:// nor wss://")),
    };
    let mut url = Url::parse(&http).map_err(|why| no_address(gateway, &why.to_string()))?;
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

fn no_address(gateway: &str, why: &str) -> Failure {
    Failure::new(format!("{gateway} is no address of a gateway: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_beside_the_socket() {
        for (gateway, url) in [
            ("ws://localhost:8787/ws", "http://localhost:8787/git/ann/home.git"),
            ("wss://gsv.example/ws", "https://gsv.example/git/ann/home.git"),
            ("https://gsv.example:443", "https://gsv.example/git/ann/home.git"),
            ("wss://example.org/gsv/ws", "https://example.org/gsv/git/ann/home.git"),
        ] {
            assert_eq!(of_repo(gateway, "ann/home").unwrap(), url);
        }
        assert!(of_repo("ftp://x/ws", "ann/home").is_err());
    }

    #[test]
    fn a_gateway_is_known_by_its_origin_and_no_other() {
        assert!(is_of("ws://localhost:8787/ws", "http", "127.0.0.1:8787"));
        assert!(is_of("wss://gsv.example/ws", "https", "gsv.example"));
        for (scheme, host) in [
            ("http", "gsv.example"),
            ("https", "gsv.example.evil.org"),
            ("https", "gsv.example:444"),
            ("https", "evil.org/gsv.example"),
            ("https", "gsv.example@evil.org"),
            ("ftp", "gsv.example"),
        ] {
            assert!(!is_of("wss://gsv.example/ws", scheme, host), "{scheme} {host}");
        }
        assert_eq!(origins("ws://127.0.0.1:1/ws").unwrap(), ["http://127.0.0.1:1", "http://localhost:1"]);
    }
}
