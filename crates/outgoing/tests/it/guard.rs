//! Tests of the SSRF guard in front of real servers: DNS rebinding, redirects that lead inside.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outgoing::{Client, Error, PrivateHosts, Redirects, Request, Resolver, Settings};

use crate::server::{self, Server, ok, to};
use crate::{get, text};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A client for which one server of this machine is on the public internet.
fn guarded(public: SocketAddr, resolver: Resolver) -> Client {
    Client::new(Settings { resolver, exceptions: vec![public], ..Settings::new(PrivateHosts::Deny) })
}

fn is_refused(error: Option<&Error>) -> bool {
    matches!(error, Some(Error::Refused { .. }))
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_spelling() {
    let server = Server::start(|_| ok("secret")).await;
    let port = server.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[fe80::1]",
        "[fd00::1]",
        "１２７.0.0.1",
    ];
    let client = Client::new(Settings::new(PrivateHosts::Deny));
    for host in hosts {
        let refused = client.send(get(&format!("http://{host}:{port}/"))).await.err();
        assert!(is_refused(refused.as_ref()), "{host}: {refused:?}");
    }
    assert!(server.asked().is_empty());
    let open = Client::new(Settings::new(PrivateHosts::Allow));
    assert_eq!(text(open.send(get(&server.url("/"))).await).await.expect("an answer"), "secret");
}

#[tokio::test]
async fn a_redirect_does_not_lead_inside() {
    let inside = Server::start(|_| ok("secret")).await;
    let port = inside.address.port();
    let public = Server::start(move |asked| match server::path(asked) {
        "/ip" => to(302, &format!("http://127.0.0.1:{port}/")),
        "/name" => to(301, &format!("http://localhost:{port}/")),
        "/number" => to(307, &format!("//2130706433:{port}/")),
        "/mapped" => to(308, &format!("http://[::ffff:127.0.0.1]:{port}/")),
        "/meta" => to(302, "http://169.254.169.254/latest/meta-data/"),
        "/twice" => to(302, "/ip"),
        _ => ok("fine"),
    })
    .await;
    let client = guarded(public.address, Resolver::system());
    let follow = |path: &str| Request { redirects: Redirects::Follow { max: 5 }, ..get(&public.url(path)) };
    assert_eq!(text(client.send(follow("/")).await).await.expect("an answer"), "fine");
    for path in ["/ip", "/name", "/number", "/mapped", "/meta", "/twice"] {
        let refused = client.send(follow(path)).await.err();
        assert!(is_refused(refused.as_ref()), "{path}: {refused:?}");
    }
    assert!(inside.asked().is_empty());
}

/// A name that is public when it is first asked for and leads inside ever after: the connection goes to the address of
/// the one lookup, so there is no second answer to fall for.
#[tokio::test]
async fn a_name_is_looked_up_once_and_the_connection_goes_where_it_was_checked() {
    let server = Server::start(|_| ok("fine")).await;
    let lookups = Arc::new(AtomicUsize::new(0));
    let asked = lookups.clone();
    let resolver = Resolver::new(move |name| {
        assert_eq!(name, "rebind.example");
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        async move { Ok(vec![if first { LOOPBACK } else { IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)) }]) }
    });
    let client = guarded(server.address, resolver);
    let url = format!("http://rebind.example:{}/", server.address.port());
    assert_eq!(text(client.send(get(&url)).await).await.expect("an answer"), "fine");
    assert_eq!(lookups.load(Ordering::SeqCst), 1, "one connection, one lookup");
    assert!(server.last().contains(&format!("Host: rebind.example:{}\r\n", server.address.port())));
}

/// The second hop of a redirect goes to the same name, which has changed its mind in between.
#[tokio::test]
async fn a_name_that_turns_inside_between_two_hops_is_refused() {
    let inside = Server::start(|_| ok("secret")).await;
    let port = inside.address.port();
    let public = Server::start(move |_| to(302, &format!("http://rebind.example:{port}/"))).await;
    let resolver = Resolver::new(|_| async { Ok(vec![LOOPBACK]) });
    let client = guarded(public.address, resolver);
    let first = get(&format!("http://rebind.example:{}/", public.address.port()));
    let refused = client.send(Request { redirects: Redirects::Follow { max: 5 }, ..first }).await.err();
    assert!(is_refused(refused.as_ref()), "{refused:?}");
    assert_eq!((public.asked().len(), inside.asked().len()), (1, 0));
}

#[tokio::test]
async fn of_a_names_addresses_only_the_allowed_one_is_tried() {
    let server = Server::start(|_| ok("fine")).await;
    let resolver = Resolver::new(|name| async move {
        match name.as_str() {
            "mixed.example" => Ok(vec!["10.0.0.1".parse().expect("an address"), LOOPBACK]),
            _ => Err(std::io::Error::other("no such name")),
        }
    });
    let client = guarded(server.address, resolver);
    let port = server.address.port();
    let mixed = get(&format!("http://mixed.example:{port}/"));
    assert_eq!(text(client.send(mixed).await).await.expect("an answer"), "fine");
    let unknown = client.send(get(&format!("http://unknown.example:{port}/"))).await.err();
    assert!(matches!(unknown, Some(Error::Unresolved { .. })), "{unknown:?}");
}
