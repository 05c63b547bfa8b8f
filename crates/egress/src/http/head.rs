//! Strict parser of the head of a proxied request (RFC 9112), and its rewriting for the origin server. Pure.
//!
//! What two readers could take differently is refused, not repaired: bare line feeds, folded lines, blanks before a
//! colon, two lengths, a length and an encoding, a `Host` that is not the URL's (request smuggling).

use base::limits::egress::HEADERS_MAX;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use protocol::hosts::canonical;

use crate::environment::is_token;

/// A request that can be read in one way only.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The host as it was named, which may still be an address or no name at all.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whose it is.
    pub(crate) token: Option<String>,
    pub(crate) kind: RequestKind,
}

/// What the proxy is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// `CONNECT`.
    Tunnel,
    /// A plain request: the head for the origin server, and what follows it.
    Forward { onward: Vec<u8>, length: Length },
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// So many bytes; none for most requests.
    Bytes(u64),
    Chunked,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeadError {
    pub(crate) status: u16,
    pub(crate) why: &'static str,
    /// Which host it was about, where that is known.
    pub(crate) about: Option<(String, u16)>,
}

impl HeadError {
    pub(crate) fn new(status: u16, why: &'static str) -> HeadError {
        HeadError { status, why, about: None }
    }
}

fn bad(why: &'static str) -> HeadError {
    HeadError::new(400, why)
}

/// Where the head ends, if it does. An end with bare line feeds is one too, for [`parse`] to refuse at once. The first
/// `seen` bytes were looked at before.
pub(crate) fn end(bytes: &[u8], seen: usize) -> Option<usize> {
    let from = seen.saturating_sub(2);
    let fresh = bytes.get(from..)?;
    let feeds = fresh.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| from + index);
    feeds.into_iter().find_map(|at| match &bytes[at + 1..] {
        [b'\r', b'\n', ..] => Some(at + 3),
        [b'\n', ..] => Some(at + 2),
        _ => None,
    })
}

/// Reads a head, to its empty line.
pub(crate) fn parse(bytes: &[u8]) -> Result<Head, HeadError> {
    let head = bytes.strip_suffix(b"\r\n\r\n").ok_or(bad("the request's lines must end with CR LF"))?;
    let mut lines = lines(head)?.into_iter();
    let line = lines.next().unwrap_or_default();
    let [method, target, version] = words(line).ok_or(bad("the request line must have three words"))?;
    if !is_word(method) {
        return Err(bad("the method is none"));
    }
    let is_old = match version {
        "HTTP/1.1" => false,
        "HTTP/1.0" => true,
        _ => return Err(bad("only HTTP/1.1 is spoken here")),
    };
    let is_tunnel = method == "CONNECT";
    let target = if is_tunnel { tunnel(target)? } else { url(target)? };
    let about = |mut wrong: HeadError| {
        wrong.about = Some((target.host.to_string(), target.port));
        wrong
    };
    let headers = headers(lines).map_err(about)?;
    let length = length(&headers, is_old).map_err(about)?;
    check_host(&headers, &target, is_tunnel || is_old).map_err(about)?;
    let kind = match is_tunnel {
        true if length != Length::Bytes(0) => return Err(about(bad("CONNECT has no body"))),
        true => RequestKind::Tunnel,
        false => RequestKind::Forward { onward: onward(method, version, &target, &headers, length), length },
    };
    Ok(Head { host: target.host.to_string(), port: target.port, token: token(&headers), kind })
}

/// Whom a request is for.
struct Target<'a> {
    host: &'a str,
    port: u16,
    /// Path and query.
    path: String,
}

/// The target of `CONNECT`: a host and a port.
fn tunnel(text: &str) -> Result<Target<'_>, HeadError> {
    match authority(text) {
        Some((host, Some(port))) => Ok(Target { host, port, path: String::new() }),
        _ => Err(bad("CONNECT needs a host and a port, such as example.org:443")),
    }
}

/// The target of any other request: a whole URL.
fn url(text: &str) -> Result<Target<'_>, HeadError> {
    let scheme = text.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = scheme.and_then(|scheme| text.get(scheme.len()..));
    let rest = rest.ok_or(bad("this is a proxy: ask with a whole http:// URL, or with CONNECT for https"))?;
    let (named, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = authority(named).ok_or(bad("the URL has no host"))?;
    if path.contains('#') {
        return Err(bad("a fragment has no place in a request"));
    }
    let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
    Ok(Target { host, port: port.unwrap_or(80), path })
}

/// Host and port. Names with a user, or with anything that is read as one, are refused; addresses are left to the gate.
fn authority(text: &str) -> Option<(&str, Option<u16>)> {
    if text.is_empty() || text.contains(['@', '/', '\\', '?', '#', '%']) {
        return None;
    }
    let after_bracket = text.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match text[after_bracket..].split_once(':') {
        Some((between, port)) if !port.contains(':') => {
            (&text[..after_bracket + between.len()], Some(number(port, 5)?))
        }
        Some(_) | None => (text, None),
    };
    let port = match port {
        Some(port) => Some(u16::try_from(port).ok().filter(|port| *port != 0)?),
        None => None,
    };
    (!host.is_empty()).then_some((host, port))
}

/// A header's name in lower case, and its value without blanks around it.
struct Header<'a> {
    name: String,
    written: &'a str,
    value: &'a [u8],
}

fn headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Header<'a>>, HeadError> {
    let mut out = Vec::new();
    for line in lines {
        if out.len() == HEADERS_MAX {
            return Err(HeadError::new(431, "the request has too many headers"));
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or(bad("a header has no colon"))?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let written = std::str::from_utf8(name).ok().filter(|name| is_word(name));
        let written = written.ok_or(bad("a header has a name that is none"))?;
        if value.iter().any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f) {
            return Err(bad("a header has control characters"));
        }
        out.push(Header { name: written.to_ascii_lowercase(), written, value });
    }
    Ok(out)
}

