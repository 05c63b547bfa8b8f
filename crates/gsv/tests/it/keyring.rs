//! Tests of logins that are kept in the system's keyring: a Secret Service of the tests on a bus of its own.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use zbus::object_server::SignalEmitter;
use zbus::zvariant::{ObjectPath, OwnedObjectPath, OwnedValue, Value};
use zbus::{ObjectServer, interface};

use crate::world::{Said, World, finish};

const ROOT: &str = "/org/freedesktop/secrets";
const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";
const PROMPT: &str = "/org/freedesktop/secrets/prompt/1";
const SESSION: &str = "/org/freedesktop/secrets/session/1";
const LOGIN: [&str; 6] = ["auth", "login", "--username", "alice", "-p", "alice-password"];
/// Needs a login that may answer approvals.
const MAKE: [&str; 8] = ["auth", "token", "create", "--kind", "user", "--approve", "--expires-at", "1h"];

#[derive(Default)]
struct Contents {
    items: BTreeMap<String, (HashMap<String, String>, Vec<u8>)>,
    made: u32,
    locked: bool,
    /// Whether the person unlocks it when asked.
    willing: bool,
}

type Shared = Arc<Mutex<Contents>>;
type Secret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

fn path(text: &str) -> OwnedObjectPath {
    ObjectPath::try_from(text.to_string()).unwrap().into()
}

struct Service(Shared);

#[interface(name = "org.freedesktop.Secret.Service")]
impl Service {
    fn open_session(&self, algorithm: &str, _input: OwnedValue) -> (OwnedValue, OwnedObjectPath) {
        assert_eq!(algorithm, "plain");
        (Value::from("").try_to_owned().unwrap(), path(SESSION))
    }

    fn read_alias(&self, name: &str) -> OwnedObjectPath {
        path(if name == "default" { COLLECTION } else { "/" })
    }

    fn search_items(&self, wanted: HashMap<String, String>) -> (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) {
        let contents = self.0.lock().unwrap();
        let fits = |(attributes, _): &(HashMap<String, String>, _)| {
            wanted.iter().all(|(name, value)| attributes.get(name) == Some(value))
        };
        let found =
            contents.items.iter().filter(|(_, item)| fits(item)).map(|(name, _)| path(name)).collect();
        if contents.locked { (Vec::new(), found) } else { (found, Vec::new()) }
    }

    fn unlock(&self, objects: Vec<OwnedObjectPath>) -> (Vec<OwnedObjectPath>, OwnedObjectPath) {
        if self.0.lock().unwrap().locked { (Vec::new(), path(PROMPT)) } else { (objects, path("/")) }
    }
}

struct Collection(Shared);

#[interface(name = "org.freedesktop.Secret.Collection")]
impl Collection {
    async fn create_item(
        &self,
        properties: HashMap<String, OwnedValue>,
        secret: Secret,
        replace: bool,
        #[zbus(object_server)] server: &ObjectServer,
    ) -> (OwnedObjectPath, OwnedObjectPath) {
        assert!(replace && secret.0 == path(SESSION) && secret.1.is_empty());
        assert!(properties.contains_key("org.freedesktop.Secret.Item.Label"));
        let mut properties = properties;
        let attributes = properties.remove("org.freedesktop.Secret.Item.Attributes").unwrap();
        let attributes = HashMap::<String, String>::try_from(attributes).unwrap();
        let name = {
            let mut contents = self.0.lock().unwrap();
            assert!(!contents.locked);
            contents.made += 1;
            let name = format!("{COLLECTION}/{}", contents.made);
            contents.items.insert(name.clone(), (attributes, secret.2));
            name
        };
        server.at(name.clone(), Item(self.0.clone(), name.clone())).await.unwrap();
        (path(&name), path("/"))
    }
}

struct Item(Shared, String);

#[interface(name = "org.freedesktop.Secret.Item")]
impl Item {
    fn get_secret(&self, session: OwnedObjectPath) -> (Secret,) {
        let contents = self.0.lock().unwrap();
        assert!(!contents.locked);
        ((session, Vec::new(), contents.items[&self.1].1.clone(), "text/plain".to_string()),)
    }

    fn delete(&self) -> OwnedObjectPath {
        self.0.lock().unwrap().items.remove(&self.1);
        path("/")
    }
}

struct Prompt(Shared);

#[interface(name = "org.freedesktop.Secret.Prompt")]
impl Prompt {
    async fn prompt(&self, _window: &str, #[zbus(signal_emitter)] emitter: SignalEmitter<'_>) {
        let dismissed = {
            let mut contents = self.0.lock().unwrap();
            contents.locked = !contents.willing;
            contents.locked
        };
        Prompt::completed(&emitter, dismissed, Value::from("")).await.unwrap();
    }

