//! The HTTP proxy: tunnels, plain requests, and requests that want to be two.

use egress::{Allow, Outcome, Refusal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::upstream::Upstream;
use crate::world::{Setup, World, echoes};

const LOOPBACK: &[&str] = &["127.0.0.1"];

/// A world in which `a.example` is one public server.
fn world(upstream: &Upstream) -> World {
    let setup = Setup::new(&format!("a.example:{}", upstream.port()));
    setup.host("a.example", LOOPBACK).public(upstream.address).start()
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_and_is_told_with_its_token() {
    let upstream = Upstream::echo().await;
    let world = world(&upstream);
    let port = upstream.port();
    let mut stream = tokio::net::TcpStream::connect(world.http).await.expect("a connection");
    // The first bytes of TLS may come together with the request.
    let asked = format!(
        "CONNECT A.Example:{port} HTTP/1.1\r\nHost: a.example:{port}\r\nProxy-Authorization: Basic Z3N2OmNhbGxfNw==\r\n\r\nearly"
    );
    stream.write_all(asked.as_bytes()).await.expect("written");
    let expected = b"HTTP/1.1 200 Connection established\r\n\r\nearly";
    let mut heard = vec![0; expected.len()];
    stream.read_exact(&mut heard).await.expect("an answer");
    assert_eq!(heard, expected);
    assert!(echoes(&mut stream, &"x".repeat(300_000)).await);
    let tried = world.only();
    assert_eq!(
        (tried.host.as_str(), tried.port, tried.outcome.clone()),
        ("a.example", Some(port), Outcome::Reached)
    );
    assert_eq!((tried.token.as_deref(), tried.at_ms), (Some("call_7"), 1_000));
    assert_eq!(world.reports(), [tried]);
    assert_eq!(world.lookups(), ["a.example"], "one lookup");
    // The end of one direction is passed on, and then the other ends too.
    stream.shutdown().await.expect("closed");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("an end");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn what_is_not_listed_is_refused_and_nobody_is_asked_for_it() {
    let upstream = Upstream::echo().await;
    let world = world(&upstream);
    for target in [
        "evil.example:443",
        "a.example:22",
        "a.example:443",
        "www.a.example:443",
        "a.example.evil.example:443",
    ] {
        let refused = world.tunnel(target).await.expect_err(target);
        assert!(
            refused.starts_with("HTTP/1.1 403 ") && refused.contains("config/agents/network"),
            "{refused}"
        );
        assert!(refused.contains(&format!("gsv: {target}: ")), "{refused}");
    }
    let refused = world.ask("GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert!(world.proxy.log().iter().all(|tried| tried.outcome == Outcome::Refused(Refusal::NotListed)));
    assert_eq!(world.proxy.log().len(), 6);
    assert!(world.lookups().is_empty() && upstream.connections() == 0);
    let again = world.tunnel("evil.example:443").await;
    assert!(again.is_err() && world.reports().len() == 6, "attempts that are alike are told once");
    let mut log = world.proxy.log();
    log.retain(|tried| tried.host == "evil.example" && tried.port == Some(443));
    assert_eq!((log.len(), log[0].times, log[0].entry().as_deref()), (1, 2, Some("evil.example")));
}

#[tokio::test]
async fn ssh_needs_its_own_word() {
    let world = Setup::new("a.example ssh:b.example").start();
    assert!(world.tunnel("a.example:22").await.expect_err("refused").starts_with("HTTP/1.1 403 "));
    // Allowed, and so it is looked up; it has no address here.
    assert!(world.tunnel("b.example:22").await.expect_err("no address").starts_with("HTTP/1.1 502 "));
    assert_eq!(world.lookups(), ["b.example"]);
    assert!(matches!(world.outcomes("b.example")[..], [Outcome::Failed(_)]));
}

#[tokio::test]
async fn a_plain_request_is_written_anew_and_answered() {
    let mut upstream = Upstream::http().await;
    let world = world(&upstream);
    let port = upstream.port();
    let asked = format!(
        "GET http://a.example:{port}/x?y HTTP/1.1\r\nHost: a.example:{port}\r\nUser-Agent: t\r\n\
         Proxy-Authorization: Basic Z3N2OnQx\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n"
    );
    let answer = world.ask(&asked).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    let expected =
        format!("GET /x?y HTTP/1.1\r\nHost: a.example:{port}\r\nUser-Agent: t\r\nConnection: close\r\n\r\n");
    assert_eq!(upstream.heard().await, expected);
    assert_eq!(world.only().token.as_deref(), Some("t1"));
}

#[tokio::test]
async fn bodies_arrive_and_nothing_after_them_does() {
    let mut upstream = Upstream::http().await;
    let world = world(&upstream);
    let port = upstream.port();
    let head = format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: a.example:{port}\r\nX-Body: 1\r\n");
    let second = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    let counted = format!("{head}Content-Length: 6\r\n\r\nabcEND{second}");
    assert!(world.ask(&counted).await.ends_with("hello"));
    let heard = upstream.heard().await;
    assert!(heard.ends_with("Content-Length: 6\r\nConnection: close\r\n\r\nabcEND"), "{heard}");
    let chunked =
        format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nEND\r\n0\r\nX: 1\r\n\r\n{second}");
    assert!(world.ask(&chunked).await.ends_with("hello"));
    let heard = upstream.heard().await;
    let (_, body) = heard.split_once("\r\n\r\n").expect("a head");
    assert!("3\r\nabc\r\n3\r\nEND\r\n0\r\n\r\n".starts_with(body) && body.contains("END"), "{heard}");
    assert!(!heard.contains("evil"), "{heard}");
}

#[tokio::test]
async fn requests_that_can_be_read_in_two_ways_reach_nobody() {
    let upstream = Upstream::http().await;
    let world = world(&upstream);
    let port = upstream.port();
    let host = format!("a.example:{port}");
    let line = format!("POST http://{host}/ HTTP/1.1\r\n");
    for (text, status) in [
        (format!("{line}Host: evil.example\r\n\r\n"), 400),
        (format!("{line}Host: {host}\r\nHost: evil.example\r\n\r\n"), 400),
        (format!("{line}Host: {host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), 400),
        (format!("{line}Host: {host}\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\n"), 400),
        (format!("{line}Host: {host}\r\nTransfer-Encoding: chunked, identity\r\n\r\n"), 501),
        (format!("{line}Host: {host}\r\nTransfer-Encoding\t: chunked\r\n\r\n"), 400),
        (format!("{line}Host: {host}\r\nX: 1\nTransfer-Encoding: chunked\r\n\r\n"), 400),
        (format!("{line}Host: {host}\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n"), 400),
        (format!("POST http://{host}@evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 400),
        (format!("POST / HTTP/1.1\r\nHost: {host}\r\n\r\n"), 400),
        (format!("POST https://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), 400),
        (format!("CONNECT {host} HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 400),
        ("\r\n\r\n".to_string(), 400),
        ("\x16\x03\x01\x02\x00\x01\n\n".to_string(), 400),
    ] {
        let answer = world.ask(&text).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{text:?}: {answer}");
    }
    assert!(world.is_refused("a.example", Refusal::Ambiguous), "{:?}", world.proxy.log());
    assert!(upstream.connections() == 0 && world.lookups().is_empty());
}

#[tokio::test]
async fn a_bad_chunk_ends_the_request() {
    let mut upstream = Upstream::http().await;
    let world = world(&upstream);
    let host = format!("a.example:{}", upstream.port());
    let text = format!(
        "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nX-Body: 1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nEND\r\n0\r\n\r\n"
    );
    assert_eq!(world.ask(&text).await, "");
    assert!(!upstream.heard().await.contains("END"));
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let body = "0123456789".repeat(200_000);
    let upstream =
        Upstream::http_with(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await;
    let world = world(&upstream);
    let host = format!("a.example:{}", upstream.port());
    let answer = world.ask(&format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
    assert_eq!(answer.len() - answer.find("\r\n\r\n").expect("a head"), body.len() + 4);
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_told_apart_from_one_that_is_refused() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("an address");
    drop(silent);
    let setup = Setup::new(&format!("a.example:{}", address.port())).host("a.example", LOOPBACK);
    let world = setup.public(address).start();
    let failed = world.tunnel(&format!("a.example:{}", address.port())).await.expect_err("nobody listens");
    assert!(failed.starts_with("HTTP/1.1 502 "), "{failed}");
    assert!(world.only().is_allowed() && world.only().entry().is_none());
}

#[tokio::test]
async fn a_list_can_be_replaced_while_the_proxy_runs() {
    let upstream = Upstream::echo().await;
    let setup = Setup::new("").host("a.example", LOOPBACK).public(upstream.address);
    let world = setup.start();
    let target = format!("a.example:{}", upstream.port());
    assert!(world.tunnel(&target).await.is_err());
    let entry = world.only().entry().expect("an entry that would help");
    let wider = world.proxy.allowed().as_ref().clone().and(&Allow::parse(&entry).expect("an entry"));
    world.proxy.set_allowed(wider);
    let mut stream = world.tunnel(&target).await.expect("allowed now");
    assert!(echoes(&mut stream, "now").await);
    world.proxy.set_allowed(Allow::default());
    assert!(world.tunnel(&target).await.is_err());
    assert!(echoes(&mut stream, "what is open stays open").await);
}

#[tokio::test]
async fn a_proxy_that_is_dropped_stops() {
    let upstream = Upstream::echo().await;
    let world = world(&upstream);
    let (target, http) = (format!("a.example:{}", upstream.port()), world.http);
    let mut stream = world.tunnel(&target).await.expect("a tunnel");
    assert!(echoes(&mut stream, "x").await);
    drop(world);
    let mut rest = Vec::new();
    // An end or a reset.
    let _ended = stream.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    while tokio::net::TcpStream::connect(http).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
