//! Clients that are slow, silent, loud, or many.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::clock::Clock;
use base::limits::egress::{CONNECTIONS_MAX, HEAD_MAX_BYTES, HEAD_TIMEOUT, IDLE_TIMEOUT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::names::{A, look_up};
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

/// More clients than there are places: the rest wait until one is free, and meanwhile names are still answered.
#[tokio::test]
async fn no_more_connections_are_served_than_there_are_places() {
    let enough = raise_descriptors();
    let upstream = Upstream::echo().await;
    let world = Arc::new(world(&upstream, Clock::system()));
    let target = format!("a.example:{}", upstream.port());
    let (served, leave) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS_MAX + 64 {
        let (world, target, served, leave) = (world.clone(), target.clone(), served.clone(), leave.clone());
        clients.spawn(async move {
            let mut stream = world.tunnel(&target).await.expect("a tunnel");
            assert!(echoes(&mut stream, "x").await);
            served.fetch_add(1, Ordering::SeqCst);
            let _left = leave.acquire().await;
        });
    }
    while served.load(Ordering::SeqCst) < CONNECTIONS_MAX {
        tokio::task::yield_now().await;
    }
    // One after the other, so that whoever could be served had the time to be.
    for _ in 0..200 {
        assert_eq!(look_up(&world, "a.example", A).await.0, 0);
    }
    assert_eq!(
        (served.load(Ordering::SeqCst), upstream.connections()),
        (CONNECTIONS_MAX, CONNECTIONS_MAX),
        "{enough:?}"
    );
    leave.close();
    while let Some(ended) = clients.join_next().await {
        ended.expect("everybody was served in the end");
    }
    assert_eq!(upstream.connections(), CONNECTIONS_MAX + 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_connections_all_get_their_turn() {
    raise_descriptors();
    let upstream = Upstream::echo().await;
    let world = Arc::new(world(&upstream, Clock::system()));
    let target = format!("a.example:{}", upstream.port());
    let (clients, rounds) = (CONNECTIONS_MAX + 64, 10_000 / (CONNECTIONS_MAX + 64) + 1);
    let mut tasks = JoinSet::new();
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
    assert_eq!(
        world.only().times,
        (clients * rounds) as u64,
        "one entry of the log, however many there were"
    );
}

/// As many descriptors as may be had: a connection takes four of this process.
fn raise_descriptors() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).expect("a limit");
    limit.maximum
}
