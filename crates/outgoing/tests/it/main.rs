//! Integration tests of the client against real servers on this machine: the guard, redirects, limits, the pool.

// A helper of tests that cannot do its work has nothing better to do than to end the test.
#![allow(clippy::expect_used)]

mod guard;
mod limits;
mod server;

use bytes::Bytes;
use http::{HeaderValue, Method};
use outgoing::{Client, Error, PrivateHosts, Redirects, Request, Response, Settings, parse_url};
use server::{Server, ok};

fn get(url: &str) -> Request {
    Request::new(Method::GET, parse_url(url).expect("a URL"))
}

fn open_client() -> Client {
    Client::new(Settings::new(PrivateHosts::Allow))
}

async fn text(answer: Result<Response, Error>) -> Result<String, Error> {
    Ok(String::from_utf8(answer?.body.whole().await?).expect("text"))
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_and_the_answer_streams() {
    let server = Server::start(|_| {
        "HTTP/1.1 207 Many Things\r\nX-One: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".into()
    })
    .await;
    let mut request = get(&server.url("/a?b=c"));
    request.method = Method::from_bytes(b"PROPFIND").expect("a method");
    request.body = Some(Bytes::from_static(b"<x/>"));
    request.headers.insert("depth", HeaderValue::from_static("1"));
    let mut answer = open_client().send(request).await.expect("an answer");
    assert_eq!((answer.last.status.as_u16(), answer.last.reason.as_str()), (207, "Many Things"));
    assert_eq!(answer.last.headers["x-one"], "1");
    assert_eq!(answer.last.peer.map(|peer| peer.address), Some(server.address));
    let mut heard = Vec::new();
    while let Some(piece) = answer.body.next().await.expect("a piece") {
        heard.extend_from_slice(&piece);
    }
    assert_eq!(heard, b"abcde");
    let asked = server.last();
    assert!(asked.starts_with("PROPFIND /a?b=c HTTP/1.1\r\n") && asked.ends_with("\r\n\r\n<x/>"), "{asked}");
    for line in [format!("Host: {}", server.address), "Depth: 1".into(), "Content-Length: 4".into()] {
        assert!(asked.contains(&format!("{line}\r\n")), "{asked}");
    }
}

#[tokio::test]
async fn redirects_are_followed_as_the_request_says_and_secrets_stay_behind() {
    let there = Server::start(|_| ok("there")).await;
    let away = there.url("/end");
    let here = Server::start(move |asked| match server::path(asked) {
        "/near" => server::to(302, "/page"),
        "/far" => server::to(307, &away),
        "/loop" => server::to(302, "/loop"),
        _ => ok("page"),
    })
    .await;
    let client = open_client();
    let with = |path: &str, redirects| {
        let mut request = Request { redirects, ..get(&here.url(path)) };
        let mut key = HeaderValue::from_static("k");
        key.set_sensitive(true);
        request.headers.insert("x-api-key", key);
        request.headers.insert("authorization", HeaderValue::from_static("Bearer t"));
        request.headers.insert("x-plain", HeaderValue::from_static("1"));
        request
    };
    let stayed = client.send(with("/near", Redirects::Return)).await.expect("an answer");
    assert_eq!(stayed.last.status.as_u16(), 302);
    let near = client.send(with("/near", Redirects::Follow { max: 3 })).await.expect("an answer");
    assert_eq!((near.redirects.len(), near.last.url.path()), (1, "/page"));
    assert!(here.last().contains("X-Api-Key: k\r\n") && here.last().contains("Authorization: Bearer t\r\n"));
    let far = with("/far", Redirects::Follow { max: 3 });
    assert_eq!(text(client.send(far).await).await.expect("an answer"), "there");
    let asked = there.last();
    assert!(!asked.contains("X-Api-Key") && !asked.contains("Authorization"), "{asked}");
    assert!(asked.contains("X-Plain: 1\r\n"), "{asked}");
    let bound = client.send(with("/far", Redirects::SameOrigin { max: 3 })).await.err();
    assert!(matches!(bound, Some(Error::OtherOrigin(_))), "{bound:?}");
    let endless = client.send(with("/loop", Redirects::Follow { max: 3 })).await.err();
    assert_eq!(endless, Some(Error::TooManyRedirects(3)));
}

#[tokio::test]
async fn connections_are_used_again_unless_the_settings_say_otherwise() {
    let server = Server::keeping_connections(|_| ok("x")).await;
    let kept = open_client();
    for _ in 0..3 {
        assert_eq!(text(kept.send(get(&server.url("/"))).await).await.expect("an answer"), "x");
    }
    // The pool takes a connection back in a task of its own, so not every request must find it.
    assert!(server.connections() <= 3);
    let single = Client::new(Settings { idle_connections_max: 0, ..Settings::new(PrivateHosts::Allow) });
    let before = server.connections();
    for _ in 0..3 {
        text(single.send(get(&server.url("/"))).await).await.expect("an answer");
    }
    assert_eq!(server.connections(), before + 3);
}

#[tokio::test]
async fn what_is_no_http_server_is_told() {
    let client = open_client();
    let closed = server::closed_port().await;
    let nobody = client.send(get(&format!("http://{closed}/"))).await.err();
    assert!(matches!(nobody, Some(Error::Connect { .. })), "{nobody:?}");
    let plain = server::greeting("220 mail.example ready\r\n").await;
    let untrusted = client.send(get(&format!("https://{plain}/"))).await.err();
    assert!(matches!(untrusted, Some(Error::Untrusted { .. })), "{untrusted:?}");
    let cut = Server::start(|_| "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".into()).await;
    assert_eq!(text(client.send(get(&cut.url("/"))).await).await, Err(Error::Closed));
    let empty = Server::start(|_| String::new()).await;
    assert_eq!(client.send(get(&empty.url("/"))).await.err(), Some(Error::Closed));
    let odd = Server::start(|_| "SSH-2.0-OpenSSH_9.9\r\n\r\n".into()).await;
    let odd = client.send(get(&odd.url("/"))).await.err();
    assert!(matches!(odd, Some(Error::Unreadable(_))), "{odd:?}");
}
