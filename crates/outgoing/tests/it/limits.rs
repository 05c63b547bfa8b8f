//! Tests of size and time limits: floods, slow bodies and silence.

use std::time::Duration;

use outgoing::{Client, Error, Limits, PrivateHosts, Request, Resolver, Settings, Stage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{Server, ok};
use crate::{get, open_client, text};

fn limited(url: &str, change: impl FnOnce(&mut Limits)) -> Request {
    let mut request = get(url);
    change(&mut request.limits);
    request
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let many = "X-Many: 1\r\n".repeat(base::limits::outgoing::HEADERS_MAX + 1);
    // The limit is looked at after each read, so the last one may go past it.
    let long = format!("X-Long: {}\r\n", "a".repeat(2 * base::limits::outgoing::HEADER_MAX_BYTES));
    for headers in [many, long] {
        let server =
            Server::start(move |_| format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 0\r\n\r\n")).await;
        assert_eq!(open_client().send(get(&server.url("/"))).await.err(), Some(Error::HeadTooLarge));
    }
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused_announced_or_not() {
    let announced = Server::start(|_| ok("0123456789")).await;
    let chunked = Server::start(|_| {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n".into()
    })
    .await;
    let until_closed = Server::start(|_| "HTTP/1.0 200 OK\r\n\r\n0123456789".into()).await;
    for server in [&announced, &chunked, &until_closed] {
        let with = |most| limited(&server.url("/"), |limits| limits.body_bytes = most);
        assert_eq!(text(open_client().send(with(10)).await).await.expect("all of it"), "0123456789");
        assert_eq!(text(open_client().send(with(9)).await).await, Err(Error::BodyTooLarge(9)));
    }
}

/// Accepts one connection, sends `first`, then `piece` over and over, and returns when the client goes away.
async fn trickle(first: &'static [u8], piece: &'static [u8]) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut asked = [0; 1_024];
        assert_ne!(stream.read(&mut asked).await.expect("a request"), 0);
        stream.write_all(first).await.expect("a client that reads");
        let mut rest = Vec::new();
        if piece.is_empty() {
            stream.read_to_end(&mut rest).await.unwrap_or_default();
            return;
        }
        while stream.write_all(piece).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    (url, serving)
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test]
async fn a_trickle_ends_at_the_deadline_of_the_whole() {
    // Never silent for long, and never done.
    let (url, serving) = trickle(CHUNKED, b"1\r\nx\r\n").await;
    let total = Duration::from_millis(300);
    let request = limited(&url, |limits| limits.total = total);
    let ended = text(open_client().send(request).await).await;
    assert_eq!(ended, Err(Error::TimedOut { stage: Stage::Total, limit: total }));
    // The connection ended with the request: the server sees its end.
    serving.await.expect("the server saw it");
}

#[tokio::test]
async fn a_trickle_of_headers_ends_at_the_deadline_too() {
    let (url, serving) = trickle(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n").await;
    let total = Duration::from_millis(300);
    let ended = open_client().send(limited(&url, |limits| limits.total = total)).await.err();
    assert_eq!(ended, Some(Error::TimedOut { stage: Stage::Total, limit: total }));
    serving.await.expect("the server saw it");
}

#[tokio::test]
async fn silence_has_a_limit_of_its_own() {
    let idle = Duration::from_millis(200);
    for first in [&b""[..], CHUNKED] {
        let (url, serving) = trickle(first, b"").await;
        let ended = text(open_client().send(limited(&url, |limits| limits.idle = idle)).await).await;
        assert_eq!(ended, Err(Error::TimedOut { stage: Stage::Silence, limit: idle }));
        serving.await.expect("the server saw it");
    }
}

#[tokio::test]
async fn looking_up_a_name_counts_as_connecting() {
    let resolver = Resolver::new(|_| std::future::pending());
    let connect_timeout = Duration::from_millis(100);
    let client = Client::new(Settings { resolver, connect_timeout, ..Settings::new(PrivateHosts::Allow) });
    let ended = client.send(get("http://slow.example/")).await.err();
    assert_eq!(ended, Some(Error::TimedOut { stage: Stage::Connecting, limit: connect_timeout }));
}

#[tokio::test]
async fn a_dropped_body_closes_the_connection() {
    let (url, serving) = trickle(CHUNKED, b"1\r\nx\r\n").await;
    let mut answer = open_client().send(get(&url)).await.expect("an answer");
    answer.body.next().await.expect("a piece");
    drop(answer);
    serving.await.expect("the server saw it");
}
