//! Names that lead inside, and addresses instead of names: nothing on this machine or in its network is reached.

use egress::{Outcome, Refusal};

use crate::upstream::Upstream;
use crate::world::{Setup, echoes};

/// Addresses of a server on this machine, in every spelling, with its port.
fn spellings(port: u16) -> Vec<String> {
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0X7F.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "127.0.0.1.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "169.254.169.254",
        "100.100.100.200",
        "[fd00:ec2::254]",
        "10.0.0.1",
        "8.8.8.8",
    ];
    hosts.iter().map(|host| format!("{host}:{port}")).collect()
}

#[tokio::test]
async fn addresses_are_refused_in_every_spelling() {
    let victim = Upstream::http().await;
    let world = Setup::new(&format!("a.example:{}", victim.port())).start();
    for target in spellings(victim.port()) {
        let refused = world.tunnel(&target).await.expect_err(&target);
        assert!(
            refused.starts_with("HTTP/1.1 403 ") && refused.contains("by their names"),
            "{target}: {refused}"
        );
        let refused = world.ask(&format!("GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n")).await;
        assert!(refused.starts_with("HTTP/1.1 403 "), "{target}: {refused}");
    }
    assert!(world.proxy.log().iter().all(|tried| tried.outcome == Outcome::Refused(Refusal::Address)));
    // Without brackets these are not even a host and a port.
    for target in ["::1", "::ffff:127.0.0.1", &format!("::1:{}", victim.port())] {
        assert!(world.tunnel(target).await.expect_err(target).starts_with("HTTP/1.1 400 "), "{target}");
    }
    assert!(victim.connections() == 0 && world.lookups().is_empty());
}

#[tokio::test]
async fn an_allowed_name_does_not_lead_inside() {
    let victim = Upstream::http().await;
    let port = victim.port();
    let inside = [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "fd00:ec2::254",
        "fe80::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "224.0.0.1",
    ];
    for address in inside {
        let world = Setup::new(&format!("a.example:{port}")).host("a.example", &[address]).start();
        let refused = world.tunnel(&format!("a.example:{port}")).await.expect_err(address);
        assert!(refused.starts_with("HTTP/1.1 403 "), "{address}: {refused}");
        let outcomes = world.outcomes("a.example");
        assert!(matches!(outcomes[..], [Outcome::Refused(Refusal::Guarded(_))]), "{address}: {outcomes:?}");
    }
    assert_eq!(victim.connections(), 0);
}

/// The machine's address in its own network is its own, though it may look public.
#[tokio::test]
async fn the_machines_own_address_is_refused() {
    // No packet is sent: the operating system only says which address it would send from.
    let from = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("8.8.8.8:53")?;
        socket.local_addr()
    });
    let Ok(from) = from else { return };
    let victim = Upstream::echo_at(&format!("{}:0", from.ip())).await;
    let own = from.ip().to_string();
    let world = Setup::new(&format!("a.example:{}", victim.port())).host("a.example", &[&own]).start();
    assert!(world.tunnel(&format!("a.example:{}", victim.port())).await.is_err());
    assert_eq!(victim.connections(), 0);
}

/// Two answers, one of them loopback: only the other is tried, in either order.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn of_two_answers_only_the_public_one_is_tried() {
    let public = Upstream::echo_at("127.0.0.2:0").await;
    let victim = Upstream::echo_at(&format!("127.0.0.1:{}", public.port())).await;
    for answers in [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]] {
        let setup = Setup::new(&format!("a.example:{}", public.port())).host("a.example", &answers);
        let world = setup.public(public.address).start();
        let mut stream = world.tunnel(&format!("a.example:{}", public.port())).await.expect("a tunnel");
        assert!(echoes(&mut stream, "hello").await);
    }
    assert_eq!((public.connections(), victim.connections()), (2, 0));
}

/// A name that is public at the first lookup and inside at the second (rebinding): one connection is one lookup, and the
/// next connection is checked again.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_name_that_changes_its_mind_gains_nothing() {
    let public = Upstream::echo_at("127.0.0.2:0").await;
    let victim = Upstream::echo_at(&format!("127.0.0.1:{}", public.port())).await;
    let setup = Setup::new(&format!("a.example:{}", public.port()));
    let setup = setup.changing_host("a.example", &[&["127.0.0.2"], &["127.0.0.1"]]);
    let world = setup.public(public.address).start();
    let target = format!("a.example:{}", public.port());
    let mut stream = world.tunnel(&target).await.expect("a tunnel");
    assert!(echoes(&mut stream, "hello").await);
    assert_eq!(world.lookups().len(), 1);
    assert!(world.tunnel(&target).await.is_err());
    assert_eq!((public.connections(), victim.connections()), (1, 0));
}
