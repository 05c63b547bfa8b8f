//! Tests of heads of requests: what is read, what goes on, and what is refused.

use proptest::prelude::*;

use super::*;

fn head(text: &str) -> Result<Head, HeadError> {
    parse(text.replace('\n', "\r\n").as_bytes())
}

fn onward_of(text: &str) -> String {
    match head(text).map(|head| head.kind) {
        Ok(RequestKind::Forward { onward, .. }) => String::from_utf8(onward).unwrap(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_tunnel_has_a_host_a_port_and_a_token() {
    let asked = "CONNECT example.org:443 HTTP/1.1\nHost: example.org:443\nProxy-Authorization: Basic Z3N2OmNhbGxfNw==\n\n";
    let expected = Head {
        host: "example.org".into(),
        port: 443,
        token: Some("call_7".into()),
        kind: RequestKind::Tunnel,
    };
    assert_eq!(head(asked), Ok(expected));
    assert!(head("CONNECT example.org:443 HTTP/1.0\n\n").is_ok());
    assert!(head("CONNECT example.org:443 HTTP/1.1\nHost: example.org\n\n").is_ok());
    for bad in [
        "example.org",
        "example.org:",
        "example.org:0",
        "example.org:70000",
        "example.org:+1",
        ":443",
        "a@b.org:443",
    ] {
        assert!(head(&format!("CONNECT {bad} HTTP/1.1\nHost: x\n\n")).is_err(), "{bad}");
    }
    for literal in ["127.0.0.1:443", "[::1]:443", "[::ffff:127.0.0.1]:443", "2130706433:443"] {
        let read = head(&format!("CONNECT {literal} HTTP/1.1\nHost: {literal}\n\n")).unwrap();
        assert_eq!(format!("{}:{}", read.host, read.port), literal);
        assert!(canonical(&read.host).is_err());
    }
    assert!(head("CONNECT a.example:443 HTTP/1.1\nHost: a.example:443\nContent-Length: 3\n\n").is_err());
}

#[test]
fn a_request_is_written_anew_for_one_exchange() {
    let asked = "GET http://Example.org/a?b=c HTTP/1.1\nHost: example.org\nAccept: */*\nProxy-Authorization: Basic eA==\n\
        Connection: keep-alive, X-Private\nX-Private: 1\nKeep-Alive: 5\nUpgrade: h2c\nX-Kept:  a b \n\n";
    let expected =
        "GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\nX-Kept: a b\r\nConnection: close\r\n\r\n";
    assert_eq!(onward_of(asked), expected);
    let posted = "POST HTTP://example.org:8080 HTTP/1.1\nHost: example.org:8080\nContent-Length: 007\n\n";
    let expected =
        "POST / HTTP/1.1\r\nHost: example.org:8080\r\nContent-Length: 7\r\nConnection: close\r\n\r\n";
    assert_eq!(onward_of(posted), expected);
    let asked = "PUT http://example.org?q HTTP/1.1\nHost: example.org\nTransfer-Encoding: Chunked\n\n";
    assert!(onward_of(asked).starts_with("PUT /?q HTTP/1.1\r\n"));
    assert!(onward_of(asked).contains("\r\nTransfer-Encoding: chunked\r\n"));
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let with =
        |headers: &str| head(&format!("POST http://example.org/ HTTP/1.1\nHost: example.org\n{headers}\n\n"));
    assert!(with("Content-Length: 3").is_ok());
    for headers in [
        "Content-Length: 3\nContent-Length: 3",
        "Content-Length: 3\nTransfer-Encoding: chunked",
        "Content-Length: 3, 3",
        "Content-Length: +3",
        "Content-Length: 0x3",
        "Content-Length: ",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        " folded: 1",
        "X: 1\n folded",
        "X\t: 1",
        "X: a\0b",
        "X: a\u{7f}b",
        ": nameless",
        "no colon",
        "Host: example.org",
        "H\u{f6}st: example.org",
    ] {
        let wrong = with(headers).expect_err(headers);
        assert_eq!(wrong.about, Some(("example.org".to_string(), 80)), "{headers}");
    }
    let host = |host: &str| head(&format!("GET http://example.org/ HTTP/1.1\n{host}\n\n"));
    for good in ["Host: example.org", "host: EXAMPLE.ORG.", "HOST: example.org:80"] {
        assert!(host(good).is_ok(), "{good}");
    }
    for bad in [
        "Host: evil.example",
        "Host: example.org:81",
        "Host:",
        "Host: example.org@evil.example",
        "X: 1",
        "Host: a b",
    ] {
        assert!(host(bad).is_err(), "{bad}");
    }
    assert!(head("POST http://example.org/ HTTP/1.0\nTransfer-Encoding: chunked\n\n").is_err());
}

#[test]
fn only_whole_urls_of_plain_http_are_served() {
    for target in [
        "/",
        "*",
        "example.org",
        "https://example.org/",
        "ftp://example.org/",
        "http:/example.org/",
        "http:///",
        "http://user@example.org/",
        "http://user:pass@example.org/",
        "http://example.org\\@evil.example/",
        "http://example.org#@evil.example/",
        "http://example.org/#x",
        "http://example.org:/",
        "http://example.org:x/",
        "http://example%2eorg/",
        "http://",
    ] {
        assert!(head(&format!("GET {target} HTTP/1.1\nHost: example.org\n\n")).is_err(), "{target}");
    }
    for line in [
        "GET  http://example.org/ HTTP/1.1",
        "GET http://example.org/ a HTTP/1.1",
        "GET http://example.org/ HTTP/2",
        "GET http://example.org/ http/1.1",
        "GET http://example.org/",
        " GET http://example.org/ HTTP/1.1",
        "G(T http://example.org/ HTTP/1.1",
        "GET http://example.org/\t HTTP/1.1",
        "",
        "GET http://example.org/\u{e9} HTTP/1.1",
    ] {
        assert!(head(&format!("{line}\nHost: example.org\n\n")).is_err(), "{line:?}");
    }
}

#[test]
fn line_ends_are_cr_lf_and_nothing_else() {
    for bytes in [
        &b"GET http://a.example/ HTTP/1.1\nHost: a.example\n\n"[..],
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\n\r\n",
        b"GET http://a.example/ HTTP/1.1\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: 1\rY: 2\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\r\n\r\n",
    ] {
        assert_eq!(end(bytes, 0), Some(bytes.len()), "{}", bytes.escape_ascii());
        assert!(parse(bytes).is_err(), "{}", bytes.escape_ascii());
    }
}

#[test]
fn too_many_headers_are_refused() {
    let many = "X: 1\n".repeat(HEADERS_MAX);
    let wrong = head(&format!("GET http://a.example/ HTTP/1.1\nHost: a.example\n{many}\n")).unwrap_err();
    assert_eq!(wrong.status, 431);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let whole = [&bytes[..], b"\r\n\r\n"].concat();
        prop_assert!(end(&whole, 0).is_some());
        let _read = parse(&whole);
    }

    /// Whatever is accepted goes on as a head that is itself one, ends where it should, and names the host that was
    /// checked and no other.
    #[test]
    fn what_goes_on_names_one_host_and_ends_once(
        target in "http://(example\\.org|example\\.org|evil\\.example|[a-z@:/.#?\\\\%]{0,12})(:[0-9]{1,3})?(/[ -~]{0,8})?",
        host in "(Host: (example\\.org|evil\\.example)\r\n)?",
        headers in proptest::collection::vec(
            "(Host|X-A|Connection|Content-Length|Transfer-Encoding|host )?:? ?(example\\.org|evil\\.example|[0-9]{0,3}|chunked|[ -~\r\n\t]{0,12})", 0..5),
    ) {
        let text = format!("POST {target} HTTP/1.1\r\n{host}{}\r\n\r\n", headers.join("\r\n"));
        let cut = end(text.as_bytes(), 0).unwrap();
        if let Ok(Head { host, port, kind: RequestKind::Forward { onward, length }, .. }) = parse(&text.as_bytes()[..cut]) {
            let onward = String::from_utf8(onward).unwrap();
            let name = canonical(&host).unwrap_or_default();
            let shown = if port == 80 { name } else { format!("{name}:{port}") };
            prop_assert_eq!(end(onward.as_bytes(), 0), Some(onward.len()));
            let lower = onward.to_ascii_lowercase();
            prop_assert_eq!(lower.matches("\r\nhost:").count(), 1);
            let host_line = format!("\r\nhost: {}\r\n", shown);
            prop_assert!(lower.contains(&host_line));
            prop_assert!(lower.matches("\r\ncontent-length:").count() + lower.matches("\r\ntransfer-encoding:").count() <= 1);
            prop_assert_eq!(lower.contains("chunked\r\n") && lower.contains("\r\ntransfer-encoding:"), length == Length::Chunked);
        }
    }

    #[test]
    fn the_end_is_found_however_the_bytes_come(text in "[a\r\n]{0,30}", cut in 0usize..30) {
        let bytes = text.as_bytes();
        let whole = end(bytes, 0);
        let cut = cut.min(bytes.len());
        let pieces = end(&bytes[..cut], 0).or_else(|| end(bytes, cut));
        prop_assert_eq!(pieces, whole);
    }
}
