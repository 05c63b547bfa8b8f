//! The SOCKS proxy: connections to names, and nothing else.

use egress::{Outcome, Refusal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::upstream::Upstream;
use crate::world::{Setup, World, echoes};

/// Asks for something; the reply's code, and the connection.
async fn ask(world: &World, token: Option<&str>, command: u8, address: &[u8], port: u16) -> (u8, TcpStream) {
    let mut stream = TcpStream::connect(world.socks).await.expect("the proxy listens");
    match token {
        Some(token) => {
            stream.write_all(&[5, 2, 0, 2]).await.expect("written");
            let mut method = [0; 2];
            stream.read_exact(&mut method).await.expect("a method");
            assert_eq!(method, [5, 2]);
            let login = [&[1, 3][..], b"gsv", &[token.len() as u8], token.as_bytes()].concat();
            stream.write_all(&login).await.expect("written");
            stream.read_exact(&mut method).await.expect("an answer");
            assert_eq!(method, [1, 0]);
        }
        None => {
            stream.write_all(&[5, 1, 0]).await.expect("written");
            let mut method = [0; 2];
            stream.read_exact(&mut method).await.expect("a method");
            assert_eq!(method, [5, 0]);
        }
    }
    let request = [&[5, command, 0], address, &port.to_be_bytes()].concat();
    stream.write_all(&request).await.expect("written");
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.expect("a reply");
    (reply[1], stream)
}

fn name(text: &str) -> Vec<u8> {
    [&[3, text.len() as u8], text.as_bytes()].concat()
}

#[tokio::test]
async fn a_name_is_reached_and_told_with_its_token() {
    let upstream = Upstream::echo().await;
    let setup = Setup::new(&format!("a.example:{}", upstream.port())).host("a.example", &["127.0.0.1"]);
    let world = setup.public(upstream.address).start();
    for token in [None, Some("call_9")] {
        let (reply, mut stream) = ask(&world, token, 1, &name("A.example"), upstream.port()).await;
        assert_eq!(reply, 0);
        assert!(echoes(&mut stream, "hello").await);
    }
    let tokens: Vec<Option<String>> = world.proxy.log().into_iter().map(|tried| tried.token).collect();
    assert_eq!(tokens, [None, Some("call_9".to_string())]);
}

#[tokio::test]
async fn udp_listening_addresses_and_other_hosts_are_refused() {
    let victim = Upstream::echo().await;
    let port = victim.port();
    let world = Setup::new(&format!("a.example:{port}")).host("a.example", &["127.0.0.1"]).start();
    let loopback = [&[4][..], &[0; 15], &[1]].concat();
    let mapped = [&[4][..], &[0; 10], &[255, 255, 127, 0, 0, 1]].concat();
    for (command, address, code) in [
        (3, vec![1, 0, 0, 0, 0], 7),
        (3, name("a.example"), 7),
        (2, name("a.example"), 7),
        (1, vec![1, 127, 0, 0, 1], 2),
        (1, loopback, 2),
        (1, mapped, 2),
        (1, name("127.0.0.1"), 2),
        (1, name("2130706433"), 2),
        (1, name("::1"), 2),
        (1, name("evil.example"), 2),
        (1, name("a.example"), 2),
        (1, name("\u{0}a.example"), 2),
        (1, name(""), 2),
    ] {
        let (reply, mut stream) = ask(&world, None, command, &address, port).await;
        assert_eq!(reply, code, "{command} {address:?}");
        let mut rest = Vec::new();
        stream.shutdown().await.expect("closed");
        stream.read_to_end(&mut rest).await.expect("an end");
        assert!(rest.is_empty());
    }
    assert_eq!(victim.connections(), 0);
    assert!(world.is_refused("evil.example", Refusal::NotListed));
    assert!(world.is_refused("::1", Refusal::Address) && world.is_refused("2130706433", Refusal::Address));
    assert!(matches!(world.outcomes("a.example")[..], [Outcome::Refused(Refusal::Guarded(_))]));
    assert_eq!(world.lookups(), ["a.example"]);
}
