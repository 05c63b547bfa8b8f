//! How long logins last and how many strangers are let in, on a virtual clock.

use std::net::Ipv6Addr;

use base::random::Random;
use base::shutdown;
use protocol::ids::TokenId;
use protocol::sys::token::TokenKind;
use store::tokens::NewToken;

use super::*;
use crate::Setting;
use crate::outbox::Close;

const START_MS: i64 = 1_700_000_000_000;

async fn gateway(data: &tempfile::TempDir, clock: &Clock) -> Arc<Kernel> {
    let options = store::Options { data: data.path().to_path_buf(), url: None };
    let setting = Setting {
        guest_program: None,
        store: Store::open(&options).await.unwrap(),
        files: &data.path().join("files"),
        clock: clock.clone(),
        random: Random::seeded(3),
        version: "test",
        more: Vec::new(),
    };
    Kernel::start_in(setting).await.unwrap()
}

/// A socket that logged in with a token which ends then.
async fn session(kernel: &Arc<Kernel>, name: &str, expires_at: Option<i64>) -> Arc<Connection> {
    session_of(kernel, name, expires_at, None).await
}

/// The same with a token that was made with another.
pub(super) async fn session_of(
    kernel: &Arc<Kernel>,
    name: &str,
    expires_at: Option<i64>,
    parent_id: Option<TokenId>,
) -> Arc<Connection> {
    let raw = auth::tokens::new(TokenKind::User, kernel.random());
    let account = kernel.store.accounts().by_name("ann").await.unwrap().unwrap();
    let token = NewToken {
        approve: true,
        parent_id,
        token_id: TokenId(name.to_string()),
        uid: account.uid,
        kind: TokenKind::User,
        label: None,
        hash: auth::tokens::hash(&raw),
        prefix: auth::tokens::prefix(&raw),
        allowed_device_id: None,
        created_at: 1,
        expires_at,
    };
    kernel.store.tokens().create(token).await.unwrap().unwrap();
    let connection = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let auth = json!({ "username": "ann", "token": raw });
    let args = json!({ "protocol": 1, "client": { "id": name, "role": "user" }, "auth": auth });
    send(kernel, &connection, json!({ "type": "req", "id": "1", "call": "sys.connect", "args": args }));
    assert_eq!(next(&connection).await["ok"], true);
    connection
}

#[tokio::test]
async fn sockets_close_when_their_tokens_end_and_no_sooner() {
    let (data, clock) = (tempfile::tempdir().unwrap(), Clock::manual(START_MS));
    let kernel = gateway(&data, &clock).await;
    drop(with_driver(&kernel).await);
    let (trigger, stop) = shutdown::channel();
    let timers = tokio::spawn(kernel.clone().run_timers(stop));
    let hour = session(&kernel, "hour", Some(START_MS + 3_600_000)).await;
    let minute = session(&kernel, "minute", Some(START_MS + 60_000)).await;
    let endless = session(&kernel, "endless", None).await;
    clock.pass(Duration::from_millis(59_999)).await;
    assert!([&hour, &minute, &endless].iter().all(|socket| socket.outbox.closing().is_none()));
    clock.pass(Duration::from_millis(2)).await;
    assert_eq!(minute.outbox.closing(), Some(Close::EXPIRED));
    assert!([&hour, &endless].iter().all(|socket| socket.outbox.closing().is_none()));
    // The wall clock is set forward: what is over by then ends soon.
    clock.jump(3_600_000);
    clock.pass(limits::login::EXPIRY_CHECK + Duration::from_millis(2)).await;
    assert_eq!(hour.outbox.closing(), Some(Close::EXPIRED));
    assert_eq!(endless.outbox.closing(), None);
    trigger.stop();
    timers.await.unwrap();
}

#[tokio::test]
async fn strangers_have_half_a_minute_and_no_address_takes_every_place() {
    let (data, clock) = (tempfile::tempdir().unwrap(), Clock::manual(START_MS));
    let kernel = gateway(&data, &clock).await;
    let (trigger, stop) = shutdown::channel();
    let timers = tokio::spawn(kernel.clone().run_timers(stop));
    let per_address = limits::socket::PENDING_SOCKETS_PER_ADDRESS_MAX;
    let guest = kernel.opened(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)));
    // One customer's many IPv6 addresses are one.
    let greedy = |n: usize| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n as u16));
    let sockets: Vec<_> = (0..per_address + 10).map(|n| kernel.opened(greedy(n))).collect();
    assert!(sockets[..10].iter().all(|socket| socket.outbox.closing() == Some(Close::IDLE)));
    assert!(sockets[10..].iter().all(|socket| socket.outbox.closing().is_none()));
    assert_eq!(guest.outbox.closing(), None);
    // Many addresses together fill all places: whoever has most makes room, the guest does not.
    for n in 0..limits::socket::PENDING_SOCKETS_MAX - 100 {
        kernel.opened(IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n as u32)));
    }
    assert_eq!(guest.outbox.closing(), None);
    let (pending, _) = kernel.connections.counts();
    assert_eq!(pending, limits::socket::PENDING_SOCKETS_MAX);
    clock.pass(limits::socket::PENDING_SOCKET_TIMEOUT + Duration::from_secs(2)).await;
    assert_eq!(guest.outbox.closing(), Some(Close::IDLE));
    trigger.stop();
    timers.await.unwrap();
}

#[tokio::test]
async fn a_stranger_that_does_not_read_is_not_read_either() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let stranger = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut asked = 0;
    while stranger.may_read() {
        send(
            &kernel,
            &stranger,
            json!({ "type": "req", "id": "x".repeat(1_000), "call": "no.such", "args": {} }),
        );
        asked += 1;
        assert!(asked < 1_000, "it is read without end");
    }
    assert!(stranger.outbox.waiting().1 <= limits::socket::PENDING_MAX_BYTES + 2_000);
    while stranger.outbox.take_text().is_some() {}
    assert!(stranger.may_read());
}
