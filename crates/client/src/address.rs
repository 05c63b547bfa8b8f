//! The gateway's address as people write it, turned into the WebSocket URL that is opened.

use tokio_tungstenite::tungstenite::http::Uri;

/// The URL to open, or why there is none.
pub(crate) fn websocket_url(text: &str) -> Result<String, String> {
    let text = text.trim();
    let (scheme, rest) = text.split_once("://").unwrap_or(("ws", text));
    match scheme.to_ascii_lowercase().as_str() {
        "ws" | "http" => {}
        "wss" | "https" => {
            return Err(
                "TLS is not built in: use a ws:// URL, or run a TLS-terminating proxy on this machine \
                        and give its ws:// URL"
                    .to_string(),
            );
        }
        other => return Err(format!("{other}:// is no address of a gateway: use a ws:// URL")),
    }
    let rest = rest.split('#').next().unwrap_or(rest);
    let uri: Uri = format!("ws://{rest}").parse().map_err(|why| format!("not a URL: {why}"))?;
    if uri.host().is_none_or(str::is_empty) {
        return Err("the URL names no host".to_string());
    }
    // The gateway shows a page at `/`; its socket is at `/ws`.
    if uri.path() == "/" && uri.query().is_none() {
        return Ok(format!("ws://{}/ws", rest.trim_end_matches('/')));
    }
    Ok(format!("ws://{rest}"))
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
        ] {
            assert_eq!(websocket_url(given).as_deref(), Ok(opened), "{given}");
        }
    }

    #[test]
    fn tls_and_nonsense_are_explained() {
        for given in ["wss://gateway/ws", "https://gateway"] {
            assert!(websocket_url(given).unwrap_err().contains("TLS"), "{given}");
        }
        for given in ["ftp://gateway", "ws://", "ws://a b/"] {
            assert!(websocket_url(given).is_err(), "{given}");
        }
    }
}