/// The one value of a header that may be there once.
fn single<'a>(headers: &[Header<'a>], name: &str) -> Result<Option<&'a [u8]>, HeadError> {
    let mut found = headers.iter().filter(|header| header.name == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(bad("Host, Content-Length and Transfer-Encoding may each be there once")),
        (first, None) => Ok(first.map(|header| header.value)),
    }
}

fn length(headers: &[Header<'_>], is_old: bool) -> Result<Length, HeadError> {
    match (single(headers, "content-length")?, single(headers, "transfer-encoding")?) {
        (None, None) => Ok(Length::Bytes(0)),
        (Some(_), Some(_)) => Err(bad("a request has Content-Length or Transfer-Encoding, not both")),
        (None, Some(_)) if is_old => Err(bad("HTTP/1.0 knows no Transfer-Encoding")),
        (None, Some(coding)) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Length::Chunked),
        (None, Some(_)) => {
            Err(HeadError::new(501, "the only Transfer-Encoding that is known here is chunked"))
        }
        (Some(digits), None) => {
            let digits = std::str::from_utf8(digits).ok().and_then(|digits| number(digits, 18));
            digits.map(Length::Bytes).ok_or(bad("Content-Length is not a number"))
        }
    }
}

/// `Host` must name whom the request is for; a server with many names would else answer for another one.
fn check_host(headers: &[Header<'_>], target: &Target<'_>, may_lack: bool) -> Result<(), HeadError> {
    let Some(value) = single(headers, "host")? else {
        return if may_lack { Ok(()) } else { Err(bad("the request has no Host")) };
    };
    let same = |host: &str| match (canonical(host), canonical(target.host)) {
        (Ok(one), Ok(other)) => one == other,
        _ => host.eq_ignore_ascii_case(target.host),
    };
    // Some clients leave the port out of the Host of CONNECT.
    let default = if target.path.is_empty() { target.port } else { 80 };
    match std::str::from_utf8(value).ok().and_then(authority) {
        Some((host, port)) if same(host) && port.unwrap_or(default) == target.port => Ok(()),
        _ => Err(bad("Host is not the host of the URL")),
    }
}

/// Headers that are between a client and its proxy, or that are written anew.
const NOT_ONWARD: &[&str] = &[
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];

/// The head for the origin server: one request, after which the connection ends.
fn onward(
    method: &str,
    version: &str,
    target: &Target<'_>,
    headers: &[Header<'_>],
    length: Length,
) -> Vec<u8> {
    let listed = headers.iter().filter(|header| header.name == "connection");
    let named: Vec<Vec<u8>> = listed
        .flat_map(|header| header.value.split(|byte| *byte == b','))
        .map(|name| name.trim_ascii().to_ascii_lowercase())
        .collect();
    let host = canonical(target.host).unwrap_or_default();
    let port = if target.port == 80 { String::new() } else { format!(":{}", target.port) };
    let mut out = format!("{method} {} {version}\r\nHost: {host}{port}\r\n", target.path).into_bytes();
    for header in headers {
        let stays = !NOT_ONWARD.contains(&header.name.as_str())
            && !named.iter().any(|name| name == header.name.as_bytes());
        if stays {
            out.extend_from_slice(header.written.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(header.value);
            out.extend_from_slice(b"\r\n");
        }
    }
    let has_length = headers.iter().any(|header| header.name == "content-length");
    match length {
        Length::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        Length::Bytes(bytes) if has_length => {
            out.extend_from_slice(format!("Content-Length: {bytes}\r\n").as_bytes());
        }
        Length::Bytes(_) => {}
    }
    out.extend_from_slice(b"Connection: close\r\n\r\n");
    out
}

/// The password of `Proxy-Authorization: Basic`.
fn token(headers: &[Header<'_>]) -> Option<String> {
    let value = headers.iter().find(|header| header.name == "proxy-authorization")?.value;
    let (scheme, coded) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let decoded =
        BASE64_STANDARD.decode(coded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let text = String::from_utf8(decoded).ok()?;
    let (_, password) = text.split_once(':')?;
    is_token(password).then(|| password.to_string())
}

/// The lines between CR LF. A CR or an LF alone is one reader's end of line and not another's.
fn lines(bytes: &[u8]) -> Result<Vec<&[u8]>, HeadError> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let last = lines.len() - 1;
    for (index, line) in lines.iter_mut().enumerate() {
        *line = match line.strip_suffix(b"\r") {
            Some(line) if index < last => line,
            None if index == last => line,
            _ => return Err(bad("the request's lines must end with CR LF")),
        };
        if line.contains(&b'\r') {
            return Err(bad("the request's lines must end with CR LF"));
        }
    }
    Ok(lines)
}

/// The three words of a request line, with one blank between them and nothing but visible ASCII in them.
fn words(line: &[u8]) -> Option<[&str; 3]> {
    let text = std::str::from_utf8(line).ok()?;
    let words: Vec<&str> = text.split(' ').collect();
    let words: [&str; 3] = words.try_into().ok()?;
    words
        .iter()
        .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic()))
        .then_some(words)
}

/// Whether a text is a `token` of RFC 9110.
fn is_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

/// Digits and nothing else: no sign, no blank, and not so many that they overflow.
fn number(text: &str, digits_max: usize) -> Option<u64> {
    let fits = (1..=digits_max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

#[cfg(test)]
mod tests;
