//! Validation of what `sys.mcp.add` is given.

use std::collections::BTreeMap;

use base::limits::mcp as limits;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use protocol::error::Error;
use url::{Host, Url};

/// Headers that are the client's own.
const RESERVED: [&str; 12] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "last-event-id",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "trailer",
    "upgrade",
];

/// A name, trimmed.
pub(crate) fn name(text: &str) -> Result<String, Error> {
    let text = text.trim();
    let count = text.chars().count();
    if count == 0 || count > limits::NAME_MAX_CHARS || text.chars().any(char::is_control) {
        return Err(Error::bad(format!("name must be 1-{} characters", limits::NAME_MAX_CHARS)));
    }
    Ok(text.to_string())
}

/// Where a server is: https, or this machine.
pub(crate) fn url(text: &str) -> Result<Url, Error> {
    if text.trim().len() > limits::URL_MAX_BYTES {
        return Err(Error::bad(format!("url must have at most {} bytes", limits::URL_MAX_BYTES)));
    }
    let mut url = Url::parse(text.trim()).map_err(|error| Error::bad(format!("url is no URL: {error}")))?;
    if !is_safe(&url) {
        return Err(Error::bad("url must use https, except localhost development URLs"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::bad("url must not have a name or a password in it: use a header"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// The origin that a sign-in comes back to.
pub(crate) fn callback_host(text: &str) -> Result<String, Error> {
    let bad =
        || Error::bad("callbackHost must be an origin with nothing behind it, such as https://gsv.example");
    let url = Url::parse(text.trim()).map_err(|_| bad())?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    if !is_bare || !is_anonymous {
        return Err(bad());
    }
    if !is_safe(&url) {
        return Err(Error::bad("callbackHost must use https, except localhost development URLs"));
    }
    Ok(url.origin().ascii_serialization())
}

/// Headers that are sent with every request.
pub(crate) fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Error> {
    if given.len() > limits::HEADERS_MAX {
        return Err(Error::bad(format!("transport.headers must be at most {}", limits::HEADERS_MAX)));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let bad = |why: &str| Error::bad(format!("transport.headers: {name:?} {why}"));
        if name.len() + value.len() > limits::HEADER_MAX_BYTES {
            return Err(bad("is too long"));
        }
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("is no name of a header"))?;
        if RESERVED.contains(&known.as_str()) || known.as_str().starts_with("mcp-") {
            return Err(bad("is set by the gateway itself"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad("has a value that cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(known, value);
    }
    Ok(headers)
}

/// Whether what is sent there stays between the two: https, or this machine by name.
pub(crate) fn is_safe(url: &Url) -> bool {
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(Host::Domain(name))) => name.eq_ignore_ascii_case("localhost"),
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_taken() {
        for good in
            ["https://mcp.example/mcp", "http://localhost:3000/sse", "http://127.0.0.1/", "http://[::1]:9/x"]
        {
            assert!(url(good).is_ok(), "{good}");
        }
        for bad in
            ["http://mcp.example/", "ftp://localhost/", "mcp", "https://", "http://localhost.evil.example/"]
        {
            assert!(url(bad).is_err(), "{bad}");
        }
        assert_eq!(
            url("http://x.example").unwrap_err().message,
            "url must use https, except localhost development URLs"
        );
        assert!(url("https://me:pw@mcp.example/").is_err());
        assert_eq!(url("HTTPS://MCP.Example:443/a/../b#c").unwrap().as_str(), "https://mcp.example/b");
    }

    #[test]
    fn names_and_origins_are_plain() {
        assert_eq!(name("  Linear ").unwrap(), "Linear");
        for bad in ["", "  ", "a\nb", &"x".repeat(81)] {
            assert_eq!(name(bad).unwrap_err().message, "name must be 1-80 characters");
        }
        assert_eq!(callback_host("https://gsv.example/").unwrap(), "https://gsv.example");
        for bad in ["https://gsv.example/x", "https://gsv.example?x", "http://gsv.example", "gsv.example"] {
            assert!(callback_host(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_of_the_client_itself_cannot_be_set() {
        let one = |name: &str, value: &str| headers(&BTreeMap::from([(name.to_string(), value.to_string())]));
        assert!(one("X-Api-Key", "k").is_ok_and(|headers| headers["x-api-key"].is_sensitive()));
        for (name, value) in [("Host", "x"), ("Mcp-Session-Id", "x"), ("a b", "x"), ("X", "a\nb")] {
            assert!(one(name, value).is_err(), "{name}");
        }
    }
}
