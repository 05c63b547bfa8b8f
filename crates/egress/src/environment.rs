//! Environment variables that lead programs to the proxy, for the many that have a variable of their own.

use base::limits::egress::TOKEN_MAX_BYTES;
use protocol::hosts::Allow;

/// Where the proxy listens, on 127.0.0.1 of the namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// HTTP: `CONNECT`, and requests with a whole URL.
    pub http: u16,
    /// SOCKS 5 over TCP, `CONNECT` only.
    pub socks: u16,
}

impl Default for Ports {
    fn default() -> Ports {
        Ports { http: 3128, socks: 1080 }
    }
}

/// Variables that must not reach a confined command: they would lead it past the proxy, or to programs it cannot use.
pub const UNSET_VARIABLES: &[&str] =
    &["GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND", "RSYNC_PROXY", "FTP_PROXY", "ftp_proxy"];

/// What is never sent to the proxy: the namespace's own loopback.
const LOCAL: &str = "localhost,127.0.0.1,::1";

/// Variables that hold the proxy's URL.
const URL_VARIABLES: &[&str] = &[
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "CARGO_HTTP_PROXY",
    "PIP_PROXY",
];

/// Variables that make programs give up at once, for when no host can be reached anyway.
const NO_RETRIES: &[(&str, &str)] =
    &[("PIP_RETRIES", "0"), ("npm_config_fetch_retries", "0"), ("CARGO_NET_RETRY", "0")];

/// Variables that keep programs from asking for newer versions of themselves, which would be told as attempts.
const NO_UPDATE_CHECKS: &[(&str, &str)] =
    &[("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("npm_config_update_notifier", "false")];

/// The variables of one call. The token, in the proxy's URL, tells whose a refusal is; one with anything but letters,
/// digits, `-` and `_` is left out.
///
/// `ALL_PROXY` leads to the HTTP proxy, which tunnels everything: with a `socks5h:` URL there, Python's HTTP libraries
/// fail at once where no SOCKS module is installed, for localhost too.
pub fn proxy_environment(ports: Ports, token: &str, allow: &Allow) -> Vec<(String, String)> {
    let user = if is_token(token) { format!("gsv:{token}@") } else { String::new() };
    let url = format!("http://{user}127.0.0.1:{}", ports.http);
    let mut out: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: &str| out.push((name.to_string(), value.to_string()));
    for name in URL_VARIABLES {
        set(name, &url);
    }
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
        set(name, LOCAL);
    }
    set("NODE_USE_ENV_PROXY", "1");
    // For programs and scripts that want SOCKS, such as a ProxyCommand of ssh.
    set("GSV_SOCKS_PROXY", &format!("socks5h://{user}127.0.0.1:{}", ports.socks));
    let retries = if allow.is_empty() { NO_RETRIES } else { &[] };
    for (name, value) in NO_UPDATE_CHECKS.iter().chain(retries) {
        set(name, value);
    }
    out
}

/// Whether a text can be a token: it stands in URLs and logs.
pub(crate) fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=TOKEN_MAX_BYTES).contains(&text.len()) && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_finds_the_proxy_with_the_token_of_its_call() {
        let variables = proxy_environment(Ports::default(), "call_7", &Allow::parse("registries").unwrap());
        let value = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| known == name);
            let first = found.next().map(|(_, value)| value.as_str());
            assert!(found.next().is_none(), "{name} is there twice");
            first
        };
        for name in URL_VARIABLES {
            assert_eq!(value(name), Some("http://gsv:call_7@127.0.0.1:3128"), "{name}");
        }
        assert_eq!(value("NO_PROXY"), Some("localhost,127.0.0.1,::1"));
        assert_eq!((value("no_proxy"), value("NODE_USE_ENV_PROXY")), (value("NO_PROXY"), Some("1")));
        assert_eq!(value("PIP_RETRIES"), None);
        assert!(UNSET_VARIABLES.iter().all(|name| value(name).is_none()));
    }

    #[test]
    fn where_nothing_can_be_reached_programs_give_up_at_once() {
        let variables = proxy_environment(Ports { http: 1, socks: 2 }, "a b", &Allow::default());
        assert!(variables.contains(&("PIP_RETRIES".into(), "0".into())));
        assert!(variables.contains(&("http_proxy".into(), "http://127.0.0.1:1".into())), "no such token");
    }
}
