//! Tests of setup, login, logout, tokens and configuration.

use crate::world::{Running, World, gsv};

#[test]
fn a_fresh_gateway_asks_to_be_set_up_once() {
    let world = World::fresh();
    world.gateway.wait_for("this gateway is not set up yet");
    let early = world.fails(1, &["devices"]);
    assert!(
        early.contains("error: the gateway is not set up yet") && early.contains("gsv auth setup"),
        "{early}"
    );
    let early = world.fails(1, &["devices", "-u", "alice", "-p", "alice-password", "--json"]);
    assert!(early.contains(r#""code":425"#), "{early}");
    let short = world.fails(1, &["auth", "setup", "--username", "alice", "--new-password", "short"]);
    assert!(short.starts_with("error: "), "{short}");
    let done =
        world.run_with(&["auth", "setup", "--username", "alice", "--password-stdin"], b"alice-password\n");
    assert!(done.code == 0 && done.out.contains("alice"), "{done:?}");
    let again = world.fails(1, &["auth", "setup", "--username", "bob", "--new-password", "bobs-password"]);
    assert!(again.contains("already"), "{again}");
}

#[test]
fn logging_in_lasts_until_logging_out() {
    let world = World::set_up();
    assert!(world.ok(&["devices"]).contains("no devices"));
    let path = world.home.path().join("config/gsv/config.toml");
    let file = std::fs::read_to_string(&path).unwrap();
    assert!(file.contains("[[session]]") && !file.contains("alice-password"), "{file}");
    world.ok(&["auth", "logout"]);
    let out = world.fails(1, &["devices"]);
    assert!(out.contains("not logged in") && out.contains("gsv auth login"), "{out}");
    let wrong = world.fails(1, &["auth", "login", "--username", "alice", "-p", "wrong-password"]);
    assert!(wrong.contains("Authentication failed"), "{wrong}");
    // The session that was logged out is gone at the gateway too.
    std::fs::write(&path, file).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let over = world.fails(1, &["devices"]);
    assert!(over.contains("the saved session is over"), "{over}");
    let file = std::fs::read_to_string(&path).unwrap();
    assert!(!file.contains("[[session]]"), "{file}");
}

#[test]
fn every_gateway_and_user_keeps_a_session_of_its_own() {
    let (first, second, third) = (World::set_up(), World::set_up(), World::fresh());
    let login = ["auth", "login", "-p", "alice-password", "--username", "alice", "--url"];
    first.ok(&[&login, [second.url().as_str()].as_slice()].concat());
    first.ok(&["devices"]);
    let setup = ["auth", "setup", "--username", "carol", "--new-password", "carols-password", "--url"];
    first.ok(&[&setup, [third.url().as_str()].as_slice()].concat());
    // Neither another gateway's user nor another user of this one is taken for the one who logged in here.
    first.ok(&["devices"]);
    first.ok(&["auth", "login", "--username", "root", "-p", "root-password"]);
    first.ok(&["users", "list", "-u", "root"]);
    first.ok(&["devices", "-u", "alice"]);
    first.ok(&["devices", "--url", &second.url()]);
    for same in ["ws://localhost:", "HTTP://LOCALHOST:"] {
        first.ok(&["devices", "--url", &format!("{same}{}", second.port)]);
    }
    let out = first.ok(&["auth", "logout", "--url", &format!("localhost:{}", second.port)]);
    assert!(out.starts_with("logged out alice at "), "{out}");
    first.fails(1, &["devices", "--url", &second.url()]);
    first.ok(&["devices", "-u", "alice"]);
    first.ok(&["auth", "logout", "-u", "alice"]);
    first.fails(1, &["devices", "-u", "alice"]);
    first.ok(&["users", "list", "-u", "root"]);
}

#[test]
fn a_session_in_the_older_form_goes_on() {
    let world = World::set_up();
    let path = world.home.path().join("config/gsv/config.toml");
    let file = std::fs::read_to_string(&path).unwrap();
    let (rest, table) = file.split_once("[[session]]").unwrap();
    let old: String = table
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .filter(|(name, _)| *name != "username")
        .map(|(name, value)| format!("session_{name} = {value}\n"))
        .collect();
    assert!(old.contains("session_token = ") && old.contains("session_url = "), "{file}");
    std::fs::write(&path, rest.replace("[gateway]\n", &format!("[gateway]\n{old}"))).unwrap();
    world.ok(&["devices"]);
    world.ok(&["auth", "login", "--username", "root", "-p", "root-password"]);
    world.ok(&["devices", "-u", "alice"]);
    let file = std::fs::read_to_string(&path).unwrap();
    assert_eq!((file.matches("[[session]]").count(), file.contains("session_token")), (2, false), "{file}");
}

#[test]
fn a_settings_file_others_can_read_is_not_trusted() {
    let world = World::set_up();
    let path = world.home.path().join("config/gsv/config.toml");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let warned = world.fails(1, &["devices"]);
    assert!(warned.contains("others can read"), "{warned}");
}

#[test]
fn passwords_and_tokens_serve_one_command_each() {
    let world = World::set_up();
    world.ok(&["devices", "-u", "root", "-p", "root-password"]);
    let before = world.json(&["auth", "token", "list"])["tokens"].as_array().unwrap().len();
    world.ok(&["devices", "-u", "alice", "-p", "alice-password"]);
    let token =
        world.json(&["auth", "token", "create", "--kind", "user", "--label", "mine", "--expires-at", "1h"]);
    let (id, secret) =
        (token["token"]["tokenId"].as_str().unwrap(), token["token"]["token"].as_str().unwrap());
    world.ok(&["devices", "-u", "alice", "-t", secret]);
    let with_env = crate::world::finish(world.command(&["devices"]).env("GSV_TOKEN", secret), b"");
    assert_eq!(with_env.code, 0, "{with_env:?}");
    let after = world.json(&["auth", "token", "list"])["tokens"].as_array().unwrap().len();
    assert_eq!(after, before + 1, "a password mints nothing");
    let list = world.ok(&["auth", "token", "list"]);
    assert!(list.contains(id) && !list.contains(secret), "{list}");
    world.ok(&["auth", "token", "revoke", id, "--reason", "test"]);
    world.fails(1, &["devices", "-u", "alice", "-t", secret]);
    world.fails(1, &["auth", "token", "revoke", "no-such-token"]);
}

#[test]
fn a_token_for_scripts_answers_no_approvals() {
    let world = World::set_up();
    let made = |flag: &str| world.json(&["auth", "token", "create", "--kind", "user", flag])["token"].clone();
    assert_eq!(made("--approve")["approve"], true, "the session of a login with a password may");
    let less = made("--no-approve");
    assert_eq!(less["approve"], false);
    let (secret, policy) = (less["token"].as_str().unwrap(), "users/1000/ai/tools/approval");
    let attempts: [&[&str]; 2] =
        [&["auth", "token", "create", "--kind", "user", "--approve"], &["config", "set", policy, "{}"]];
    for attempt in attempts {
        let refused = world.fails(1, &[&["-u", "alice", "-t", secret], attempt].concat());
        assert!(refused.contains("needs a login that may answer approvals"), "{refused}");
        world.ok(attempt);
    }
    let shown = world.ok(&["auth", "token", "list"]);
    assert!(shown.lines().next().is_some_and(|line| line.contains("APPROVE")), "{shown}");
}

#[test]
fn a_device_is_the_same_whoever_logs_in() {
    let mut world = World::set_up();
    std::fs::create_dir(world.workspace()).unwrap();
    let path = world.home.path().join("config/gsv/config.toml");
    // A settings file from before the device had a name of its own.
    let file = std::fs::read_to_string(&path).unwrap();
    let old: Vec<&str> = file.lines().collect();
    let node = old.iter().position(|line| *line == "[node]").unwrap();
    let end =
        old[node + 1..].iter().position(|line| line.starts_with('[')).map_or(old.len(), |at| node + 1 + at);
    let is_new = |line: &str| line.starts_with("username") || line.starts_with("url");
    let old: Vec<&str> = old
        .iter()
        .enumerate()
        .filter(|(i, line)| !(node..end).contains(i) || !is_new(line))
        .map(|(_, line)| *line)
        .collect();
    assert_eq!(old.len() + 2, file.lines().count(), "{file}");
    std::fs::write(&path, old.join("\n")).unwrap();
    world.ok(&["auth", "login", "--username", "root", "-p", "root-password"]);
    assert_eq!(world.ok(&["config", "--local", "get", "gateway.username"]), "root\n");
    assert_eq!(world.ok(&["config", "--local", "get", "node.username"]), "alice\n");
    world.connect_device();
    // A person's token in the environment is not the device's.
    drop(world.take_device());
    let mut command = world.command(&["device", "run"]);
    let device = crate::world::Running::start(command.env("GSV_TOKEN", "nonsense"));
    device.wait_for("connected as desk");
}

#[test]
fn a_devices_token_is_not_sent_elsewhere() {
    let world = World::set_up();
    let refused = world.fails(1, &["device", "run", "--url", "ws://127.0.0.1:1/ws"]);
    assert!(refused.contains("belongs to another gateway"), "{refused}");
    let mut install = world.command(&["device", "install", "--url", "ws://127.0.0.1:1/ws"]);
    let refused = crate::world::finish(install.env("GSV_TOKEN", "a-persons"), b"");
    assert!(refused.code == 2 && refused.err.contains("give --token"), "{refused:?}");
    let path = world.home.path().join("config/gsv/config.toml");
    assert!(!std::fs::read_to_string(path).unwrap().contains("a-persons"));
}

#[test]
fn a_persons_token_is_not_sent_elsewhere() {
    let (first, second) = (World::set_up(), World::set_up());
    // Made with the password: one that a session made ends with it.
    let create = ["auth", "token", "create", "--kind", "user", "-u", "alice", "-p", "alice-password"];
    let token = first.json(&create)["token"]["token"].clone();
    first.ok(&["config", "--local", "set", "gateway.token", token.as_str().unwrap()]);
    first.ok(&["auth", "logout"]);
    first.ok(&["devices"]);
    let login = ["auth", "login", "-p", "alice-password", "--username", "alice", "--url"];
    first.ok(&[&login, [second.url().as_str()].as_slice()].concat());
    assert_eq!(first.ok(&["config", "--local", "get", "gateway.url"]), format!("{}\n", second.url()));
    first.ok(&["devices", "--url", &second.url()]);
    first.ok(&["auth", "logout", "--url", &second.url()]);
    // Whoever is sent a token that it does not know says that it failed.
    let refused = first.fails(1, &["devices", "--url", &second.url()]);
    assert!(refused.contains("belongs to another gateway") && refused.contains("not logged in"), "{refused}");
    first.ok(&["devices"]);
}

#[test]
fn local_settings_are_set_and_removed() {
    let world = World::set_up();
    assert_eq!(world.ok(&["config", "--local", "set", "node.allow", "fs.read"]), "set node.allow\n");
    assert_eq!(world.ok(&["config", "--local", "get", "node.allow"]), "fs.read\n");
    assert_eq!(world.ok(&["config", "--local", "unset", "node.allow"]), "removed node.allow\n");
    let missing = world.fails(1, &["config", "--local", "get", "node.allow"]);
    assert!(missing.contains("node.allow is not set"), "{missing}");
    let unknown = world.fails(2, &["config", "--local", "unset", "node.nonsense"]);
    assert!(unknown.contains("unknown local key: node.nonsense"), "{unknown}");
}

#[test]
fn the_gateways_configuration_is_read_and_set() {
    let world = World::set_up();
    world.root(&["config", "set", "config/server/name", "home"]);
    assert_eq!(world.root(&["config", "get", "config/server/name"]), "home\n");
    world.root(&["config", "set", "config/ai/api_key", "sk-secret"]);
    assert_eq!(world.root(&["config", "get", "config/ai/api_key"]), "********\n");
    assert_eq!(world.root(&["config", "get", "config/ai/api_key", "--reveal"]), "sk-secret\n");
    let all = world.root(&["config", "get", "config"]);
    assert!(all.contains("config/server/name = home\n") && !all.contains("sk-secret"), "{all}");
    let refused = world.fails(1, &["config", "set", "config/server/name", "mine"]);
    assert!(refused.starts_with("error: "), "{refused}");
}

#[test]
fn a_password_is_not_sent_unencrypted_to_another_machine() {
    let world = World::set_up();
    // Nothing listens there, and nothing is sent there.
    let far = ["--url", "ws://192.0.2.1:9/ws"];
    for command in [
        &["devices", "-u", "alice", "-p", "alice-password"][..],
        &["auth", "login", "--username", "alice", "-p", "alice-password"],
        &["auth", "setup", "--username", "alice", "--new-password", "alice-password"],
        &["users", "passwd", "bob", "--new-password", "bobs-password"],
    ] {
        let refused = world.fails(1, &[command, &far].concat());
        assert!(
            refused.contains("is not encrypted") && refused.contains("--insecure"),
            "{command:?}: {refused}"
        );
    }
    // On this machine, under whatever name, nothing is said.
    world.ok(&[
        "devices",
        "-u",
        "alice",
        "-p",
        "alice-password",
        "--url",
        &format!("ws://localhost:{}", world.port),
    ]);
}

#[test]
fn a_gateway_that_others_reach_says_so_and_prints_a_code() {
    let home = tempfile::tempdir().unwrap();
    let run = |listen: &str| {
        let data = home.path().join(listen.replace(':', "-"));
        let complaints = home.path().join("stderr");
        let mut command = gsv(home.path());
        command.args(["serve", "--listen", listen, "--data", data.to_str().unwrap()]);
        let mut gateway = Running::start(command.stderr(std::fs::File::create(&complaints).unwrap()));
        gateway.wait_for("this gateway is not set up yet");
        gateway.signal(libc::SIGTERM);
        assert_eq!(gateway.wait(), 0);
        (gateway.rest(), std::fs::read_to_string(complaints).unwrap())
    };
    let (said, complaints) = run("0.0.0.0:0");
    assert!(complaints.contains("warning: other machines can reach 0.0.0.0:"), "{complaints}");
    let code = said.iter().find_map(|line| line.strip_prefix("from another machine setup needs this code: "));
    assert!(code.is_some_and(|code| code.len() > 26), "{said:?}");
    let (said, complaints) = run("127.0.0.1:0");
    assert!(said.is_empty() && !complaints.contains("warning: other machines"), "{said:?} {complaints}");
}

#[test]
fn a_token_ends_with_the_session_that_made_it() {
    let world = World::set_up();
    let made = world.run(&["auth", "token", "create", "--kind", "user"]);
    assert!(made.code == 0 && made.err.contains("ends with the login that made it"), "{made:?}");
    let made =
        world.run(&["auth", "token", "create", "--kind", "user", "-u", "alice", "-p", "alice-password"]);
    assert!(made.code == 0 && made.err.is_empty(), "{made:?}");
}
