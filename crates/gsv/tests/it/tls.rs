//! Tests of TLS with a private authority: the gateway, a model provider, and what the gateway's shell fetches.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use testkit::fake_model::{Server, Turn, chat_reply};
use testkit::tls::{Authority, Relay};

use crate::world::{Running, Said, World, finish};

/// A gateway behind a relay that shows a certificate for these names.
struct Behind {
    world: World,
    authority: Authority,
    relay: Relay,
    file: PathBuf,
}

impl Behind {
    fn tls(world: World, names: &[&str]) -> Behind {
        let authority = Authority::new();
        let relay = Relay::start(authority.server(names), local(world.port));
        let file = world.home.path().join("authority.pem");
        std::fs::write(&file, authority.pem()).unwrap();
        Behind { world, authority, relay, file }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://localhost:{}", self.relay.address.port())
    }

    /// A command of alice that goes through the relay and trusts the authority.
    fn command(&self, args: &[&str]) -> Command {
        let url = self.url("wss");
        let mut command = self.world.command(&[&["--url", &url], args].concat());
        command.env("SSL_CERT_FILE", &self.file);
        command
    }

    fn alice(&self, args: &[&str]) -> Said {
        let login = ["-u", "alice", "-p", "alice-password"];
        finish(&mut self.command(&[&login, args].concat()), b"")
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn a_gateway_behind_tls_is_used_like_any_other() {
    let mut world = World::set_up();
    std::fs::create_dir(world.workspace()).unwrap();
    let token = world.ok(&["config", "--local", "get", "node.token", "--reveal"]);
    let behind = Behind::tls(world, &["localhost"]);
    let said = behind.alice(&["devices"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let web = behind.url("https");
    let login = ["-u", "alice", "-p", "alice-password", "devices", "--url", &web];
    let said = finish(behind.world.command(&login).env("SSL_CERT_FILE", &behind.file), b"");
    assert_eq!(said.code, 0, "{said:?}");
    let workspace = behind.world.workspace();
    let device = ["device", "run", "-u", "alice", "--token", token.trim(), "--workspace"];
    let mut command = behind.command(&[&device, [workspace.to_str().unwrap()].as_slice()].concat());
    let device = Running::start(command.env("GSV_RECONNECT_MAX_MS", "200"));
    device.wait_for("connected as desk");
    let said = behind.alice(&["run", "--target", "desk", "--", "echo over TLS"]);
    assert_eq!((said.code, said.out.as_str()), (0, "over TLS\n"), "{said:?}");
    // The way breaks, and the device comes back over it.
    let Behind { world: kept, authority, relay, file } = behind;
    world = kept;
    let (at, server) = (relay.address, authority.server(&["localhost"]));
    drop(relay);
    let relay = Relay::start_at(at, server, local(world.port));
    let behind = Behind { world, authority, relay, file };
    device.wait_for("connected as desk");
    let said = behind.alice(&["run", "--target", "desk", "--", "echo again"]);
    assert_eq!((said.code, said.out.as_str()), (0, "again\n"), "{said:?}");
}

#[test]
fn a_gateway_that_cannot_be_trusted_is_told_in_one_line_and_a_hint() {
    let behind = Behind::tls(World::set_up(), &["gsv.example"]);
    let url = behind.url("wss");
    let refused = |said: Said, why: &str, hint: &str| {
        let lines: Vec<&str> = said.err.lines().collect();
        let [first, second] = lines[..] else { panic!("{said:?}") };
        assert_eq!((said.code, first), (1, format!("error: cannot trust {url}/ws: {why}").as_str()));
        assert!(second.starts_with("hint: ") && second.contains(hint), "{second}");
    };
    refused(behind.alice(&["devices"]), "its certificate is for another name: gsv.example", "name it was");
    let login = ["-u", "alice", "-p", "alice-password", "devices", "--url", &url];
    let stranger = "its certificate is not signed by an authority that is trusted here";
    refused(finish(&mut behind.world.command(&login), b""), stranger, "SSL_CERT_FILE");
    let nowhere = behind.world.home.path().join("nowhere.pem");
    let said = finish(behind.world.command(&login).env("SSL_CERT_FILE", &nowhere), b"");
    refused(said, stranger, "nowhere.pem cannot be read");
    let plain = format!("wss://127.0.0.1:{}", behind.world.port);
    let said = behind.world.fails(1, &["-u", "alice", "-p", "alice-password", "devices", "--url", &plain]);
    assert!(said.contains("it does not speak TLS") && said.contains("ws://"), "{said}");
}

#[test]
fn the_gateways_shell_fetches_over_tls() {
    let mut behind = Behind::tls(World::set_up(), &["localhost"]);
    let url = format!("{}/health", behind.url("https"));
    behind.world.root(&["config", "set", "config/shell/network_private", "true"]);
    let said = behind.world.run(&["run", "--", "curl", "-sS", &url]);
    assert_eq!((said.code, said.out.contains("SSL certificate problem")), (60, true), "{said:?}");
    assert!(said.out.contains("SSL_CERT_FILE"), "{said:?}");
    let file = behind.file.to_str().unwrap().to_string();
    behind.world.gateway.signal(libc::SIGTERM);
    behind.world.gateway.wait();
    behind.world.restart_gateway_with(&[("SSL_CERT_FILE", &file)]);
    assert!(behind.world.ok(&["run", "--", "curl", "-sS", &url]).contains("healthy"));
    let number = format!("https://127.0.0.1:{}/health", behind.relay.address.port());
    let said = behind.world.run(&["run", "--", "curl", "-sS", &number]);
    assert_eq!((said.code, said.out.contains("for another name: localhost")), (60, true), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_over_tls() {
    let turn = Turn::text("Said over TLS.");
    let model = Server::start(move |_| chat_reply(&turn)).await.unwrap();
    tokio::task::block_in_place(|| ask_over_tls(&model));
}

fn ask_over_tls(model: &Server) {
    let authority = Authority::new();
    let mut world = World::set_up();
    let file = world.home.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let address = model.base_url().split('/').nth(2).unwrap().parse().unwrap();
    let relay = Relay::start(authority.server(&["localhost"]), address);
    let base_url = format!("https://localhost:{}/v1", relay.address.port());
    for (key, value) in
        [("provider", "openai-chat"), ("model", "fake"), ("base_url", &base_url), ("api_key", "key")]
    {
        world.root(&["config", "set", &format!("config/ai/{key}"), value]);
    }
    let said = world.run(&["chat", "hello"]);
    assert!(said.code == 1 && said.err.contains("localhost cannot be trusted"), "{said:?}");
    assert!(said.err.contains("SSL_CERT_FILE"), "{said:?}");
    world.gateway.signal(libc::SIGTERM);
    world.gateway.wait();
    world.restart_gateway_with(&[("SSL_CERT_FILE", file.to_str().unwrap())]);
    assert_eq!(world.ok(&["chat", "hello"]), "Said over TLS.\n");
}
