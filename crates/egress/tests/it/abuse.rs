//! Clients that are slow, silent, loud, or many.

use std::time::Duration;

use base::clock::Clock;
use base::limits::egress::{CONNECTIONS_MAX, HEAD_MAX_BYTES, HEAD_TIMEOUT, IDLE_TIMEOUT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::upstream::Upstream;
use crate::world::{Setup, World, echoes, until_somebody_waits};

fn world(upstream: &Upstream, clock: Clock) -> World {
    let mut setup = Setup::new(&format!("a.example:{}", upstream.port())).host("a.example", &["127.0.0.1"]);
    setup.clock = clock;
    setup.public(upstream.address).start()
}

#[tokio::test]
async fn a_huge_head_is_refused() {
    let upstream = Upstream::http().await;
    let world = world(&upstream, Clock::system());
    let host = format!("a.example:{}", upstream.port());
    let huge = "x".repeat(2 * HEAD_MAX_BYTES);
    for text in [
        format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nX: {huge}\r\n\r\n"),
        format!("GET http://{host}/{huge} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{}\r\n", "X: 1\r\n".repeat(2_000)),
        huge,
    ] {
        let answer = world.ask(&text).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    assert!(upstream.connections() == 0 && world.lookups().is_empty());
}

#[tokio::test]
async fn a_client_that_does_not_come_to_the_point_is_given_up() {
    let upstream = Upstream::echo().await;
    let clock = Clock::manual(0);
    let world = world(&upstream, clock.clone());
    for (address, text) in [
        (world.http, "CONNECT a.exam"),
        (world.http, ""),
        (world.socks, "\x05"),
        (world.socks, ""),
        (world.dns_tcp, "\0"),
    ] {
        let mut stream = TcpStream::connect(address).await.expect("the proxy listens");
        stream.write_all(text.as_bytes()).await.expect("written");
        until_somebody_waits(&clock).await;
        clock.advance(HEAD_TIMEOUT.as_millis() as i64);
        let mut answer = Vec::new();
        let _ended = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
        drop(stream);
        // What was drained for its sake has ended too, before the next one is waited for.
        while clock.next_deadline_in().is_some() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_silent_tunnel_is_closed_and_one_that_speaks_is_not() {
    let upstream = Upstream::echo().await;
    let clock = Clock::manual(0);
    let world = world(&upstream, clock.clone());
    let mut stream = world.tunnel(&format!("a.example:{}", upstream.port())).await.expect("a tunnel");
    for _ in 0..3 {
        assert!(echoes(&mut stream, "still here").await);
        until_somebody_waits(&clock).await;
        clock.pass(IDLE_TIMEOUT - Duration::from_secs(1)).await;
    }
    assert!(echoes(&mut stream, "still here").await);
    clock.pass(IDLE_TIMEOUT + Duration::from_secs(1)).await;
    let mut rest = Vec::new();
    let _ended = stream.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
}

/// Ten thousand connections, many at once: never more than allowed are served, and all get their turn.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_connections_are_served_within_the_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let more = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, more).expect("as many descriptors as may be had");

    let upstream = Upstream::echo().await;
    let world = std::sync::Arc::new(world(&upstream, Clock::system()));
    let target = format!("a.example:{}", upstream.port());
    let clients = 2 * CONNECTIONS_MAX;
    let rounds = 10_000 / clients + 1;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..clients {
        let (world, target) = (world.clone(), target.clone());
        tasks.spawn(async move {
            for _ in 0..rounds {
                let mut stream = world.tunnel(&target).await.expect("a tunnel");
                assert!(echoes(&mut stream, "x").await);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("every client was served");
    }
    assert!(upstream.connections() >= 10_000);
    // The server may notice the end of a connection a little after the proxy has given its place away.
    assert!(upstream.most() <= CONNECTIONS_MAX + CONNECTIONS_MAX / 2, "{}", upstream.most());
    assert_eq!(world.only().times, (clients * rounds) as u64);
}

/// Clients that hold all places do not keep a name from being answered, and the places come back when they go.
#[tokio::test]
async fn places_that_are_held_come_back() {
    let upstream = Upstream::echo().await;
    let world = world(&upstream, Clock::manual(0));
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        held.push(TcpStream::connect(world.http).await.expect("the proxy listens"));
    }
    let late = TcpStream::connect(world.socks).await;
    drop(held);
    let mut stream = world.tunnel(&format!("a.example:{}", upstream.port())).await.expect("a tunnel");
    assert!(echoes(&mut stream, "x").await);
    drop(late);
}