    fn dismiss(&self) {}

    #[zbus(signal)]
    async fn completed(emitter: &SignalEmitter<'_>, dismissed: bool, result: Value<'_>) -> zbus::Result<()>;
}

/// A bus with a keyring on it.
struct Bus {
    address: String,
    daemon: Child,
    contents: Shared,
    _service: zbus::Connection,
    _runtime: tokio::runtime::Runtime,
}

impl Bus {
    fn start(world: &World) -> Bus {
        let address = format!("--address=unix:dir={}", world.home.path().display());
        let mut daemon = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--print-address", &address])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(daemon.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_string();
        let contents = Shared::default();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let service = runtime.block_on(async {
            let builder = zbus::connection::Builder::address(address.as_str()).unwrap();
            let builder = builder.serve_at(ROOT, Service(contents.clone())).unwrap();
            let builder = builder.serve_at(COLLECTION, Collection(contents.clone())).unwrap();
            let builder = builder.serve_at(PROMPT, Prompt(contents.clone())).unwrap();
            builder.name("org.freedesktop.secrets").unwrap().build().await.unwrap()
        });
        Bus { address, daemon, contents, _service: service, _runtime: runtime }
    }

    /// Runs a command in a session with this bus.
    fn run(&self, world: &World, args: &[&str]) -> Said {
        finish(world.command(args).env("DBUS_SESSION_BUS_ADDRESS", &self.address), b"")
    }

    #[track_caller]
    fn ok(&self, world: &World, args: &[&str]) -> String {
        let said = self.run(world, args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    }

    fn secrets(&self) -> Vec<String> {
        let contents = self.contents.lock().unwrap();
        contents.items.values().map(|(_, secret)| String::from_utf8(secret.clone()).unwrap()).collect()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

fn settings(world: &World) -> String {
    std::fs::read_to_string(world.home.path().join("config/gsv/config.toml")).unwrap()
}

#[test]
fn a_login_that_may_approve_is_in_the_keyring_and_the_file_has_less() {
    let world = World::set_up();
    let bus = Bus::start(&world);
    assert!(bus.ok(&world, &LOGIN).contains("kept in the system's keyring"));
    let secrets = bus.secrets();
    assert!(matches!(&secrets[..], [one] if one.starts_with("gsv_user_")), "{secrets:?}");
    assert!(!settings(&world).contains(&secrets[0]), "the file must not have it too");
    bus.ok(&world, &MAKE);
    // Who cannot ask the keyring, an agent without the bus say, is logged in and approves nothing.
    world.ok(&["devices"]);
    let refused = world.fails(1, &MAKE);
    assert!(refused.contains("needs a login that may answer approvals"), "{refused}");
    bus.contents.lock().unwrap().locked = true;
    assert_eq!(bus.run(&world, &MAKE).code, 1, "a locked keyring stays locked");
    bus.ok(&world, &["devices"]);
    bus.contents.lock().unwrap().locked = false;

    bus.ok(&world, &LOGIN);
    assert_eq!(bus.secrets().len(), 1, "the older one is gone");
    let second = bus.secrets().remove(0);
    bus.ok(&world, &["auth", "logout"]);
    assert!(bus.secrets().is_empty());
    let with = ["devices", "-u", "alice", "-t", &second];
    assert!(world.fails(1, &with).contains("Authentication failed"), "both are revoked");
}

#[test]
fn a_keyring_that_nobody_unlocks_leaves_the_file() {
    let world = World::set_up();
    let bus = Bus::start(&world);
    bus.contents.lock().unwrap().locked = true;
    let said = bus.run(&world, &LOGIN);
    assert!(said.out.contains("kept in the settings file"), "{said:?}");
    assert!(said.err.contains("keyring cannot be used: it was not unlocked"), "{said:?}");
    bus.ok(&world, &MAKE);
    bus.contents.lock().unwrap().willing = true;
    assert!(bus.ok(&world, &LOGIN).contains("kept in the system's keyring"));
}

#[test]
fn who_wants_no_keyring_or_no_approvals_gets_none() {
    let world = World::set_up();
    let bus = Bus::start(&world);
    let without = [&LOGIN[..], &["--no-keyring"]].concat();
    assert!(bus.ok(&world, &without).contains("kept in the settings file"));
    bus.ok(&world, &MAKE);
    let less = [&LOGIN[..], &["--no-approve"]].concat();
    assert!(bus.ok(&world, &less).contains("kept in the settings file"));
    assert!(bus.secrets().is_empty());
    assert_eq!(bus.run(&world, &MAKE).code, 1);
    // A bus that is gone is no keyring.
    let mut gone = world.command(&LOGIN);
    let said = finish(gone.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent"), b"");
    assert!(said.out.contains("kept in the settings file"), "{said:?}");
}
